package query

import (
	"cmp"
	"fmt"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/sorting"
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
	if len(a.st.Missing()) == 0 {
		return ""
	}
	funcs := a.functions()
	var out Sampled
	for _, s := range a.st.FuncStats() {
		if s.Sampled == 0 || int(s.Func) >= len(a.fns) || funcs != nil && !funcs.Has(uint32(s.Func)) {
			continue
		}
		recorded, calls := s.Recorded(), s.Made()
		out.Calls += calls
		out.NotRecorded += s.Sampled
		out.Functions = append(out.Functions, SampledFunction{a.fns[s.Func].Name, calls, recorded, share(recorded, calls)})
	}
	if len(out.Functions) == 0 {
		return ""
	}
	var recorded int64
	for i := range out.Functions {
		recorded += out.Functions[i].Recorded
	}
	out.Rate = share(recorded, out.Calls)
	sorting.By(out.Functions, func(x, y SampledFunction) int {
		return cmp.Compare(y.Calls-y.Recorded, x.Calls-x.Recorded)
	})
	if n := len(out.Functions); n > maxSampledFunctions {
		out.Functions, out.More = out.Functions[:maxSampledFunctions], n-maxSampledFunctions
	}
	res.Sampled = &out
	note = fmt.Sprintf("Sampled: of %d calls of %s, %d were not recorded", out.Calls,
		plural(int64(len(out.Functions)+out.More), "hot function"), out.NotRecorded)
	if res.Rows != nil && a.countsAll {
		return note + "; calls in the table are all, times and returns those of the recorded."
	}
	return note + "; narrow the patterns to record every call, view stats without other filters counts all."
}

// Lost says which functions that a question asks about have calls that were dropped, over the whole session.
type Lost struct {
	Functions []LostFunction `json:"functions"`      // those with the most dropped calls
	More      int            `json:"more,omitempty"` // functions beside them
	Calls     int64          `json:"calls"`          // of all these functions
	Recorded  int64          `json:"recorded"`
	Dropped   int64          `json:"dropped"` // calls; what is left was sampled
}

// LostFunction is one of them.
type LostFunction struct {
	Function string `json:"function"`
	Calls    int64  `json:"calls"`
	Recorded int64  `json:"recorded"`
	Dropped  int64  `json:"dropped"`
}

// lostCalls fills in what the question's functions have lost, nothing where it does not concern calls.
func (a *asker) lostCalls(res *Result) (note string) {
	if a.wantedKinds()&callKinds == 0 || len(a.st.Missing()) == 0 {
		return ""
	}
	funcs := a.functions()
	var out Lost
	for _, s := range a.st.FuncStats() {
		if s.Dropped == 0 || int(s.Func) >= len(a.fns) || funcs != nil && !funcs.Has(uint32(s.Func)) {
			continue
		}
		out.Calls += s.Made()
		out.Recorded += s.Recorded()
		out.Dropped += s.Dropped
		out.Functions = append(out.Functions, LostFunction{a.fns[s.Func].Name, s.Made(), s.Recorded(), s.Dropped})
	}
	if len(out.Functions) == 0 {
		return ""
	}
	sorting.By(out.Functions, func(x, y LostFunction) int { return cmp.Compare(y.Dropped, x.Dropped) })
	if n := len(out.Functions); n > maxSampledFunctions {
		out.Functions, out.More = out.Functions[:maxSampledFunctions], n-maxSampledFunctions
	}
	res.Lost = &out
	note = fmt.Sprintf("Dropped: of %d calls of %s, %d were lost because buffers were full", out.Calls,
		plural(int64(len(out.Functions)+out.More), "function"), out.Dropped)
	if res.Rows != nil && a.countsAll {
		return note + "; calls in the table are all."
	}
	return note + ` (eventType dropped says when; onFullBuffer "block" loses none).`
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
			if s.Sampled > 0 {
				a.rates[s.Func] = share(s.Recorded(), s.Made())
			}
		}
	}
	return a.rates[fn]
}
