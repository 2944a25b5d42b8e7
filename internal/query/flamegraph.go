package query

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/strobe-debug/strobe/internal/sorting"
	"github.com/strobe-debug/strobe/internal/store"
)

// Bounds of a flame graph.
const (
	MaxFlameNodes     = 20_000
	maxFlameFunctions = 2000 // of the list
)

// FlameRequest asks for a flame graph.
type FlameRequest struct {
	Filter  Request      // by function, thread and time; function's calls are the outermost
	By      string       // time, count
	Path    []string     // names from the outermost call to the one that is zoomed to; none: all
	Nodes   int          // at most, 1 to MaxFlameNodes
	Against *store.Store // another session, with which it is compared; nil: none
}

// Flame is the answer: nodes as columns, a node's parent before it. The first is the call that Path names, or nothing.
// With another session its values are A's, and those of B stand beside them.
type Flame struct {
	By        string     `json:"by"`
	Names     []string   `json:"names"`
	Parent    []int32    `json:"parent"` // -1: the first
	Name      []int32    `json:"name"`   // of names; -1: of the root
	A         FlameSide  `json:"a"`
	B         *FlameSide `json:"b,omitempty"`
	Nodes     int        `json:"nodes"` // that there are at and below the first; the smallest are left out
	Functions []FlameSum `json:"functions"`
	Of        int        `json:"of"` // functions that there are
	Notes     []string   `json:"notes,omitempty"`
}

// FlameSide is the nodes' values of one session.
type FlameSide struct {
	All    int64   `json:"all"`    // weight of the whole graph
	Weight []int64 `json:"weight"` // by time nanoseconds, by count calls; of the node and all below it
	Calls  []int64 `json:"calls"`
	Total  []int64 `json:"totalNs"`
	Self   []int64 `json:"selfNs"`
}

// FlameSum is what one function did anywhere, in nanoseconds, as view stats says it.
type FlameSum struct {
	Function string `json:"function"`
	Calls    int64  `json:"calls"`
	TotalNs  int64  `json:"totalNs"`
	SelfNs   int64  `json:"selfNs"`
	CallsB   int64  `json:"callsB,omitempty"`
	TotalNsB int64  `json:"totalNsB,omitempty"`
	SelfNsB  int64  `json:"selfNsB,omitempty"`
}

// bothNode is a path with its values in each of two sessions.
type bothNode struct {
	parent, name int32
	side         [2]flameNode
	weight       [2]int64
}

// bothTrees is two trees in one; of one session the other side is zero.
type bothTrees struct {
	names  []string
	byName map[string]int32
	sums   []FlameSum // by name
	nodes  []bothNode
	kids   map[uint64]int32
}

// DrawFlame merges call stacks. It does not flush.
func DrawFlame(ctx context.Context, st *store.Store, req FlameRequest) (*Flame, error) {
	if req.Nodes < 1 || req.Nodes > MaxFlameNodes || req.By != "time" && req.By != "count" {
		return nil, invalid("nodes", "Give 1 to 20,000 nodes, by time or count.", "no flame graph of %d nodes by %q",
			req.Nodes, req.By)
	}
	if err := checkFlame(&req.Filter); err != nil {
		return nil, err
	}
	both := &bothTrees{byName: map[string]int32{}, kids: map[uint64]int32{}, nodes: []bothNode{{parent: -1, name: -1}}}
	var notes []string
	for i, s := range []*store.Store{st, req.Against} {
		if s == nil {
			continue
		}
		tree, err := flameOf(ctx, s, req.Filter)
		if err != nil {
			return nil, err
		}
		both.add(tree, i)
		of := ""
		if req.Against != nil {
			of = " of " + s.Meta().SessionID
		}
		notes = append(notes, flameLacks(s, tree, of)...)
	}
	both.weigh(req.By == "count")
	first := both.find(req.Path)
	if first < 0 {
		return nil, invalid("path", "Zoom out.", "no call has the stack %q", req.Path)
	}
	f := both.graph(first, &req)
	f.Notes = append(f.Notes, notes...)
	return f, nil
}

// flameLacks says what is not in a tree.
func flameLacks(st *store.Store, tree *flameTree, of string) (notes []string) {
	var sampled, dropped int64
	for _, s := range st.FuncStats() {
		sampled, dropped = sampled+s.Sampled, dropped+s.Dropped
	}
	for _, lack := range []struct {
		n    int64
		what string
	}{
		{tree.foldedCalls, "calls are added to their callers: there are more different stacks than are kept"},
		{sampled, "calls were left out by sampling"},
		{dropped, "calls were lost"},
		{st.Stats().Evicted, "call events were dropped by the session's limit"},
	} {
		if lack.n > 0 {
			notes = append(notes, fmt.Sprintf("%d%s %s.", lack.n, of, lack.what))
		}
	}
	return notes
}

// name is a function's number.
func (b *bothTrees) name(name string) int32 {
	id, ok := b.byName[name]
	if !ok {
		id = int32(len(b.names))
		b.byName[name] = id
		b.names = append(b.names, name)
		b.sums = append(b.sums, FlameSum{Function: name})
	}
	return id
}

