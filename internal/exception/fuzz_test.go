package exception

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/strobe-debug/strobe/internal/unwind"
)

// blockMemory is one block of memory.
type blockMemory struct {
	at   uint64
	data []byte
}

func (b blockMemory) Read(addr uint64, to []byte) error {
	if addr < b.at || addr > b.at+uint64(len(b.data)) || b.at+uint64(len(b.data))-addr < uint64(len(to)) {
		return errors.New("nothing there")
	}
	copy(to, b.data[addr-b.at:])
	return nil
}

const fuzzBase = 0x10000

// sampleMemory is an exception of class "7Failure", derived from std::exception, in one page.
func sampleMemory() []byte {
	b := make([]byte, 4096)
	put := func(at, v uint64) { binary.LittleEndian.PutUint64(b[at:], v) }
	const unwindAt, info, meta, base = 0x200, 0x400, 0x500, 0x480
	put(unwindAt, classGNU)
	put(unwindAt-96, 1)
	put(unwindAt-80, fuzzBase+info)
	put(info, fuzzBase+0x580)
	put(info+8, fuzzBase+0x600)
	put(info+16, fuzzBase+base)
	put(base, fuzzBase+0x590)
	put(base+8, fuzzBase+0x640)
	put(0x578, fuzzBase+meta)
	put(0x588, fuzzBase+meta+32)
	put(meta+8, fuzzBase+0x680)
	put(meta+40, fuzzBase+0x700)
	copy(b[0x600:], "7Failure\x00")
	copy(b[0x640:], "St9exception\x00")
	copy(b[0x680:], "N10__cxxabiv120__si_class_type_infoE\x00")
	copy(b[0x700:], "N10__cxxabiv117__class_type_infoE\x00")
	put(unwindAt+32, fuzzBase+0x800)
	put(0x810, fuzzBase+0x900)
	copy(b[0x900:], []byte{0x48, 0x8d, 0x05, 1, 0, 0, 0, 0xc3, 'l', 'o', 's', 't', 0}) // lea rax, [rip+1]; ret
	return b
}

func TestSample(t *testing.T) {
	r := New(blockMemory{fuzzBase, sampleMemory()}, nil)
	class, _ := r.Class(fuzzBase+0x200, 0)
	if e := r.Header(fuzzBase+0x200, 0); class != "c++" || e.Text() != "Failure: lost" {
		t.Errorf("%+v of class %q", e, class)
	}
	if h, ok := r.near(fuzzBase + 0x220); !ok || h.object != fuzzBase+0x220 {
		t.Errorf("by its object: %+v, %v", h, ok)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(sampleMemory(), uint64(fuzzBase+0x200), uint64(fuzzBase+0x400))
	cycle := sampleMemory() // a class that is its own base, with its what() at its type_info
	binary.LittleEndian.PutUint64(cycle[0x410:], fuzzBase+0x400)
	f.Add(cycle, uint64(fuzzBase+0x220), uint64(fuzzBase+0x400))
	f.Fuzz(func(t *testing.T, data []byte, a, b uint64) {
		mem := blockMemory{fuzzBase, data}
		r := New(mem, nil)
		r.Class(a, b)
		r.Header(a, b)
		r.Object(a, b, a)
		r.Kept(a, b)
		var regs unwind.Regs
		regs.Set(3, a)
		regs.Set(7, fuzzBase)
		stack := unwind.Stack{Frames: []unwind.Frame{{Function: "abort", Regs: regs, CFA: fuzzBase + 1024},
			{Function: "__cxa_throw", Regs: regs, CFA: fuzzBase + 2048}, {Function: "main"}}}
		r.InFlight(&stack, fuzzBase)
		r.search(&stack, 0, 2, false)
	})
}
