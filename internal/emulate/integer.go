package emulate

import (
	"errors"
	"math/bits"
)

var errDivide = errors.New("division by zero or overflow")

// width is the operand's size: opcodes without their lowest bit work on bytes.
func (m *Machine) width() int {
	if m.in.op&1 == 0 {
		return 1
	}
	return m.in.size
}

// execute runs what follows the prefixes; one flat switch over the opcodes.
func (m *Machine) execute() {
	in := &m.in
	switch op := in.op; {
	case op == 0x0f:
		m.executeTwo()
	case op < 0x40 && op&7 < 6:
		m.arithmetic()
	case op >= 0x50 && op < 0x58:
		m.push(m.get(int(op&7)|int(in.rex&1)<<3, 8), m.stackSize())
	case op >= 0x58 && op < 0x60:
		n := m.stackSize()
		m.set(int(op&7)|int(in.rex&1)<<3, n, m.pop(n))
	case op == 0x63:
		m.modrm(0)
		m.set(in.reg, in.size, extend(m.rmGet(4), 4))
	case op == 0x68:
		m.push(m.immZ(), 8)
	case op == 0x6a:
		m.push(m.imm(1), 8)
	case op == 0x69:
		m.modrm(min(in.size, 4))
		a := m.rmGet(in.size)
		m.set(in.reg, in.size, m.imul(a, m.immZ(), in.size))
	case op == 0x6b:
		m.modrm(1)
		a := m.rmGet(in.size)
		m.set(in.reg, in.size, m.imul(a, m.imm(1), in.size))
	case op >= 0x70 && op < 0x80:
		if to := m.imm(1); m.branch(op) {
			m.RIP += to
		}
	case op == 0x80 || op == 0x81 || op == 0x83:
		m.arithmeticImmediate()
	case op == 0x84 || op == 0x85:
		m.modrm(0)
		n := m.width()
		m.logic(m.rmGet(n)&m.get(in.reg, n), n)
	case op == 0x86 || op == 0x87:
		m.modrm(0)
		n := m.width()
		a, b := m.rmGet(n), m.get(in.reg, n)
		m.rmSet(n, b)
		m.set(in.reg, n, a)
	case op == 0x88 || op == 0x89:
		m.modrm(0)
		n := m.width()
		m.rmSet(n, m.get(in.reg, n))
	case op == 0x8a || op == 0x8b:
		m.modrm(0)
		n := m.width()
		m.set(in.reg, n, m.rmGet(n))
	case op == 0x8d:
		in.base = 0
		if m.modrm(0); !in.isMem {
			m.unknown()
			return
		}
		m.set(in.reg, in.size, in.addr)
	case op == 0x8f:
		v := m.pop(8)
		m.modrm(0)
		m.rmSet(8, v)
	case op >= 0x90 && op < 0x98:
		if r := int(op&7) | int(in.rex&1)<<3; r != RAX {
			a, b := m.get(RAX, in.size), m.get(r, in.size)
			m.set(RAX, in.size, b)
			m.set(r, in.size, a)
		}
	case op == 0x98:
		m.set(RAX, in.size, extend(m.get(RAX, 8), in.size/2))
	case op == 0x99:
		m.set(RDX, in.size, uint64(int64(extend(m.get(RAX, 8), in.size))>>63))
	case op == 0x9c:
		m.usesFlags()
		m.push(m.word(), 8)
	case op == 0x9d:
		m.setWord(m.pop(8))
		m.flags.wrote = true
	case op >= 0xa4 && op < 0xa8 || op >= 0xaa && op < 0xb0:
		m.stringOp()
	case op == 0xa8:
		m.logic(m.get(RAX, 8)&m.imm(1), 1)
	case op == 0xa9:
		m.logic(m.get(RAX, 8)&m.immZ(), in.size)
	case op >= 0xb0 && op < 0xb8:
		m.set(int(op&7)|int(in.rex&1)<<3, 1, m.imm(1))
	case op >= 0xb8 && op < 0xc0:
		m.set(int(op&7)|int(in.rex&1)<<3, in.size, m.imm(in.size))
	default:
		m.executeHigh()
	}
}

