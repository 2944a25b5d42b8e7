package emulate

import (
	"encoding/binary"
	"errors"
	"fmt"
	"testing"
)

// bytesAt is memory with code at one place.
type bytesMemory struct {
	at   uint64
	data []byte
}

func (b bytesMemory) Read(addr uint64, to []byte) error {
	if addr < b.at || addr+uint64(len(to)) > b.at+uint64(len(b.data)) || addr+uint64(len(to)) < addr {
		return errors.New("nothing there")
	}
	copy(to, b.data[addr-b.at:])
	return nil
}

func run(code []byte, args ...uint64) (uint64, error) {
	page := make([]byte, 4096)
	copy(page, code)
	return New(bytesMemory{0x400000, page}, 0, Limits{}).Call(0x400000, args...)
}

// TestEndings checks that what cannot be run ends the run, and how.
func TestEndings(t *testing.T) {
	for _, c := range []struct {
		name string
		code []byte
		want error
	}{
		{"endless loop", []byte{0xeb, 0xfe}, ErrSteps},
		{"endless recursion", []byte{0xe8, 0xfb, 0xff, 0xff, 0xff}, ErrMemory},
		{"endless rep stosb", []byte{0x48, 0x89, 0xe7, 0x48, 0xc7, 0xc1, 0xff, 0xff, 0xff, 0x7f, 0xf3, 0xaa}, ErrMemory},
		{"system call", []byte{0x0f, 0x05}, ErrSyscall},
		{"undefined", []byte{0x0f, 0x0b}, ErrUnknown},
		{"breakpoint", []byte{0xcc}, ErrUnknown},
		{"null", []byte{0x31, 0xc0, 0x48, 0x8b, 0x00}, ErrMemory},
		{"jump to its stack", []byte{0xff, 0xe4}, ErrMemory},
		{"division by zero", []byte{0x31, 0xc9, 0x31, 0xd2, 0xf7, 0xf1}, errDivide},
		{"only prefixes", []byte{0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66,
			0x66}, ErrUnknown},
	} {
		if _, err := run(c.code); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

// TestWrites: the program's memory stays as it is, and what may change of it is bounded.
func TestWrites(t *testing.T) {
	data := make([]byte, 64*4096)
	copy(data, []byte{0xc7, 0x07, 42, 0, 0, 0, 0x8b, 0x07, 0xc3}) // mov [rdi], 42; mov eax, [rdi]; ret
	m := New(bytesMemory{0x400000, data}, 0, Limits{Bytes: 8 * 4096})
	for i := range uint64(8) {
		v, err := m.Call(0x400000, 0x401000+i*4096)
		if v != 42 || err != nil {
			t.Fatalf("write %d gave %d, %v", i, v, err)
		}
	}
	if _, err := m.Call(0x400000, 0x420000); !errors.Is(err, ErrWritten) {
		t.Errorf("ninth page: %v, want %v", err, ErrWritten)
	}
	var b [4]byte
	if err := m.Read(0x401000, b[:]); err != nil || binary.LittleEndian.Uint32(b[:]) != 42 || data[0x1000] != 0 {
		t.Errorf("the machine sees % x, %v; the program has %d", b, err, data[0x1000])
	}
}

// TestFlags compares single instructions with what the manual says of their edges.
func TestFlags(t *testing.T) {
	for _, c := range []struct {
		name string
		code []byte // rdi, rsi in; setcc al follows
		set  byte
		a, b uint64
		want uint64
	}{
		{"add overflows", []byte{0x01, 0xf7}, 0x90, 0x7fffffff, 1, 1},
		{"add carries", []byte{0x01, 0xf7}, 0x92, 0xffffffff, 1, 1},
		{"sub borrows", []byte{0x29, 0xf7}, 0x92, 1, 2, 1},
		{"cmp less", []byte{0x48, 0x39, 0xf7}, 0x9c, 1 << 63, 1, 1},
		{"cmp below", []byte{0x48, 0x39, 0xf7}, 0x92, 1 << 63, 1, 0},
		{"test parity", []byte{0x85, 0xff}, 0x9a, 0x103, 0, 1},
		{"shl carry", []byte{0xd1, 0xe7}, 0x92, 1 << 31, 0, 1},
		{"sar carry", []byte{0xd1, 0xff}, 0x92, 3, 0, 1},
		{"imul cut", []byte{0x0f, 0xaf, 0xfe}, 0x90, 1 << 30, 4, 1},
		{"imul whole", []byte{0x0f, 0xaf, 0xfe}, 0x90, 0xffffffff, 4, 0},
		{"bt", []byte{0x48, 0x0f, 0xa3, 0xf7}, 0x92, 1 << 40, 40, 1},
		{"inc keeps carry", []byte{0xf9, 0xff, 0xc7}, 0x92, 5, 0, 1},
	} {
		code := append(append([]byte{0x31, 0xc0}, c.code...), 0x0f, c.set, 0xc0, 0xc3)
		got, err := run(code, c.a, c.b)
		if got != c.want || err != nil {
			t.Errorf("%s: %d, %v, want %d", c.name, got, err, c.want)
		}
	}
}

func FuzzCall(f *testing.F) {
	f.Add([]byte{0xc3}, uint64(0), uint64(0))
	f.Add([]byte{0xf3, 0xa4, 0xc3}, uint64(0x400100), uint64(0x400200))
	f.Add([]byte{0x0f, 0x38, 0x00, 0xc0, 0xc5, 0xf8, 0x77, 0x62}, uint64(1), uint64(2))
	for op := range 256 { // every opcode, with an operand in memory and one in a register
		f.Add([]byte{byte(op), 0x07, 1, 2, 3, 4, 5, 6, 7, 8, 0xc3}, uint64(0x400800), uint64(0x400900))
		f.Add([]byte{0x66, 0x0f, byte(op), 0x07, 1, 2, 3, 4, 5, 6, 7, 8, 0xc3}, uint64(0x400800), uint64(0x400900))
		f.Add([]byte{0xf3, 0x48, 0x0f, byte(op), 0xc7, 1, 2, 3, 4, 5, 6, 7, 8, 0xc3}, uint64(0x400800), uint64(64))
		f.Add([]byte{0xf2, 0x0f, byte(op), 0xc7, 1, 2, 3, 4, 5, 6, 7, 8, 0xc3}, uint64(0x400800), uint64(0x400900))
	}
	f.Fuzz(func(t *testing.T, code []byte, a, b uint64) {
		page := make([]byte, 2*4096)
		copy(page, code)
		m := New(bytesMemory{0x400000, page}, 0x400500, Limits{Steps: 2000})
		m.Replace(0x400700, "memmove")
		m.Replace(0x400710, "realloc")
		m.Replace(0x400720, "strchr")
		m.Call(0x400000, a, b, b)
		if m.Steps() > 2001 {
			t.Errorf("%d steps", m.Steps())
		}
	})
}

func ExampleMachine_Call() {
	// lea eax, [rdi+rsi]; ret
	v, err := run([]byte{0x8d, 0x04, 0x37, 0xc3}, 40, 2)
	fmt.Println(v, err)
	// Output: 42 <nil>
}
