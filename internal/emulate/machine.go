// Package emulate owns a small interpreter of x86-64 machine code, for short functions of a program that stands still
// or is dead: a class's virtual what(), the C++ runtime's access to its thread-local state.
//
// It stands beside the data path: package exception asks it. It reads the program's memory through an interface and
// keeps what the code writes to itself, so that the program is never touched. Invariants: every run ends, by
// limits of steps, stack and memory; code and memory may hold anything; what it does not know ends the run with an
// error that names it, it never guesses.
package emulate

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Memory is what the program sees. Read fills b or returns an error.
type Memory interface {
	Read(addr uint64, b []byte) error
}

// Limits bound one run. Zero means the default.
type Limits struct {
	Steps int // instructions; 20,000
	Bytes int // of the program's memory changed, by the page, and of memory allocated; 64 KB
}

const (
	defaultSteps = 20_000
	defaultBytes = 64 << 10
)

// Numbers of the general registers, as machine code has them.
const (
	RAX = iota
	RCX
	RDX
	RBX
	RSP
	RBP
	RSI
	RDI
	R8
	R9
)

// Our own memory lies where no program has any: terabytes below its libraries, above its heap. Not in the kernel's
// half, because AddressSanitizer computes an address from each address, and that must be one of the program's.
const (
	oursLo     = 0x7000_0000_0000
	stackBytes = 64 << 10
	stackTop   = oursLo + 1<<20
	heapStart  = oursLo + 2<<20
	heapEnd    = heapStart + 1<<24
	sentinel   = oursLo + 1<<28 // what the outermost function returns to
	oursHi     = oursLo + 1<<30
	pageSize   = 4096
)

// Errors that callers test. What ends a run otherwise is named in the error's text.
var (
	ErrSteps   = errors.New("too many instructions")
	ErrUnknown = errors.New("instruction not supported")
	ErrSyscall = errors.New("system call")
	ErrMemory  = errors.New("memory not readable")
	ErrWritten = errors.New("too much memory changed")
)

// Machine is a thread of its own over a program's memory. It is not safe for concurrent use. What a call changes stays
// visible to the next one, and to Read.
type Machine struct {
	Reg    [16]uint64
	RIP    uint64
	XMM    [16][16]byte
	FSBase uint64
	GSBase uint64

	mem     Memory
	limits  Limits
	pages   map[uint64]*page
	free    []*page
	last    *page // the page used last
	lastNum uint64
	code    *page // the page executed last
	codeNum uint64
	natives map[uint64]native
	saved   map[uint64][16][16]byte // by address: what xsave wrote
	heap    uint64
	sizes   map[uint64]uint64 // of what was allocated
	dirty   int               // bytes of pages changed
	steps   int
	err     error
	flags
	in insn

	live    bool   // it goes on from a thread's registers (Resume): no memory of the machine's own, originals are kept
	taint   *taint // nil: not followed
	syscall Syscall
	touched *Touched // nil: not recorded
	natural map[uint64]textFunction
}

type page struct {
	data    [pageSize]byte
	missing bool
	written bool
	outside bool            // others may change it
	clean   *[pageSize]byte // of a live machine: what the program has there, once written
}

// New makes a machine. fsBase is the thread's FS base, for thread-locals and the stack protector.
func New(mem Memory, fsBase uint64, limits Limits) *Machine {
	if limits.Steps <= 0 {
		limits.Steps = defaultSteps
	}
	if limits.Bytes <= 0 {
		limits.Bytes = defaultBytes
	}
	return &Machine{mem: mem, FSBase: fsBase, limits: limits, pages: map[uint64]*page{}, natives: map[uint64]native{},
		saved: map[uint64][16][16]byte{}, heap: heapStart, sizes: map[uint64]uint64{}}
}

// Reset makes the machine as new, for another moment of the program or another thread. What Replace was told stays.
func (m *Machine) Reset(mem Memory, fsBase uint64) {
	for _, p := range m.pages {
		if len(m.free) < keptPages {
			m.free = append(m.free, p)
		}
	}
	clear(m.pages)
	clear(m.saved)
	clear(m.sizes)
	*m = Machine{mem: mem, FSBase: fsBase, limits: m.limits, pages: m.pages, free: m.free, natives: m.natives,
		saved: m.saved, sizes: m.sizes, heap: heapStart}
}

// keptPages bounds the pages that Reset keeps for reuse.
const keptPages = 64

func (m *Machine) newPage() *page {
	n := len(m.free) - 1
	if n < 0 {
		return &page{}
	}
	p := m.free[n]
	m.free = m.free[:n]
	p.missing, p.written, p.outside, p.clean = false, false, false, nil
	return p
}

// Call runs the function at fn with integer arguments, at most six, until it returns, and gives what it returned in rax
// (and leaves rdx in Reg).
func (m *Machine) Call(fn uint64, args ...uint64) (uint64, error) {
	for i, v := range args {
		if i >= 6 {
			return 0, fmt.Errorf("call 0x%x: more than six arguments", fn)
		}
		m.Reg[[6]int{RDI, RSI, RDX, RCX, R8, R9}[i]] = v
	}
	m.err, m.steps, m.flags = nil, 0, flags{}
	m.Reg[RSP] = stackTop - 256 // as the ABI wants it: 16-byte aligned before the call
	m.Reg[RAX] = 0              // no vector registers hold variadic arguments
	m.push(sentinel, 8)
	m.RIP = fn
	for m.err == nil && m.RIP != sentinel {
		if nat, ok := m.natives[m.RIP]; ok {
			m.runNative(nat)
			continue
		}
		if m.steps++; m.steps > m.limits.Steps {
			m.err = fmt.Errorf("%w: more than %d", ErrSteps, m.limits.Steps)
			break
		}
		m.step()
	}
	if m.err != nil {
		return 0, fmt.Errorf("emulate function 0x%x, at 0x%x: %w", fn, m.in.start, m.err)
	}
	return m.Reg[RAX], nil
}