// add takes a session's tree as side 0 or 1.
func (b *bothTrees) add(t *flameTree, side int) {
	names := make([]int32, len(t.names))
	for i, name := range t.names {
		names[i] = b.name(name)
		sum, fn := &b.sums[names[i]], t.functions[i]
		if side == 0 {
			sum.Calls, sum.TotalNs, sum.SelfNs = fn.calls, fn.total, fn.self
		} else {
			sum.CallsB, sum.TotalNsB, sum.SelfNsB = fn.calls, fn.total, fn.self
		}
	}
	at := make([]int32, len(t.nodes)) // nodes of t are these
	for i := range t.nodes {
		if n := &t.nodes[i]; i > 0 {
			at[i] = b.child(at[n.parent], names[n.name])
		}
		b.nodes[at[i]].side[side] = t.nodes[i]
	}
}

func (b *bothTrees) child(up, name int32) int32 {
	key := uint64(up)<<32 | uint64(name)
	id, ok := b.kids[key]
	if !ok {
		id = int32(len(b.nodes))
		b.nodes = append(b.nodes, bothNode{parent: up, name: name})
		b.kids[key] = id
	}
	return id
}

// weigh adds up what nodes have, with what is below them.
func (b *bothTrees) weigh(count bool) {
	for i := len(b.nodes) - 1; i >= 0; i-- {
		n := &b.nodes[i]
		for side := range n.side {
			s := &n.side[side]
			if count {
				n.weight[side] += s.calls + s.foldedCalls
			} else {
				n.weight[side] += s.self + s.foldedNs
			}
			if i > 0 {
				b.nodes[n.parent].weight[side] += n.weight[side]
			}
		}
	}
}

// find follows a path of names; -1: there is none.
func (b *bothTrees) find(path []string) int32 {
	at := int32(0)
	for _, name := range path {
		id, known := b.byName[name]
		next, ok := b.kids[uint64(at)<<32|uint64(id)]
		if !known || !ok {
			return -1
		}
		at = next
	}
	return at
}

// graph is the largest nodes from one on.
func (b *bothTrees) graph(first int32, req *FlameRequest) *Flame {
	f := &Flame{By: req.By, Names: []string{}, A: FlameSide{All: b.nodes[0].weight[0]}}
	sides := []*FlameSide{&f.A}
	if req.Against != nil {
		f.B = &FlameSide{All: b.nodes[0].weight[1]}
		sides = append(sides, f.B)
	}
	const not = -1
	at := make([]int32, len(b.nodes)) // the number of a node that is below first, else not
	var weights []int64
	weight := func(i int) int64 { return b.nodes[i].weight[0] + b.nodes[i].weight[1] }
	for i := range b.nodes {
		if n := &b.nodes[i]; int32(i) != first && (i == 0 || at[n.parent] == not) {
			at[i] = not
			continue
		}
		weights = append(weights, weight(i))
	}
	f.Nodes = len(weights)
	slices.Sort(weights)
	least, room := int64(0), req.Nodes // of those that weigh the least not all may have room
	if cut := len(weights) - req.Nodes; cut > 0 {
		least = weights[cut]
		above, _ := slices.BinarySearch(weights, least+1)
		room = req.Nodes - (len(weights) - above)
	}
	names := map[int32]int32{}
	for i := range b.nodes {
		n := &b.nodes[i]
		if at[i] == not {
			continue
		}
		if w := weight(i); int32(i) != first && (w < least || at[n.parent] == not || w == least && room == 0) {
			at[i] = not
			continue
		} else if w == least {
			room--
		}
		parent, name := int32(not), int32(not)
		if int32(i) != first {
			parent = at[n.parent]
		}
		if i > 0 {
			id, ok := names[n.name]
			if !ok {
				id = int32(len(f.Names))
				names[n.name], f.Names = id, append(f.Names, b.names[n.name])
			}
			name = id
		}
		at[i] = int32(len(f.Parent))
		f.Parent, f.Name = append(f.Parent, parent), append(f.Name, name)
		for k, s := range sides {
			own := &n.side[k]
			s.Weight, s.Calls = append(s.Weight, n.weight[k]), append(s.Calls, own.calls)
			s.Total, s.Self = append(s.Total, own.total), append(s.Self, own.self)
		}
	}
	b.list(f, req)
	return f
}

// list sorts functions by what they did themselves, or by how much more one session did than the other.
func (b *bothTrees) list(f *Flame, req *FlameRequest) {
	by := func(s *FlameSum) int64 {
		v := s.SelfNs - s.SelfNsB
		if req.By == "count" {
			v = s.Calls - s.CallsB
		}
		return max(v, -v)
	}
	sorting.By(b.sums, func(x, y FlameSum) int {
		return cmp.Or(cmp.Compare(by(&y), by(&x)), cmp.Compare(x.Function, y.Function))
	})
	f.Functions = slices.DeleteFunc(b.sums, func(s FlameSum) bool { return s.Calls+s.CallsB+s.TotalNs+s.TotalNsB == 0 })
	f.Of = len(f.Functions)
	f.Functions = f.Functions[:min(f.Of, maxFlameFunctions)]
}
