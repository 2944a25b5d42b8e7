package exception

import (
	"fmt"

	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/unwind"
)

const (
	pageSize = 4096
	// maxCode bounds the pages of code that are kept: what throwing runs is little, over and over.
	maxCode = 1024
)

// textMemory is a process's memory with the code of its modules as their files have it: without breakpoints and hooks,
// and there also where a core file leaves it out.
type textMemory struct {
	mem unwind.Memory
	*Modules
}

func (t *textMemory) Read(addr uint64, b []byte) error {
	page := addr%pageSize == 0 && len(b) == pageSize
	if page {
		if kept := t.code[addr]; kept != nil {
			copy(b, kept[:])
			return nil
		}
	}
	err := t.mem.Read(addr, b)
	for _, m := range t.mods {
		if m.Mod == nil || addr >= m.Hi || addr+uint64(len(b)) <= m.Lo {
			continue
		}
		for _, s := range m.Mod.Segments() {
			if !s.Exec || s.Write {
				continue
			}
			lo := max(uint64(s.Vaddr)+m.Bias, addr)
			hi := min(uint64(s.Vaddr)+m.Bias+s.Filesz, addr+uint64(len(b)))
			if lo >= hi {
				continue
			}
			code, ferr := m.Mod.BytesAt(symbol.Addr(lo-m.Bias), int(hi-lo))
			if ferr != nil {
				continue
			}
			if err != nil && hi-lo < uint64(len(b)) && hi-lo < 64 {
				continue // too little to go on with
			}
			copy(b[lo-addr:], code)
			err = nil
			if page && hi-lo == pageSize {
				if len(t.code) >= maxCode {
					clear(t.code)
				}
				t.code[addr] = (*[pageSize]byte)(append([]byte{}, b...))
			}
		}
	}
	if err != nil {
		return fmt.Errorf("read memory at 0x%x: %w", addr, err)
	}
	return nil
}
