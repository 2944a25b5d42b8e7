package snapshot

import (
	"encoding/json"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// cells is memory that holds the same bytes over and over, but for holes.
type cells struct {
	b    []byte
	hole uint64
}

func (c cells) Read(addr uint64, b []byte) error {
	if len(c.b) == 0 || c.hole != 0 && addr/4096%c.hole == 0 {
		return unix.EFAULT
	}
	for i := range b {
		b[i] = c.b[(addr+uint64(i))%uint64(len(c.b))]
	}
	return nil
}

// TestReasons says in words what signals mean, by the instruction and the mappings.
func TestReasons(t *testing.T) {
	maps := []Mapping{
		{Lo: 0x400000, Hi: 0x401000, Read: true, Exec: true, Path: "/src/prog"},
		{Lo: 0x402000, Hi: 0x403000, Read: true, Path: "/src/prog"},
		{Lo: 0x500000, Hi: 0x510000, Read: true, Write: true, Path: "[heap]"}, {Lo: 0x600000, Hi: 0x601000},
		{Lo: 0x601000, Hi: 0x680000, Read: true, Write: true},
		{Lo: 0x7ffd00000000, Hi: 0x7ffd00100000, Read: true, Write: true, Path: "[stack]"},
	}
	for _, tc := range []struct {
		name   string
		code   string // at 0x400000
		sig    Signal
		rax    uint64
		rsp    uint64
		pc     uint64
		class  string
		reason string
	}{
		{"null read", "\x8b\x40\x18", Signal{Number: 11, Code: 1, Addr: 0x18}, 0, 0, 0x400000, "null-pointer",
			"null pointer: read of address 0x18 (24 bytes past null"},
		{"null write", "\x89\x00", Signal{Number: 11, Code: 1}, 0, 0, 0x400000, "null-pointer",
			"null pointer: write of address 0x0"},
		{"null call", "", Signal{Number: 11, Code: 1}, 0, 0, 0, "null-pointer", "null function pointer"},
		{"wild", "\x89\x00", Signal{Number: 11, Code: siKernel}, 0x4141414141414141, 0, 0x400000, "wild-pointer",
			"write of address 0x4141414141414141"},
		{"unmapped", "\x8b\x00", Signal{Number: 11, Code: 1, Addr: 0x510010}, 0x510010, 0, 0x400000, "unmapped-address",
			"behind the heap"},
		{"constants", "\x89\x00", Signal{Number: 11, Code: 2, Addr: 0x402010}, 0x402010, 0, 0x400000, "protection",
			"write to address 0x402010, which is read-only"},
		{"heap code", "", Signal{Number: 11, Code: 2, Addr: 0x500000}, 0, 0, 0x500000, "execute-data", "which is not code"},
		{"main stack", "\x50", Signal{Number: 11, Code: 1, Addr: 0x7ffcfffffff8}, 0, 0x7ffd00000000, 0x400000,
			"stack-overflow", "below the end of the thread's stack"},
		{"other stack", "\x50", Signal{Number: 11, Code: 2, Addr: 0x600ff8}, 0, 0x601000, 0x400000, "stack-overflow",
			"below the end"},
		{"large frame", "\x89\x04\x24", Signal{Number: 11, Code: 1, Addr: 0x7ffcf0000000}, 0, 0x7ffcf0000000, 0x400000,
			"stack-overflow", "262144 KB below the end of the thread's stack"},
		{"below nobody's stack", "\x89\x00", Signal{Number: 11, Code: 1, Addr: 0x7ffcf0000000}, 0x7ffcf0000000,
			0x7ffd00000100, 0x400000, "unmapped-address", "nothing is mapped there"},
		{"copy to null", "\xf3\xa4", Signal{Number: 11, Code: 1}, 0, 0, 0x400000, "null-pointer",
			"null pointer: write of address 0x0"},
		{"copy from null", "\xf3\xa4", Signal{Number: 11, Code: 1, Addr: 0x510010}, 0, 0, 0x400000, "unmapped-address",
			"read of address 0x510010"},
		{"call through null", "\xff\x50\x18", Signal{Number: 11, Code: 1, Addr: 0x18}, 0, 0x7ffd00000100, 0x400000,
			"null-pointer", "null pointer: read of address 0x18"},
		{"call without stack", "\xff\x50\x18", Signal{Number: 11, Code: 1, Addr: 0x7ffcfffffff8}, 0, 0x7ffd00000000, 0x400000,
			"stack-overflow", "write of address"},
		{"float load", "\xdd\x00", Signal{Number: 11, Code: 1, Addr: 8}, 8, 0, 0x400000, "null-pointer",
			"read of address 0x8"},
		{"misaligned", "\x0f\x29\x00", Signal{Number: 11, Code: siKernel}, 0x500008, 0, 0x400000, "misaligned-address",
			"write of address 0x500008, which is no multiple of 16"},
		{"misaligned zmm", "\x62\xf1\x7c\x48\x28\x00", Signal{Number: 11, Code: siKernel}, 0x500010, 0, 0x400000,
			"misaligned-address", "read of address 0x500010, which is no multiple of 64"},
		{"privileged", "\xf4", Signal{Number: 11, Code: siKernel}, 0, 0, 0x400000, "illegal-instruction",
			"privileged instruction (hlt)"},
		{"interrupt", "\xcd\x2e", Signal{Number: 11, Code: siKernel}, 0, 0, 0x400000, "illegal-instruction",
			"software interrupt (int 0x2e)"},
		{"wild call", "\xff\xd0", Signal{Number: 11, Code: siKernel}, 0x4141414141414141, 0, 0x400000, "wild-pointer",
			"call of or jump to address 0x4141414141414141"},
		{"wild return", "\xc3AAAAAAAA", Signal{Number: 11, Code: siKernel}, 0, 0x400001, 0x400000, "wild-pointer",
			"return to address 0x4141414141414141"},
		{"division", "\xf7\xf8", Signal{Number: 8, Code: 1}, 0, 0, 0x400000, "division-by-zero", "integer division by zero"},
		{"quotient", "\xf7\xf8", Signal{Number: 8, Code: 1}, 0xffffffff, 0, 0x400000, "arithmetic", "division by -1"},
		{"ud2", "\x0f\x0b", Signal{Number: 4, Code: 2}, 0, 0, 0x400000, "illegal-instruction", "ud2"},
		{"failed check", "\x67\x0f\xb9\x40\x12", Signal{Number: 4, Code: 2}, 0, 0, 0x400000, "illegal-instruction",
			"failed: an index is out of bounds (ud1"},
		{"failed addition", "\x67\x0f\xb9\x00", Signal{Number: 4, Code: 2}, 0, 0, 0x400000, "illegal-instruction",
			"failed: an addition overflows (ud1"},
		{"other's", "\x90", Signal{Number: 11, Code: 0, PID: 77, Sender: "killer"}, 0, 0, 0x400000, "sent",
			"sent by process 77 (killer)"},
	} {
		code := make([]byte, 4096)
		copy(code, tc.code)
		p := &Process{PID: 5, Maps: maps, Mem: cells{b: code}}
		th := &Thread{TID: 5}
		for i := range 17 {
			th.Regs.Set(i, 0)
		}
		th.Regs.Set(0, tc.rax)
		th.Regs.Set(4, 0x510010) // rsi
		th.Regs.Set(7, tc.rsp)
		th.Regs.Set(16, tc.pc)
		if f := p.explain(&tc.sig, th); f.class != tc.class || !strings.Contains(f.words, tc.reason) {
			t.Errorf("%s: %s, %q, want %s, %q", tc.name, f.class, f.words, tc.class, tc.reason)
		}
	}
}

// FuzzCrash describes processes whose memory, registers and mappings hold anything.
func FuzzCrash(f *testing.F) {
	f.Add([]byte("\x8b\x40\x18\xc3"), uint64(0x400000), uint64(0x7ffd00000010), uint64(0x18), 11, int32(1), uint64(7))
	f.Add([]byte("\x0f\x0b"), uint64(0), uint64(1)<<63, uint64(0), 4, int32(2), uint64(0))
	f.Add([]byte("\xf7\x38\x00\x10"), uint64(0x400001), uint64(0x400800), ^uint64(0), 8, int32(1), uint64(3))
	f.Fuzz(func(t *testing.T, mem []byte, pc, sp, addr uint64, sig int, code int32, hole uint64) {
		p := &Process{PID: 1, Mem: cells{mem, hole % 16},
			Maps: []Mapping{{Lo: pc &^ 0xfff, Hi: pc&^0xfff + 0x2000, Exec: true, Read: true, Path: "/x"},
				{Lo: sp &^ 0xffff, Hi: sp | 0xffff, Read: true, Write: true}}}
		th := &Thread{TID: 1, FS: sp}
		for i := range 17 {
			th.Regs.Set(i, addr*uint64(i))
		}
		th.Regs.Set(16, pc)
		th.Regs.Set(7, sp)
		c := New(p).Crash(&Death{Signal: &Signal{Number: sig & 63, Code: code, Addr: addr}, Thread: th, Others: []*Thread{th},
			Caught: &Caught{Signal: Signal{Number: 11}, Thread: *th}})
		if c == nil {
			t.Fatal("no crash")
		}
		if b, err := c.JSON(); err != nil || !json.Valid(b) {
			t.Errorf("payload %s: %v", b, err)
		}
	})
}
