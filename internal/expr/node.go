package expr

import (
	"math"

	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/symbol"
)

// nodeOp is an operation of the checked form. Checking lowers everything to words of 64 bits, so
// that the interpreter and the compiler have few operations and cannot differ in types: a word
// that stands for an integer is always sign- or zero-extended from its type.
type nodeOp uint8

const (
	opConst      nodeOp = iota // n, plus the load bias of mod
	opReg                      // register n
	opCFA                      // CFA + n
	opFS                       // FS base + n
	opThread                   // thread ID
	opProcess                  // process ID
	opLoad                     // size bytes at address a
	opALU                      // a alu b
	opExtend                   // the low size bytes of a
	opTrue                     // a != 0
	opFalse                    // a == 0
	opAnd                      // a && b, of 0 or 1
	opOr                       // a || b
	opCond                     // a ? b : c
	opBound                    // a, which must be below b
	opGuard                    // a, if b, which is 0 or 1; text says what is wrong otherwise
	opTextEq                   // text at address a is text; see textNode
	opTextLen                  // length of the text at a, up to n bytes
	opTextCmp                  // texts x and y are equal
	opThreadName               // the thread's name is text

	// From here on floats are involved, which only the interpreter has; it has opThreadName, too.
	opFConst // f
	opFBits  // the bits of a as a float of size bytes
	opFInt   // integer a as a float
	opInt    // float a as an integer of size bytes, saturating
	opFALU   // a alu b
	opFLess  // a < b
	opFLessE // a <= b
	opFEq    // a == b
	opRound  // a rounded to size bytes
	opFCond  // a ? b : c, of floats

	opLeaf // what the target computed as leaf n of a Split

	opSelf // the address of the object that a walk program is over, plus n; fragments only
	opWalk // register n of the walk program; fragments only
)

type node struct {
	op      nodeOp
	alu     uint32
	size    uint8
	signed  bool
	n       uint64
	f       float64
	mod     *symbol.Module
	a, b, c *node
	text    string
	x, y    *textRef
	pos     int
	cost    int
}

// maxCost bounds the steps that one evaluation takes: parts of the tree are shared, and counted as
// often as they would run.
const maxCost = 10000

// build counts the cost of a node.
func build(n node) *node {
	n.cost = 1 + len(n.text)/16
	if n.op == opTextLen {
		n.cost += int(n.n) / 16
	}
	for _, k := range [...]*node{n.a, n.b, n.c} {
		if k != nil {
			n.cost += k.cost
		}
	}
	for _, t := range [...]*textRef{n.x, n.y} {
		if t != nil {
			n.cost += t.cost()
		}
	}
	n.cost = min(n.cost, math.MaxInt32)
	return &n
}

func constant(v uint64) *node { return build(node{op: opConst, n: v}) }

func (n *node) isConst() bool { return n.op == opConst && n.mod == nil }

// alu makes a op b, at once where both are known.
func alu(op uint32, a, b *node, pos int) *node {
	if a.isConst() && b.isConst() {
		if v, ok := aluOp(op, a.n, b.n); ok {
			return constant(v)
		}
	}
	if b.isConst() && b.n == 0 && (op == ring.ALUAdd || op == ring.ALUSub || op == ring.ALUShl || op == ring.ALUShr) {
		return a
	}
	if b.isConst() && b.n == 1 && op == ring.ALUMul {
		return a
	}
	return build(node{op: opALU, alu: op, a: a, b: b, pos: pos})
}

// addConst adds to an address; constants and places take the sum into themselves.
func addConst(a *node, k int64) *node {
	if k == 0 {
		return a
	}
	switch a.op {
	case opConst, opCFA, opFS, opSelf:
		sum := *a
		sum.n += uint64(k)
		return &sum
	case opALU:
		if a.alu == ring.ALUAdd && a.b.isConst() {
			return alu(ring.ALUAdd, a.a, constant(a.b.n+uint64(k)), a.pos)
		}
	}
	return alu(ring.ALUAdd, a, constant(uint64(k)), a.pos)
}

