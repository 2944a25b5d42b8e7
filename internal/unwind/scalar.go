package unwind

import (
	"math"

	"github.com/strobe-debug/strobe/internal/symbol"
)

// scalar is one entry of an expression's stack: bits, extended to 64 as the type says. Without a
// type it is an address-sized integer.
type scalar struct {
	v uint64
	t *symbol.Type
}

func (s scalar) float() bool { return s.t != nil && s.t.Encoding == symbol.EncFloat }

func (s scalar) signed() bool {
	return s.t == nil || s.t.Encoding == symbol.EncSigned || s.t.Encoding == symbol.EncSignedChar
}

// fit cuts the bits to the type's size and extends them.
func (s scalar) fit() scalar {
	if s.t == nil || s.t.Size <= 0 || s.t.Size >= 8 {
		return s
	}
	shift := 64 - 8*uint(s.t.Size)
	if s.signed() {
		s.v = uint64(int64(s.v<<shift) >> shift)
	} else {
		s.v = s.v << shift >> shift
	}
	return s
}

func (s scalar) asFloat() float64 {
	switch {
	case s.float() && s.t.Size == 4:
		return float64(math.Float32frombits(uint32(s.v)))
	case s.float():
		return math.Float64frombits(s.v)
	case s.signed():
		return float64(int64(s.v))
	}
	return float64(s.v)
}

func ofFloat(f float64, t *symbol.Type) scalar {
	if t.Size == 4 {
		return scalar{v: uint64(math.Float32bits(float32(f))), t: t}
	}
	return scalar{v: math.Float64bits(f), t: t}
}

// convert changes the type as a C cast does; not ok for types wider than a register.
func (s scalar) convert(t *symbol.Type) (scalar, bool) {
	to := scalar{v: s.v, t: t}
	if s.t != nil && s.t.Size > 8 || t != nil && (t.Size > 8 || t.Size <= 0) {
		return to, false
	}
	switch {
	case to.float():
		return ofFloat(s.asFloat(), t), true
	case s.float():
		f := s.asFloat()
		switch {
		case f >= 1<<63 && f < 1<<64:
			to.v = uint64(f)
		case f > -(1<<63) && f < 1<<63:
			to.v = uint64(int64(f))
		default:
			return to, false
		}
	}
	return to.fit(), true
}

// arithmetic runs DW_OP_abs to DW_OP_xor and the comparisons.
func (e *evaluator) arithmetic(op byte) {
	if op == opAbs || op == opNeg || op == opNot {
		a := e.pop()
		switch {
		case a.float() && op != opNot:
			f := math.Abs(a.asFloat())
			if op == opNeg {
				f = -a.asFloat()
			}
			a = ofFloat(f, a.t)
		case op == opNot:
			a.v = ^a.v
		case op == opNeg || int64(a.v) < 0:
			a.v = -a.v
		}
		e.pushScalar(a.fit())
		return
	}
	b, a := e.pop(), e.pop()
	if e.err != nil {
		return
	}
	if a.float() && b.float() {
		e.floats(op, a, b)
		return
	}
	if a.float() || b.float() {
		e.fail(errExpr)
		return
	}
	if op >= opEq && op <= opNe {
		e.push(flag(compare(op, a, b)))
		return
	}
	v, ok := integers(op, a, b)
	if !ok {
		e.fail(errExpr)
		return
	}
	e.pushScalar(scalar{v: v, t: a.t}.fit())
}

func flag(on bool) uint64 {
	if on {
		return 1
	}
	return 0
}

// The comparisons, from opEq on.
const (
	cmpEq = iota
	cmpGe
	cmpGt
	cmpLe
	cmpLt
	cmpNe
)

func compare(op byte, a, b scalar) bool {
	less, greater := a.v < b.v, a.v > b.v
	if a.signed() {
		less, greater = int64(a.v) < int64(b.v), int64(a.v) > int64(b.v)
	}
	return decide(op, less, greater)
}

func decide(op byte, less, greater bool) bool {
	switch op - opEq {
	case cmpEq:
		return !less && !greater
	case cmpGe:
		return !less
	case cmpGt:
		return greater
	case cmpLe:
		return !greater
	case cmpLt:
		return less
	}
	return less || greater
}

// integers computes the operations of two operands; not ok for a division by zero.
func integers(op byte, a, b scalar) (uint64, bool) {
	x, y := a.v, b.v
	switch op {
	case opAnd:
		return x & y, true
	case 0x1b, 0x1d: // div, mod
		if y == 0 {
			return 0, false
		}
		switch {
		case op == 0x1d && a.t == nil: // DWARF 5, 2.5.1.4: modulo of generic values is unsigned
			return x % y, true
		case op == 0x1d && a.signed() && int64(y) != -1:
			return uint64(int64(x) % int64(y)), true
		case op == 0x1d && a.signed():
			return 0, true
		case op == 0x1d:
			return x % y, true
		case a.signed() && int64(y) == -1:
			return -x, true
		case a.signed():
			return uint64(int64(x) / int64(y)), true
		}
		return x / y, true
	case 0x1c:
		return x - y, true
	case 0x1e:
		return x * y, true
	case 0x21:
		return x | y, true
	case 0x22:
		return x + y, true
	case 0x24: // shl
		return x << y, true
	case 0x25: // shr
		if a.t != nil && a.t.Size > 0 && a.t.Size < 8 {
			x &= 1<<(8*uint(a.t.Size)) - 1
		}
		return x >> y, true
	case 0x26: // shra
		return uint64(int64(x) >> min(y, 63)), true
	case opXor:
		return x ^ y, true
	}
	return 0, false
}

func (e *evaluator) floats(op byte, a, b scalar) {
	x, y := a.asFloat(), b.asFloat()
	switch op {
	case 0x1b:
		e.pushScalar(ofFloat(x/y, a.t))
	case 0x1c:
		e.pushScalar(ofFloat(x-y, a.t))
	case 0x1e:
		e.pushScalar(ofFloat(x*y, a.t))
	case 0x22:
		e.pushScalar(ofFloat(x+y, a.t))
	default:
		if op < opEq || op > opNe {
			e.fail(errExpr)
			return
		}
		if x != x || y != y { // nothing is equal to no number, nor less or greater
			e.push(flag(op-opEq == cmpNe))
			return
		}
		e.push(flag(decide(op, x < y, x > y)))
	}
}
