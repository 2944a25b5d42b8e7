package native

import (
	"debug/elf"
	"sync"

	"github.com/strobe-debug/strobe/internal/symbol"
)

var exportCache sync.Map // *symbol.Module → map[uint64]bool

// exported reports whether other modules may call the function by name: then it keeps to the platform's calling convention.
func exported(mod *symbol.Module, f *symbol.Function) bool {
	if set, ok := exportCache.Load(mod); ok {
		return set.(map[uint64]bool)[uint64(f.Low)]
	}
	set := map[uint64]bool{}
	if e, err := elf.Open(mod.Path); err == nil {
		syms, _ := e.DynamicSymbols()
		for _, s := range syms {
			if elf.ST_BIND(s.Info) != elf.STB_LOCAL && s.Section != elf.SHN_UNDEF {
				set[s.Value] = true
			}
		}
		e.Close()
	}
	exportCache.Store(mod, set)
	return set[uint64(f.Low)]
}
