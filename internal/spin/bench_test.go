package spin

import (
	"errors"
	"testing"

	"github.com/strobe-debug/strobe/internal/emulate"
)

type code struct {
	at   uint64
	data []byte
}

func (c code) Read(addr uint64, b []byte) error {
	if addr < c.at || addr-c.at+uint64(len(b)) > uint64(len(c.data)) {
		return errors.New("nothing there")
	}
	copy(b, c.data[addr-c.at:])
	return nil
}

// counting is a loop that counts a register down: sub rax, 1; mov [rdi], rax; mov rcx, [rdi]; test rcx, rcx; jne.
var counting = []byte{0x48, 0x83, 0xe8, 0x01, 0x48, 0x89, 0x07, 0x48, 0x8b, 0x0f, 0x48, 0x85, 0xc9, 0x75, 0xf1, 0xcc}

func BenchmarkProve(b *testing.B) {
	data := make([]byte, 2*4096)
	copy(data, counting)
	for b.Loop() {
		th := emulate.Thread{RIP: 0x400000}
		th.Reg[emulate.RAX], th.Reg[emulate.RDI] = 1<<40, 0x401000
		if r := Prove(&System{Memory: code{0x400000, data}, Alone: true}, &th); r.Endless {
			b.Fatal(r)
		}
	}
}
