package query

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/store"
)

// A flame tree is the merged call stacks of a session: one node for each path of names from an outermost call inwards,
// with how often it was called and how long. It is made in one walk from the newest event to the oldest, as pictures
// are, and has a bounded number of nodes: what would be more is added to the caller, and counted.

// maxFlameNodes bounds a tree: 11 MB, and the map of its edges.
const maxFlameNodes = 200_000

// flameNode is one path. Its parent stands before it.
type flameNode struct {
	parent, name int32
	calls        int64 // that began or ended in the stretch of time
	total, self  int64 // nanoseconds in the stretch; as in Stat
	foldedCalls  int64 // of calls below it that have no node, with their own time
	foldedNs     int64
}

// flameFunction is what one name did anywhere in the tree, folded or not.
type flameFunction struct{ calls, total, self int64 }

// flameTree is the merged stacks of one store.
type flameTree struct {
	names       []string
	functions   []flameFunction // by name
	nodes       []flameNode     // the first is the root, which is no call
	foldedCalls int64
}

// flameKey says of what a kept tree is.
type flameKey struct {
	filter string
	lastID event.ID
}

// flameFrame is a call that is open at a point of the walk.
type flameFrame struct {
	node    int32 // -1: it is outside of what is selected
	folded  bool  // node is the caller that it is added to
	timed   bool  // it ended, and when is known
	name    int32
	enter   event.ID // with lanes
	took    int64
	belowNs int64
}

// flameWalk makes a tree.
type flameWalk struct {
	a        *asker
	tree     *flameTree
	from, to int64
	within   *store.Bits // functions whose calls are the outermost; nil: all
	nameOf   []int32     // by function, -1: not looked at yet
	byName   map[string]int32
	kids     map[uint64]int32 // by parent and name
	lanes    [][]flameFrame

	// Of sessions with lanes of generators and coroutines: where calls are that are open; else nil.
	calls map[event.ID]flamePlace
}

// flamePlace is an open call's place on its lane's stack.
type flamePlace struct{ lane, depth int }

// checkFlame refuses filters that select single calls: stacks are merged of whole threads.
func checkFlame(r *Request) error {
	whole := Request{SessionID: r.SessionID, Function: r.Function, SourceFile: r.SourceFile, ThreadID: r.ThreadID,
		ThreadName: r.ThreadName, PID: r.PID, TimeFrom: r.TimeFrom, TimeTo: r.TimeTo, View: r.View}
	if !reflect.DeepEqual(*r, whole) {
		return invalid("filter", "Leave the others out.",
			"a flame graph takes function, sourceFile, threadId, threadName, pid, timeFrom and timeTo")
	}
	return nil
}

// flameOf returns the tree of a store: the one that was made last, if it is that.
func flameOf(ctx context.Context, st *store.Store, req Request) (*flameTree, error) {
	req.View = "tree" // threads are shown whole, whatever they were called meanwhile
	f, err := compile(req)
	if err != nil {
		return nil, err
	}
	sn, err := st.Snapshot(ctx)
	if err != nil {
		return nil, fmt.Errorf("take snapshot: %w", err)
	}
	defer sn.Close()
	req.SessionID = ""
	text, err := json.Marshal(&req)
	if err != nil {
		return nil, err
	}
	key, kept := flameKey{string(text), sn.LastID()}, caches.Of(st)
	kept.mu.Lock()
	tree, have := kept.flame, kept.flameKey
	kept.mu.Unlock()
	if tree != nil && have == key {
		return tree, nil
	}
	if tree, err = newAsker(ctx, st, sn, f).flame(); err != nil {
		return nil, err
	}
	kept.mu.Lock()
	kept.flame, kept.flameKey = tree, key
	kept.mu.Unlock()
	return tree, nil
}

// flame walks over the events that the filters select.
func (a *asker) flame() (*flameTree, error) {
	w := &flameWalk{a: a, tree: &flameTree{nodes: []flameNode{{parent: -1, name: -1}}}, byName: map[string]int32{},
		kids: map[uint64]int32{}, nameOf: make([]int32, len(a.fns)+1), lanes: make([][]flameFrame, len(a.threads)+1)}
	for i := range w.nameOf {
		w.nameOf[i] = -1
	}
	parts, err := a.plan()
	if err != nil || len(parts) == 0 {
		return w.tree, err
	}
	threads := &store.Bits{} // parts are disjoint by threads
	for _, p := range parts {
		if p.filter.Threads == nil {
			threads = nil
			break
		}
		for i := range a.threads {
			if p.filter.Threads.Has(uint32(i)) {
				threads.Set(uint32(i))
			}
		}
	}
	f := store.Filter{Kinds: callKinds, Threads: threads, FromTS: parts[0].filter.FromTS, BeganTo: parts[0].filter.ToTS}
	w.from, w.to, w.within = f.FromTS, f.BeganTo, parts[0].filter.Funcs
	if w.to == 0 {
		w.to = a.sn.LastTS()
	}
	if slices.ContainsFunc(a.threads, func(t event.Thread) bool { return event.IsAsync(t.Name) }) {
		w.calls = map[event.ID]flamePlace{}
	}
	if err := w.open(threads); err != nil {
		return nil, err
	}
	how := store.ScanOptions{Reverse: true, Times: w.calls == nil, Cold: w.calls != nil}
	err = a.sn.Scan(a.ctx, f, how, func(r *store.Row) bool {
		w.row(r)
		return true
	})
	if err != nil {
		return nil, fmt.Errorf("merge stacks: %w", err)
	}
	for i := range w.lanes {
		for len(w.lanes[i]) > 0 {
			w.pop(i)
		}
	}
	return w.tree, nil
}

