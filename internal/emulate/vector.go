package emulate

import (
	"encoding/binary"
	"math"
)

type xmm = [16]byte

// vec reads the first n bytes of the vector operand; the rest is zero.
func (m *Machine) vec(n int) (v xmm) {
	if !m.in.isMem {
		copy(v[:n], m.XMM[m.in.rm][:])
	} else {
		if m.live {
			m.reads(m.in.addr, n)
		}
		if err := m.Read(m.in.addr, v[:n]); err != nil {
			m.fail(err)
		}
	}
	return v
}

// vecSet writes the first n bytes of v to the operand; of a register the rest stays.
func (m *Machine) vecSet(v *xmm, n int) {
	if m.in.isMem {
		if m.live {
			m.writes(m.in.addr, n)
		}
		m.Write(m.in.addr, v[:n])
	} else {
		copy(m.XMM[m.in.rm][:n], v[:n])
	}
}

// prefix is which of the four instructions of one vector opcode this is.
func (in *insn) prefix() byte {
	switch {
	case in.rep != 0:
		return in.rep
	case in.data16:
		return 0x66
	}
	return 0
}

// executeVector runs moves and integer operations of SSE and SSE2, and conversions.
func (m *Machine) executeVector() {
	in := &m.in
	switch in.op {
	case 0x10, 0x11, 0x12, 0x13, 0x16, 0x17, 0x28, 0x29, 0x2b, 0x6e, 0x6f, 0x7e, 0x7f, 0xd6, 0xe7, 0xf0:
		m.vectorMove()
	case 0x70, 0xc6:
		m.shuffle()
	case 0xc2, 0xc4, 0xc5:
		m.lanewise()
	case 0x71, 0x72, 0x73:
		m.vectorShift()
	case 0xd7:
		m.modrm(0)
		m.set(in.reg, 4, signs(&m.XMM[in.rm]))
	case 0x50:
		m.modrm(0)
		v, k := signs(&m.XMM[in.rm]), 4
		if in.data16 {
			k = 8
		}
		r := uint64(0)
		for i := range 16 / k {
			r |= v >> (i*k + k - 1) & 1 << i
		}
		m.set(in.reg, 4, r)
	case 0x2a, 0x2c, 0x2d, 0x2e, 0x2f, 0x51, 0x58, 0x59, 0x5a, 0x5c, 0x5d, 0x5e, 0x5f:
		m.float()
	default:
		op := packed(in.op)
		if op == nil || in.rep != 0 || !in.data16 && (in.op < 0x54 || in.op > 0x57) && in.op != 0x14 && in.op != 0x15 {
			m.unknown() // without the prefix it works on the old MMX registers
			return
		}
		m.modrm(0)
		src := m.vec(16)
		op(&m.XMM[in.reg], &src, in.data16)
	}
}

// signs collects the top bit of each byte.
func signs(v *xmm) (r uint64) {
	for i, c := range v {
		r |= uint64(c>>7) << i
	}
	return r
}

