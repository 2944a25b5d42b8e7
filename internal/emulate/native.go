package emulate

import (
	"bytes"
	"fmt"
)

// native stands for a function of the C or C++ library that is not to be interpreted: one that uses whatever the
// CPU has, or the allocator, whose state may be damaged, locked or not yet made.
type native func(m *Machine, a, b, c uint64) uint64

// natives are the functions that Replace knows.
var natives = map[string]native{
	"malloc":              func(m *Machine, a, _, _ uint64) uint64 { return m.allocate(a) },
	"_Znwm":               func(m *Machine, a, _, _ uint64) uint64 { return m.allocate(a) },
	"_Znam":               func(m *Machine, a, _, _ uint64) uint64 { return m.allocate(a) },
	"__rust_alloc":        func(m *Machine, a, _, _ uint64) uint64 { return m.allocate(a) },
	"calloc":              func(m *Machine, a, b, _ uint64) uint64 { return m.allocateArray(a, b) },
	"__rust_alloc_zeroed": func(m *Machine, a, _, _ uint64) uint64 { return m.allocate(a) },
	"realloc":             func(m *Machine, a, b, _ uint64) uint64 { return m.reallocate(a, b) },
	"__rust_realloc": func(m *Machine, a, old, _ uint64) uint64 {
		to := m.allocate(m.Reg[RCX])
		m.move(to, a, min(old, m.Reg[RCX]))
		return to
	},
	"free":           release,
	"_ZdlPv":         release,
	"_ZdlPvm":        release,
	"_ZdaPv":         release,
	"_ZdaPvm":        release,
	"__rust_dealloc": release,
	"strlen":         func(m *Machine, a, _, _ uint64) uint64 { return m.length(a, m.room()) },
	"strnlen":        func(m *Machine, a, b, _ uint64) uint64 { return m.length(a, b) },
	"memcpy":         func(m *Machine, a, b, c uint64) uint64 { m.move(a, b, c); return a },
	"memmove":        func(m *Machine, a, b, c uint64) uint64 { m.move(a, b, c); return a },
	"__memcpy_chk":   func(m *Machine, a, b, c uint64) uint64 { m.move(a, b, c); return a },
	"mempcpy":        func(m *Machine, a, b, c uint64) uint64 { m.move(a, b, c); return a + c },
	"strcpy":         func(m *Machine, a, b, _ uint64) uint64 { m.move(a, b, m.length(b, m.room())+1); return a },
	"stpcpy": func(m *Machine, a, b, _ uint64) uint64 {
		n := m.length(b, m.room())
		m.move(a, b, n+1)
		return a + n
	},
	"strncat": func(m *Machine, a, b, c uint64) uint64 { return m.join(a, b, m.length(b, c)) },
	"strcat":  func(m *Machine, a, b, _ uint64) uint64 { return m.join(a, b, m.length(b, m.room())) },
	"strncpy": func(m *Machine, a, b, c uint64) uint64 {
		n := m.length(b, c)
		m.move(a, b, n)
		m.fill(a+n, 0, c-n)
		return a
	},
	"memset":  (*Machine).fill,
	"memcmp":  (*Machine).compare,
	"bcmp":    (*Machine).compare,
	"memchr":  (*Machine).find,
	"strcmp":  func(m *Machine, a, b, _ uint64) uint64 { return m.compareText(a, b, m.room()) },
	"strncmp": (*Machine).compareText,
	"strchr": func(m *Machine, a, b, _ uint64) uint64 {
		n := m.length(a, m.room())
		return m.find(a, b, n+1)
	},
}

// Replaceable lists the functions that Replace knows, by their linkage names.
func Replaceable() []string {
	names := make([]string, 0, len(natives))
	for name := range natives {
		names = append(names, name)
	}
	return names
}

// Replace makes calls of the function at addr work as the library's function of that name, without running its code.
func (m *Machine) Replace(addr uint64, name string) bool {
	f, ok := natives[name]
	if ok && addr != 0 {
		m.natives[addr] = f
	}
	return ok
}

