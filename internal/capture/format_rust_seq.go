package capture

import (
	"strings"

	"github.com/strobe-debug/strobe/internal/ring"
)

// rustSlice is &[T], &mut [T] and Box<[T]>.
var rustSlice = &formatter{
	name:  "rust slice",
	match: func(name string) bool { return strings.HasPrefix(rustReferent(name), "[") },
	form: func(f *form) bool {
		ptr, n, elem, ok := rustFat(f.T)
		if !ok {
			return false
		}
		f.P.Load(r0, ptr, 8)
		f.P.Load(r1, n, 8)
		return f.Span(elem, r0, r1)
	},
}

// rustVec is Vec<T>.
var rustVec = &formatter{
	name:  "rust Vec",
	match: rustType("Vec"),
	form: func(f *form) bool {
		elem, ok := f.vec(f.T, 0)
		return ok && f.Span(elem, r0, r1)
	},
}

// rustHeap is BinaryHeap<T>: the Vec in it, in the order that it has there.
var rustHeap = &formatter{
	name:  "rust BinaryHeap",
	match: rustType("BinaryHeap"),
	form: func(f *form) bool {
		off, t, ok := f.Field("data")
		return ok && f.Alias(t, off)
	},
}

// rustDeque is VecDeque<T>: a ring of cap elements, of which len are in use from head on.
var rustDeque = &formatter{
	name:  "rust VecDeque",
	match: rustType("VecDeque"),
	form: func(f *form) bool {
		elem, ok := rustParam(f.T, "T")
		buf, bt, ok1 := f.Field("buf")
		head, _, ok2 := f.Field("head")
		n, _, ok3 := f.Field("len")
		ptr, _, ok4 := rustPointer(bt)
		room, ok5 := rustWord(bt, "cap")
		if !ok || !ok1 || !ok2 || !ok3 || !ok4 || !ok5 {
			return false
		}
		p, size := f.P, sizeOf(elem)
		p.Load(r0, n, 8)
		return f.Sequence(elem, r0, func() {
			p.Load(r1, buf+ptr, 8)
			p.Load(r2, head, 8)
			p.Load(r3, buf+room, 8)
			f.upTo(r4, r0)
			top, out := p.Here(), p.Label()
			p.JumpZero(r4, out)
			whole := p.Label()
			p.ALU(ring.ALUULt, r5, r2, r3)
			p.JumpNot(r5, whole)
			p.ALU(ring.ALUSub, r2, r2, r3)
			p.Bind(whole)
			p.ALUImm(ring.ALUMul, r5, r2, size)
			p.ALU(ring.ALUAdd, r5, r5, r1)
			p.Push(r5)
			p.ALUImm(ring.ALUAdd, r2, r2, 1)
			p.ALUImm(ring.ALUSub, r4, r4, 1)
			p.Jump(top)
			p.Bind(out)
		})
	},
}

// upTo sets a to what is in n, at most to the number of elements that are shown.
func (f *form) upTo(a, n reg) {
	p, fits := f.P, f.P.Label()
	p.ALUImm(ring.ALUAdd, a, n, 0)
	p.ALUImm(ring.ALUULe, r7, n, limit)
	p.JumpNot(r7, fits)
	p.Const(a, limit)
	p.Bind(fits)
}

// rustList is LinkedList<T>.
var rustList = &formatter{
	name:  "rust LinkedList",
	match: rustType("LinkedList"),
	form: func(f *form) bool {
		elem, ok := rustParam(f.T, "T")
		head, ht, ok1 := f.Field("head")
		n, _, ok2 := f.Field("len")
		ptr, node, ok3 := rustPointer(ht)
		if !ok || !ok1 || !ok2 || !ok3 {
			return false
		}
		at, _, ok := field(node, "element")
		next, nt, ok1 := field(node, "next")
		inNext, _, ok2 := rustPointer(nt)
		if !ok || !ok1 || !ok2 {
			return false
		}
		p := f.P
		p.Load(r0, n, 8)
		return f.Sequence(elem, r0, func() {
			p.Load(r1, head+ptr, 8)
			f.upTo(r4, r0)
			top, out := p.Here(), p.Label()
			p.JumpZero(r4, out)
			p.JumpZero(r1, out)
			p.ALUImm(ring.ALUAdd, r2, r1, at)
			p.Push(r2)
			p.LoadMem(r1, r1, next+inNext, 8)
			p.ALUImm(ring.ALUSub, r4, r4, 1)
			p.Jump(top)
			p.Bind(out)
		})
	},
}
