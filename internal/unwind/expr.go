package unwind

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/strobe-debug/strobe/internal/symbol"
)

// Opcodes of DWARF 5, 7.7.1, and the GNU extensions that compilers emit.
const (
	opAddr            = 0x03
	opDeref           = 0x06
	opConst1u         = 0x08
	opConst8s         = 0x0f
	opConstu          = 0x10
	opConsts          = 0x11
	opDup             = 0x12
	opDrop            = 0x13
	opOver            = 0x14
	opPick            = 0x15
	opSwap            = 0x16
	opRot             = 0x17
	opAbs             = 0x19
	opAnd             = 0x1a
	opNeg             = 0x1f
	opNot             = 0x20
	opPlusConst       = 0x23
	opXor             = 0x27
	opBra             = 0x28
	opEq              = 0x29
	opNe              = 0x2e
	opSkip            = 0x2f
	opLit0            = 0x30
	opReg0            = 0x50
	opBreg0           = 0x70
	opRegx            = 0x90
	opFbreg           = 0x91
	opBregx           = 0x92
	opPiece           = 0x93
	opDerefSize       = 0x94
	opNop             = 0x96
	opCallFrameCFA    = 0x9c
	opTLS             = 0x9b
	opBitPiece        = 0x9d
	opImplicitValue   = 0x9e
	opStackValue      = 0x9f
	opImplicitPointer = 0xa0
	opAddrx           = 0xa1
	opConstx          = 0xa2
	opEntryValue      = 0xa3
	opConstType       = 0xa4
	opRegvalType      = 0xa5
	opDerefType       = 0xa6
	opConvert         = 0xa8
	opReinterpret     = 0xa9
	opGNUTLS          = 0xe0
	opGNUUninit       = 0xf0
	opGNUImplicitPtr  = 0xf2
	opGNUEntryValue   = 0xf3
	opGNUConstType    = 0xf4
	opGNURegvalType   = 0xf5
	opGNUDerefType    = 0xf6
	opGNUConvert      = 0xf7
	opGNUReinterpret  = 0xf9
	opGNUParameterRef = 0xfa
	opGNUAddrIndex    = 0xfb
	opGNUConstIndex   = 0xfc
)

// Bounds on one expression; real ones have tens of operations.
const (
	maxOps   = 10000
	maxStack = 256
	maxDepth = 8 // frame bases and entry values inside entry values
)

var (
	errExpr    = errors.New("the expression is damaged")
	errUnsaved = errors.New("a register that it needs was not saved")
	errImplied = errors.New("a pointer to a value that has no address")
)

// evaluator runs DWARF expressions over the registers of a frame.
type evaluator struct {
	mem    *pages
	regs   *Regs
	bias   uint64
	cfa    uint64
	hasCFA bool
	unit   *symbol.ExprUnit
	base   func() (uint64, error)           // DW_OP_fbreg
	entry  func(reg int) (uint64, error)    // the value of a register when the function was entered
	param  func(off uint64) (uint64, error) // what the caller passed for the parameter at an offset of the unit
	tls    func(off uint64) (uint64, bool)

	vectors *[16][16]byte // nil: not known

	stack []scalar
	steps int
	err   error
}

// operand is what an expression made between pieces, besides its stack.
type operand struct {
	reg    int  // a register location, or -1
	value  bool // DW_OP_stack_value
	data   []byte
	isData bool

	implied bool // a pointer to off bytes into the value of the variable at die, which has no address
	die     uint64
	off     int64
}

// number runs an expression that computes one number from the initial stack.
func (e *evaluator) number(expr []byte, initial ...uint64) (uint64, error) {
	e.stack = e.stack[:0]
	for _, v := range initial {
		e.push(v)
	}
	c := cursor{b: expr}
	o := operand{reg: -1}
	for !c.done() && e.err == nil {
		e.step(&c, &o)
	}
	switch {
	case e.err != nil:
		return 0, e.err
	case o.implied:
		return 0, errImplied
	case c.bad || o.isData:
		return 0, errExpr
	case o.reg >= 0: // a frame base may be a register
		return e.register(o.reg), e.err
	case len(e.stack) == 0:
		return 0, errExpr
	}
	return e.stack[len(e.stack)-1].v, nil
}

func (e *evaluator) fail(err error) {
	if e.err == nil {
		e.err = err
	}
}

func (e *evaluator) push(v uint64) { e.pushScalar(scalar{v: v}) }

