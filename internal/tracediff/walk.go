package tracediff

import (
	"fmt"
	"slices"

	"github.com/strobe-debug/strobe/internal/event"
)

// What a difference is about.
const (
	WhatArgument  = "argument"
	WhatResult    = "result"
	WhatException = "exception" // one side left the call by an exception, or threw one
	WhatNoReturn  = "no return" // one side never left the call
	WhatOtherCall = "other call"
	WhatOnlyA     = "call only in a"
	WhatOnlyB     = "call only in b"
	WhatThreadA   = "thread only in a"
	WhatThreadB   = "thread only in b"
	WhatCrash     = "crash"
	WhatLogpoint  = "logpoint"
	WhatOutput    = "output"
)

// found is a difference as the hashes tell it.
type found struct {
	what   string
	name   int32
	a, b   *node  // nil: that side has none
	path   []step // with itself
	deep   int    // calls around it that path leaves out
	before *node  // of a: the call before it below the same caller, nil: none
	thread string
	at     event.ID // of a, in order of time
	pure   bool     // a result, with the same arguments and callees that did the same
}

// step is a part of a path: a function, as often as it called itself.
type step struct {
	name  int32
	times int
}

// Bounds of what is remembered of differences; all are counted.
const (
	maxFound     = 2000
	maxSameFound = 20
	pathHead     = 1 // names at the begin of a path
	pathTail     = 4 // and at its end
)

// group counts differences of one kind.
type group struct {
	name int32
	what string
}

// walker goes through the calls that are each other's counterpart, in the order of execution.
type walker struct {
	a, b    *lane
	names   *names
	thread  string
	path    []int32 // open calls' names
	now     event.ID
	aligned int64
	evicted bool // of a side, so that the outermost calls may begin anywhere

	unordered bool // of several threads: what comes before a task is left to chance
	found     []found
	counts    map[group]int
	standIn   []string
}

func (w *walker) add(f found) {
	g := group{f.name, f.what}
	w.counts[g]++
	if w.counts[g] > maxSameFound || len(w.found) >= maxFound {
		return
	}
	f.thread = w.thread
	if w.unordered && len(w.path) <= 1 {
		f.before = nil
	}
	for _, n := range append(w.path, f.name) {
		if last := len(f.path) - 1; last >= 0 && f.path[last].name == n {
			f.path[last].times++
			continue
		}
		if len(f.path) == pathHead+pathTail {
			f.deep += f.path[pathHead].times
			f.path = slices.Delete(f.path, pathHead, pathHead+1)
		}
		f.path = append(f.path, step{n, 1})
	}
	w.found = append(w.found, f)
}

// pair compares two calls, or what stands in their places.
func (w *walker) pair(x, y int32, before *node) {
	a, b := &w.a.nodes[x], &w.b.nodes[y]
	if a.sub == b.sub {
		w.aligned += int64(a.calls)
		w.now = max(w.now, a.enter, a.exit)
		return
	}
	w.now = max(w.now, a.enter)
	if !a.call {
		w.add(found{what: w.names.text[a.name], name: a.name, a: a, b: b, before: before, at: a.enter})
		return
	}
	w.aligned++
	if a.in != b.in {
		w.add(found{what: WhatArgument, name: a.name, a: a, b: b, before: before, at: a.enter})
	}
	w.path = append(w.path, a.name)
	w.children(x, y)
	w.path = w.path[:len(w.path)-1]
	w.now = max(w.now, a.exit)
	if a.out == b.out || (a.flags|b.flags)&event.Lost != 0 {
		return
	}
	f := found{what: WhatResult, name: a.name, a: a, b: b, before: before, at: a.exit}
	switch {
	case a.exit == 0 || b.exit == 0:
		f.what = WhatNoReturn
	case (a.flags^b.flags)&event.Unwound != 0:
		f.what = WhatException
	}
	if f.at == 0 {
		f.at = w.now
	}
	f.pure = a.in == b.in && w.a.below(x) == w.b.below(y)
	w.add(f)
}

// children aligns and compares what two calls caused.
func (w *walker) children(x, y int32) {
	xs, ix := w.a.items(x)
	ys, iy := w.b.items(y)
	i, j := 0, 0
	var before *node
	for _, p := range append(align(ix, iy), pair{len(xs), len(ys)}) {
		before = w.leftovers(xs[i:p.a], ys[j:p.b], x == 0, before)
		if p.a == len(xs) {
			return
		}
		w.pair(xs[p.a], ys[p.b], before)
		before = &w.a.nodes[xs[p.a]]
		i, j = p.a+1, p.b+1
	}
}

