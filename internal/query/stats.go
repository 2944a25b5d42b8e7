package query

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/record"
	"github.com/strobe-debug/strobe/internal/sorting"
	"github.com/strobe-debug/strobe/internal/store"
	"github.com/strobe-debug/strobe/internal/value"
)

// Stat is what one function did. Times are in nanoseconds.
type Stat struct {
	Function string        `json:"function"`
	Calls    int64         `json:"calls"`
	Recorded *int64        `json:"recorded,omitempty"` // of calls, where it is not all; the rest is of these
	Sampled  int64         `json:"sampled,omitempty"`  // of calls: left out because there were so many
	Dropped  int64         `json:"dropped,omitempty"`  // of calls: lost because buffers were full
	Errors   int64         `json:"errors"`             // left by an exception
	TotalNs  int64         `json:"totalNs"`
	SelfNs   int64         `json:"selfNs"`
	P50Ns    int64         `json:"p50Ns"`
	P99Ns    int64         `json:"p99Ns"`
	Returns  []ReturnCount `json:"returns,omitempty"`  // the most frequent, at most 5
	Distinct int           `json:"distinct,omitempty"` // different results seen; maxDistinct: at least
	fn       event.FuncID
}

// ReturnCount is one result and how often it came.
type ReturnCount struct {
	Value string `json:"value"`
	Count int64  `json:"count"`
}

// Bounds of view stats: results are counted over the newest calls only, rendered ones being dear.
const (
	maxDistinct     = 1024
	maxReturns      = 5
	maxCountedRets  = 250_000
	maxRenderedRets = 20_000
)

// stats is view stats.
func (a *asker) stats(parts []part, res *Result) (notes []string, err error) {
	rows, fromCounters, err := a.statRows(parts)
	if err != nil {
		return nil, err
	}
	a.countsAll = fromCounters
	sorting.By(rows, func(x, y Stat) int {
		return cmp.Or(cmp.Compare(y.TotalNs, x.TotalNs), cmp.Compare(y.Calls, x.Calls), cmp.Compare(x.Function, y.Function),
			cmp.Compare(x.fn, y.fn))
	})
	all := len(rows)
	res.TotalCount = int64(all)
	rows = rows[min(a.req.Offset, all):]
	rows = rows[:min(a.req.Limit, len(rows))]
	partial, err := a.countReturns(parts, rows)
	if err != nil {
		return nil, err
	}
	if partial != "" {
		notes = append(notes, partial)
	}
	if ev := a.st.Stats().Evicted; fromCounters && ev > 0 {
		notes = append(notes, "Counts and times include dropped events; returns do not.")
	}
	if len(rows) > 0 {
		names := a.distinct(rows)
		res.Rows, res.Stats = rows, table(rows, names)
		for n := len(rows); len(res.Stats) > a.budget() && n > 1; {
			n = max(n*a.budget()/len(res.Stats), 1)
			res.Rows, res.Stats = rows[:n], table(rows[:n], names)
		}
	}
	if upTo := a.req.Offset + len(res.Rows); upTo < all {
		res.HasMore = true
		notes = append(notes, fmt.Sprintf("Showing %d of %d functions, by total time; offset %d goes on, function selects.",
			len(res.Rows), all, upTo))
	}
	return notes, nil
}

// statRows counts per function: from the store's counters where only names are filtered, else by a scan.
func (a *asker) statRows(parts []part) (rows []Stat, fromCounters bool, err error) {
	if len(parts) == 0 {
		return nil, false, nil
	}
	if p := parts[0]; len(parts) == 1 && p.pred == nil && a.kinds == 0 && a.skipTo == 0 && a.onlyNames(&p.filter) {
		for _, s := range a.st.FuncStats() {
			if s.Made() == 0 || p.filter.Funcs != nil && !p.filter.Funcs.Has(uint32(s.Func)) || int(s.Func) >= len(a.fns) {
				continue
			}
			row := Stat{
				Function: a.fns[s.Func].Name, fn: s.Func, Calls: s.Made(), Sampled: s.Sampled, Dropped: s.Dropped, Errors: s.Errors,
				TotalNs: s.TotalNs, SelfNs: s.SelfNs, P50Ns: s.Quantile(0.5), P99Ns: s.Quantile(0.99),
			}
			if recorded := s.Recorded(); recorded != row.Calls {
				row.Recorded = &recorded
			}
			rows = append(rows, row)
		}
		return rows, true, nil
	}
	rows, err = a.scanStats(parts)
	return rows, false, err
}

