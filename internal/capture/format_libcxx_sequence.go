package capture

import (
	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/symbol"
)

// llvmVector is {__begin_, __end_, …}, that of bool {__begin_, __size_, …}.
func llvmVector(f *form) bool {
	if f.between([]path{{"__begin_"}}, []path{{"__end_"}}) {
		return true
	}
	_, ok := f.loadPointer(r0, path{"__begin_"})
	_, ok1 := f.load(r1, path{"__size_"})
	of, ok2 := typeArg(f.T, 0)
	return ok && ok1 && ok2 && of.Strip().Encoding == symbol.EncBool && f.BitSpan(r0, r1)
}

// llvmArray is {__elems_}; that of no element has something else there.
func llvmArray(f *form) bool {
	off, t, ok := f.any(path{"__elems_"})
	if n, known := numberArg(f.T, 1); known && n == 0 {
		return f.empty()
	}
	return ok && t.Kind == symbol.KindArray && f.Alias(t, off)
}

// llvmDeque is {__map_: {__begin_, …}, __start_, __size_}: a table of blocks, and the place of the first element in the
// first of them. A block has 4096 bytes, or 16 elements of 256 bytes or more (__deque_block_size).
func llvmDeque(f *form) bool {
	block, ok := f.loadPointer(r2, path{"__map_", "__begin_"})
	_, ok1 := f.load(r6, path{"__start_"})
	_, ok2 := f.load(r4, path{"__size_", "__value_"}, path{"__size_"})
	if !ok || !ok1 || !ok2 || block.Strip().Kind != symbol.KindPointer {
		return false
	}
	elem := block.Strip().Elem()
	size := sizeOf(elem)
	if size <= 0 {
		return false
	}
	per := int64(16)
	if size < 256 {
		per = 4096 / size
	}
	p := f.P
	return f.Sequence(elem, r4, func() {
		f.shown(r5, r4, r7)
		f.repeat(r5, func() {
			p.ALUImm(ring.ALUUDiv, r0, r6, per)
			p.ALUImm(ring.ALUShl, r0, r0, 3)
			p.ALU(ring.ALUAdd, r0, r0, r2)
			p.LoadMem(r0, r0, 0, 8)
			p.ALUImm(ring.ALUURem, r1, r6, per)
			p.ALUImm(ring.ALUMul, r1, r1, size)
			p.ALU(ring.ALUAdd, r0, r0, r1)
			p.Push(r0)
			p.ALUImm(ring.ALUAdd, r6, r6, 1)
		})
	})
}

func llvmSpan(f *form) bool {
	elem, ok := f.loadPointer(r0, path{"__data_"}, path{"__data"})
	if !ok {
		return false
	}
	if _, ok := f.load(r1, path{"__size_"}, path{"__size"}); !ok {
		n, ok := numberArg(f.T, 1)
		if !ok || n < 0 {
			return false
		}
		f.P.Const(r1, uint64(n))
	}
	return f.Span(elem, r0, r1)
}

func llvmInitializers(f *form) bool {
	elem, ok := f.loadPointer(r0, path{"__begin_"})
	_, ok1 := f.load(r1, path{"__size_"})
	return ok && ok1 && f.Span(elem, r0, r1)
}