func load(addr *node, size int64, signed bool, pos int) *node {
	return build(node{op: opLoad, a: addr, size: uint8(size), signed: signed, pos: pos})
}

// extend makes a word what an integer of size bytes holds.
func extend(a *node, size int64, signed bool) *node {
	switch {
	case size >= 8:
		return a
	case a.isConst():
		return constant(extendWord(a.n, uint8(size), signed))
	case a.fits(size, signed):
		return a
	case a.op == opExtend && int64(a.size) >= size: // only the low bytes count
		a = a.a
	}
	return build(node{op: opExtend, a: a, size: uint8(size), signed: signed, pos: a.pos})
}

// fits reports whether a word is already extended as asked.
func (n *node) fits(size int64, signed bool) bool {
	switch n.op {
	case opLoad, opExtend, opInt:
		return n.signed == signed && int64(n.size) <= size || !n.signed && int64(n.size) < size
	case opTrue, opFalse, opAnd, opOr, opTextEq, opTextCmp, opThreadName, opFLess, opFLessE, opFEq:
		return true
	case opALU:
		return n.alu >= ring.ALUEq
	}
	return false
}

func extendWord(v uint64, size uint8, signed bool) uint64 {
	if size >= 8 || size == 0 {
		return v
	}
	shift := 64 - 8*uint(size)
	if signed {
		return uint64(int64(v<<shift) >> shift)
	}
	return v << shift >> shift
}

// truth makes a word 0 or 1.
func truth(a *node) *node {
	switch {
	case a.isConst() && a.n != 0:
		return constant(1)
	case a.isConst():
		return constant(0)
	case a.isBool():
		return a
	}
	return build(node{op: opTrue, a: a, pos: a.pos})
}

func (n *node) isBool() bool {
	switch n.op {
	case opTrue, opFalse, opAnd, opOr, opTextEq, opTextCmp, opThreadName, opFLess, opFLessE, opFEq:
		return true
	}
	return n.op == opALU && n.alu >= ring.ALUEq
}

func not(a *node) *node {
	if a.isConst() {
		return constant(1 - truth(a).n)
	}
	return build(node{op: opFalse, a: a, pos: a.pos})
}

// aluOp computes what the agent's WalkALU does; ok is false for a division by zero.
func aluOp(op uint32, x, y uint64) (v uint64, ok bool) {
	switch op {
	case ring.ALUAdd:
		return x + y, true
	case ring.ALUSub:
		return x - y, true
	case ring.ALUMul:
		return x * y, true
	case ring.ALUUDiv, ring.ALUSDiv, ring.ALUURem, ring.ALUSRem:
		return aluDivide(op, x, y)
	case ring.ALUAnd:
		return x & y, true
	case ring.ALUOr:
		return x | y, true
	case ring.ALUXor:
		return x ^ y, true
	case ring.ALUShl:
		return x << (y & 63), true
	case ring.ALUShr:
		return x >> (y & 63), true
	case ring.ALUSar:
		return uint64(int64(x) >> (y & 63)), true
	case ring.ALUEq:
		return word(x == y), true
	case ring.ALUNe:
		return word(x != y), true
	case ring.ALUULt:
		return word(x < y), true
	case ring.ALUSLt:
		return word(int64(x) < int64(y)), true
	case ring.ALUULe:
		return word(x <= y), true
	case ring.ALUSLe:
		return word(int64(x) <= int64(y)), true
	}
	return 0, false
}

// aluDivide divides; the smallest integer by -1 wraps, as Go defines and the agent does.
func aluDivide(op uint32, x, y uint64) (uint64, bool) {
	switch {
	case y == 0:
		return 0, false
	case op == ring.ALUUDiv:
		return x / y, true
	case op == ring.ALUURem:
		return x % y, true
	case op == ring.ALUSDiv:
		return uint64(int64(x) / int64(y)), true
	}
	return uint64(int64(x) % int64(y)), true
}

func word(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