// onlyNames reports whether nothing but functions is filtered.
func (a *asker) onlyNames(f *store.Filter) bool {
	return f.FromID == 0 && f.ToID == 0 && f.FromTS == 0 && f.ToTS == 0 && f.Threads == nil &&
		f.MinDur == 0 && f.MaxDur == 0 && f.RetEq == nil && f.RetMin == nil && f.RetMax == nil
}

// accum adds up one function's calls. It is small: there are many functions, and calls come in any order.
type accum struct {
	calls, errors, totalNs, selfNs int64
	hist                           histogram
}

// scanStats counts the calls that match. Self times need every call below them, so the scan sees all
// calls of the threads up to the upper bound.
func (a *asker) scanStats(parts []part) ([]Stat, error) {
	match, err := a.matcher(parts)
	if err != nil {
		return nil, err
	}
	all := record.Filter{ToID: parts[0].filter.ToID, ToTS: parts[0].filter.ToTS, Bare: true}
	if len(parts) == 1 {
		all.Threads = parts[0].filter.Threads
	}
	found := make([]accum, len(a.fns)+1) // the last one: of a function that is not known
	for c, err := range a.calls.Calls(a.ctx, all) {
		if err != nil {
			return nil, err
		}
		ended := c.Exit != nil && match(c.Exit)
		if !ended && (c.Enter == nil || !match(c.Enter)) {
			continue
		}
		s := &found[min(int(c.FuncID()), len(a.fns))]
		s.calls++
		if !ended {
			continue
		}
		if c.Exit.Flags&(event.Unwound|event.Lost|event.AtEnd) == event.Unwound {
			s.errors++
		}
		s.totalNs += c.Exit.Duration
		s.selfNs += max(0, c.Exit.Duration-c.BelowNs)
		s.hist.add(c.Exit.Duration)
	}
	var rows []Stat
	for i := range found {
		s, id := &found[i], event.FuncID(i)
		if s.calls > 0 {
			rows = append(rows, Stat{
				Function: a.fn(id).Name, fn: id, Calls: s.calls, Errors: s.errors, TotalNs: s.totalNs, SelfNs: s.selfNs,
				P50Ns: s.hist.quantile(0.5), P99Ns: s.hist.quantile(0.99),
			})
		}
	}
	return rows, nil
}

// matcher decides for rows without payload whether they are in parts. What needs more than columns is looked
// up in the ids that a first scan found.
func (a *asker) matcher(parts []part) (func(*store.Row) bool, error) {
	var plain []store.Filter
	ids := make(map[event.ID]struct{})
	for _, p := range parts {
		p.filter.Kinds &= callKinds
		if p.filter.Kinds == 0 {
			continue
		}
		if p.pred == nil {
			plain = append(plain, p.filter)
			continue
		}
		err := a.scan(p, func(row *store.Row) bool {
			ids[row.ID] = struct{}{}
			return true
		})
		if err != nil {
			return nil, err
		}
	}
	if len(plain) == 1 && len(ids) == 0 {
		f := &plain[0]
		return func(row *store.Row) bool { return admits(f, row) }, nil
	}
	return func(row *store.Row) bool {
		for i := range plain {
			if admits(&plain[i], row) {
				return true
			}
		}
		_, ok := ids[row.ID]
		return ok
	}, nil
}

