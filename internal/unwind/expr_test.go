package unwind

import "testing"

// TestBranches: a branch counts from behind its operand. It once went two bytes further, and the greater of two
// registers, as gcc writes it, was taken for an address.
func TestBranches(t *testing.T) {
	greater := []byte{opBreg0 + 3, 0, opDup, opConst1u, 32, 0x24 /* shl */, opBreg0 + 10, 0, opSwap, opOver, opConst1u, 32,
		0x24, 0x2b, /* gt */
		opBra, 1, 0, opSwap, opDrop, opStackValue}
	for _, c := range []struct{ rbx, r10, want uint64 }{{42, 7, 42}, {7, 42, 42}, {42, 42, 42}, {0xffffffff, 3, 3}} {
		regs := &Regs{}
		regs.Set(3, c.rbx)
		regs.Set(10, c.r10)
		e := &evaluator{regs: regs}
		p := e.place(greater, nil)
		if p.Kind != PlaceConst || len(p.Bytes) != 8 || uint64(p.Bytes[0]) != c.want {
			t.Errorf("the greater of %d and %d is %+v, want %d", c.rbx, c.r10, p, c.want)
		}
	}
	for _, c := range []struct {
		expr []byte
		want uint64
	}{
		{[]byte{opLit0 + 1, opSkip, 1, 0, opLit0 + 2, opNop}, 1},
		{[]byte{opLit0 + 3, opSkip, 0, 0}, 3},
		// down to zero
		{[]byte{opLit0 + 2, opDup, opPlusConst, 0, opLit0 + 1, 0x1c /* minus */, opDup, opBra, 0xf8, 0xff}, 0},
	} {
		e := &evaluator{regs: &Regs{}}
		if v, err := e.number(c.expr); err != nil || v != c.want {
			t.Errorf("% x is %d, %v, want %d", c.expr, v, err, c.want)
		}
	}
}
