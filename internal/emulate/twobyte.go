package emulate

import "math/bits"

// executeTwo runs the opcodes behind 0x0f; one flat switch.
func (m *Machine) executeTwo() {
	in := &m.in
	in.op, in.two = m.fetch(), true
	switch op := in.op; {
	case op == 0x05 && m.syscall != nil:
		m.call()
	case op == 0x05 || op == 0x34:
		m.fail(ErrSyscall)
	case op == 0x31 && m.live: // rdtsc
		m.outside()
		m.set(RAX, 4, uint64(m.steps))
		m.set(RDX, 4, 0)
	// prefetch, endbr, nop; rdsspq leaves its operand: there is no shadow stack
	case op == 0x0d || op >= 0x18 && op <= 0x1f:
		m.modrm(0)
	case op >= 0x40 && op < 0x50:
		m.modrm(0)
		v, other := m.rmGet(in.size), m.get(in.reg, in.size)
		if m.usesFlags(); !m.cond(op) {
			v = other
		}
		m.set(in.reg, in.size, v)
	case op >= 0x80 && op < 0x90:
		if to := m.imm(4); m.branch(op) {
			m.RIP += to
		}
	case op >= 0x90 && op < 0xa0:
		m.modrm(0)
		m.usesFlags()
		m.rmSet(1, carry(m.cond(op)))
	case op == 0xa3 || op == 0xab || op == 0xb3 || op == 0xbb:
		m.modrm(0)
		m.bitTest(op>>3&3, m.get(in.reg, in.size), true)
	case op == 0xba:
		if m.modrm(1); in.reg&7 < 4 {
			m.unknown()
			return
		}
		m.bitTest(byte(in.reg&3), m.imm(1)&0xff, false)
	case op == 0xa4 || op == 0xac:
		m.modrm(1)
		a, b := m.rmGet(in.size), m.get(in.reg, in.size)
		m.doubleShift(a, b, m.imm(1)&0xff, op == 0xa4)
	case op == 0xa5 || op == 0xad:
		m.modrm(0)
		m.doubleShift(m.rmGet(in.size), m.get(in.reg, in.size), m.get(RCX, 8)&0xff, op == 0xa5)
	case op == 0xae:
		m.groupFence()
	case op == 0xaf:
		m.modrm(0)
		m.set(in.reg, in.size, m.imul(m.get(in.reg, in.size), m.rmGet(in.size), in.size))
	case op == 0xb0 || op == 0xb1:
		m.modrm(0)
		n := m.width()
		old := m.rmGet(n)
		b := m.get(in.reg, n)
		if m.sub(m.get(RAX, 8), old, 0, n); m.taint != nil && m.taint.cur {
			m.fail(ErrJump) // which of the two is written depends on it
		} else if m.zf {
			m.rmSet(n, b)
		} else {
			m.set(RAX, n, old)
		}
	case op == 0xc0 || op == 0xc1:
		m.modrm(0)
		n := m.width()
		a, b := m.rmGet(n), m.get(in.reg, n)
		m.set(in.reg, n, a)
		m.rmSet(n, m.add(a, b, 0, n))
	case op == 0xb6 || op == 0xb7 || op == 0xbe || op == 0xbf:
		m.modrm(0)
		n := 1 + int(op&1)
		v := m.rmGet(n)
		if op >= 0xbe {
			v = extend(v, n)
		}
		m.set(in.reg, in.size, v)
	case op == 0xb8 || op == 0xbc || op == 0xbd:
		m.bitScan()
	case op == 0xc7:
		m.groupWide()
	case op >= 0xc8 && op < 0xd0:
		r := int(op&7) | int(in.rex&1)<<3
		m.set(r, in.size, bits.ReverseBytes64(m.get(r, in.size))>>(64-8*in.size))
	default:
		in.vector = true
		m.executeVector()
	}
}

// bitTest is bt, bts, btr, btc. A bit number in a register reaches beyond an operand in memory.
func (m *Machine) bitTest(kind byte, bit uint64, reach bool) {
	in := &m.in
	width := uint64(8 * in.size)
	if reach && in.isMem {
		m.fixed()
		in.addr += uint64(int64(extend(bit, in.size))>>bits.TrailingZeros64(width)) * uint64(in.size)
	}
	at := uint64(1) << (bit % width)
	v := m.rmGet(in.size)
	m.cf = v&at != 0
	m.touch()
	switch kind {
	case 1:
		m.rmSet(in.size, v|at)
	case 2:
		m.rmSet(in.size, v&^at)
	case 3:
		m.rmSet(in.size, v^at)
	}
}