// runNative does the work of a function and returns from it. It counts as one instruction for each eight bytes touched.
func (m *Machine) runNative(f native) {
	m.in = insn{start: m.RIP}
	m.steps++
	v := f(m, m.Reg[RDI], m.Reg[RSI], m.Reg[RDX])
	if m.steps > m.limits.Steps {
		m.fail(ErrSteps)
	}
	m.Reg[RAX] = v
	m.RIP = m.pop(8)
}

// room is how many bytes the run may still touch.
func (m *Machine) room() uint64 { return uint64(max(m.limits.Steps-m.steps, 0)) * 8 }

// spend counts n bytes. False: that is more than the run may touch.
func (m *Machine) spend(n uint64) bool {
	if n > m.room() {
		m.fail(ErrSteps)
		return false
	}
	m.steps += int(n / 8)
	return true
}

// allocate gives memory that is zero.
func (m *Machine) allocate(n uint64) uint64 {
	if n > uint64(m.limits.Bytes) || m.heap-heapStart+n > uint64(m.limits.Bytes) || m.heap+n > heapEnd-64 {
		m.fail(fmt.Errorf("%w: it allocates more than %d bytes", ErrWritten, m.limits.Bytes))
		return 0
	}
	a := m.heap
	m.heap += (n + 31) &^ 15
	m.sizes[a] = n
	return a
}

func (m *Machine) allocateArray(a, b uint64) uint64 {
	if a != 0 && b > uint64(m.limits.Bytes)/a {
		b, a = uint64(m.limits.Bytes)+1, 1
	}
	return m.allocate(a * b)
}

// reallocate copies as much as there can be: of memory of the program's own the size is not known.
func (m *Machine) reallocate(a, n uint64) uint64 {
	to := m.allocate(n)
	if size, known := m.sizes[a]; known {
		m.move(to, a, min(size, n))
	} else if a != 0 {
		m.fail(fmt.Errorf("%w: realloc of memory of the program", ErrUnknown))
	}
	return to
}

func release(*Machine, uint64, uint64, uint64) uint64 { return 0 }

// bytesAt reads n bytes; nil and an error in the machine where they are not there.
func (m *Machine) bytesAt(a, n uint64) []byte {
	if !m.spend(n) {
		return nil
	}
	if m.live && n > 0 {
		m.reads(a, int(n))
	}
	b := make([]byte, n)
	if err := m.Read(a, b); err != nil {
		m.fail(err)
		return nil
	}
	return b
}

func (m *Machine) move(to, from, n uint64) {
	if b := m.bytesAt(from, n); len(b) > 0 {
		m.put(to, b)
	}
}

func (m *Machine) fill(to, c, n uint64) uint64 {
	if m.spend(n) && n > 0 {
		m.put(to, bytes.Repeat([]byte{byte(c)}, int(n)))
	}
	return to
}

// put writes what a function of the library does.
func (m *Machine) put(to uint64, b []byte) {
	if m.live {
		m.writes(to, len(b))
	}
	m.Write(to, b)
}

// length is strnlen.
func (m *Machine) length(a, most uint64) uint64 {
	for n := uint64(0); n < most && m.err == nil; n++ {
		if m.load(a+n, 1) == 0 {
			m.spend(n)
			return n
		}
		if n > m.room() {
			m.fail(ErrSteps)
		}
	}
	return most
}

// join appends n bytes and a zero to a text.
func (m *Machine) join(a, b, n uint64) uint64 {
	end := a + m.length(a, m.room())
	m.move(end, b, n)
	m.fill(end+n, 0, 1)
	return a
}

func (m *Machine) compare(a, b, n uint64) uint64 {
	x, y := m.bytesAt(a, n), m.bytesAt(b, n)
	return uint64(uint32(bytes.Compare(x, y)))
}

func (m *Machine) compareText(a, b, most uint64) uint64 {
	for n := uint64(0); n < most && m.err == nil; n++ {
		x, y := m.load(a+n, 1), m.load(b+n, 1)
		if x != y || x == 0 {
			return uint64(uint32(x - y))
		}
		if !m.spend(8) {
			break
		}
	}
	return 0
}

// find is memchr.
func (m *Machine) find(a, c, n uint64) uint64 {
	for i := uint64(0); i < n && m.err == nil; i++ {
		if m.load(a+i, 1) == c&0xff {
			return a + i
		}
		if !m.spend(8) {
			break
		}
	}
	return 0
}
