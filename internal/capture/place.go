package capture

import (
	"github.com/strobe-debug/strobe/internal/expr"
	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/symbol"
)

// placer turns locations that hold at one address into places of expressions: what compilers write for a variable
// becomes steps over the registers there.
type placer struct {
	mod  *symbol.Module
	cfa  []expr.Step // nil: not known
	base []expr.Step // frame base
}

// newPlacer prepares for a place in a function. base is the function's frame base.
func newPlacer(m *symbol.Module, a symbol.Addr, base symbol.Location) *placer {
	p := &placer{mod: m}
	if r := m.EntryRule(a); r.Known && r.CFARegister >= 0 && r.CFARegister < 16 {
		p.cfa = []expr.Step{{Kind: expr.StepReg, Reg: r.CFARegister, N: r.CFAOffset}}
	}
	if base.Kind == symbol.LocExpr || base.Kind == symbol.LocEntry {
		v := stepMachine{p: p, r: byteReader{b: base.Expr}}
		v.run()
		switch {
		case v.bad:
		case v.reg >= 0 && v.reg < 16:
			p.base = []expr.Step{{Kind: expr.StepReg, Reg: v.reg}}
		default:
			p.base = v.pop()
		}
	}
	return p
}

// place is where a variable is. clear is false where that can be told only when a thread is there.
func (p *placer) place(l *symbol.Local) (at expr.Place, clear bool) {
	at = expr.Place{Kind: expr.PlaceMissing, Type: l.Type}
	switch l.Loc.Kind {
	case symbol.LocConst:
		if len(l.Loc.Const) > 8 {
			return at, false
		}
		at.Kind, at.Addr = expr.PlaceConst, wordOf(l.Loc.Const)
		return at, true
	case symbol.LocExpr, symbol.LocEntry:
		if len(l.Loc.Expr) == 0 {
			return at, true
		}
		at, clear = p.located(l.Loc.Expr)
		at.Type = l.Type
		return at, clear
	}
	return at, true
}

// maxPieces bounds the parts of one value.
const maxPieces = 64

// located runs a location expression.
func (p *placer) located(code []byte) (expr.Place, bool) {
	v := stepMachine{p: p, r: byteReader{b: code}}
	var pieces []expr.Piece
	for {
		v.run()
		if v.bad {
			return expr.Place{}, false
		}
		if v.piece < 0 {
			break
		}
		if len(pieces) == maxPieces {
			return expr.Place{}, false
		}
		pieces = append(pieces, expr.Piece{Place: v.take(), Size: v.piece})
	}
	if pieces == nil {
		return v.take(), !v.bad
	}
	return expr.Place{Kind: expr.PlacePieces, Pieces: pieces}, !v.bad
}

// stepMachine runs a location expression over steps instead of numbers.
type stepMachine struct {
	p     *placer
	r     byteReader
	stack [][]expr.Step
	reg   int // a register location, or -1
	value bool
	data  []byte
	piece int64 // bytes of the piece that run ended at, or -1: at the expression's end
	bad   bool
	steps int
}

// Bounds on one expression: operations, and steps that it may become as operands are used more than once.
const (
	maxLocationOps   = 200
	maxLocationSteps = 64
)

// run goes on to the end of the next piece, or of the expression.
func (v *stepMachine) run() {
	v.reg, v.value, v.data, v.piece = -1, false, nil, -1
	for !v.r.done() && !v.bad {
		op := v.r.u8()
		if op == opPiece {
			v.piece = int64(v.r.uleb())
			v.bad = v.bad || v.piece > 1<<20
			break
		}
		if v.steps++; v.steps > maxLocationOps {
			v.bad = true
		}
		v.step(op)
	}
	v.bad = v.bad || v.r.bad
}