// vectorMove copies between registers and memory.
func (m *Machine) vectorMove() {
	in := &m.in
	m.modrm(0)
	dst := &m.XMM[in.reg]
	switch p := in.prefix(); {
	case (in.op == 0x10 || in.op == 0x11) && in.rep != 0: // movss, movsd
		n := 4
		if in.rep == 0xf2 {
			n = 8
		}
		if in.op == 0x11 {
			m.vecSet(dst, n)
		} else if v := m.vec(n); in.isMem {
			*dst = v
		} else {
			copy(dst[:n], v[:n])
		}
	case in.op == 0x10 || in.op == 0x28 || in.op == 0x6f && p != 0 && p != 0xf2 || in.op == 0xf0 && p == 0xf2:
		*dst = m.vec(16)
	case in.op == 0x11 || in.op == 0x29 || in.op == 0x2b || in.op == 0x7f && p != 0 && p != 0xf2 || in.op == 0xe7 &&
		p == 0x66:
		m.vecSet(dst, 16)
	case in.op == 0x12 && in.rep == 0: // movlps, movhlps
		if in.isMem {
			v := m.vec(8)
			copy(dst[:8], v[:8])
		} else {
			copy(dst[:8], m.XMM[in.rm][8:])
		}
	case in.op == 0x16 && in.rep == 0: // movhps, movlhps
		v := m.vec(8)
		copy(dst[8:], v[:8])
	case (in.op == 0x13 || in.op == 0x17) && in.isMem && in.rep == 0:
		v := *dst
		if in.op == 0x17 {
			copy(v[:8], dst[8:])
		}
		m.vecSet(&v, 8)
	case in.op == 0x6e && p == 0x66:
		*dst = xmm{}
		binary.LittleEndian.PutUint64(dst[:], m.rmGet(max(in.size&8, 4)))
	case in.op == 0x7e && p == 0x66:
		m.rmSet(max(in.size&8, 4), binary.LittleEndian.Uint64(dst[:]))
	case in.op == 0x7e && p == 0xf3:
		*dst = m.vec(8)
	case in.op == 0xd6 && p == 0x66:
		v := *dst
		if !in.isMem {
			copy(v[8:], make([]byte, 8))
			m.XMM[in.rm] = v
		} else {
			m.vecSet(&v, 8)
		}
	default:
		m.unknown()
	}
}

// shuffle is pshufd, pshuflw, pshufhw, shufps, shufpd.
func (m *Machine) shuffle() {
	in := &m.in
	m.modrm(1)
	src, p := m.vec(16), in.prefix()
	k := int(m.imm(1) & 0xff)
	dst := m.XMM[in.reg]
	out := dst
	pick := func(to int, from *xmm, i, n int) { copy(out[to*n:to*n+n], from[i*n:]) }
	switch {
	case in.op == 0x70 && p == 0x66:
		for i := range 4 {
			pick(i, &src, k>>(2*i)&3, 4)
		}
	case in.op == 0x70 && p != 0:
		out = src
		base := 0
		if p == 0xf3 {
			base = 4
		}
		for i := range 4 {
			pick(base+i, &src, base+k>>(2*i)&3, 2)
		}
	case in.op == 0xc6 && p == 0:
		for i := range 4 {
			from := &dst
			if i >= 2 {
				from = &src
			}
			pick(i, from, k>>(2*i)&3, 4)
		}
	case in.op == 0xc6 && p == 0x66:
		pick(0, &dst, k&1, 8)
		pick(1, &src, k>>1&1, 8)
	default:
		m.unknown()
	}
	m.XMM[in.reg] = out
}

// lanewise is cmpss, cmpsd, pinsrw and pextrw.
func (m *Machine) lanewise() {
	in := &m.in
	m.modrm(1)
	switch {
	case in.op == 0xc2 && in.rep != 0:
		double, n := in.rep == 0xf2, 4
		if double {
			n = 8
		}
		a, b := floatOf(&m.XMM[in.reg], double), m.floatOperand(n, double)
		setLane(&m.XMM[in.reg], 0, n, truth(floatRelation(a, b, m.imm(1))))
	case in.op == 0xc4 && in.prefix() == 0x66:
		v := m.rmGet(2 + 2*int(carry(!in.isMem)))
		setLane(&m.XMM[in.reg], int(m.imm(1)&7)*2, 2, int64(v))
	case in.op == 0xc5 && in.prefix() == 0x66 && !in.isMem:
		m.set(in.reg, 4, uint64(lane(&m.XMM[in.rm], int(m.imm(1)&7)*2, 2)))
	default:
		m.unknown()
	}
}

// floatRelation is equal, less, at most, unordered, and their opposites.
func floatRelation(a, b float64, kind uint64) bool {
	var v bool
	switch kind & 3 {
	case 0:
		v = a == b
	case 1:
		v = a < b
	case 2:
		v = a <= b
	default:
		v = math.IsNaN(a) || math.IsNaN(b)
	}
	return v != (kind&4 != 0)
}

