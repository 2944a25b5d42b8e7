package capture

import "github.com/strobe-debug/strobe/internal/symbol"

// A location expression is run over symbols instead of numbers: at a function's entry only registers and
// the distance from the CFA are known.

type symKind uint8

const (
	symUnknown  symKind = iota
	symNumber           // off
	symRegister         // the contents of reg at entry, plus off
	symFrame            // CFA + off
	symLoaded           // the 8 bytes in memory at CFA+slot, plus off
)

type sym struct {
	kind symKind
	reg  uint8
	off  int64
	slot int64
}

// frame says what the frame base and the stack registers are. Where a location holds in the whole
// function it speaks of the frame behind the prologue, where it is of the entry, of the entry.
type frame struct {
	base    sym // DW_OP_fbreg
	stack   sym // rsp
	pointer sym // rbp
	guessed bool
}

// located is what an expression says of a value.
type located struct {
	home
	inFrame bool // the value, or with indirect the pointer to it, is in the frame slot at CFA+slot
	slot    int64
	inRBX   bool // in memory that only code behind the entry makes
}

// evaluate runs expr for a value of size bytes.
func evaluate(expr []byte, size uint32, fr frame) located {
	m := machine{r: byteReader{b: expr}, fr: fr}
	var out located
	covered := uint32(0)
	for !m.r.done() {
		op := m.r.u8()
		switch op {
		case opPiece, opBitPiece:
			n := m.r.uleb()
			if op == opBitPiece {
				if off := m.r.uleb(); off != 0 || n%8 != 0 {
					return located{home: nowhere}
				}
				n /= 8
			}
			if n > 1<<20 || !out.piece(m.take(), uint32(n)) {
				return located{home: nowhere}
			}
			covered += uint32(n)
		default:
			m.step(op)
		}
		if m.bad || m.r.bad || m.steps > 200 {
			return located{home: nowhere}
		}
	}
	if covered > 0 {
		if covered < size {
			out.add(place{size: size - covered})
		}
		return out
	}
	return m.whole(size)
}

// operand is what the expression has made so far, between pieces.
type operand struct {
	has    bool
	value  sym
	inReg  bool // value is a register location
	xmm    bool
	reg    uint8
	isVal  bool // DW_OP_stack_value
	isData bool
	data   []byte // DW_OP_implicit_value
}

// piece adds n bytes; what cannot be told is missing.
func (l *located) piece(o operand, n uint32) bool {
	switch {
	case !o.has:
		l.add(place{size: n})
	case o.inReg && o.xmm:
		l.add(place{source: source{kind: srcXMM, reg: o.reg}, size: min(n, 16)})
		l.addMissing(int64(n) - 16)
	case o.inReg: // of a wider value LLVM names the first half's register only
		l.add(place{source: source{kind: srcGPR, reg: o.reg}, size: min(n, 8)})
		l.addMissing(int64(n) - 8)
	case o.isData:
		l.add(place{source: source{kind: srcConst}, size: n, bytes: fit(o.data, n)})
	case o.isVal:
		l.add(o.value.asValue(n))
	case o.value.kind == symFrame && o.value.off >= 0:
		l.add(place{source: source{kind: srcStack, off: int32(o.value.off)}, size: n})
	default:
		l.add(place{size: n})
	}
	return true
}

func (l *located) addMissing(n int64) {
	if n > 0 {
		l.add(place{size: uint32(n)})
	}
}

// asValue is the place of a computed value of n bytes.
func (s sym) asValue(n uint32) place {
	switch {
	case s.kind == symNumber:
		return place{source: source{kind: srcConst}, size: n, bytes: fit(little64(uint64(s.off)), n)}
	case s.kind == symRegister && s.off == 0 && n <= 8:
		return place{source: source{kind: srcGPR, reg: s.reg}, size: n}
	case s.kind == symLoaded && s.off == 0 && n <= 8 && s.slot >= 0:
		return place{source: source{kind: srcStack, off: int32(s.slot)}, size: n}
	}
	return place{size: n}
}

func little64(n uint64) []byte {
	b := make([]byte, 8)
	for i := range b {
		b[i] = byte(n >> (8 * i))
	}
	return b
}

// fit cuts b to n bytes, or extends it with zeros.
func fit(b []byte, n uint32) []byte {
	out := make([]byte, min(n, 1<<16))
	copy(out, b)
	return out
}

