package emulate

import "fmt"

// insn is the instruction being run: its prefixes and its operand in memory or register.
type insn struct {
	start  uint64
	rex    byte // 0: none
	data16 bool
	addr32 bool
	rep    byte // 0xf3, 0xf2 or 0
	locked bool
	base   uint64 // of the segment
	op     byte   // the opcode's last byte
	size   int    // of a general operand that is not a byte: 2, 4, 8
	reg    int    // ModRM.reg with REX.R
	rm     int    // ModRM.rm with REX.B, where the operand is a register
	isMem  bool
	addr   uint64 // effective address
	two    bool   // its opcode is behind 0x0f
	vector bool   // it works on vector registers
	rel    bool   // it is relative to the next instruction, whose start is not known yet
}

func (m *Machine) fetch() byte {
	num := m.RIP / pageSize
	if m.code == nil || m.codeNum != num {
		if m.ours(m.RIP) { // there is no code in the machine's own memory
			m.fail(fmt.Errorf("%w at 0x%x, to run there", ErrMemory, m.RIP))
			return 0
		}
		if m.code, m.codeNum = m.page(m.RIP), num; m.code == nil {
			var b [1]byte
			if err := m.mem.Read(m.RIP, b[:]); err != nil {
				m.fail(fmt.Errorf("%w at 0x%x, to run there", ErrMemory, m.RIP))
			}
			m.RIP++
			return b[0]
		}
	}
	c := m.code.data[m.RIP%pageSize]
	m.RIP++
	return c
}

// imm reads an immediate of n bytes, sign-extended.
func (m *Machine) imm(n int) uint64 {
	var v uint64
	for i := range n {
		v |= uint64(m.fetch()) << (8 * i)
	}
	return extend(v, n)
}

// immZ is an immediate of the operand's size, of four bytes for eight.
func (m *Machine) immZ() uint64 { return m.imm(min(m.in.size, 4)) }

// maxPrefixes is as many as fit an instruction of 15 bytes.
const maxPrefixes = 14

// step runs one instruction.
func (m *Machine) step() {
	in := &m.in
	*in = insn{start: m.RIP}
	for range maxPrefixes {
		switch c := m.fetch(); c {
		case 0x66:
			in.data16 = true
		case 0x67:
			in.addr32 = true
		case 0xf2, 0xf3:
			in.rep = c
		case 0xf0: // nobody else is there
			in.locked = true
		case 0x2e, 0x36, 0x3e, 0x26: // these segments start at 0
		case 0x64:
			in.base = m.FSBase
		case 0x65:
			in.base = m.GSBase
		default:
			if c&0xf0 == 0x40 {
				in.rex = c
				c = m.fetch()
			}
			in.op = c
			switch {
			case in.rex&8 != 0:
				in.size = 8
			case in.data16:
				in.size = 2
			default:
				in.size = 4
			}
			if m.err == nil {
				m.execute()
			}
			return
		}
	}
	m.unknown()
}

// unknown ends the run: the bytes say at what.
func (m *Machine) unknown() {
	b := make([]byte, 0, 15)
	for len(b) < 12 {
		var c [1]byte
		if m.Read(m.in.start+uint64(len(b)), c[:]) != nil {
			break
		}
		b = append(b, c[0])
	}
	m.fail(fmt.Errorf("%w: bytes % x", ErrUnknown, b))
}

// modrm reads the operand bytes. behind is how many bytes of immediate follow them, which an address relative to the
// next instruction needs to know.
func (m *Machine) modrm(behind int) {
	in := &m.in
	c := m.fetch()
	in.reg = int(c>>3&7) | int(in.rex&4)<<1
	in.rm = int(c&7) | int(in.rex&1)<<3
	mod := c >> 6
	if in.isMem = mod != 3; !in.isMem {
		if m.taint != nil {
			m.vectorSources()
		}
		return
	}
	var a uint64
	relative := false
	switch {
	case c&7 == 4:
		sib := m.fetch()
		if index := int(sib>>3&7) | int(in.rex&2)<<2; index != RSP {
			m.addresses(index)
			a = m.Reg[index] << (sib >> 6)
		}
		if base := int(sib&7) | int(in.rex&1)<<3; base&7 == RBP && mod == 0 {
			a += m.imm(4)
		} else {
			m.addresses(base)
			a += m.Reg[base]
		}
	case c&7 == 5 && mod == 0:
		a, relative = m.imm(4), true
	default:
		m.addresses(in.rm)
		a = m.Reg[in.rm]
	}
	switch mod {
	case 1:
		a += m.imm(1)
	case 2:
		a += m.imm(4)
	}
	if relative {
		a += m.RIP + uint64(behind)
	}
	if in.addr32 {
		a &= mask(4)
	}
	in.addr = a + in.base
	if m.taint != nil {
		m.vectorSources()
	}
}

// get reads a general register.
func (m *Machine) get(r, n int) uint64 {
	if n == 1 && m.in.rex == 0 && r >= 4 && r < 8 { // ah, ch, dh, bh
		m.uses(r - 4)
		return m.Reg[r-4] >> 8 & 0xff
	}
	m.uses(r)
	return m.Reg[r] & mask(n)
}

// set writes a general register. 32-bit writes clear the upper half.
func (m *Machine) set(r, n int, v uint64) {
	if m.taint != nil {
		m.defines(r, n)
	}
	switch n {
	case 8:
		m.Reg[r] = v
	case 4:
		m.Reg[r] = v & mask(4)
	case 2:
		m.Reg[r] = m.Reg[r]&^mask(2) | v&mask(2)
	default:
		if m.in.rex == 0 && r >= 4 && r < 8 {
			m.Reg[r-4] = m.Reg[r-4]&^0xff00 | v&0xff<<8
		} else {
			m.Reg[r] = m.Reg[r]&^0xff | v&0xff
		}
	}
}

// rmGet and rmSet read and write the operand in register or memory.
func (m *Machine) rmGet(n int) uint64 {
	if m.in.isMem {
		return m.load(m.in.addr, n)
	}
	return m.get(m.in.rm, n)
}

func (m *Machine) rmSet(n int, v uint64) {
	if m.in.isMem {
		m.store(m.in.addr, v, n)
	} else {
		m.set(m.in.rm, n, v)
	}
}
