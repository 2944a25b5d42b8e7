package expr

import (
	"fmt"
	"math"

	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/symbol"
)

// Program is an expression as a walk program for ring.OpEval. It puts out one word of 8 bytes and needs
// no node. The word is
//
//   - a scalar, sign- or zero-extended from its type; of a float its bits (Type.Render shows it);
//   - of a pointer, char* too, the pointer itself;
//   - of anything else, std::string and char[] too, the address of the object (Object is set).
//
// The last two operations are WalkOut and OpEnd, and nothing jumps behind the WalkOut. So to have what
// the word points to, or the object, captured as well, insert a WalkNode or WalkText with A = Reg
// before the OpEnd: Object with the walk of Expr.Type, char* with WalkText.
type Program struct {
	Ops    []ring.Op
	Relocs []Reloc
	Reg    uint8 // holds the word at the end
	Object bool
}

// Reloc says that the constant of operation Op is an address in Module as linked: its load bias is to be
// added, or the program cannot run.
type Reloc struct {
	Op     int
	Module *symbol.Module
}

// Relocated returns the operations with the load biases of bias added.
func (p *Program) Relocated(bias func(*symbol.Module) (uint64, bool)) ([]ring.Op, error) {
	ops := append([]ring.Op(nil), p.Ops...)
	for _, r := range p.Relocs {
		b, ok := bias(r.Module)
		if !ok {
			return nil, fmt.Errorf("relocate expression: %s is not loaded", r.Module)
		}
		op := &ops[r.Op]
		v := (uint64(op.SrcOff) | uint64(op.Size)<<32) + b
		op.SrcOff, op.Size = uint32(v), uint32(v>>32)
	}
	return ops, nil
}

// Bounds of one program: registers of the agent's machine, and operations.
const (
	walkRegs   = 16
	maxProgram = 2000
	maxSteps   = ring.MaxSteps * 3 / 4 // of a record's, which other programs share
)

// Compile returns the expression as a program. ok is false where the agent cannot compute it: it
// computes with floats, compares $threadName or a literal of more than 256 bytes, needs a register that
// programs do not have, or is too large. Split may divide such an expression.
func (e *Expr) Compile() (p *Program, ok bool) {
	switch {
	case e.val != nil && e.typ.kind == KindFloat:
		if e.val.op != opFBits {
			return nil, false
		}
		p, _, ok = program(e.val.a, false, e.point)
	case e.val != nil:
		p, _, ok = program(e.val, false, e.point)
	case e.addr != nil:
		p, _, ok = program(e.addr, true, e.point)
	}
	return p, ok
}

// AtPoint returns the expression for a point (ring.HookPoint), where programs have all general registers and no CFA.
func (e *Expr) AtPoint() *Expr {
	p := *e
	p.point = true
	return &p
}

// program compiles a word, for a point or for one end of a call. steps is how many the program takes at most.
func program(n *node, object, point bool) (p *Program, steps int, ok bool) {
	g := &generator{p: &Program{Object: object}, point: point}
	g.node(n, 0)
	g.emit(ring.Op{Code: ring.WalkOut})
	g.emit(ring.Op{Code: ring.OpEnd})
	steps = len(g.p.Ops) + g.loops
	if g.failed || len(g.p.Ops) > maxProgram || steps > maxSteps {
		return nil, 0, false
	}
	return g.p, steps, true
}

type generator struct {
	p      *Program
	failed bool
	point  bool
	loops  int // steps that loops take at most

	limit uint8 // of a fragment: the first register that it may not use; 0: it is none
	self  int64 // bytes of the object that were copied
}

func (g *generator) emit(op ring.Op) int {
	g.p.Ops = append(g.p.Ops, op)
	return len(g.p.Ops) - 1
}

// land makes the jumps go to the next operation.
func (g *generator) land(jumps ...int) {
	for _, j := range jumps {
		g.p.Ops[j].Off = int32(len(g.p.Ops) - j - 1)
	}
}

func (g *generator) constant(d uint8, v uint64) int {
	return g.emit(ring.Op{Code: ring.WalkConst, Src: d, SrcOff: uint32(v), Size: uint32(v >> 32)})
}

func (g *generator) imm(d, a uint8, op uint32, k int32) {
	g.emit(ring.Op{Code: ring.WalkALUImm, Src: d, Slot: a, SrcOff: op, Off: k})
}

// loadMem reads size bytes at register a + off into d.
func (g *generator) loadMem(d, a uint8, off int32, size uint8, signed bool) {
	g.emit(ring.Op{Code: ring.WalkLoadMem, Src: d, Slot: a, Off: off, SrcOff: uint32(word(signed)), Size: uint32(size)})
}

func fits32(v uint64) bool { return int64(v) >= math.MinInt32 && int64(v) <= math.MaxInt32 }

// keptRegs are the registers that the agent keeps at one end of a call or the other, by DWARF number.
var keptRegs = map[uint64]bool{ring.RegRAX: true, ring.RegRDX: true, ring.RegRCX: true, ring.RegRSI: true,
	ring.RegRDI: true, ring.RegR8: true, ring.RegR9: true}