// doubleShift is shld and shrd.
func (m *Machine) doubleShift(a, b, by uint64, left bool) {
	n := m.in.size
	width := uint64(8 * n)
	if by &= 0x1f | width&0x40>>1; by == 0 || by > width {
		m.fixed()
		return
	}
	var v uint64
	if left {
		v = (a<<by | b>>(width-by)) & mask(n)
		m.cf = a>>(width-by)&1 != 0
	} else {
		v = (a>>by | b<<(width-by)) & mask(n)
		m.cf = a>>(by-1)&1 != 0
	}
	m.result(v, n)
	m.of = (a^v)&signBit(n) != 0
	m.rmSet(n, v)
}

// bitScan is bsf, bsr, tzcnt, lzcnt, popcnt.
func (m *Machine) bitScan() {
	in := &m.in
	m.modrm(0)
	n := in.size
	v := m.rmGet(n)
	m.touch()
	width := 8 * n
	low, high := min(bits.TrailingZeros64(v), width), width-bits.Len64(v)
	switch {
	case in.op == 0xb8 && in.rep == 0xf3:
		m.logic(v, n)
		m.zf, m.sf, m.pf = v == 0, false, false
		m.set(in.reg, n, uint64(bits.OnesCount64(v)))
	case in.op == 0xb8:
		m.unknown()
	case in.rep == 0xf3:
		k := low
		if in.op == 0xbd {
			k = high
		}
		m.cf, m.zf = k == width, k == 0
		m.set(in.reg, n, uint64(k))
	case v == 0:
		m.zf = true // the destination stays
		m.uses(in.reg)
		m.set(in.reg, 8, m.Reg[in.reg])
	case in.op == 0xbc:
		m.zf = false
		m.set(in.reg, n, uint64(low))
	default:
		m.zf = false
		m.set(in.reg, n, uint64(width-1-high))
	}
}

// groupFence is fences, the control register of vectors, the segment bases, and saving of vector registers.
func (m *Machine) groupFence() {
	in := &m.in
	m.modrm(0)
	kind := in.reg & 7
	switch {
	case !in.isMem && in.rep == 0xf3 && kind == 0:
		m.set(in.rm, in.size, m.FSBase)
	case !in.isMem && in.rep == 0xf3 && kind == 1:
		m.set(in.rm, in.size, m.GSBase)
	case !in.isMem && kind >= 5 && (in.rep == 0 || kind == 5): // lfence, mfence, sfence; incsspq
	case in.isMem && (kind == 0 || kind == 4 || kind == 6 && !in.data16 && in.rep == 0): // fxsave, xsave, xsaveopt
		m.saveVectors()
	case in.isMem && (kind == 1 || kind == 5): // fxrstor, xrstor
		if v, ok := m.saved[in.addr]; ok {
			m.XMM = v
		} else {
			m.unknown()
		}
	case in.isMem && kind == 2: // ldmxcsr
	case in.isMem && kind == 3: // stmxcsr
		const usual = 0x1f80
		m.store(in.addr, usual, 4)
	default:
		m.unknown()
	}
}

// maxSaved bounds how often vector registers are saved in one run.
const maxSaved = 64

func (m *Machine) saveVectors() {
	if m.taint != nil {
		m.fail(ErrTaint) // not followed into what is saved
	}
	if len(m.saved) >= maxSaved {
		clear(m.saved)
	}
	m.saved[m.in.addr] = m.XMM
}

// groupWide is cmpxchg8b, cmpxchg16b and xsavec.
func (m *Machine) groupWide() {
	in := &m.in
	m.modrm(0)
	switch kind := in.reg & 7; {
	case in.isMem && kind == 4:
		m.saveVectors()
	case in.isMem && kind == 1:
		n := 4
		if in.rex&8 != 0 {
			n = 8
		}
		lo, hi := m.load(in.addr, n), m.load(in.addr+uint64(n), n)
		m.uses(RAX)
		m.uses(RDX)
		m.fixed()
		if m.zf = lo == m.Reg[RAX]&mask(n) && hi == m.Reg[RDX]&mask(n); m.zf {
			m.store(in.addr, m.get(RBX, 8), n)
			m.store(in.addr+uint64(n), m.get(RCX, 8), n)
		} else {
			m.set(RAX, n, lo)
			m.set(RDX, n, hi)
		}
	default:
		m.unknown()
	}
}