// take is what the expression has made so far.
func (v *stepMachine) take() expr.Place {
	switch {
	case v.data != nil:
		if len(v.data) > 8 {
			v.bad = true
			return expr.Place{}
		}
		return expr.Place{Kind: expr.PlaceConst, Addr: wordOf(v.data)}
	case v.reg >= 0:
		return expr.Place{Kind: expr.PlaceRegister, Reg: v.reg}
	case len(v.stack) == 0:
		return expr.Place{Kind: expr.PlaceMissing}
	}
	s := v.pop()
	v.stack = nil
	one := len(s) == 1
	switch {
	case v.value && one && s[0].Kind == expr.StepConst && s[0].Module == nil:
		return expr.Place{Kind: expr.PlaceConst, Addr: uint64(s[0].N)}
	case v.value && one && s[0].Kind == expr.StepReg && s[0].N == 0:
		return expr.Place{Kind: expr.PlaceRegister, Reg: s[0].Reg}
	case v.value:
		return expr.Place{Kind: expr.PlaceValue, Steps: s}
	case one && s[0].Kind == expr.StepReg:
		return expr.Place{Kind: expr.PlaceRegOffset, Reg: s[0].Reg, Off: s[0].N}
	case one && s[0].Kind == expr.StepFS:
		return expr.Place{Kind: expr.PlaceFSOffset, Off: s[0].N}
	case one && s[0].Kind == expr.StepConst:
		return expr.Place{Kind: expr.PlaceAddress, Addr: uint64(s[0].N), Module: s[0].Module}
	}
	return expr.Place{Kind: expr.PlaceComputed, Steps: s}
}

func (v *stepMachine) push(s ...expr.Step) {
	if len(s) == 0 || len(s) > maxLocationSteps || len(v.stack) > maxLocationSteps {
		v.bad = true
		return
	}
	v.stack = append(v.stack, s)
}

func (v *stepMachine) pop() []expr.Step {
	n := len(v.stack)
	if n == 0 {
		v.bad = true
		return nil
	}
	s := v.stack[n-1]
	v.stack = v.stack[:n-1]
	return s
}

func (v *stepMachine) num(n int64) { v.push(expr.Step{Kind: expr.StepConst, N: n}) }

// plus adds a constant, to the step itself where that can be.
func (v *stepMachine) plus(s []expr.Step, n int64) {
	if len(s) == 1 && s[0].Kind != expr.StepLoad && s[0].Kind != expr.StepALU {
		sum := s[0]
		sum.N += n
		v.push(sum)
		return
	}
	v.push(joined(s, expr.Step{Kind: expr.StepConst, N: n}, expr.Step{Kind: expr.StepALU, ALU: ring.ALUAdd})...)
}

func joined(s []expr.Step, more ...expr.Step) []expr.Step {
	return append(append(make([]expr.Step, 0, len(s)+len(more)), s...), more...)
}

// twoOperands are the operations of DWARF that take two operands, by what computes them. Division is signed, the
// remainder is not.
var twoOperands = map[byte]uint32{
	0x1a: ring.ALUAnd, 0x1b: ring.ALUSDiv, opMinus: ring.ALUSub, 0x1d: ring.ALUURem, 0x1e: ring.ALUMul, 0x21: ring.ALUOr,
	opPlus: ring.ALUAdd, 0x24: ring.ALUShl, 0x25: ring.ALUShr, 0x26: ring.ALUSar, 0x27: ring.ALUXor,
	0x29: ring.ALUEq, 0x2c: ring.ALUSLe, 0x2d: ring.ALUSLt, 0x2e: ring.ALUNe,
}

const (
	opDup, opDrop, opOver, opSwap = 0x12, 0x13, 0x14, 0x16
	opNeg, opNot, opGe, opGt      = 0x1f, 0x20, 0x2a, 0x2b
	opDerefSize, opTLS, opGNUTLS  = 0x94, 0x9b, 0xe0
)

func (v *stepMachine) step(op byte) {
	switch {
	case op >= opLit0 && op < opLit0+32:
		v.num(int64(op - opLit0))
		return
	case op >= opReg0 && op < opReg0+32:
		v.register(uint64(op - opReg0))
		return
	case op >= opBreg0 && op < opBreg0+32:
		v.breg(uint64(op-opBreg0), v.r.sleb())
		return
	}
	if alu, ok := twoOperands[op]; ok {
		y, x := v.pop(), v.pop()
		if (op == opPlus || op == opMinus) && len(y) == 1 && y[0].Kind == expr.StepConst && y[0].Module == nil {
			n := y[0].N
			if op == opMinus {
				n = -n
			}
			v.plus(x, n)
			return
		}
		v.push(append(joined(x, y...), expr.Step{Kind: expr.StepALU, ALU: alu})...)
		return
	}
	v.other(op)
}