// executeHigh runs the opcodes from 0xc0 on.
func (m *Machine) executeHigh() {
	in := &m.in
	switch op := in.op; op {
	case 0xc0, 0xc1:
		m.modrm(1)
		n := m.width()
		a := m.rmGet(n)
		m.rmSet(n, m.shift(in.reg, a, m.imm(1)&0xff, n))
	case 0xd0, 0xd1, 0xd2, 0xd3:
		m.modrm(0)
		n, by := m.width(), uint64(1)
		if op >= 0xd2 {
			by = m.get(RCX, 8) & 0xff
		}
		m.rmSet(n, m.shift(in.reg, m.rmGet(n), by, n))
	case 0xc2:
		drop := m.imm(2) & mask(2)
		m.RIP = m.target(m.pop(8))
		m.Reg[RSP] += drop
	case 0xc3:
		m.RIP = m.target(m.pop(8))
	case 0xc6:
		m.modrm(1)
		m.rmSet(1, m.imm(1))
	case 0xc7:
		m.modrm(min(in.size, 4))
		m.rmSet(in.size, m.immZ())
	case 0xc9:
		m.set(RSP, 8, m.get(RBP, 8))
		m.set(RBP, 8, m.pop(8))
	case 0xe8:
		to := m.imm(4)
		m.push(m.RIP, 8)
		m.RIP += to
	case 0xe9:
		to := m.imm(4)
		m.RIP += to
	case 0xeb:
		to := m.imm(1)
		m.RIP += to
	case 0xe3:
		m.steer(RCX)
		if to := m.imm(1); m.Reg[RCX] == 0 {
			m.RIP += to
		}
	case 0xf6, 0xf7:
		m.group3()
	case 0xfe, 0xff:
		m.group5()
	case 0xf5:
		m.cf = !m.cf
		m.touch()
	case 0xf8, 0xf9:
		m.cf = op == 0xf9
		m.touch()
	case 0xfc, 0xfd:
		m.df = op == 0xfd
	default:
		m.unknown()
	}
}

func (m *Machine) stackSize() int {
	if m.in.data16 {
		return 2
	}
	return 8
}

// arithmetic runs the opcodes below 0x40: add, or, adc, sbb, and, sub, xor, cmp in six forms.
func (m *Machine) arithmetic() {
	in := &m.in
	n, kind := m.width(), int(in.op>>3)
	if in.op&7 >= 4 { // al or eax with an immediate
		b := uint64(0)
		if n == 1 {
			b = m.imm(1)
		} else {
			b = m.immZ()
		}
		m.carries(kind)
		if v, write := m.arith(kind, m.get(RAX, 8), b, n); write {
			m.set(RAX, n, v)
		}
		return
	}
	m.modrm(0)
	m.carries(kind)
	if m.same(kind, n) {
		m.arith(kind, 0, 0, n)
		m.set(in.reg, n, 0)
		return
	}
	if in.op&2 == 0 {
		if v, write := m.arith(kind, m.rmGet(n), m.get(in.reg, n), n); write {
			m.rmSet(n, v)
		}
	} else if v, write := m.arith(kind, m.get(in.reg, n), m.rmGet(n), n); write {
		m.set(in.reg, n, v)
	}
}

func (m *Machine) arithmeticImmediate() {
	in := &m.in
	n, size := m.width(), 1
	if in.op == 0x81 {
		size = min(in.size, 4)
	}
	m.modrm(size)
	m.carries(in.reg & 7)
	a := m.rmGet(n)
	if v, write := m.arith(in.reg, a, m.imm(size), n); write {
		m.rmSet(n, v)
	}
}

// imul multiplies signed numbers; carry and overflow say that the result was cut.
func (m *Machine) imul(a, b uint64, n int) uint64 {
	hi, lo := signedMul(extend(a, n), extend(b, n))
	v := lo & mask(n)
	cut := extend(v, n) != lo || hi != uint64(int64(lo)>>63)
	m.cf, m.of = cut, cut
	m.touch()
	return v
}

func signedMul(a, b uint64) (hi, lo uint64) {
	hi, lo = bits.Mul64(a, b)
	if int64(a) < 0 {
		hi -= b
	}
	if int64(b) < 0 {
		hi -= a
	}
	return hi, lo
}

// group3 is test, not, neg, mul, imul, div, idiv.
func (m *Machine) group3() {
	in := &m.in
	n := m.width()
	peek := 0
	var c [1]byte
	if m.Read(m.RIP, c[:]) == nil && c[0]>>3&7 < 2 { // test has an immediate
		peek = min(n, 4)
	}
	m.modrm(peek)
	a := m.rmGet(n)
	switch in.reg & 7 {
	case 0, 1:
		m.logic(a&m.imm(peek), n)
	case 2:
		m.rmSet(n, ^a)
	case 3:
		v := m.sub(0, a, 0, n)
		m.rmSet(n, v)
	case 4, 5:
		m.multiply(a, n, in.reg&7 == 5)
	default:
		m.divide(a, n, in.reg&7 == 7)
	}
}

// multiply is the form with a result of twice the size.
func (m *Machine) multiply(b uint64, n int, signed bool) {
	a := m.get(RAX, 8) & mask(n)
	var hi, lo uint64
	if signed {
		hi, lo = signedMul(extend(a, n), extend(b, n))
	} else {
		hi, lo = bits.Mul64(a, b)
	}
	if n < 8 {
		hi = lo >> (8 * n)
	}
	hi, lo = hi&mask(n), lo&mask(n)
	cut := hi != 0
	if signed {
		cut = hi != uint64(int64(extend(lo, n))>>63)&mask(n)
	}
	m.cf, m.of = cut, cut
	m.touch()
	if n == 1 {
		m.set(RAX, 2, hi<<8|lo)
		return
	}
	m.set(RAX, n, lo)
	m.set(RDX, n, hi)
}

