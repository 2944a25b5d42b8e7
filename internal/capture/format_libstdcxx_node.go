package capture

import (
	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/symbol"
)

// gnuList is {_M_impl: {_M_node: {_M_next, _M_prev, _M_size}}}, a ring of nodes; an element follows its node's
// pointers.
func gnuList(f *form) bool {
	elem, ok := typeArg(f.T, 0)
	head, _, ok1 := f.any(path{"_M_impl", "_M_node"})
	first, next, ok2 := f.any(path{"_M_impl", "_M_node", "_M_next"})
	if !ok || !ok1 || !ok2 || next.Kind != symbol.KindPointer {
		return false
	}
	base := sizeOf(next.Elem())
	if base <= 0 {
		return false
	}
	f.P.Load(r0, first, 8)
	if _, ok := f.load(r4, path{"_M_impl", "_M_node", "_M_size"}); !ok { // the ABI before C++11's
		f.P.Addr(r6, head)
		f.countChain(first-head, r6)
	}
	return f.Sequence(elem, r4, f.chain(elem, first-head, aligned(base, elem)))
}

// gnuForwardList is {_M_impl: {_M_head: {_M_next}}}, without a count.
func gnuForwardList(f *form) bool {
	elem, ok := typeArg(f.T, 0)
	head, node, ok1 := f.any(path{"_M_impl", "_M_head"})
	first, _, ok2 := f.any(path{"_M_impl", "_M_head", "_M_next"})
	if !ok || !ok1 || !ok2 || sizeOf(node) <= 0 {
		return false
	}
	f.P.Load(r0, first, 8)
	f.P.Const(r6, 0)
	f.countChain(first-head, r6)
	return f.Sequence(elem, r4, f.chain(elem, first-head, aligned(sizeOf(node), elem)))
}

// gnuTree is {_M_t: {_M_impl: {_M_header: {_M_left, …}, _M_node_count}}}: the header's left child is the first node. An
// element follows its node's base.
func gnuTree(f *form, isMap bool) bool {
	_, tree, ok := f.any(path{"_M_t"})
	if !ok {
		return false
	}
	elem, ok := typeArg(tree, 1)
	_, node, ok1 := f.any(path{"_M_t", "_M_impl", "_M_header"})
	_, ok2 := f.load(r0, path{"_M_t", "_M_impl", "_M_header", "_M_left"})
	_, ok3 := f.load(r4, path{"_M_t", "_M_impl", "_M_node_count"})
	left, _, ok4 := field(node, "_M_left")
	right, _, ok5 := field(node, "_M_right")
	parent, _, ok6 := field(node, "_M_parent")
	if !ok || !ok1 || !ok2 || !ok3 || !ok4 || !ok5 || !ok6 {
		return false
	}
	each := f.inOrder(aligned(sizeOf(node), elem), left, right, parent)
	if isMap {
		return f.Map(elem, r4, each)
	}
	return f.Sequence(elem, r4, each)
}

// inOrder shows the nodes of a binary tree from the one on whose address is in r0, r4 of them: where a node has its
// children, its parent and its element.
func (f *form) inOrder(off, left, right, parent int64) func() {
	return func() {
		f.shown(r5, r4, r7)
		f.repeat(r5, func() {
			last := f.P.Label()
			f.P.ALUImm(ring.ALUAdd, r1, r0, off)
			f.P.Push(r1)
			f.P.ALUImm(ring.ALUEq, r1, r5, 1)
			f.P.JumpNot(r1, last) // nothing is above the last node but the head, which is no end of a climb
			f.nextInTree(left, right, parent)
			f.P.Bind(last)
		})
	}
}

// nextInTree moves r0 from a node, which is not the last one, to the next one in order. It uses r1 to r3.
func (f *form) nextInTree(left, right, parent int64) {
	p := f.P
	up, down, climb, done := p.Label(), p.Label(), p.Label(), p.Label()
	p.LoadMem(r1, r0, right, 8)
	p.JumpZero(r1, up)
	p.Bind(down) // the leftmost of what is on the right
	p.ALU(ring.ALUOr, r0, r1, r1)
	p.LoadMem(r1, r0, left, 8)
	p.JumpNot(r1, down)
	p.Jump(done)
	p.Bind(up) // or the first above that has the way here on its left
	p.ALU(ring.ALUOr, r1, r0, r0)
	p.Bind(climb)
	p.ALU(ring.ALUOr, r2, r1, r1)
	p.LoadMem(r1, r1, parent, 8)
	p.LoadMem(r3, r1, left, 8)
	p.ALU(ring.ALUEq, r3, r3, r2)
	p.JumpZero(r3, climb)
	p.ALU(ring.ALUOr, r0, r1, r1)
	p.Bind(done)
}

// gnuHash is {_M_h: {_M_before_begin: {_M_nxt}, _M_element_count}}: all nodes are one list.
func gnuHash(f *form, isMap bool) bool {
	_, table, ok := f.any(path{"_M_h"})
	if !ok {
		return false
	}
	elem, ok := typeArg(table, 1)
	head, node, ok1 := f.any(path{"_M_h", "_M_before_begin"})
	first, _, ok2 := f.any(path{"_M_h", "_M_before_begin", "_M_nxt"})
	_, ok3 := f.load(r4, path{"_M_h", "_M_element_count"})
	if !ok || !ok1 || !ok2 || !ok3 || sizeOf(node) <= 0 {
		return false
	}
	f.P.Load(r0, first, 8)
	each := f.chain(elem, first-head, aligned(sizeOf(node), elem))
	if isMap {
		return f.Map(elem, r4, each)
	}
	return f.Sequence(elem, r4, each)
}
