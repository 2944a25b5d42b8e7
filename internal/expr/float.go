package expr

import (
	"math"

	"github.com/strobe-debug/strobe/internal/ring"
)

// float computes a node that is a float; the agent has none of these operations.
func (v *evaluator) float(n *node) (float64, error) {
	switch n.op {
	case opFConst:
		return n.f, nil
	case opFBits:
		w, err := v.word(n.a)
		if n.size == 4 {
			return float64(math.Float32frombits(uint32(w))), err
		}
		return math.Float64frombits(w), err
	case opFInt:
		w, err := v.word(n.a)
		return fromInt(w, n.signed, n.size), err
	case opFCond:
		w, err := v.word(n.a)
		if err != nil {
			return 0, err
		}
		if w != 0 {
			return v.float(n.b)
		}
		return v.float(n.c)
	}
	a, err := v.float(n.a)
	if err != nil {
		return 0, err
	}
	if n.op == opRound {
		return float64(float32(a)), nil
	}
	b, err := v.float(n.b)
	if err != nil {
		return 0, err
	}
	switch n.alu {
	case ring.ALUAdd:
		return a + b, nil
	case ring.ALUSub:
		return a - b, nil
	case ring.ALUMul:
		return a * b, nil
	case ring.ALUUDiv:
		return a / b, nil
	}
	return math.Mod(a, b), nil
}

func (v *evaluator) compareFloats(n *node) (uint64, error) {
	a, err := v.float(n.a)
	if err != nil {
		return 0, err
	}
	b, err := v.float(n.b)
	if err != nil {
		return 0, err
	}
	switch n.op {
	case opFLess:
		return word(a < b), nil
	case opFLessE:
		return word(a <= b), nil
	}
	return word(a == b), nil
}

// fromInt rounds once to the width asked for.
func fromInt(w uint64, signed bool, size uint8) float64 {
	switch {
	case signed && size == 4:
		return float64(float32(int64(w)))
	case signed:
		return float64(int64(w))
	case size == 4:
		return float64(float32(w))
	}
	return float64(w)
}

// toInt saturates, and makes 0 of NaN, as Rust does.
func toInt(f float64, size uint8, signed bool) uint64 {
	bits := 8 * int(size)
	if f != f {
		return 0
	}
	if signed {
		limit := math.Ldexp(1, bits-1)
		switch {
		case f >= limit:
			return uint64(1)<<(bits-1) - 1
		case f < -limit:
			return -(uint64(1) << (bits - 1))
		}
		return uint64(int64(f))
	}
	switch {
	case f <= 0:
		return 0
	case f >= math.Ldexp(1, bits):
		return math.MaxUint64 >> (64 - bits)
	}
	return uint64(f)
}
