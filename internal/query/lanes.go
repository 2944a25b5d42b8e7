package query

import (
	"slices"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/record"
	"github.com/strobe-debug/strobe/internal/sorting"
	"github.com/strobe-debug/strobe/internal/store"
)

// A call that can be left and come back to (a generator, a coroutine) is on a lane of its own beside its thread's. In
// trees it is below the call that ran it first, in the order in which it began.

// maxWaiting bounds how many ended calls wait for one that began before them: behind a coroutine that never ends, as a
// server's, the order is that of their ends.
const maxWaiting = 64

// lanes returns the lanes of each thread, and the thread of each lane.
func (a *asker) lanes() (lanes map[event.ThreadID][]event.ThreadID, of map[event.ThreadID]event.ThreadID) {
	type key struct{ pid, tid int32 }
	homes := map[key]event.ThreadID{}
	for i, t := range a.threads {
		if !event.IsAsync(t.Name) {
			homes[key{t.PID, t.TID}] = event.ThreadID(i)
		}
	}
	lanes, of = map[event.ThreadID][]event.ThreadID{}, map[event.ThreadID]event.ThreadID{}
	for i, t := range a.threads {
		if home, ok := homes[key{t.PID, t.TID}]; ok && event.IsAsync(t.Name) {
			lanes[home] = append(lanes[home], event.ThreadID(i))
			of[event.ThreadID(i)] = home
		}
	}
	return lanes, of
}

// begins finds the parent of a call that is the first of its lane. It reports whether the call is to be in the tree: of
// selected calls only what is below them.
func (b *builder) begins(n *node, open *record.Stack[*node], row *store.Row) bool {
	below := b.calls[row.Parent]
	if b.begun != nil {
		if row.ID != b.selected && below == nil {
			return false
		}
		b.begun[row.ID] = true
	}
	if open.Top() == nil && below != nil {
		n.up = below
	}
	b.calls[row.ID] = n
	if open != &b.open && open.Top() == nil {
		parent := &b.root
		if n.up != nil {
			parent = n.up
		}
		parent.running = append(parent.running, n.id)
	}
	return true
}

// inOrder puts an ended call below its parent, behind those that began before it.
func (b *builder) inOrder(parent, n *node) {
	parent.running = slices.DeleteFunc(parent.running, func(id event.ID) bool { return id == n.id })
	if len(parent.waiting) == 0 && (len(parent.running) == 0 || n.id < slices.Min(parent.running)) {
		b.put(parent, n)
		return
	}
	parent.waiting = append(parent.waiting, n)
	first := event.ID(0)
	if len(parent.running) > 0 && len(parent.waiting) < maxWaiting {
		first = slices.Min(parent.running)
	}
	sorting.By(parent.waiting, func(x, y *node) int { return int(x.id - y.id) })
	for len(parent.waiting) > 0 && (first == 0 || parent.waiting[0].id < first) {
		b.put(parent, parent.waiting[0])
		parent.waiting = parent.waiting[1:]
	}
}

// flush puts what waits: nothing comes before it any more.
func (b *builder) flush(n *node) {
	for _, kid := range n.waiting {
		b.put(n, kid)
	}
	n.waiting = nil
}
