package emulate

import (
	"errors"
	"fmt"
	"slices"
)

// ErrTaint ends a run in which something that is marked steers it: where it goes, what memory it touches, whether it
// faults.
var ErrTaint = errors.New("what changes decides how it goes on")

// ErrJump is ErrTaint where a jump depends on it, or an exchange that compares.
var ErrJump = fmt.Errorf("%w: by a jump", ErrTaint)

// taint follows marked values through a run: whatever an instruction writes is marked if anything that it read was.
// That marks too much rather than too little.
type taint struct {
	reg   [16]bool
	vec   [16]bool
	flags bool
	mem   map[uint64]*[pageSize]bool
	cur   bool // this instruction has read something marked
}

// Marks are places whose values are marked. Memory is in bytes.
type Marks struct {
	Reg   [16]bool
	Vec   [16]bool
	Flags bool
	Mem   map[uint64]bool
}

// Add joins two and reports whether that brought something new.
func (m *Marks) Add(o *Marks) bool {
	grew := o.Flags && !m.Flags
	m.Flags = m.Flags || o.Flags
	for i := range m.Reg {
		grew = grew || o.Reg[i] && !m.Reg[i]
		m.Reg[i] = m.Reg[i] || o.Reg[i]
		grew = grew || o.Vec[i] && !m.Vec[i]
		m.Vec[i] = m.Vec[i] || o.Vec[i]
	}
	for a := range o.Mem {
		if !m.Mem[a] {
			grew = true
			m.Mem[a] = true
		}
	}
	return grew
}

// Follow marks places from here on. Nil ends it.
func (m *Machine) Follow(marks *Marks) {
	if marks == nil {
		m.taint = nil
		return
	}
	t := &taint{reg: marks.Reg, vec: marks.Vec, flags: marks.Flags, mem: map[uint64]*[pageSize]bool{}}
	for a, ok := range marks.Mem {
		if ok {
			t.mark(a, 1, true)
		}
	}
	m.taint = t
}

// Marked are the places that are marked now.
func (m *Machine) Marked() *Marks {
	t := m.taint
	out := &Marks{Reg: t.reg, Vec: t.vec, Flags: t.flags, Mem: map[uint64]bool{}}
	for num, p := range t.mem {
		for i, on := range p {
			if on {
				out.Mem[num*pageSize+uint64(i)] = true
			}
		}
	}
	return out
}

// MarkedRegs are the general registers that are marked now.
func (m *Machine) MarkedRegs() [16]bool { return m.taint.reg }

func (t *taint) mark(addr uint64, n int, on bool) {
	for i := range uint64(n) {
		a := addr + i
		p := t.mem[a/pageSize]
		if p == nil {
			if !on {
				continue
			}
			p = &[pageSize]bool{}
			t.mem[a/pageSize] = p
		}
		p[a%pageSize] = on
	}
}

func (t *taint) marked(addr uint64, n int) bool {
	for i := range uint64(n) {
		if p := t.mem[(addr+i)/pageSize]; p != nil && p[(addr+i)%pageSize] {
			return true
		}
	}
	return false
}

// uses notes that the instruction reads a register as data.
func (m *Machine) uses(r int) {
	if m.taint != nil && m.taint.reg[r] {
		m.taint.cur = true
	}
}

func (m *Machine) usesFlags() {
	if m.taint != nil && m.taint.flags {
		m.taint.cur = true
	}
}

// carries is usesFlags for adc and sbb.
func (m *Machine) carries(kind int) {
	if kind == 2 || kind == 3 {
		m.usesFlags()
	}
}

// defines notes that it writes n bytes of a general register.
func (m *Machine) defines(r, n int) {
	t := m.taint
	switch {
	case n >= 4:
		t.reg[r] = t.cur
	case n == 1 && m.in.rex == 0 && r >= 4 && r < 8:
		t.reg[r-4] = t.reg[r-4] || t.cur
	default:
		t.reg[r] = t.reg[r] || t.cur
	}
}

// reads notes a read of memory of a live machine, writes a write.
func (m *Machine) reads(addr uint64, n int) {
	m.ownOnly(addr, n)
	if m.taint != nil && m.taint.marked(addr, n) {
		m.taint.cur = true
	}
	if m.touched != nil {
		m.touched.note(m.touched.Read, addr, n)
	}
}

// ownOnly ends a run that touches memory that others may change.
func (m *Machine) ownOnly(addr uint64, n int) {
	for at := addr; ; at += pageSize {
		if p := m.page(at); p != nil && p.outside {
			m.fail(ErrShared)
		}
		if at/pageSize == (addr+uint64(n)-1)/pageSize || m.err != nil || at-addr > uint64(n) {
			return
		}
	}
}