// admits is the store's filter for one call event.
func admits(f *store.Filter, r *store.Row) bool {
	switch {
	case r.ID < f.FromID || f.ToID != 0 && r.ID > f.ToID,
		r.TS < f.FromTS || f.ToTS != 0 && r.TS > f.ToTS,
		f.Kinds != 0 && f.Kinds&(1<<r.Kind) == 0,
		f.Funcs != nil && !f.Funcs.Has(uint32(r.Func)),
		f.Threads != nil && !f.Threads.Has(uint32(r.Thread)):
		return false
	}
	if f.MinDur > 0 || f.MaxDur > 0 {
		if r.Kind != event.FunctionExit || r.Duration < f.MinDur || f.MaxDur > 0 && r.Duration > f.MaxDur {
			return false
		}
	}
	if f.RetEq != nil || f.RetMin != nil || f.RetMax != nil {
		if r.Kind != event.FunctionExit || r.Flags&event.HasRet == 0 ||
			f.RetEq != nil && r.Ret != *f.RetEq || f.RetMin != nil && r.Ret < *f.RetMin || f.RetMax != nil && r.Ret > *f.RetMax {
			return false
		}
	}
	return true
}

// countReturns fills in the results of the rows' functions, over the newest calls.
func (a *asker) countReturns(parts []part, rows []Stat) (partial string, err error) {
	scalar, rendered := &store.Bits{}, &store.Bits{}
	at := make(map[event.FuncID]*tally, len(rows))
	for i := range rows {
		switch a.fn(rows[i].fn).Ret {
		case value.RetNone:
			continue
		case value.RetPayload:
			rendered.Set(uint32(rows[i].fn))
		default:
			scalar.Set(uint32(rows[i].fn))
		}
		at[rows[i].fn] = newTally()
	}
	cut1, err := a.tally(parts, scalar, false, maxCountedRets, at)
	if err != nil {
		return "", err
	}
	cut2, err := a.tally(parts, rendered, true, maxRenderedRets, at)
	if err != nil {
		return "", err
	}
	for i := range rows {
		if t := at[rows[i].fn]; t != nil {
			rows[i].Returns, rows[i].Distinct = t.top(a.fn(rows[i].fn))
		}
	}
	switch {
	case cut1:
		return fmt.Sprintf("Returns are those of the newest %d calls.", maxCountedRets), nil
	case cut2:
		return fmt.Sprintf("Returns of strings and structs are those of the newest %d calls.", maxRenderedRets), nil
	}
	return "", nil
}

// tally counts the results of funcs over the newest rows of parts, and reports whether it stopped at limit.
func (a *asker) tally(parts []part, funcs *store.Bits, cold bool, limit int, at map[event.FuncID]*tally) (stopped bool,
	err error) {
	if funcs.Len() == 0 {
		return false, nil
	}
	for _, p := range parts {
		f := p.filter
		if f.Kinds &= 1 << event.FunctionExit; f.Kinds == 0 {
			continue
		}
		narrowed := &store.Bits{}
		for fn := range at {
			if funcs.Has(uint32(fn)) && (f.Funcs == nil || f.Funcs.Has(uint32(fn))) {
				narrowed.Set(uint32(fn))
			}
		}
		f.Funcs = narrowed
		left := limit
		err := a.sn.Scan(a.ctx, f, store.ScanOptions{Reverse: true, Cold: cold || p.cold, Rets: !cold && !p.cold &&
			p.pred == nil}, func(row *store.Row) bool {
			if p.pred != nil && !p.pred(row) {
				return true
			}
			if left--; left < 0 {
				stopped = true
				return false
			}
			if t := at[row.Func]; cold {
				if v, ok := a.fn(row.Func).Result(row); ok {
					t.addText(v.Short(40))
				}
			} else if row.Flags&event.HasRet != 0 && row.Flags&(event.Unwound|event.Lost) == 0 {
				t.addWord(row.Ret)
			}
			return true
		})
		if err != nil {
			return false, fmt.Errorf("count results: %w", err)
		}
	}
	return stopped, nil
}

// tally counts different results.
type tally struct {
	words map[int64]int64
	texts map[string]int64
}

func newTally() *tally {
	return &tally{words: make(map[int64]int64), texts: make(map[string]int64)}
}

