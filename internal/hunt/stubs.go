package hunt

import (
	"debug/elf"
	"strings"

	"github.com/ianlancetaylor/demangle"
	"golang.org/x/arch/x86/x86asm"
)

// maxStubs bounds what is read of a damaged file's tables.
const maxStubs = 100_000

// stubsOf names what a program's calls of libraries go through: the functions by the address of the code that jumps to
// them. What cannot be read is not named.
func stubsOf(path string) map[uint64]string {
	f, err := elf.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return nil
	}
	const entry = 24 // of a relocation table: offset, info, addend
	slots := map[uint64]string{}
	for _, s := range f.Sections {
		if s.Type != elf.SHT_RELA || s.Name != ".rela.plt" && s.Name != ".rela.dyn" {
			continue
		}
		b, err := s.Data()
		if err != nil {
			continue
		}
		for ; len(b) >= entry && len(slots) < maxStubs; b = b[entry:] {
			n := f.ByteOrder.Uint64(b[8:]) >> 32
			if n > 0 && n <= uint64(len(symbols)) {
				slots[f.ByteOrder.Uint64(b)] = demangle.Filter(symbols[n-1].Name)
			}
		}
	}
	stubs := map[uint64]string{}
	for _, s := range f.Sections {
		if !strings.HasPrefix(s.Name, ".plt") || s.Type != elf.SHT_PROGBITS {
			continue
		}
		code, err := s.Data()
		if err != nil {
			continue
		}
		const size = 16 // of a stub; of those in .plt.got there may be two in it
		for at := 0; at < len(code); at += size / 2 {
			if slot, ok := jumpSlot(code[at:], s.Addr+uint64(at)); ok && slots[slot] != "" {
				stubs[s.Addr+uint64(at)] = slots[slot]
			}
		}
	}
	return stubs
}

// jumpSlot is the place that code jumps by, if it begins with such a jump.
func jumpSlot(code []byte, at uint64) (slot uint64, ok bool) {
	if len(code) >= len(endbr) && string(code[:len(endbr)]) == string(endbr) {
		code, at = code[len(endbr):], at+uint64(len(endbr))
	}
	inst, err := x86asm.Decode(code, 64)
	if err != nil || inst.Op != x86asm.JMP {
		return 0, false
	}
	m, ok := inst.Args[0].(x86asm.Mem)
	if !ok || m.Base != x86asm.RIP || m.Index != 0 {
		return 0, false
	}
	return at + uint64(inst.Len) + uint64(m.Disp), true
}
