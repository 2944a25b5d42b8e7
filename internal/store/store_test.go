package store

import (
	"fmt"
	"testing"

	"github.com/strobe-debug/strobe/internal/event"
)

func TestScanMatchesBruteForce(t *testing.T) {
	seeds := uint64(6) // each number of functions with and without eviction
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			src := newSource(seed, []int{1, 20, 700}[seed%3], 1+int(seed)%5)
			var o Options
			evicts := seed%2 == 1
			if evicts {
				o.MaxEvents = 9000
			}
			st, path := testStore(t, o)
			src.register(st)
			var m model
			for m.rows == nil || len(m.rows) < 40_000 {
				b := src.batch(1 + src.rnd.IntN(5000))
				m.put(b)
				must(t, st.Put(b))
				if src.rnd.IntN(3) == 0 {
					check(t, st, src, &m, 4)
				}
			}
			check(t, st, src, &m, 40)
			checkLimit(t, st, &m, o.MaxEvents)
			must(t, st.SetResult(Result{Status: "exited", EndedAt: 7}))
			stats, fs := st.Stats(), st.FuncStats()
			must(t, st.Close())

			re, err := Open(path)
			must(t, err)
			defer func() { must(t, re.Close()) }()
			check(t, re, src, &m, 40)
			if got := re.Result(); got.Status != "exited" || got.Interrupted || got.EndedAt != 7 {
				t.Errorf("Result() = %+v", got)
			}
			got := re.Stats()
			got.SizeBytes, stats.SizeBytes = 0, 0
			if got != stats {
				t.Errorf("Stats() after Open = %+v, want %+v", got, stats)
			}
			if a, b := fmt.Sprint(re.FuncStats()), fmt.Sprint(fs); a != b {
				t.Errorf("FuncStats() after Open = %.300s, want %.300s", a, b)
			}
		})
	}
}

// check compares n random filters, and some fixed ones.
func check(t *testing.T, st *Store, src *source, m *model, n int) {
	t.Helper()
	sn := snapshot(t, st)
	defer sn.Close()
	first := sn.FirstCallID()
	gone := func(r *Row) bool { return r.Kind.IsCall() && r.ID < first }
	compare(t, sn, m, Filter{}, gone)
	for range n {
		compare(t, sn, m, src.filter(m), gone)
	}
}

func checkLimit(t *testing.T, st *Store, m *model, limit int64) {
	t.Helper()
	s := st.Stats()
	var calls int64
	var kinds [event.NumKinds]int64
	for i := range m.rows {
		kinds[m.rows[i].Kind]++
		if m.rows[i].Kind.IsCall() {
			calls++
		}
	}
	if s.Events != kinds {
		t.Errorf("Stats().Events = %v, want %v", s.Events, kinds)
	}
	if s.Kept+s.Evicted != calls || s.LastID != int64(len(m.rows)) {
		t.Errorf("Stats() = %+v, want %d calls", s, calls)
	}
	if limit > 0 && (s.Kept < limit || s.Kept >= limit+blockEvents) {
		t.Errorf("%d calls kept, want %d and less than a block more", s.Kept, limit)
	}
}