// Changed reports whether code has changed memory of the program, as this machine sees it.
func (m *Machine) Changed() bool { return m.dirty > 0 }

// Steps is the number of instructions that the last call ran.
func (m *Machine) Steps() int { return m.steps }

// Read fills b with memory as the machine sees it.
func (m *Machine) Read(addr uint64, b []byte) error {
	for len(b) > 0 {
		off := addr % pageSize
		n := min(uint64(len(b)), pageSize-off)
		if p := m.page(addr); p != nil {
			copy(b[:n], p.data[off:])
		} else if m.ours(addr) || m.mem.Read(addr, b[:n]) != nil { // a core file may end within a page
			return fmt.Errorf("%w at 0x%x", ErrMemory, addr)
		}
		addr, b = addr+n, b[n:]
	}
	return nil
}

// Text reads a string that ends with a zero byte, or as much as limit. False: not readable, or not text.
func (m *Machine) Text(addr uint64, limit int) (string, bool) {
	var out []byte
	for len(out) < limit {
		n := min(int(pageSize-addr%pageSize), limit-len(out), 256)
		b := make([]byte, n)
		if m.Read(addr, b) != nil {
			return "", false
		}
		for i, c := range b {
			if c == 0 {
				return string(append(out, b[:i]...)), true
			}
		}
		out, addr = append(out, b...), addr+uint64(n)
	}
	return string(out), true
}

// ours reports whether addr is in the range that belongs to the machine.
func (m *Machine) ours(addr uint64) bool { return !m.live && addr >= oursLo && addr < oursHi }

// page returns the page that has addr; nil if it is not there as a whole.
func (m *Machine) page(addr uint64) *page {
	num := addr / pageSize
	if m.last != nil && m.lastNum == num {
		return m.last
	}
	p := m.pages[num]
	if p == nil {
		p = m.newPage()
		if m.ours(addr) {
			clear(p.data[:])
			p.missing = !(addr >= stackTop-stackBytes && addr < stackTop || addr >= heapStart && addr < heapEnd)
			p.written = true
		} else {
			p.missing = m.mem.Read(num*pageSize, p.data[:]) != nil
			if o, ok := m.mem.(Outsider); ok && m.live {
				p.outside = o.Outside(addr)
			}
		}
		m.pages[num] = p
	}
	if p.missing {
		return nil
	}
	m.last, m.lastNum = p, num
	return p
}

func (m *Machine) fail(err error) {
	if m.err == nil {
		m.err = err
	}
}

// load reads n bytes, at most 8.
func (m *Machine) load(addr uint64, n int) uint64 {
	off := addr % pageSize
	if m.live {
		m.reads(addr, n)
	}
	if p := m.page(addr); p != nil && off <= pageSize-8 {
		return binary.LittleEndian.Uint64(p.data[off:]) & mask(n)
	}
	var b [8]byte
	if err := m.Read(addr, b[:n]); err != nil {
		m.fail(err)
		return 0
	}
	return binary.LittleEndian.Uint64(b[:])
}

// store writes the low n bytes of v.
func (m *Machine) store(addr, v uint64, n int) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	if m.live {
		m.writes(addr, n)
	}
	m.Write(addr, b[:n])
}

// Write changes memory as the machine sees it. An error ends the run that is under way.
func (m *Machine) Write(addr uint64, b []byte) error {
	for len(b) > 0 && m.err == nil {
		off := addr % pageSize
		n := min(uint64(len(b)), pageSize-off)
		p := m.page(addr)
		if p == nil {
			m.fail(fmt.Errorf("%w at 0x%x, to write there", ErrMemory, addr))
			break
		}
		if !p.written {
			if m.dirty += pageSize; m.dirty > m.limits.Bytes {
				m.fail(fmt.Errorf("%w: more than %d bytes", ErrWritten, m.limits.Bytes))
				break
			}
			p.written = true
			if m.live {
				clean := p.data
				p.clean = &clean
			}
		}
		copy(p.data[off:], b[:n])
		addr, b = addr+n, b[n:]
	}
	return m.err
}

func (m *Machine) push(v uint64, n int) {
	m.steer(RSP)
	m.Reg[RSP] -= uint64(n)
	m.store(m.Reg[RSP], v, n)
}

func (m *Machine) pop(n int) uint64 {
	m.steer(RSP)
	v := m.load(m.Reg[RSP], n)
	m.Reg[RSP] += uint64(n)
	return v
}

func mask(n int) uint64 {
	if n >= 8 {
		return ^uint64(0)
	}
	return 1<<(8*n) - 1
}

func signBit(n int) uint64 { return 1 << (8*n - 1) }

// extend sign-extends the low n bytes.
func extend(v uint64, n int) uint64 {
	shift := 64 - 8*n
	return uint64(int64(v<<shift) >> shift)
}
