package emulate

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// ErrShared ends a live run that touches memory that other processes may change.
var ErrShared = errors.New("memory shared with other processes")

// Syscall answers a system call of a live run. False ends the run.
type Syscall func(nr uint64, args [6]uint64) (result uint64, ok bool)

// Outsider is a Memory that knows which of it others than the program's threads may change.
type Outsider interface {
	Outside(addr uint64) bool
}

// Touched are the words of memory, of eight bytes, that a live run read and wrote.
type Touched struct {
	Read, Written map[uint64]bool // by address / 8
	Full          bool            // there were more than maxTouched
}

const maxTouched = 1 << 16

func (t *Touched) note(in map[uint64]bool, addr uint64, n int) {
	for w := addr / 8; w <= (addr+uint64(n)-1)/8; w++ {
		if len(in) >= maxTouched && !in[w] {
			t.Full = true
			return
		}
		in[w] = true
	}
}

// Thread are the registers of a thread that stands.
type Thread struct {
	Reg            [16]uint64 // as machine code numbers them: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 …
	RIP, Flags     uint64
	XMM            [16][16]byte
	FSBase, GSBase uint64
}

// Resume makes a machine that goes on where a thread stands. Nothing of it changes the thread.
func Resume(mem Memory, th *Thread, limits Limits, answer Syscall) *Machine {
	m := New(mem, th.FSBase, limits)
	m.live, m.syscall = true, answer
	m.Reg, m.RIP, m.XMM, m.GSBase = th.Reg, th.RIP, th.XMM, th.GSBase
	m.setWord(th.Flags)
	return m
}

// Outer is a function of the system in the program's memory, such as the vDSO's clock_gettime: it writes n bytes to
// where argument number arg points, none if it is 0, and gives 0. What it writes comes from outside, and so does its
// result where Result is set.
type Outer struct {
	Arg    int // 0: rdi, 1: rsi
	Bytes  int
	Result bool
	// When tells by the registers whether a call is one of those that are not run; nil: all are.
	When func(regs [16]uint64) bool
}

// Step runs one instruction of a live machine. outer are functions that are not run.
func (m *Machine) Step(outer map[uint64]Outer) error {
	if m.steps++; m.steps > m.limits.Steps {
		return fmt.Errorf("%w: more than %d", ErrSteps, m.limits.Steps)
	}
	if len(outer) > 0 {
		if o, ok := outer[m.RIP]; ok && (o.When == nil || o.When(m.Reg)) {
			m.callOuter(o)
			return m.err
		}
	}
	if len(m.natives) > 0 {
		if f, ok := m.natives[m.RIP]; ok {
			m.callNative(f, m.natural[m.RIP])
			return m.err
		}
	}
	if m.taint == nil {
		m.step()
		return m.err
	}
	m.begin()
	m.step()
	m.settle()
	return m.err
}

func (m *Machine) callOuter(o Outer) {
	m.in = insn{start: m.RIP}
	to := m.Reg[[2]int{RDI, RSI}[o.Arg&1]]
	if o.Bytes > 0 {
		m.steer([2]int{RDI, RSI}[o.Arg&1])
	}
	if to != 0 && o.Bytes > 0 {
		if m.taint != nil {
			m.taint.cur = true
		}
		m.writes(to, o.Bytes)
		m.Write(to, make([]byte, o.Bytes))
	}
	if m.taint != nil {
		m.taint.cur = o.Result
	}
	m.set(RAX, 8, 0)
	if m.taint != nil {
		m.taint.cur = false
	}
	m.RIP = m.target(m.pop(8))
}

// call is a system call of a live run.
func (m *Machine) call() {
	m.steer(RAX)
	v, ok := m.syscall(m.Reg[RAX], [6]uint64{m.Reg[RDI], m.Reg[RSI], m.Reg[RDX], m.Reg[R8+2], m.Reg[R8], m.Reg[R9]})
	if !ok {
		m.fail(fmt.Errorf("%w %d", ErrSyscall, m.Reg[RAX]))
		return
	}
	if m.taint != nil {
		m.taint.cur = false
	}
	m.set(RAX, 8, v)
	m.set(RCX, 8, m.RIP)
	m.usesFlags()
	m.set(R8+3, 8, m.word())
}

// Record notes memory that is touched from here on.
func (m *Machine) Record() *Touched {
	m.touched = &Touched{Read: map[uint64]bool{}, Written: map[uint64]bool{}}
	return m.touched
}

// State is a live machine at a moment.
type State struct {
	reg   [16]uint64
	rip   uint64
	xmm   [16][16]byte
	flags flags
	pages map[uint64]*[pageSize]byte // those written
	steps int
}

// Save keeps the state.
func (m *Machine) Save() *State {
	s := &State{reg: m.Reg, rip: m.RIP, xmm: m.XMM, flags: m.flags, pages: map[uint64]*[pageSize]byte{}, steps: m.steps}
	for num, p := range m.pages {
		if p.written {
			data := p.data
			s.pages[num] = &data
		}
	}
	return s
}

