package expr

import "github.com/strobe-debug/strobe/internal/ring"

// Bounds on comparing two texts. Programs take ten steps for eight bytes of texts that have a length, and
// eleven for one of text up to a NUL.
const (
	maxTextCmp    = 4096
	maxTextCmpNUL = 512
)

// sides returns the texts of a comparison, the first one with a length; and how many bytes are compared.
func (n *node) sides() (x, y *textRef, limit uint64) {
	x, y = n.x, n.y
	if x.count == nil {
		x, y = y, x
	}
	if y.count == nil {
		return x, y, maxTextCmpNUL
	}
	return x, y, maxTextCmp
}

// textCmp compares two texts as evaluator.textCmp does. Registers: d is what is left, d+1 and d+2 where it is,
// d+5 whether the whole text is looked at, d+6 whether an array is full without a NUL.
func (g *generator) textCmp(n *node, d uint8) {
	if d+6 >= walkRegs {
		g.failed = true
		return
	}
	x, y, limit := n.sides()
	var differs []int
	differ := func(code, reg uint8) { differs = append(differs, g.emit(ring.Op{Code: code, Src: reg})) }
	g.node(x.count, d)
	switch {
	case y.count != nil:
		g.node(y.count, d+1)
		g.emit(ring.Op{Code: ring.WalkALU, Src: d + 1, Slot: d, Dst: d + 1, SrcOff: ring.ALUXor})
		differ(ring.WalkJumpNot, d+1)
	case y.max >= 0:
		g.failed = g.failed || !fits32(uint64(y.max))
		g.imm(d+1, d, ring.ALUULe, int32(y.max))
		differ(ring.WalkJumpZero, d+1)
	}
	g.node(x.ptr, d+1)
	g.node(y.ptr, d+2)
	if y.count == nil {
		differ(ring.WalkJumpZero, d+2)
		if y.max >= 0 {
			g.imm(d+6, d, ring.ALUEq, int32(y.max))
		} else {
			g.constant(d+6, 0)
		}
	}
	g.imm(d+5, d, ring.ALUULe, int32(limit))
	whole := g.emit(ring.Op{Code: ring.WalkJumpNot, Src: d + 5})
	g.constant(d, limit)
	g.land(whole)
	if y.count != nil {
		g.loops += 10 * (maxTextCmp/8 + 8)
		g.compareRun(d, 8, false, &differs)
	} else {
		g.loops += 11 * maxTextCmpNUL
	}
	g.compareRun(d, 1, y.count == nil, &differs)
	g.constant(d, 1) // divided by zero, as unreadable, where there is more than was looked at
	g.emit(ring.Op{Code: ring.WalkALU, Src: d, Slot: d, Dst: d + 5, SrcOff: ring.ALUUDiv})
	var equal []int
	if y.count == nil { // the NUL must be here, too
		equal = append(equal, g.emit(ring.Op{Code: ring.WalkJumpNot, Src: d + 6}))
		g.loadMem(d+3, d+2, 0, 1, false)
		differ(ring.WalkJumpNot, d+3)
	}
	equal = append(equal, g.emit(ring.Op{Code: ring.WalkJump}))
	g.land(differs...)
	g.constant(d, 0)
	g.land(equal...)
}

// compareRun compares k bytes at once while so many are left; with nul, the second text ends at one.
func (g *generator) compareRun(d, k uint8, nul bool, differs *[]int) {
	loop := len(g.p.Ops)
	g.imm(d+3, d, ring.ALUULt, int32(k))
	done := g.emit(ring.Op{Code: ring.WalkJumpNot, Src: d + 3})
	g.loadMem(d+4, d+2, 0, k, false)
	if nul {
		*differs = append(*differs, g.emit(ring.Op{Code: ring.WalkJumpZero, Src: d + 4}))
	}
	g.loadMem(d+3, d+1, 0, k, false)
	g.emit(ring.Op{Code: ring.WalkALU, Src: d + 3, Slot: d + 3, Dst: d + 4, SrcOff: ring.ALUXor})
	*differs = append(*differs, g.emit(ring.Op{Code: ring.WalkJumpNot, Src: d + 3}))
	for _, reg := range [...]uint8{d + 1, d + 2} {
		g.imm(reg, reg, ring.ALUAdd, int32(k))
	}
	g.imm(d, d, ring.ALUSub, int32(k))
	g.emit(ring.Op{Code: ring.WalkJump, Off: int32(loop - len(g.p.Ops) - 1)})
	g.land(done)
}

// textEq compares piece by piece, as evaluator.textEq does.
func (g *generator) textEq(n *node, d uint8) {
	t := n.x
	want, ok := t.wanted(n.text)
	if !ok {
		g.constant(d, 0)
		return
	}
	if len(want) > maxTextCompile+1 || d+2 >= walkRegs {
		g.failed = true
		return
	}
	var differs []int
	if t.count != nil {
		g.node(t.count, d)
		g.imm(d, d, ring.ALUEq, int32(len(want)))
		differs = append(differs, g.emit(ring.Op{Code: ring.WalkJumpZero, Src: d}))
	}
	g.node(t.ptr, d)
	if t.count == nil {
		differs = append(differs, g.emit(ring.Op{Code: ring.WalkJumpZero, Src: d}))
	}
	for i := 0; i < len(want); {
		k := chunk(t, len(want)-i)
		var bits uint64
		for j := k - 1; j >= 0; j-- {
			bits = bits<<8 | uint64(want[i+j])
		}
		g.loadMem(d+1, d, int32(i), uint8(k), k == 4)
		if k == 8 {
			g.constant(d+2, bits)
			g.emit(ring.Op{Code: ring.WalkALU, Src: d + 1, Slot: d + 1, Dst: d + 2, SrcOff: ring.ALUXor})
		} else {
			g.imm(d+1, d+1, ring.ALUXor, int32(uint32(bits)))
		}
		differs = append(differs, g.emit(ring.Op{Code: ring.WalkJumpNot, Src: d + 1}))
		i += k
	}
	g.constant(d, 1)
	end := g.emit(ring.Op{Code: ring.WalkJump})
	g.land(differs...)
	g.constant(d, 0)
	g.land(end)
}

// textLen counts in d+1 to the NUL.
func (g *generator) textLen(n *node, d uint8) {
	if d+2 >= walkRegs {
		g.failed = true
		return
	}
	g.node(n.a, d)
	if n.n == 0 {
		g.constant(d, 0)
		return
	}
	g.constant(d+1, 0)
	loop := len(g.p.Ops)
	g.loops += 6 * int(n.n)
	g.emit(ring.Op{Code: ring.WalkALU, Src: d + 2, Slot: d, Dst: d + 1, SrcOff: ring.ALUAdd})
	g.loadMem(d+2, d+2, 0, 1, false)
	found := g.emit(ring.Op{Code: ring.WalkJumpZero, Src: d + 2})
	g.imm(d+1, d+1, ring.ALUAdd, 1)
	g.imm(d+2, d+1, ring.ALUULt, int32(n.n))
	g.emit(ring.Op{Code: ring.WalkJumpNot, Src: d + 2, Off: int32(loop - len(g.p.Ops) - 1)})
	if !n.signed {
		g.imm(d+1, d+1, ring.ALUUDiv, 0) // no end: as an unreadable address
	}
	g.land(found)
	g.imm(d, d+1, ring.ALUOr, 0)
}