// vectorShift is the shifts by an immediate: of lanes, and of the whole register by bytes.
func (m *Machine) vectorShift() {
	in := &m.in
	if m.modrm(1); in.isMem || !in.data16 {
		m.unknown()
		return
	}
	by, v := int(m.imm(1)&0xff), &m.XMM[in.rm]
	n, kind := []int{2, 4, 8}[in.op-0x71], in.reg&7
	if in.op == 0x73 && kind&1 == 1 { // psrldq, pslldq
		var out xmm
		by = min(by, 16)
		if kind == 3 {
			copy(out[:], v[by:])
		} else {
			copy(out[by:], v[:])
		}
		*v = out
		return
	}
	for i := 0; i < 16; i += n {
		x, width := lane(v, i, n), 8*n
		switch {
		case kind == 4:
			x = int64(extend(uint64(x), n)) >> min(by, width-1)
		case by >= width:
			x = 0
		case kind == 2:
			x = int64(uint64(x) >> by)
		case kind == 6:
			x <<= by
		default:
			m.unknown()
		}
		setLane(v, i, n, x)
	}
}

func lane(v *xmm, at, n int) int64 {
	var b [8]byte
	copy(b[:n], v[at:])
	return int64(binary.LittleEndian.Uint64(b[:]))
}

func setLane(v *xmm, at, n int, x int64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(x))
	copy(v[at:at+n], b[:n])
}

// float is scalar arithmetic, comparison and conversion in float and double.
func (m *Machine) float() {
	in := &m.in
	m.modrm(0)
	p := in.prefix()
	double := p == 0xf2 || p == 0x66
	n := 4
	if double {
		n = 8
	}
	if in.op == 0x2e || in.op == 0x2f { // ucomis, comis
		m.compareFloat(floatOf(&m.XMM[in.reg], double), m.floatOperand(n, double))
		return
	}
	if in.rep == 0 {
		m.unknown() // packed
		return
	}
	dst := &m.XMM[in.reg]
	switch in.op {
	case 0x2a:
		setFloat(dst, float64(int64(extend(m.rmGet(max(in.size&8, 4)), max(in.size&8, 4)))), double)
	case 0x2c, 0x2d:
		v := m.floatOperand(n, double)
		if in.op == 0x2d {
			v = math.RoundToEven(v)
		}
		m.set(in.reg, max(in.size&8, 4), truncated(v, max(in.size&8, 4)))
	case 0x5a:
		setFloat(dst, m.floatOperand(n, double), !double)
	default:
		a, b := floatOf(dst, double), m.floatOperand(n, double)
		setFloat(dst, floatArith(in.op, a, b), double)
	}
}

func (m *Machine) floatOperand(n int, double bool) float64 {
	v := m.vec(n)
	return floatOf(&v, double)
}

// truncated is v as an integer of n bytes; out of range it is the "indefinite" one.
func truncated(v float64, n int) uint64 {
	limit := math.Ldexp(1, 8*n-1)
	if math.IsNaN(v) || v >= limit || v < -limit {
		return signBit(n)
	}
	return uint64(int64(v)) & mask(n)
}

func floatArith(op byte, a, b float64) float64 {
	switch op {
	case 0x51:
		return math.Sqrt(b)
	case 0x58:
		return a + b
	case 0x59:
		return a * b
	case 0x5c:
		return a - b
	case 0x5e:
		return a / b
	case 0x5d:
		if a < b {
			return a
		}
		return b
	}
	if a > b {
		return a
	}
	return b
}

func (m *Machine) compareFloat(a, b float64) {
	odd := math.IsNaN(a) || math.IsNaN(b)
	m.zf, m.pf, m.cf = odd || a == b, odd, odd || a < b
	m.wrote = true
	m.of, m.sf = false, false
}

func floatOf(v *xmm, double bool) float64 {
	if double {
		return math.Float64frombits(binary.LittleEndian.Uint64(v[:]))
	}
	return float64(math.Float32frombits(binary.LittleEndian.Uint32(v[:])))
}

func setFloat(v *xmm, f float64, double bool) {
	if double {
		binary.LittleEndian.PutUint64(v[:], math.Float64bits(f))
	} else {
		binary.LittleEndian.PutUint32(v[:], math.Float32bits(float32(f)))
	}
}