type machine struct {
	r     byteReader
	fr    frame
	stack []sym
	cur   operand
	bad   bool
	steps int
}

func (m *machine) take() operand {
	o := m.cur
	if !o.inReg && !o.isData && len(m.stack) > 0 {
		o.has, o.value = true, m.stack[len(m.stack)-1]
	}
	m.cur, m.stack = operand{}, m.stack[:0]
	return o
}

// whole is the result of an expression without pieces.
func (m *machine) whole(size uint32) located {
	o := m.take()
	var l located
	switch {
	case !o.has:
		return located{home: nowhere}
	case o.inReg || o.isData || o.isVal:
		l.piece(o, size)
		if !l.complete() {
			return located{home: nowhere}
		}
		return l
	}
	v := o.value
	switch v.kind {
	case symFrame:
		if v.off < 0 {
			return located{inFrame: true, slot: v.off}
		}
		l.add(place{source: source{kind: srcStack, off: int32(v.off)}, size: size})
		return l
	case symRegister:
		if v.reg == rbx || v.reg == r10 || v.reg > r11 { // set up by the prologue, not by the caller
			return located{home: nowhere, inRBX: true}
		}
		l.indirect, l.off = true, int32(v.off)
		l.add(place{source: source{kind: srcGPR, reg: v.reg}, size: 8})
		return l
	case symLoaded:
		l.indirect, l.off = true, int32(v.off)
		if v.slot < 0 {
			l.inFrame, l.slot = true, v.slot
			return l
		}
		l.add(place{source: source{kind: srcStack, off: int32(v.slot)}, size: 8})
		return l
	}
	return located{home: nowhere}
}

// Opcodes of DWARF 5, 7.7.1, and the GNU extensions that compilers emit.
const (
	opAddr, opDeref                            = 0x03, 0x06
	opConst1u, opConst1s, opConst2u, opConst2s = 0x08, 0x09, 0x0a, 0x0b
	opConst4u, opConst4s, opConst8u, opConst8s = 0x0c, 0x0d, 0x0e, 0x0f
	opConstu, opConsts                         = 0x10, 0x11
	opMinus, opPlus, opPlusUconst              = 0x1c, 0x22, 0x23
	opLit0, opReg0, opBreg0                    = 0x30, 0x50, 0x70
	opRegx, opFbreg, opBregx, opPiece          = 0x90, 0x91, 0x92, 0x93
	opNop, opCallFrameCFA, opBitPiece          = 0x96, 0x9c, 0x9d
	opImplicitValue, opStackValue              = 0x9e, 0x9f
	opEntryValue, opGNUEntryValue              = 0xa3, 0xf3
)

func (m *machine) step(op byte) {
	m.steps++
	push := func(s sym) { m.stack = append(m.stack, s); m.cur.has = true }
	num := func(n int64) { push(sym{kind: symNumber, off: n}) }
	switch {
	case op >= opLit0 && op < opLit0+32:
		num(int64(op - opLit0))
		return
	case op >= opReg0 && op < opReg0+32:
		m.register(uint64(op - opReg0))
		return
	case op >= opBreg0 && op < opBreg0+32:
		push(m.base(uint64(op-opBreg0), m.r.sleb()))
		return
	}
	switch op {
	case opConst1u:
		num(int64(m.r.u8()))
	case opConst1s:
		num(int64(int8(m.r.u8())))
	case opConst2u:
		num(int64(m.r.fixed(2)))
	case opConst2s:
		num(int64(int16(m.r.fixed(2))))
	case opConst4u:
		num(int64(m.r.fixed(4)))
	case opConst4s:
		num(int64(int32(m.r.fixed(4))))
	case opConst8u, opConst8s:
		num(int64(m.r.fixed(8)))
	case opConstu:
		num(int64(m.r.uleb()))
	case opConsts:
		num(m.r.sleb())
	case opRegx:
		m.register(m.r.uleb())
	case opBregx:
		n := m.r.uleb()
		push(m.base(n, m.r.sleb()))
	case opFbreg:
		s := m.fr.base
		s.off += m.r.sleb()
		push(s)
	case opCallFrameCFA:
		push(sym{kind: symFrame})
	case opPlusUconst:
		m.plus(sym{kind: symNumber, off: int64(m.r.uleb())})
	case opPlus:
		m.plus(m.pop())
	case opMinus:
		n := m.pop()
		n.off = -n.off
		m.plus(n)
	case opDeref:
		m.deref()
	case opStackValue:
		m.cur.isVal = true
	case opImplicitValue:
		m.cur.has, m.cur.isData = true, true
		m.cur.data = m.r.take(m.r.uleb())
	case opEntryValue, opGNUEntryValue:
		m.entryValue(m.r.take(m.r.uleb()))
	case opNop:
	default:
		m.bad = true
	}
}