func (t *tally) addWord(w int64) {
	if _, ok := t.words[w]; ok || len(t.words) < maxDistinct {
		t.words[w]++
	}
}

func (t *tally) addText(s string) {
	if _, ok := t.texts[s]; ok || len(t.texts) < maxDistinct {
		t.texts[s]++
	}
}

// top returns the most frequent results and how many different ones there were.
func (t *tally) top(f *record.Function) ([]ReturnCount, int) {
	out := make([]ReturnCount, 0, maxReturns)
	for _, s := range mostFrequent(t.texts) {
		out = append(out, ReturnCount{s, t.texts[s]})
	}
	for _, w := range mostFrequent(t.words) {
		s := strconv.FormatInt(w, 10)
		if v, ok := f.ResultOf(w); ok {
			s = v.Short(40)
		}
		out = append(out, ReturnCount{s, t.words[w]})
	}
	return out, len(t.texts) + len(t.words)
}

// mostFrequent returns at most maxReturns keys by falling count.
func mostFrequent[K cmp.Ordered](counts map[K]int64) []K {
	before := func(x, y K) int { return cmp.Or(cmp.Compare(counts[y], counts[x]), cmp.Compare(x, y)) }
	top := make([]K, 0, maxReturns+1) // of some thousand different results the few that are shown are not worth a sort
	for k := range counts {
		if len(top) == maxReturns && before(top[maxReturns-1], k) < 0 {
			continue
		}
		i, _ := slices.BinarySearchFunc(top, k, before)
		top = slices.Insert(top, i, k)
		top = top[:min(maxReturns, len(top))]
	}
	return top
}

// table lines the rows up for reading.
func table(rows []Stat, names []string) string {
	head := []string{"function", "calls", "recorded", "sampled", "dropped", "errors", "total", "self", "p50", "p99",
		"returns"}
	recorded := slices.ContainsFunc(rows, func(r Stat) bool { return r.Recorded != nil })
	dropped := slices.ContainsFunc(rows, func(r Stat) bool { return r.Dropped > 0 })
	// else it is what recorded lacks
	sampled := dropped && slices.ContainsFunc(rows, func(r Stat) bool { return r.Sampled > 0 })
	lines := [][]string{head}
	for i := range rows {
		r := &rows[i]
		var rets []string
		for _, rc := range r.Returns {
			rets = append(rets, fmt.Sprintf("%s ×%d", rc.Value, rc.Count))
		}
		if more := r.Distinct - len(r.Returns); more > 0 && r.Distinct >= maxDistinct {
			rets = append(rets, fmt.Sprintf("at least %d more", more))
		} else if more > 0 {
			rets = append(rets, fmt.Sprintf("%d more", more))
		}
		lines = append(lines, []string{
			names[i], fmt.Sprint(r.Calls), fmt.Sprint(*cmp.Or(r.Recorded, &r.Calls)), fmt.Sprint(r.Sampled),
			fmt.Sprint(r.Dropped), fmt.Sprint(r.Errors),
			duration(r.TotalNs), duration(r.SelfNs), duration(r.P50Ns), duration(r.P99Ns), strings.Join(rets, ", "),
		})
	}
	for col, shown := range [...]bool{dropped, sampled, recorded} { // nothing in any row: no column for it
		for i := range lines {
			if !shown {
				lines[i] = slices.Delete(lines[i], 4-col, 5-col)
			}
		}
	}
	last := len(lines[0]) - 1
	width := make([]int, last+1)
	for _, l := range lines {
		for i, s := range l {
			width[i] = max(width[i], utf8.RuneCountInString(s))
		}
	}
	width[0] = min(width[0], maxPadded)
	var b strings.Builder
	for _, l := range lines {
		var line strings.Builder
		for i, s := range l {
			pad := strings.Repeat(" ", max(width[i]-utf8.RuneCountInString(s), 0))
			switch i {
			case 0:
				line.WriteString(s + pad)
			case last:
				line.WriteString("  " + s)
			default:
				line.WriteString("  " + pad + s)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}