// open begins with the calls that have not ended, which no exit tells of.
func (w *flameWalk) open(threads *store.Bits) error {
	for id := range w.a.threads {
		if threads != nil && !threads.Has(uint32(id)) {
			continue
		}
		rows, err := openCalls(w.a.ctx, w.a.sn, event.ThreadID(id))
		if err != nil {
			return err
		}
		for i := range rows {
			if rows[i].TS <= w.to {
				w.push(id, &rows[i])
			}
		}
	}
	return nil
}

// row takes the next older event.
func (w *flameWalk) row(r *store.Row) {
	lane := min(int(r.Thread), len(w.lanes)-1)
	if r.Kind == event.FunctionExit {
		w.push(lane, r)
	} else if len(w.lanes[lane]) > 0 {
		w.pop(lane)
	}
}

// push takes a call by its exit, or by its enter where it has none.
func (w *flameWalk) push(lane int, r *store.Row) {
	ended := r.Kind == event.FunctionExit
	began, f := r.TS-r.Duration, flameFrame{timed: ended && r.Flags&event.Lost == 0, node: -1, name: w.name(r.Func)}
	if ended {
		f.took = max(0, min(r.TS, w.to)-max(began, w.from))
	}
	stack := w.lanes[lane]
	up := &flameFrame{node: -1}
	if n := len(stack); n > 0 {
		up = &stack[n-1]
		up.belowNs += f.took
	} else if w.calls != nil {
		up = w.caller(&f, r)
	}
	if w.calls != nil {
		if f.enter = r.Enter; !ended {
			f.enter = r.ID
		}
		w.calls[f.enter] = flamePlace{lane, len(stack)}
	}
	switch {
	case up.node >= 0:
		f.node, f.folded = w.child(up, f.name)
	case w.within == nil || w.within.Has(uint32(r.Func)):
		f.node, f.folded = w.child(&flameFrame{}, f.name)
	}
	// One that is around the whole stretch takes time of it; it was not called there.
	if f.node >= 0 && (began >= w.from || ended && r.TS <= w.to) {
		w.tree.functions[f.name].calls++
		if f.folded {
			w.tree.nodes[f.node].foldedCalls++
			w.tree.foldedCalls++
		} else {
			w.tree.nodes[f.node].calls++
		}
	}
	w.lanes[lane] = append(stack, f)
}

// caller is the call that ran the first one of a lane; what ran while that was left is no time of either, as
// the store counts it.
func (w *flameWalk) caller(f *flameFrame, r *store.Row) *flameFrame {
	at, open := w.calls[r.Parent]
	if r.Kind == event.FunctionExit && event.IsAsync(w.a.thread(r.Thread).Name) {
		f.belowNs = min(max(r.Ret, 0)*1000, f.took)
	}
	if !open {
		return &flameFrame{node: -1}
	}
	up := &w.lanes[at.lane][at.depth]
	if at.depth == len(w.lanes[at.lane])-1 {
		up.belowNs += f.took - f.belowNs
	}
	return up
}

// pop comes to a call's begin: what it called is known.
func (w *flameWalk) pop(lane int) {
	last := len(w.lanes[lane]) - 1
	f := w.lanes[lane][last]
	w.lanes[lane] = w.lanes[lane][:last]
	delete(w.calls, f.enter)
	if f.node < 0 || !f.timed {
		return
	}
	self, n := max(0, f.took-f.belowNs), &w.tree.nodes[f.node]
	if f.folded {
		n.foldedNs += self
	} else {
		n.total, n.self = n.total+f.took, n.self+self
	}
	fn := &w.tree.functions[f.name]
	fn.total, fn.self = fn.total+f.took, fn.self+self
}

// child is the node of a name below a caller, or the caller where there are too many.
func (w *flameWalk) child(up *flameFrame, name int32) (node int32, folded bool) {
	if up.folded {
		return up.node, true
	}
	key := uint64(up.node)<<32 | uint64(name)
	if id, ok := w.kids[key]; ok {
		return id, false
	}
	if len(w.tree.nodes) >= maxFlameNodes {
		return up.node, true
	}
	id := int32(len(w.tree.nodes))
	w.tree.nodes = append(w.tree.nodes, flameNode{parent: up.node, name: name})
	w.kids[key] = id
	return id, false
}

// name is a function's name by its number in the tree.
func (w *flameWalk) name(fn event.FuncID) int32 {
	at := min(int(fn), len(w.nameOf)-1)
	if w.nameOf[at] < 0 {
		name := w.a.fn(fn).Name
		id, ok := w.byName[name]
		if !ok {
			id = int32(len(w.tree.names))
			w.byName[name] = id
			w.tree.names = append(w.tree.names, name)
			w.tree.functions = append(w.tree.functions, flameFunction{})
		}
		w.nameOf[at] = id
	}
	return w.nameOf[at]
}
