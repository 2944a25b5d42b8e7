package waits

import (
	"fmt"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/sorting"
)

// Row is one thread for a reader, or several that do the same.
type Row struct {
	ThreadID   int      `json:"threadId"`
	Name       string   `json:"name,omitempty"`
	PID        int      `json:"pid,omitempty"` // where there are several processes
	State      State    `json:"state"`
	WaitingFor *Wait    `json:"waitingFor,omitempty"`
	Backtrace  []string `json:"backtrace"`           // innermost first; the program's own functions only, where it has any
	Note       string   `json:"note,omitempty"`      // why the backtrace is not whole
	Also       []*Wait  `json:"-"`                   // of the other threads in this row
	Count      int      `json:"count,omitempty"`     // threads in this row, where it is not one
	ThreadIDs  []int    `json:"threadIds,omitempty"` // of them, the first ones
	// it only waits for tests to end: when its time is up it says how long they take
	Harness bool `json:"-"`
	// where in the program's own code it is, of a thread that only an agent knows
	At string `json:"-"`
}

// Report is what a target's threads do.
type Report struct {
	Threads     []Row
	ThreadCount int // of the target
	NotShown    int // of them, for their number
	Deadlocks   []Deadlock
}

const (
	maxRows = 100
	maxIDs  = 8 // of threads folded into a row
	foldAt  = 3 // threads that do the same from which on they share a row
)

// Summarize makes the report. Threads that are the same in state, wait and stack share a row, unless they are in a
// deadlock; those come first when not all can be shown.
func Summarize(threads []*Thread, procs map[int]*Process, deadlocks []Deadlock) *Report {
	r := &Report{Threads: []Row{}, ThreadCount: len(threads), Deadlocks: deadlocks}
	member := map[int]bool{}
	for _, d := range deadlocks {
		for _, m := range d.Threads {
			member[m.ThreadID] = true
		}
	}
	groups := map[string][]int{} // rows by what they show
	var rows []Row
	for _, t := range threads {
		row := Row{ThreadID: t.TID, Name: t.Name, State: t.State, WaitingFor: t.Wait,
			Backtrace: t.Backtrace(rootOf(procs[t.PID])), Note: t.Lack, Harness: t.harness()}
		if len(procs) > 1 {
			row.PID = t.PID
		}
		key := fmt.Sprintf("%d|%s|%s|%s", t.PID, t.State, foldable(t.Wait), strings.Join(row.Backtrace, "\n"))
		if member[t.TID] {
			key = fmt.Sprint(t.TID)
		}
		groups[key] = append(groups[key], len(rows))
		rows = append(rows, row)
	}
	away := map[int]bool{}
	for _, g := range groups {
		if len(g) < foldAt {
			continue
		}
		first := &rows[g[0]]
		first.Count = len(g)
		for i, n := range g {
			if i < maxIDs {
				first.ThreadIDs = append(first.ThreadIDs, rows[n].ThreadID)
			}
			if i > 0 {
				away[n] = true
				first.Also = append(first.Also, rows[n].WaitingFor)
			}
		}
	}
	for i := range rows {
		if !away[i] {
			r.Threads = append(r.Threads, rows[i])
		}
	}
	if len(r.Threads) > maxRows {
		sorting.By(r.Threads, func(x, y Row) int { return rank(member, &x) - rank(member, &y) })
		for _, row := range r.Threads[maxRows:] {
			r.NotShown += max(row.Count, 1)
		}
		r.Threads = r.Threads[:maxRows]
	}
	return r
}

// harness reports whether a thread is a test framework's own that waits for tests: Rust's libtest.
func (t *Thread) harness() bool {
	return slices.ContainsFunc(t.Frames, func(f Frame) bool {
		return f.Function == "test::run_tests" || strings.HasPrefix(f.Function, "test::run_tests::") ||
			f.Function == "test::console::run_tests_console"
	})
}

func rank(member map[int]bool, r *Row) int {
	if member[r.ThreadID] {
		return 0
	}
	return 1
}

func rootOf(p *Process) string {
	if p == nil {
		return ""
	}
	return p.Root
}

// foldable is what two waits must have in common to share a row. A park, a sleep and a condition have an object of
// their own in each thread, which says nothing.
func foldable(w *Wait) string {
	if w == nil {
		return ""
	}
	object := w.Object
	if !w.isLock() && w.Kind != "barrier" && w.Kind != "semaphore" && w.Kind != "condvar" {
		object = ""
	}
	length := "" // how long a sleep lasts is what it says
	if w.Kind == "sleep" {
		length = w.Detail
	}
	return fmt.Sprintf("%s %s %d %s %v %s", w.Kind, object, w.Owner, w.File, w.Timed, length)
}
