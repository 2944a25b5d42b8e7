package waits

import (
	"fmt"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/sorting"
)

// deadlocks finds the circles: every thread waits for at most one other.
func (a *analysis) deadlocks() []Deadlock {
	var found []Deadlock
	var lost []objectID        // of each, the lock whose owner is gone
	gone := map[objectID]int{} // threads that wait for it
	done := map[*Thread]int{}  // the walk that came there first
	for i, t := range a.threads {
		var path []*Thread
		at := t
		for at != nil && done[at] == 0 {
			done[at] = i + 1
			path = append(path, at)
			if at.Wait != nil && at.Wait.OwnerGone {
				id := objectID{at.PID, at.Wait.object}
				if gone[id]++; gone[id] == 1 {
					found, lost = append(found, a.gone(at)), append(lost, id)
				}
			}
			at = a.next(at)
		}
		if at == nil || done[at] != i+1 {
			continue
		}
		found, lost = append(found, a.circle(path[slices.Index(path, at):])), append(lost, objectID{})
	}
	for i := range found {
		found[i].Blocked = a.behind(&found[i]) + max(gone[lost[i]]-1, 0)
	}
	sorting.By(found, func(x, y Deadlock) int { return x.Threads[0].ThreadID - y.Threads[0].ThreadID })
	return found
}

// next is the thread that another one waits for, or nil.
func (a *analysis) next(t *Thread) *Thread {
	if t.Wait == nil || t.Wait.Owner == 0 || t.Wait.OwnerGone {
		return nil
	}
	return a.byTID[t.Wait.Owner]
}

func (a *analysis) member(t *Thread) Member {
	return Member{ThreadID: t.TID, Name: t.Name, WaitsFor: t.Wait.What(), HeldBy: t.Wait.Owner,
		At: t.where(a.procs[t.PID].Root)}
}

func (w *Wait) probable() bool { return w.OwnerKnownBy != "lock" }

func (t *Thread) String() string {
	if t.TID < 0 { // one that the kernel does not know is known by its name
		return t.Name
	}
	if t.Name == "" {
		return fmt.Sprintf("thread %d", t.TID)
	}
	return fmt.Sprintf("thread %d (%s)", t.TID, t.Name)
}

func (t *Thread) short() string {
	if t.TID < 0 {
		return t.Name
	}
	return fmt.Sprintf("thread %d", t.TID)
}

func (a *analysis) gone(t *Thread) Deadlock {
	m := a.member(t)
	return Deadlock{Threads: []Member{m}, Text: fmt.Sprintf(
		"deadlock: %v waits in %s for %s, whose owner, thread %d, is gone: it ended without unlocking, or was left "+
			"behind by a fork.",
		t, m.At, m.WaitsFor, t.Wait.Owner)}
}

// circle describes one, from its lowest thread on.
func (a *analysis) circle(threads []*Thread) Deadlock {
	first := 0
	for i, t := range threads {
		if t.TID < threads[first].TID {
			first = i
		}
	}
	threads = append(slices.Clone(threads[first:]), threads[:first]...)
	d := Deadlock{}
	var b strings.Builder
	for i, t := range threads {
		m := a.member(t)
		d.Threads = append(d.Threads, m)
		d.Probable = d.Probable || t.Wait.probable()
		d.Timed = d.Timed || t.Wait.Timed
		d.Breakable = d.Breakable || t.Wait.Asked != nil
		if i == 0 {
			fmt.Fprintf(&b, "deadlock: %v ", t)
		} else {
			b.WriteString(", which ")
		}
		fmt.Fprintf(&b, "waits in %s for %s", m.At, m.WaitsFor)
		switch next := threads[(i+1)%len(threads)]; {
		case t.Wait.Kind == "child" && i < len(threads)-1:
			fmt.Fprintf(&b, ", %v", next)
		case t.Wait.Kind == "child":
			fmt.Fprintf(&b, ", thread %d", next.TID)
		case t.Wait.Kind == "join" && i < len(threads)-1:
			fmt.Fprintf(&b, " of %v", next)
		case t.Wait.Kind == "join" && next == t:
			b.WriteString(" of itself")
		case t.Wait.Kind == "join":
			b.WriteString(" of " + next.short())
		case len(threads) == 1:
			b.WriteString(", which it holds itself")
		case i < len(threads)-1:
			fmt.Fprintf(&b, ", held by %v", next)
		default:
			b.WriteString(", held by " + next.short())
		}
		if t.Wait.Timed {
			b.WriteString(" (with a time limit)")
		}
	}
	b.WriteByte('.')
	if d.Probable {
		b.WriteString(" Who holds what was inferred from variables and stacks.")
	}
	d.Text = b.String()
	return d
}

// behind counts the threads whose waits lead to those of a deadlock.
func (a *analysis) behind(d *Deadlock) int {
	in := map[int]bool{}
	for _, m := range d.Threads {
		in[m.ThreadID] = true
	}
	members, n := len(in), 0
	for _, t := range a.threads {
		at := t
		for steps := 0; at != nil && !in[at.TID] && steps < len(a.threads); steps++ {
			at = a.next(at)
		}
		if at != nil && in[at.TID] {
			n++
		}
	}
	return n - members
}

// Same reports whether two deadlocks are the same threads in the same waits.
func (d *Deadlock) Same(o *Deadlock) bool {
	return slices.Equal(d.Threads, o.Threads)
}

// Circles finds those of threads that are told by rows: a wait's owner is the thread that it is for.
func Circles(rows []Row) []Deadlock {
	a := &analysis{procs: map[int]*Process{}, byTID: map[int]*Thread{}}
	for i := range rows {
		row := &rows[i]
		if row.ThreadID == 0 {
			continue
		}
		t := &Thread{PID: row.PID, TID: row.ThreadID, Name: row.Name, Wait: row.WaitingFor}
		if row.At != "" {
			t.Frames = []Frame{{Function: row.At}}
		}
		a.procs[t.PID] = &Process{}
		a.byTID[t.TID] = t
		a.threads = append(a.threads, t)
	}
	return a.deadlocks()
}
