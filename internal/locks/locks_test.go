package locks

import (
	"strings"
	"testing"
)

// TestInversions: circles that threads can close at once, and those that something keeps from it.
func TestInversions(t *testing.T) {
	by := func(thread int) []Taker { return []Taker{{Thread: thread}} }
	threads := []Thread{{FS: 10, At: 1, TID: 1}, {FS: 20, At: 12, TID: 2}, {FS: 30, At: 23, TID: 3}}
	// Thread 1 makes thread 2, joins it, then makes thread 3.
	ordered := []Link{{Thread: 1, Segment: 1, FS: 20, At: 11}, {Thread: 1, Segment: 2, FS: 20, At: 20, Join: true},
		{Thread: 1, Segment: 3, FS: 30, At: 22}}
	for name, c := range map[string]struct {
		edges []Edge
		links []Link
		want  int
	}{
		"two":               {[]Edge{{From: 1, To: 2, By: by(2)}, {From: 2, To: 1, By: by(3)}}, nil, 1},
		"one thread":        {[]Edge{{From: 1, To: 2, By: by(2)}, {From: 2, To: 1, By: by(2)}}, nil, 0},
		"gate":              {[]Edge{{From: 1, To: 2, Gates: []uint64{9}, By: by(2)}, {From: 2, To: 1, Gates: []uint64{8, 9}, By: by(3)}}, nil, 0},
		"other gates":       {[]Edge{{From: 1, To: 2, Gates: []uint64{8}, By: by(2)}, {From: 2, To: 1, Gates: []uint64{9}, By: by(3)}}, nil, 1},
		"joined":            {[]Edge{{From: 1, To: 2, By: by(2)}, {From: 2, To: 1, By: by(3)}}, ordered, 0},
		"before":            {[]Edge{{From: 1, To: 2, By: by(1)}, {From: 2, To: 1, By: by(3)}}, ordered, 0},
		"meanwhile":         {[]Edge{{From: 1, To: 2, By: []Taker{{1, 1, 1}}}, {From: 2, To: 1, By: by(2)}}, ordered, 1},
		"after":             {[]Edge{{From: 1, To: 2, By: []Taker{{1, 2, 2}}}, {From: 2, To: 1, By: by(2)}}, ordered, 0},
		"readers":           {[]Edge{{From: 1, To: 2, FromRead: true, ToRead: true, By: by(2)}, {From: 2, To: 1, FromRead: true, ToRead: true, By: by(3)}}, nil, 0},
		"writer":            {[]Edge{{From: 1, To: 2, FromRead: true, By: by(2)}, {From: 2, To: 1, FromRead: true, By: by(3)}}, nil, 1},
		"three":             {[]Edge{{From: 1, To: 2, By: by(1)}, {From: 2, To: 3, By: by(2)}, {From: 3, To: 1, By: by(3)}}, nil, 1},
		"three, two of one": {[]Edge{{From: 1, To: 2, By: by(1)}, {From: 2, To: 3, By: by(2)}, {From: 3, To: 1, By: by(1)}}, nil, 0},
		"two in three": {[]Edge{{From: 1, To: 2, By: by(1)}, {From: 2, To: 1, By: by(2)}, {From: 2, To: 3, By: by(2)},
			{From: 3, To: 1, By: by(3)}}, nil, 1},
	} {
		table := Table{Edges: c.edges, Threads: threads, Links: c.links}
		got, all := table.Inversions()
		if len(got) != c.want || !all {
			t.Errorf("%s: %v, want %d", name, got, c.want)
		}
	}
}

// TestThreadsReuse: threads that have the same FS base one after the other are told apart.
func TestThreadsReuse(t *testing.T) {
	table := Table{
		Edges:   []Edge{{From: 1, To: 2, By: []Taker{{Thread: 2}}}, {From: 2, To: 1, By: []Taker{{Thread: 3}}}},
		Threads: []Thread{{FS: 10, At: 1}, {FS: 20, At: 12}, {FS: 20, At: 32}},
		Links: []Link{{Thread: 1, Segment: 1, FS: 20, At: 11}, {Thread: 1, Segment: 2, FS: 20, At: 20, Join: true},
			{Thread: 1, Segment: 3, FS: 20, At: 31}},
	}
	if got, _ := table.Inversions(); len(got) != 0 {
		t.Errorf("the second thread was joined before the third was made: %v", got)
	}
	table.Links = table.Links[:1]
	if got, _ := table.Inversions(); len(got) != 1 {
		t.Errorf("without the join: %v, want one", got)
	}
}

// TestText: inversions come first, and all numbers are told.
func TestText(t *testing.T) {
	r := Report{Inversions: []Circle{{Locks: []string{"A", "B"}, Takes: []Take{
		{ThreadID: 7, Holds: "A", Takes: "B", Since: "f (x.c:1)", Stack: []string{"f (x.c:2)"}}}}},
		Contention: []Waiting{{Lock: "A", Kind: "mutex", Waits: 3, TotalNs: 2_500_000, LongestNs: 1_250, Waiter: 7, Owner: 8,
			Places: []Place{{Waits: 3, TotalNs: 2_500_000, Stack: []string{"f (x.c:2)", "main (x.c:9)"}}}}},
		MoreContended: 2, NotSeen: []string{"this", "that"}, NextSteps: "Look."}
	want := `Inversion of A, B: a deadlock when they meet
  thread 7 takes B while it holds A (since f (x.c:1))
    f (x.c:2)
Waited for A (mutex): 3 times, 2.5ms, longest 1.25µs in thread 7, held by 8
  3 times, 2.5ms: f (x.c:2) < main (x.c:9)
… 2 locks more were waited for
Not seen: this; that.
Next: Look.
`
	if got := r.Text(); got != want {
		t.Errorf("text:\n%s\nwant:\n%s", got, want)
	}
	if got := (&Report{Orders: 4}).Text(); !strings.Contains(got, "No inversion among 4 orders") ||
		!strings.Contains(got, "No wait") {
		t.Errorf("of nothing: %s", got)
	}
}