// node computes n into register d; it may use all registers behind d.
func (g *generator) node(n *node, d uint8) {
	if d >= walkRegs || g.limit > 0 && d >= g.limit || len(g.p.Ops) > maxProgram || g.failed {
		g.failed = true
		return
	}
	switch n.op {
	case opConst:
		at := g.constant(d, n.n)
		if n.mod != nil {
			g.p.Relocs = append(g.p.Relocs, Reloc{at, n.mod})
		}
	case opReg:
		g.failed = g.failed || !keptRegs[n.n] && !(g.point && n.n < 16)
		g.emit(ring.Op{Code: ring.WalkReg, Src: d, Size: uint32(n.n)})
	case opCFA, opFS:
		code := uint8(ring.WalkCFA)
		if n.op == opFS {
			code = ring.WalkFS
		}
		g.failed = g.failed || !fits32(n.n) || g.point && n.op == opCFA
		g.emit(ring.Op{Code: code, Src: d, Off: int32(n.n)})
	case opSelf:
		g.failed = g.failed || g.limit == 0 || !fits32(n.n)
		g.emit(ring.Op{Code: ring.WalkAddr, Src: d, Off: int32(n.n)})
	case opWalk:
		g.failed = g.failed || g.limit == 0
		g.imm(d, uint8(n.n), ring.ALUAdd, 0)
	case opThread:
		g.emit(ring.Op{Code: ring.WalkInfo, Src: d})
	case opProcess:
		g.emit(ring.Op{Code: ring.WalkInfo, Src: d, SrcOff: 1})
	case opLoad:
		g.load(n, d)
	case opALU:
		g.alu(n, d)
	case opExtend:
		g.node(n.a, d)
		g.extend(d, n.size, n.signed)
	case opTrue:
		g.node(n.a, d)
		g.imm(d, d, ring.ALUNe, 0)
	case opFalse:
		g.node(n.a, d)
		g.imm(d, d, ring.ALUEq, 0)
	case opAnd, opOr, opCond:
		g.branch(n, d)
	case opGuard:
		g.node(n.a, d)
		g.node(n.b, d+1)
		g.emit(ring.Op{Code: ring.WalkALU, Src: d, Slot: d, Dst: d + 1, SrcOff: ring.ALUUDiv})
	case opBound:
		g.bound(n, d)
	case opTextEq:
		g.textEq(n, d)
	case opTextLen:
		g.textLen(n, d)
	case opTextCmp:
		g.textCmp(n, d)
	default:
		g.failed = true
	}
}

func (g *generator) load(n *node, d uint8) {
	at, off := n.a, int32(0)
	if end := int64(n.a.n) + int64(n.size); at.op == opSelf && int64(at.n) >= 0 && end <= g.self {
		g.emit(ring.Op{Code: ring.WalkLoad, Src: d, Off: int32(at.n), SrcOff: uint32(word(n.signed)), Size: uint32(n.size)})
		return
	}
	if at.op == opALU && at.alu == ring.ALUAdd && at.b.isConst() && fits32(at.b.n) {
		at, off = at.a, int32(at.b.n)
	}
	g.node(at, d)
	g.loadMem(d, d, off, n.size, n.signed)
}

func (g *generator) alu(n *node, d uint8) {
	g.node(n.a, d)
	if n.b.isConst() && fits32(n.b.n) {
		g.imm(d, d, n.alu, int32(n.b.n))
		return
	}
	g.node(n.b, d+1)
	g.emit(ring.Op{Code: ring.WalkALU, Src: d, Slot: d, Dst: d + 1, SrcOff: n.alu})
}

func (g *generator) extend(d, size uint8, signed bool) {
	shift := 64 - 8*int32(size)
	switch {
	case signed:
		g.imm(d, d, ring.ALUShl, shift)
		g.imm(d, d, ring.ALUSar, shift)
	case size < 4:
		g.imm(d, d, ring.ALUAnd, 1<<(8*size)-1)
	default:
		g.imm(d, d, ring.ALUShl, shift)
		g.imm(d, d, ring.ALUShr, shift)
	}
}

func (g *generator) branch(n *node, d uint8) {
	g.node(n.a, d)
	switch n.op {
	case opAnd:
		j := g.emit(ring.Op{Code: ring.WalkJumpZero, Src: d})
		g.node(n.b, d)
		g.land(j)
	case opOr:
		j := g.emit(ring.Op{Code: ring.WalkJumpNot, Src: d})
		g.node(n.b, d)
		g.land(j)
	default:
		other := g.emit(ring.Op{Code: ring.WalkJumpZero, Src: d})
		g.node(n.b, d)
		end := g.emit(ring.Op{Code: ring.WalkJump})
		g.land(other)
		g.node(n.c, d)
		g.land(end)
	}
}

// bound divides the index by whether it is in range: by zero, which ends the program, where it is not.
func (g *generator) bound(n *node, d uint8) {
	g.node(n.a, d)
	g.node(n.b, d+1)
	g.emit(ring.Op{Code: ring.WalkALU, Src: d + 1, Slot: d, Dst: d + 1, SrcOff: ring.ALUULt})
	g.emit(ring.Op{Code: ring.WalkALU, Src: d, Slot: d, Dst: d + 1, SrcOff: ring.ALUUDiv})
}