func (m *Machine) writes(addr uint64, n int) {
	m.ownOnly(addr, n)
	if m.taint != nil {
		m.taint.mark(addr, n, m.taint.cur)
	}
	if m.touched != nil {
		m.touched.note(m.touched.Written, addr, n)
	}
}

// steer is a register that decides which memory is touched, or how often.
func (m *Machine) steer(r int) {
	if m.taint != nil && m.taint.reg[r] {
		m.fail(ErrTaint)
	}
}

// addresses is steer for the parts of an operand's address; lea only computes it, and a nop has one for nothing.
func (m *Machine) addresses(r int) {
	switch in := &m.in; {
	case !in.two && in.op == 0x8d:
		m.uses(r)
	case in.two && (in.op == 0x0d || in.op >= 0x18 && in.op <= 0x1f):
	default:
		m.steer(r)
	}
}

// fixed ends a run in which what the instruction has read so far may not be marked.
func (m *Machine) fixed() {
	if m.taint != nil && m.taint.cur {
		m.fail(ErrTaint)
	}
}

// target is where to go on.
func (m *Machine) target(to uint64) uint64 {
	m.fixed()
	return to
}

// branch is cond for a jump.
func (m *Machine) branch(c byte) bool {
	if m.taint != nil && m.taint.flags {
		m.fail(ErrJump)
	}
	return m.cond(c)
}

// outside is a value that does not come from the program: what it leads to is marked.
func (m *Machine) outside() {
	if m.taint != nil {
		m.taint.cur = true
	}
}

// same is xor or sub of a register with itself, which reads nothing.
func (m *Machine) same(kind, n int) bool {
	return m.taint != nil && (kind == 5 || kind == 6) && n >= 4 && !m.in.isMem && m.in.reg == m.in.rm
}

// Opcodes behind 0x0f whose operands are not as the others': the register operand and the other one are general
// registers, the instruction stores, it overwrites its whole destination.
var (
	generalReg = []byte{0x2c, 0x2d, 0x50, 0xc5, 0xd7}
	generalRM  = []byte{0x2a, 0x6e, 0xc4}
	stores     = []byte{0x11, 0x13, 0x17, 0x29, 0x2b, 0x7f, 0xd6, 0xe7}
	overwrites = []byte{0x28, 0x6e, 0x6f, 0xf0}
	ofItself   = []byte{0x57, 0x74, 0x75, 0x76, 0xef}
)

// roles says what an instruction on vectors does with its two operands.
func (in *insn) roles() (regIn, regOut, rmIn, rmOut bool) {
	group := in.op >= 0x71 && in.op <= 0x73
	store := slices.Contains(stores, in.op) || in.op == 0x7e && in.prefix() == 0x66
	full := slices.Contains(overwrites, in.op) || in.op == 0x7e && in.prefix() == 0xf3 || in.op == 0x10 &&
		(in.rep == 0 || in.isMem)
	vecReg := !slices.Contains(generalReg, in.op) && !group
	vecRM := !in.isMem && !slices.Contains(generalRM, in.op) && !(in.op == 0x7e && in.prefix() == 0x66)
	regOut = vecReg && !store && in.op != 0x2e && in.op != 0x2f
	rmOut = vecRM && (store || group)
	if slices.Contains(ofItself, in.op) && !in.isMem && in.reg == in.rm {
		return false, regOut, false, rmOut
	}
	return vecReg && !full, regOut, vecRM && !store, rmOut
}

// vectorSources notes what an instruction on vectors reads, once its operands are known.
func (m *Machine) vectorSources() {
	if !m.in.vector {
		return
	}
	t := m.taint
	regIn, _, rmIn, _ := m.in.roles()
	t.cur = t.cur || regIn && t.vec[m.in.reg] || rmIn && t.vec[m.in.rm]
}

// begin and settle stand around each instruction that is followed.
func (m *Machine) begin() {
	m.taint.cur = false
	m.wrote, m.partly = false, false
}

func (m *Machine) settle() {
	t := m.taint
	if m.wrote {
		t.flags = t.cur || m.partly && t.flags
	}
	if m.in.vector {
		_, regOut, _, rmOut := m.in.roles()
		if regOut {
			t.vec[m.in.reg] = t.cur
		}
		if rmOut {
			t.vec[m.in.rm] = t.vec[m.in.rm] || t.cur
		}
	}
}
