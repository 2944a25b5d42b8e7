package emulate

import (
	"encoding/binary"
	"errors"
	"fmt"
	"testing"
)

// flat is memory of one range.
type flat struct {
	at uint64
	b  []byte
}

func (f flat) Read(addr uint64, b []byte) error {
	if addr < f.at || addr+uint64(len(b)) > f.at+uint64(len(f.b)) {
		return fmt.Errorf("0x%x is not there", addr)
	}
	copy(b, f.b[addr-f.at:])
	return nil
}

// TestWrote takes instructions as they are behind: memory holds what another thread wrote since.
func TestWrote(t *testing.T) {
	const base, data = 0x10000, 0x11000
	word := func(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }
	for _, c := range []struct {
		name     string
		code     []byte
		lead     int // bytes of code that compute the operand
		reg      [16]uint64
		flags    uint64
		old, new any // uint64, or nil
		exact    bool
		err      error
	}{
		{name: "mov %rax,(%rcx)", code: []byte{0x48, 0x89, 0x01}, reg: [16]uint64{RAX: 7, RCX: data}, new: uint64(7),
			exact: true},
		{name: "movl $9,(%rcx)", code: []byte{0xc7, 0x01, 9, 0, 0, 0}, reg: [16]uint64{RCX: data}, new: uint64(1)<<32 | 9},
		{name: "lock addq $2,(%rcx)", code: []byte{0xf0, 0x48, 0x83, 0x01, 2}, reg: [16]uint64{RCX: data},
			new: uint64(1)<<32 | 7},
		{name: "adc %rax,(%rcx)", code: []byte{0x48, 0x11, 0x01}, reg: [16]uint64{RAX: 1, RCX: data}, err: ErrUnknown},
		{name: "lock xadd %rax,(%rcx)", code: []byte{0xf0, 0x48, 0x0f, 0xc1, 0x01}, reg: [16]uint64{RAX: 30, RCX: data},
			old: uint64(30), exact: true},
		{name: "mov $4,%eax; lock xadd %rax,(%rcx)", code: []byte{0xb8, 4, 0, 0, 0, 0xf0, 0x48, 0x0f, 0xc1, 0x01}, lead: 5,
			reg: [16]uint64{RAX: 30, RCX: data}, old: uint64(30), new: uint64(34), exact: true},
		{name: "mov %rdx,%rax; xchg %rax,(%rcx)", code: []byte{0x48, 0x89, 0xd0, 0x48, 0x87, 0x01}, lead: 3,
			reg: [16]uint64{RAX: 30, RDX: 8, RCX: data}, old: uint64(30), new: uint64(8), exact: true},
		{name: "lock cmpxchg %rdx,(%rcx)", code: []byte{0xf0, 0x48, 0x0f, 0xb1, 0x11},
			reg: [16]uint64{RAX: 30, RDX: 31, RCX: data}, flags: flagZero, old: uint64(30), new: uint64(31), exact: true},
		{name: "the same, in vain", code: []byte{0xf0, 0x48, 0x0f, 0xb1, 0x11}, reg: [16]uint64{RAX: 30, RDX: 31, RCX: data},
			old: uint64(30), new: uint64(30), exact: true},
		{name: "push %rax", code: []byte{0x50}, reg: [16]uint64{RAX: 6, RSP: data}, new: uint64(6), exact: true},
		{name: "stos", code: []byte{0x48, 0xab}, reg: [16]uint64{RAX: 6, RDI: data + 8}, new: uint64(6), exact: true},
		{name: "rep stos", code: []byte{0xf3, 0x48, 0xab}, reg: [16]uint64{RAX: 6, RDI: data + 8}, err: ErrUnknown},
		{name: "mov (%rcx),%rax", code: []byte{0x48, 0x8b, 0x01}, reg: [16]uint64{RCX: data}, err: ErrElsewhere},
		{name: "mov %rax,8(%rcx)", code: []byte{0x48, 0x89, 0x41, 8}, reg: [16]uint64{RCX: data}, err: ErrElsewhere},
	} {
		t.Run(c.name, func(t *testing.T) {
			mem := flat{base, make([]byte, 0x2000)}
			copy(mem.b[0x10:], c.code)
			copy(mem.b[data-base:], word(1000)) // another thread's
			th := Thread{Reg: c.reg, RIP: base + 0x10 + uint64(c.lead), Flags: c.flags}
			from := uint64(0)
			if c.lead > 0 {
				from = base + 0x10
			}
			w, err := Wrote(mem, th, from, data, word(1<<32|5))
			if !errors.Is(err, c.err) {
				t.Fatalf("Wrote: %v, want %v", err, c.err)
			}
			got := func(b []byte) any {
				if b == nil {
					return nil
				}
				return binary.LittleEndian.Uint64(b)
			}
			if old, now := got(w.Old), got(w.New); old != c.old || now != c.new || w.Exact != c.exact {
				t.Errorf("Wrote = %v, %v, exact %v; want %v, %v, %v", old, now, w.Exact, c.old, c.new, c.exact)
			}
		})
	}
}