func (e *evaluator) pushScalar(s scalar) {
	if len(e.stack) >= maxStack {
		e.fail(errExpr)
		return
	}
	e.stack = append(e.stack, s)
}

func (e *evaluator) pop() scalar {
	n := len(e.stack)
	if n == 0 {
		e.fail(errExpr)
		return scalar{}
	}
	s := e.stack[n-1]
	e.stack = e.stack[:n-1]
	return s
}

// peek returns the n-th entry from the top.
func (e *evaluator) peek(n int) scalar {
	if n < 0 || n >= len(e.stack) {
		e.fail(errExpr)
		return scalar{}
	}
	return e.stack[len(e.stack)-1-n]
}

func (e *evaluator) register(n int) uint64 {
	v, ok := e.regs.Get(n)
	if !ok {
		e.fail(errUnsaved)
	}
	return v
}

func (e *evaluator) load(addr uint64, n uint64) uint64 {
	var b [8]byte
	if n == 0 || n > 8 {
		e.fail(errExpr)
		return 0
	}
	if err := e.mem.read(addr, b[:n]); err != nil {
		e.fail(err)
		return 0
	}
	c := cursor{b: b[:n]}
	return c.fixed(n)
}

// step runs one operation.
func (e *evaluator) step(c *cursor, o *operand) {
	if e.steps++; e.steps > maxOps {
		e.fail(errExpr)
		return
	}
	op := c.u8()
	switch {
	case op >= opLit0 && op < opLit0+32:
		e.push(uint64(op - opLit0))
	case op >= opReg0 && op < opReg0+32:
		o.reg = int(op - opReg0)
	case op >= opBreg0 && op < opBreg0+32:
		off := c.sleb()
		e.push(e.register(int(op-opBreg0)) + uint64(off))
	case op >= opConst1u && op <= opConst8s:
		e.push(fixedConst(c, op))
	case op >= opDup && op <= opRot:
		e.shuffle(op, c)
	case op >= opAbs && op <= opXor && op != opPlusConst, op >= opEq && op <= opNe:
		e.arithmetic(op)
	default:
		e.step2(op, c, o)
	}
}

func fixedConst(c *cursor, op byte) uint64 {
	size := uint64(1) << ((op - opConst1u) / 2)
	v := c.fixed(size)
	if (op-opConst1u)%2 == 1 {
		shift := 64 - 8*size
		return uint64(int64(v<<shift) >> shift)
	}
	return v
}

func (e *evaluator) step2(op byte, c *cursor, o *operand) {
	switch op {
	case opAddr:
		e.push(c.fixed(8) + e.bias)
	case opAddrx, opGNUAddrIndex, opConstx, opGNUConstIndex:
		a, ok := e.unit.AddrAt(c.uleb())
		if !ok {
			e.fail(errExpr)
		}
		if op == opAddrx || op == opGNUAddrIndex {
			a += symbol.Addr(e.bias)
		}
		e.push(uint64(a))
	case opDeref:
		e.push(e.load(e.pop().v, 8))
	case opDerefSize:
		n := uint64(c.u8())
		e.push(e.load(e.pop().v, n))
	case opConstu:
		e.push(c.uleb())
	case opConsts:
		e.push(uint64(c.sleb()))
	case opPlusConst:
		s := e.pop()
		e.pushScalar(scalar{v: s.v + c.uleb(), t: s.t}.fit())
	case opSkip, opBra:
		by := int(int16(c.fixed(2))) // from behind the operand
		to := c.off + by
		if op == opBra && e.pop().v == 0 {
			return
		}
		if to < 0 || to > len(c.b) {
			e.fail(errExpr)
			return
		}
		c.off = to
	case opRegx:
		o.reg = int(min(c.uleb(), 1<<16))
	case opBregx:
		reg := int(min(c.uleb(), 1<<16))
		e.push(e.register(reg) + uint64(c.sleb()))
	case opFbreg:
		off := c.sleb()
		e.push(e.frameBase() + uint64(off))
	case opCallFrameCFA:
		if !e.hasCFA {
			e.fail(errUnsaved)
		}
		e.push(e.cfa)
	case opTLS, opGNUTLS:
		e.push(e.threadLocal(e.pop().v))
	case opStackValue:
		o.value = true
	case opImplicitValue:
		o.isData, o.data = true, c.take(c.uleb())
	case opImplicitPointer, opGNUImplicitPtr:
		o.implied, o.die = true, c.fixed(e.unit.OffsetSize())
		o.off = c.sleb()
	case opNop, opGNUUninit:
	default:
		e.step3(op, c)
	}
}