func (m *Machine) divide(by uint64, n int, signed bool) {
	var hi, lo uint64
	m.steer(RAX)
	m.steer(RDX)
	m.fixed() // it faults for some values
	if n == 1 {
		hi, lo = m.Reg[RAX]>>8&0xff, m.Reg[RAX]&0xff
	} else {
		hi, lo = m.Reg[RDX]&mask(n), m.Reg[RAX]&mask(n)
	}
	q, r, ok := quotient(hi, lo, by, n, signed)
	switch {
	case !ok:
		m.fail(errDivide)
	case n == 1:
		m.set(RAX, 2, r&0xff<<8|q&0xff)
	default:
		m.set(RAX, n, q)
		m.set(RDX, n, r)
	}
}

// quotient divides hi:lo, two words of n bytes. Not ok: by zero, or the result does not fit.
func quotient(hi, lo, by uint64, n int, signed bool) (q, r uint64, ok bool) {
	if by &= mask(n); by == 0 {
		return 0, 0, false
	}
	negative, negativeBy := false, false
	if signed {
		if negative = hi&signBit(n) != 0; negative {
			lo = (^lo + 1) & mask(n)
			hi = ^hi & mask(n)
			if lo == 0 {
				hi = (hi + 1) & mask(n)
			}
		}
		if negativeBy = by&signBit(n) != 0; negativeBy {
			by = (^by + 1) & mask(n)
		}
	}
	if hi >= by {
		return 0, 0, false
	}
	if n < 8 {
		whole := hi<<(8*n) | lo
		q, r = whole/by, whole%by
	} else {
		q, r = bits.Div64(hi, lo, by)
	}
	if signed {
		limit := signBit(n)
		if negative != negativeBy {
			if q > limit {
				return 0, 0, false
			}
			q = -q
		} else if q >= limit {
			return 0, 0, false
		}
		if negative {
			r = -r
		}
	}
	return q, r, true
}

// group5 is inc, dec, call, jmp and push.
func (m *Machine) group5() {
	in := &m.in
	m.modrm(0)
	n := m.width()
	switch kind := in.reg & 7; {
	case kind < 2:
		a, old := m.rmGet(n), m.cf
		if kind == 0 {
			a = m.add(a, 1, 0, n)
		} else {
			a = m.sub(a, 1, 0, n)
		}
		m.cf = old
		m.touch()
		m.rmSet(n, a)
	case n == 1:
		m.unknown()
	case kind == 2:
		to := m.target(m.rmGet(8))
		m.push(m.RIP, 8)
		m.RIP = to
	case kind == 4:
		m.RIP = m.target(m.rmGet(8))
	case kind == 6:
		m.push(m.rmGet(8), 8)
	default:
		m.unknown()
	}
}

// stringOp is movs, cmps, stos, lods, scas, with or without repetition. Each round counts as an instruction.
func (m *Machine) stringOp() {
	in := &m.in
	n := m.width()
	delta := uint64(n)
	if m.df {
		delta = -delta
	}
	kind := in.op &^ 1
	if in.rep != 0 {
		m.steer(RCX)
	}
	if kind == 0xa4 || kind == 0xa6 || kind == 0xac {
		m.steer(RSI)
	}
	if kind != 0xac {
		m.steer(RDI)
	}
	for m.err == nil {
		if in.rep != 0 {
			if m.Reg[RCX] == 0 {
				return
			}
			m.Reg[RCX]--
		}
		switch kind {
		case 0xa4:
			m.store(m.Reg[RDI], m.load(m.Reg[RSI]+in.base, n), n)
		case 0xa6:
			m.sub(m.load(m.Reg[RSI]+in.base, n), m.load(m.Reg[RDI], n), 0, n)
		case 0xaa:
			m.store(m.Reg[RDI], m.get(RAX, 8), n)
		case 0xac:
			m.set(RAX, n, m.load(m.Reg[RSI]+in.base, n))
		default:
			m.sub(m.get(RAX, 8), m.load(m.Reg[RDI], n), 0, n)
		}
		if kind == 0xa4 || kind == 0xa6 || kind == 0xac {
			m.Reg[RSI] += delta
		}
		if kind != 0xac {
			m.Reg[RDI] += delta
		}
		compares := kind == 0xa6 || kind == 0xae
		if compares && in.rep != 0 {
			m.fixed()
		}
		if in.rep == 0 || compares && m.zf != (in.rep == 0xf3) {
			return
		}
		if m.steps++; m.steps > m.limits.Steps {
			m.fail(ErrSteps)
		}
	}
}