// items are a node's children, and what alignment knows of them.
func (l *lane) items(at int32) (kids []int32, out []item) {
	for i := range l.kids(at) {
		n := &l.nodes[i]
		kids = append(kids, i)
		out = append(out, item{sub: n.sub, in: n.in, name: n.name})
	}
	return kids, out
}

// leftovers are children between counterparts that have none of the same function.
func (w *walker) leftovers(xs, ys []int32, root bool, before *node) *node {
	for len(xs) > 0 && len(ys) > 0 {
		a, b := &w.a.nodes[xs[0]], &w.b.nodes[ys[0]]
		if !a.call || !b.call {
			break
		}
		if root && w.evicted && before == nil {
			break
		}
		if root && w.alike(xs[0], ys[0], len(xs) == 1 && len(ys) == 1) { // two tests' own functions
			if len(w.standIn) < 3 {
				w.standIn = append(w.standIn, fmt.Sprintf("%s of a is compared with %s of b", short(w.names.text[a.name], 60),
					short(w.names.text[b.name], 60)))
			}
			w.pair(xs[0], ys[0], before)
		} else {
			w.add(found{what: WhatOtherCall, name: a.name, a: a, b: b, before: before, at: a.enter})
		}
		xs, ys = xs[1:], ys[1:]
		before = a
	}
	if root && w.evicted && before == nil {
		return nil
	}
	for _, x := range xs {
		a := &w.a.nodes[x]
		w.now = max(w.now, a.enter)
		w.add(found{what: w.only(a, WhatOnlyA), name: a.name, a: a, before: before, at: a.enter})
	}
	for _, y := range ys {
		b := &w.b.nodes[y]
		w.add(found{what: w.only(b, WhatOnlyB), name: b.name, b: b, before: before, at: w.now})
	}
	return before
}

// only is what a leftover without a counterpart is.
func (w *walker) only(n *node, what string) string {
	if n.call {
		return what
	}
	return w.names.text[n.name] // exception, logpoint, crash
}

// alike reports whether two outermost calls of other names do the same work: they share a callee, or nothing else is
// there.
func (w *walker) alike(x, y int32, alone bool) bool {
	there := map[int32]bool{}
	for i := range w.a.kids(x) {
		there[w.a.nodes[i].name] = true
	}
	for i := range w.b.kids(y) {
		if there[w.b.nodes[i].name] {
			return true
		}
	}
	return alone && len(there) == 0 && w.b.nodes[y].size == 1
}

// lanePair are two threads that are each other's counterpart; nil: there is none.
type lanePair struct{ a, b *lane }

// pairLanes finds the counterparts of threads: of the same process, by order, and role; those of one role that did the
// same, then that began alike, then by order; then by role alone, by their first call, and at last the only two that
// are left.
func pairLanes(a, b []*lane) (out []lanePair) {
	pa, pb := processes(a), processes(b)
	for _, key := range []func(l *lane, process int) string{
		func(l *lane, process int) string { return fmt.Sprint(process, l.role, l.nodes[0].sub) },
		func(l *lane, process int) string {
			first := l.nodes[min(1, len(l.nodes)-1)]
			return fmt.Sprint(process, l.role, first.name, first.in)
		},
		func(l *lane, process int) string { return fmt.Sprint(process, l.role) },
		func(l *lane, _ int) string { return l.role },
		func(l *lane, _ int) string { return fmt.Sprint(l.nodes[min(1, len(l.nodes)-1)].name) },
	} {
		there := map[string][]*lane{}
		for _, l := range b {
			k := key(l, pb[l])
			there[k] = append(there[k], l)
		}
		taken := map[*lane]bool{}
		var rest []*lane
		for _, l := range a {
			k := key(l, pa[l])
			if same := there[k]; len(same) > 0 {
				out, there[k] = append(out, lanePair{l, same[0]}), same[1:]
				taken[same[0]] = true
			} else {
				rest = append(rest, l)
			}
		}
		a, b = rest, slices.DeleteFunc(slices.Clone(b), func(l *lane) bool { return taken[l] })
	}
	if len(a) == 1 && len(b) == 1 {
		return append(out, lanePair{a[0], b[0]})
	}
	for _, l := range a {
		out = append(out, lanePair{a: l})
	}
	for _, l := range b {
		out = append(out, lanePair{b: l})
	}
	return out
}

// processes numbers the processes of lanes.
func processes(lanes []*lane) map[*lane]int {
	out, seen := map[*lane]int{}, map[int32]int{}
	for _, l := range lanes {
		n, ok := seen[l.thread.PID]
		if !ok {
			n = len(seen)
			seen[l.thread.PID] = n
		}
		out[l] = n
	}
	return out
}