// register makes a register location.
func (m *machine) register(n uint64) {
	m.cur.has, m.cur.inReg = true, true
	switch {
	case n < 16:
		m.cur.reg = uint8(n)
	case n >= xmm0 && n < xmm0+16:
		m.cur.xmm, m.cur.reg = true, uint8(n-xmm0)
	default:
		m.bad = true
	}
}

// base is the contents of register n plus off.
func (m *machine) base(n uint64, off int64) sym {
	s := sym{kind: symRegister, reg: uint8(n)}
	switch {
	case n == rsp:
		s = m.fr.stack
	case n == rbp:
		s = m.fr.pointer
	case n > 15:
		s = sym{}
	}
	s.off += off
	return s
}

func (m *machine) pop() sym {
	if len(m.stack) == 0 {
		m.bad = true
		return sym{}
	}
	s := m.stack[len(m.stack)-1]
	m.stack = m.stack[:len(m.stack)-1]
	return s
}

func (m *machine) plus(n sym) {
	s := m.pop()
	if n.kind != symNumber {
		s, n = n, s
	}
	if n.kind != symNumber {
		s = sym{}
	}
	s.off += n.off
	m.stack = append(m.stack, s)
}

func (m *machine) deref() {
	s := m.pop()
	if s.kind == symFrame {
		s = sym{kind: symLoaded, slot: s.off}
	} else {
		s = sym{}
	}
	m.stack = append(m.stack, s)
}

// entryValue pushes a register's contents on entry, which is now.
func (m *machine) entryValue(expr []byte) {
	if len(expr) == 1 && expr[0] >= opReg0 && expr[0] < opReg0+16 {
		m.stack = append(m.stack, sym{kind: symRegister, reg: expr[0] - opReg0})
		m.cur.has = true
		return
	}
	m.bad = true
}

// frameBase evaluates DW_AT_frame_base over the registers of fr.
func frameBase(expr []byte, fr frame) sym {
	m := machine{r: byteReader{b: expr}, fr: fr}
	for !m.r.done() && !m.bad && !m.r.bad && m.steps < 50 {
		m.step(m.r.u8())
	}
	o := m.take()
	switch {
	case m.bad || m.r.bad || !o.has:
		return sym{}
	case o.inReg && !o.xmm:
		return m.base(uint64(o.reg), 0)
	}
	return o.value
}

// entryFrame is the frame at a function's first instruction.
func entryFrame(sig *symbol.Signature) frame {
	fr := frame{stack: sym{kind: symFrame, off: -8}}
	fr.base = frameBase(sig.FrameBase, fr)
	return fr
}

// byteReader reads a DWARF expression.
type byteReader struct {
	b   []byte
	bad bool
}

func (r *byteReader) done() bool { return len(r.b) == 0 || r.bad }

func (r *byteReader) u8() byte {
	if len(r.b) == 0 {
		r.bad = true
		return 0
	}
	c := r.b[0]
	r.b = r.b[1:]
	return c
}

func (r *byteReader) fixed(n int) uint64 {
	v := uint64(0)
	for i := 0; i < n; i++ {
		v |= uint64(r.u8()) << (8 * i)
	}
	return v
}

func (r *byteReader) uleb() uint64 {
	v := uint64(0)
	for shift := uint(0); shift < 70; shift += 7 {
		c := r.u8()
		v |= uint64(c&0x7f) << shift
		if c&0x80 == 0 {
			return v
		}
	}
	r.bad = true
	return 0
}

func (r *byteReader) sleb() int64 {
	v := int64(0)
	for shift := uint(0); shift < 70; shift += 7 {
		c := r.u8()
		v |= int64(c&0x7f) << shift
		if c&0x80 == 0 {
			if c&0x40 != 0 && shift+7 < 64 {
				v |= -1 << (shift + 7)
			}
			return v
		}
	}
	r.bad = true
	return 0
}

func (r *byteReader) take(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.bad = true
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}