func (v *stepMachine) other(op byte) {
	switch op {
	case opConst1u:
		v.num(int64(v.r.u8()))
	case opConst1s:
		v.num(int64(int8(v.r.u8())))
	case opConst2u:
		v.num(int64(v.r.fixed(2)))
	case opConst2s:
		v.num(int64(int16(v.r.fixed(2))))
	case opConst4u:
		v.num(int64(v.r.fixed(4)))
	case opConst4s:
		v.num(int64(int32(v.r.fixed(4))))
	case opConst8u, opConst8s:
		v.num(int64(v.r.fixed(8)))
	case opConstu:
		v.num(int64(v.r.uleb()))
	case opConsts:
		v.num(v.r.sleb())
	case opAddr:
		v.push(expr.Step{Kind: expr.StepConst, N: int64(v.r.fixed(8)), Module: v.p.mod})
	case opRegx:
		v.register(v.r.uleb())
	case opBregx:
		n := v.r.uleb()
		v.breg(n, v.r.sleb())
	case opFbreg:
		v.plus(v.p.base, v.r.sleb())
	case opCallFrameCFA:
		v.push(v.p.cfa...)
	case opPlusUconst:
		v.plus(v.pop(), int64(v.r.uleb()))
	case opStackValue:
		v.value = true
	case opImplicitValue:
		v.data = append([]byte{}, v.r.take(v.r.uleb())...)
	case opNop:
	default:
		v.shuffle(op)
	}
}

func (v *stepMachine) shuffle(op byte) {
	load := func(n int64) {
		v.push(joined(v.pop(), expr.Step{Kind: expr.StepLoad, N: n})...)
	}
	switch op {
	case opDeref:
		load(8)
	case opDerefSize:
		n := int64(v.r.u8())
		v.bad = v.bad || n < 1 || n > 8 || n&(n-1) != 0
		load(n)
	case opDup:
		s := v.pop()
		v.push(s...)
		v.push(s...)
	case opDrop:
		v.pop()
	case opOver:
		y, x := v.pop(), v.pop()
		v.push(x...)
		v.push(y...)
		v.push(x...)
	case opSwap:
		y, x := v.pop(), v.pop()
		v.push(y...)
		v.push(x...)
	case opNeg:
		v.push(joined(v.pop(), expr.Step{Kind: expr.StepConst, N: -1}, expr.Step{Kind: expr.StepALU, ALU: ring.ALUMul})...)
	case opNot:
		v.push(joined(v.pop(), expr.Step{Kind: expr.StepConst, N: -1}, expr.Step{Kind: expr.StepALU, ALU: ring.ALUXor})...)
	case opGe, opGt:
		y, x := v.pop(), v.pop()
		alu := uint32(ring.ALUSLe)
		if op == opGt {
			alu = ring.ALUSLt
		}
		v.push(append(joined(y, x...), expr.Step{Kind: expr.StepALU, ALU: alu})...)
	case opTLS, opGNUTLS:
		s := v.pop()
		off, ok := v.p.mod.TLSOffset()
		if !ok || len(s) != 1 || s[0].Kind != expr.StepConst {
			v.bad = true
			return
		}
		v.push(expr.Step{Kind: expr.StepFS, N: s[0].N + off})
	default:
		v.bad = true
	}
}

// register makes a register location.
func (v *stepMachine) register(n uint64) {
	if n >= xmm0+16 || n == 16 {
		v.bad = true
		return
	}
	v.reg = int(n)
}

func (v *stepMachine) breg(n uint64, off int64) {
	if n > 15 {
		v.bad = true
		return
	}
	v.push(expr.Step{Kind: expr.StepReg, Reg: int(n), N: off})
}
