package capture

import (
	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/value"
)

// gnuVector is {_M_impl: {_M_start, _M_finish, …}}. That of bool has iterators there: {_M_p, _M_offset}.
func gnuVector(f *form) bool {
	if _, ok := f.loadPointer(r0, path{"_M_impl", "_M_start", "_M_p"}); ok {
		_, ok1 := f.loadPointer(r1, path{"_M_impl", "_M_finish", "_M_p"})
		_, ok2 := f.load(r2, path{"_M_impl", "_M_finish", "_M_offset"})
		if !ok1 || !ok2 {
			return false
		}
		f.P.ALU(ring.ALUSub, r1, r1, r0)
		f.P.ALUImm(ring.ALUShl, r1, r1, 3)
		f.P.ALU(ring.ALUAdd, r1, r1, r2)
		return f.BitSpan(r0, r1)
	}
	return f.between([]path{{"_M_impl", "_M_start"}}, []path{{"_M_impl", "_M_finish"}})
}

// gnuArray is {_M_elems}; that of no element has something else there.
func gnuArray(f *form) bool {
	off, t, ok := f.any(path{"_M_elems"})
	if n, known := numberArg(f.T, 1); known && n == 0 {
		return f.empty()
	}
	return ok && t.Kind == symbol.KindArray && f.Alias(t, off)
}

// empty shows an array without elements.
func (f *form) empty() bool {
	elem, ok := typeArg(f.T, 0)
	if !ok {
		return false
	}
	f.V.Class, f.V.Elem = value.ClassArray, f.Elem(elem)
	return true
}

// gnuDeque is {_M_impl: {_M_start, _M_finish, …}}, iterators of {_M_cur, _M_first, _M_last, _M_node}: an element, the
// block that it is in, and where in the table of blocks that stands.
func gnuDeque(f *form) bool {
	start := func(name string) path { return path{"_M_impl", "_M_start", name} }
	finish := func(name string) path { return path{"_M_impl", "_M_finish", name} }
	elem, ok := f.loadPointer(r0, start("_M_cur"))
	_, ok1 := f.loadPointer(r1, start("_M_last"))
	_, ok2 := f.loadPointer(r2, start("_M_node"))
	_, ok3 := f.loadPointer(r6, start("_M_first"))
	_, ok4 := f.loadPointer(r3, finish("_M_cur"))
	_, ok5 := f.loadPointer(r5, finish("_M_first"))
	_, ok6 := f.loadPointer(r4, finish("_M_node"))
	size := sizeOf(elem)
	if !ok || !ok1 || !ok2 || !ok3 || !ok4 || !ok5 || !ok6 || size <= 0 {
		return false
	}
	p := f.P
	p.ALU(ring.ALUSub, r6, r1, r6)   // bytes of a block
	p.ALU(ring.ALUSub, r4, r4, r2)   // 8 for each block but the first
	p.ALUImm(ring.ALUShr, r4, r4, 3) //
	p.ALU(ring.ALUMul, r4, r4, r6)   // their bytes
	p.ALU(ring.ALUSub, r7, r1, r0)   // what the first block has
	p.ALU(ring.ALUAdd, r4, r4, r7)   //
	p.ALU(ring.ALUSub, r4, r4, r6)   // the last block counts up to the end only
	p.ALU(ring.ALUSub, r3, r3, r5)   //
	p.ALU(ring.ALUAdd, r4, r4, r3)   //
	f.divide(r4, r4, size)
	return f.Sequence(elem, r4, func() {
		f.shown(r5, r4, r7)
		f.repeat(r5, func() {
			same := p.Label()
			p.Push(r0)
			p.ALUImm(ring.ALUAdd, r0, r0, size)
			p.ALU(ring.ALUNe, r7, r0, r1)
			p.JumpNot(r7, same)
			p.ALUImm(ring.ALUAdd, r2, r2, 8)
			p.ALUImm(ring.ALUEq, r7, r5, 1) // there may be no block behind the last element
			p.JumpNot(r7, same)
			p.LoadMem(r0, r2, 0, 8)
			p.ALU(ring.ALUAdd, r1, r0, r6)
			p.Bind(same)
		})
	})
}

// gnuSpan is {_M_ptr, _M_extent: {_M_extent_value}}; of a fixed extent the second has no member.
func gnuSpan(f *form) bool {
	elem, ok := f.loadPointer(r0, path{"_M_ptr"})
	if !ok {
		return false
	}
	if _, ok := f.load(r1, path{"_M_extent", "_M_extent_value"}); !ok {
		n, ok := numberArg(f.T, 1)
		if !ok || n < 0 {
			return false
		}
		f.P.Const(r1, uint64(n))
	}
	return f.Span(elem, r0, r1)
}

func gnuInitializers(f *form) bool {
	elem, ok := f.loadPointer(r0, path{"_M_array"})
	_, ok2 := f.load(r1, path{"_M_len"})
	return ok && ok2 && f.Span(elem, r0, r1)
}

func gnuValarray(f *form) bool {
	elem, ok := f.loadPointer(r0, path{"_M_data"})
	_, ok2 := f.load(r1, path{"_M_size"})
	return ok && ok2 && f.Span(elem, r0, r1)
}