// Restore goes back to a state.
func (m *Machine) Restore(s *State) {
	m.Reg, m.RIP, m.XMM, m.flags, m.err = s.reg, s.rip, s.xmm, s.flags, nil
	for num, p := range m.pages {
		if !p.written {
			continue
		}
		if data := s.pages[num]; data != nil {
			p.data = *data
		} else {
			p.data = *p.clean
		}
	}
}

// At reports whether the machine is where a state was taken, in the same frame.
func (m *Machine) At(s *State) bool { return m.RIP == s.rip && m.Reg[RSP] == s.reg[RSP] }

// Shape is which registers are not what they were at a state: cheap to get, and the same wherever the same things
// change.
func (m *Machine) Shape(s *State) (shape uint64) {
	for i := range m.Reg {
		if m.Reg[i] != s.reg[i] {
			shape |= 1 << i
		}
		if m.XMM[i] != s.xmm[i] {
			shape |= 1 << (16 + i)
		}
	}
	return shape
}

// RIP is the state's place, Steps how many instructions had been run.
func (s *State) RIP() uint64 { return s.rip }
func (s *State) Steps() int  { return s.steps }

// Differences are the places whose values are not what they were at a state, or were reached with at most limit bytes
// of memory.
func (m *Machine) Differences(s *State, limit int) (d *Marks, ok bool) {
	d = &Marks{Mem: map[uint64]bool{}}
	for i := range m.Reg {
		d.Reg[i] = m.Reg[i] != s.reg[i]
		d.Vec[i] = m.XMM[i] != s.xmm[i]
	}
	a, b := m.flags, s.flags
	a.wrote, a.partly, b.wrote, b.partly = false, false, false, false
	d.Flags = a != b
	for num, p := range m.pages {
		if !p.written {
			continue
		}
		was := s.pages[num]
		if was == nil {
			was = p.clean
		}
		if *was == p.data {
			continue
		}
		for i := range p.data {
			if p.data[i] != was[i] {
				if d.Mem[num*pageSize+uint64(i)] = true; len(d.Mem) > limit {
					return d, false
				}
			}
		}
	}
	return d, true
}

// Empty reports that nothing is marked.
func (m *Marks) Empty() bool {
	return !m.Flags && m.Reg == [16]bool{} && m.Vec == [16]bool{} && len(m.Mem) == 0
}

// Count is how many places are marked, memory by the byte.
func (m *Marks) Count() (n int) {
	for i := range m.Reg {
		n += int(carry(m.Reg[i]) + carry(m.Vec[i]))
	}
	return n + int(carry(m.Flags)) + len(m.Mem)
}

// Clone is a copy of its own.
func (m *Marks) Clone() *Marks {
	c := *m
	c.Mem = maps.Clone(m.Mem)
	return &c
}

// textual are the functions of the library that a live machine can be told to stand for: those that use what the CPU
// has. args is how many registers they take; data is one of them that is a value and no place or length, 0 for none;
// extent says that how far they read depends on what they read.
var textual = map[string]textFunction{
	"strlen": {1, 0, true}, "strnlen": {2, 0, true}, "strcpy": {2, 0, true}, "stpcpy": {2, 0, true},
	"strcat": {2, 0, true}, "strncat": {3, 0, true},
	"strncpy": {3, 0, true}, "memcpy": {3, 0, false}, "memmove": {3, 0, false}, "__memcpy_chk": {3, 0, false},
	"mempcpy": {3, 0, false},
	"memset":  {3, 2, false}, "memcmp": {3, 0, false}, "bcmp": {3, 0, false}, "memchr": {3, 2, true},
	"strcmp": {2, 0, true}, "strncmp": {3, 0, true},
	"strchr": {2, 2, true},
}

type textFunction struct {
	args, data int
	extent     bool
}

// Textual lists the functions that Stand knows, by their linkage names.
func Textual() []string { return slices.Collect(maps.Keys(textual)) }

// Stand makes a live machine do the work of a library's function itself. at is its code: of an indirect function what
// its resolver gave.
func (m *Machine) Stand(at uint64, name string) {
	f, ok := natives[name]
	if t, known := textual[name]; ok && known && at != 0 {
		if m.natural == nil {
			m.natural = map[uint64]textFunction{}
		}
		m.natives[at], m.natural[at] = f, t
	}
}

// callNative is runNative with marks.
func (m *Machine) callNative(f native, t textFunction) {
	if m.taint == nil {
		m.runNative(f)
		return
	}
	m.begin()
	for i := range t.args {
		if r := [3]int{RDI, RSI, RDX}[i]; i+1 == t.data {
			m.uses(r)
		} else {
			m.steer(r)
		}
	}
	if m.err != nil {
		return
	}
	m.runNative(f)
	if t.extent {
		m.fixed()
	}
	m.taint.reg[RAX] = m.taint.cur
	// The caller may find anything in these, so it does not look.
	for _, r := range []int{RCX, RDX, RSI, RDI, R8, R9, R9 + 1, R9 + 2} {
		m.taint.reg[r] = true
	}
	m.taint.flags = true
}