// step3 runs operations on typed values and values of the past.
func (e *evaluator) step3(op byte, c *cursor) {
	switch op {
	case opEntryValue, opGNUEntryValue:
		e.entryValue(c.take(c.uleb()))
	case opConstType, opGNUConstType:
		t := e.unit.BaseType(c.uleb())
		b := c.take(uint64(c.u8()))
		if t == nil || len(b) > 8 {
			e.fail(errExpr)
			return
		}
		k := cursor{b: b}
		e.pushScalar(scalar{v: k.fixed(uint64(len(b))), t: t}.fit())
	case opRegvalType, opGNURegvalType:
		reg := int(min(c.uleb(), 1<<16))
		t := e.unit.BaseType(c.uleb())
		if t == nil {
			e.fail(errExpr)
			return
		}
		e.pushScalar(scalar{v: e.typed(reg, t), t: t}.fit())
	case opDerefType, opGNUDerefType:
		n := uint64(c.u8())
		t := e.unit.BaseType(c.uleb())
		if t == nil {
			e.fail(errExpr)
		}
		e.pushScalar(scalar{v: e.load(e.pop().v, n), t: t}.fit())
	case opConvert, opGNUConvert, opReinterpret, opGNUReinterpret:
		off := c.uleb()
		var t *symbol.Type
		if off != 0 {
			if t = e.unit.BaseType(off); t == nil {
				e.fail(errExpr)
				return
			}
		}
		s := e.pop()
		if op == opReinterpret || op == opGNUReinterpret {
			e.pushScalar(scalar{v: s.v, t: t}.fit())
			return
		}
		to, ok := s.convert(t)
		if !ok {
			e.fail(errExpr)
		}
		e.pushScalar(to)
	case opGNUParameterRef:
		off := c.fixed(4)
		if e.param == nil {
			e.fail(errUnsaved)
			return
		}
		v, err := e.param(off)
		if err != nil {
			e.fail(err)
		}
		e.push(v)
	default:
		e.fail(fmt.Errorf("%w: operation %#x", errExpr, op))
	}
}

// typed reads a register as a value of a type: of a vector register, its lowest part.
func (e *evaluator) typed(reg int, t *symbol.Type) uint64 {
	if reg < firstXMM || reg >= firstXMM+16 {
		return e.register(reg)
	}
	if e.vectors == nil || t.Size > 8 {
		e.fail(errUnsaved)
		return 0
	}
	return binary.LittleEndian.Uint64(e.vectors[reg-firstXMM][:])
}

func (e *evaluator) shuffle(op byte, c *cursor) {
	switch op {
	case opDup:
		e.pushScalar(e.peek(0))
	case opDrop:
		e.pop()
	case opOver:
		e.pushScalar(e.peek(1))
	case opPick:
		e.pushScalar(e.peek(int(c.u8())))
	case opSwap:
		a, b := e.pop(), e.pop()
		e.pushScalar(a)
		e.pushScalar(b)
	case opRot: // the top goes below the next two
		a, b, d := e.pop(), e.pop(), e.pop()
		e.pushScalar(a)
		e.pushScalar(d)
		e.pushScalar(b)
	}
}

func (e *evaluator) frameBase() uint64 {
	if e.base == nil {
		e.fail(errUnsaved)
		return 0
	}
	v, err := e.base()
	if err != nil {
		e.fail(err)
	}
	return v
}

func (e *evaluator) threadLocal(off uint64) uint64 {
	if e.tls != nil {
		if a, ok := e.tls(off); ok {
			return a
		}
	}
	e.fail(errors.New("the thread's block of thread-local variables is not known"))
	return 0
}

// entryValue computes what a register held when the function was entered.
func (e *evaluator) entryValue(expr []byte) {
	reg := -1
	switch {
	case len(expr) == 1 && expr[0] >= opReg0 && expr[0] < opReg0+16:
		reg = int(expr[0] - opReg0)
	case len(expr) == 2 && expr[0] >= opBreg0 && expr[0] < opBreg0+16 && expr[1] == 0: // as older gcc writes it
		reg = int(expr[0] - opBreg0)
	}
	if reg < 0 || e.entry == nil {
		e.fail(errUnsaved)
		return
	}
	v, err := e.entry(reg)
	if err != nil {
		e.fail(err)
	}
	e.push(v)
}
