package query

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/strobe-debug/strobe/internal/event"
)

// maxSampledFunctions is how many sampled functions an answer names.
const maxSampledFunctions = 5

// Sampled says which functions that a question asks about have calls that were not recorded, over the whole session.
type Sampled struct {
	Functions   []SampledFunction `json:"functions"`      // those with the most calls that were not recorded
	More        int               `json:"more,omitempty"` // functions beside them
	Calls       int64             `json:"calls"`          // of all these functions
	NotRecorded int64             `json:"notRecorded"`
	Rate        float64           `json:"rate"` // the share of calls that was recorded, 0 to 1
}

// SampledFunction is one of them.
type SampledFunction struct {
	Function string  `json:"function"`
	Calls    int64   `json:"calls"`
	Recorded int64   `json:"recorded"`
	Rate     float64 `json:"rate"`
}

// sampled fills in what the question's functions lack, nothing where it does not concern calls.
func (a *asker) sampled(res *Result) (note string) {
	if a.wantedKinds()&callKinds == 0 {
		return ""
	}
	skipped := a.st.Skipped()
	if len(skipped) == 0 {
		return ""
	}
	funcs := a.functions()
	var out Sampled
	for _, s := range a.st.FuncStats() {
		if s.Skipped == 0 || int(s.Func) >= len(a.fns) || funcs != nil && !funcs.Has(uint32(s.Func)) {
			continue
		}
		recorded := max(s.Calls, s.Exits)
		calls := recorded + s.Skipped
		out.Calls += calls
		out.NotRecorded += s.Skipped
		out.Functions = append(out.Functions, SampledFunction{a.fns[s.Func].Name, calls, recorded, share(recorded, calls)})
	}
	if len(out.Functions) == 0 {
		return ""
	}
	out.Rate = share(out.Calls-out.NotRecorded, out.Calls)
	slices.SortStableFunc(out.Functions, func(x, y SampledFunction) int {
		return cmp.Compare(y.Calls-y.Recorded, x.Calls-x.Recorded)
	})
	if n := len(out.Functions); n > maxSampledFunctions {
		out.Functions, out.More = out.Functions[:maxSampledFunctions], n-maxSampledFunctions
	}
	res.Sampled = &out
	note = fmt.Sprintf("Sampled: of %d calls of %s, %d were not recorded", out.Calls, plural(int64(len(out.Functions)+out.More), "hot function"), out.NotRecorded)
	if res.Rows != nil && a.countsAll {
		return note + "; calls in the table are all, times and returns those of the recorded."
	}
	return note + "; narrow the patterns to record every call, view stats without other filters counts all."
}

// share is part of whole with four digits.
func share(part, whole int64) float64 {
	return float64(int64(float64(part)/float64(whole)*10000+0.5)) / 10000
}

// sampleRate is the share of a function's calls that was recorded over the session, 0 where that is all.
func (a *asker) sampleRate(fn event.FuncID) float64 {
	if a.rates == nil {
		a.rates = map[event.FuncID]float64{}
		for _, s := range a.st.FuncStats() {
			if recorded := max(s.Calls, s.Exits); s.Skipped > 0 {
				a.rates[s.Func] = share(recorded, recorded+s.Skipped)
			}
		}
	}
	return a.rates[fn]
}
