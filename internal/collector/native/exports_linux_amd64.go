package native

import (
	"debug/elf"

	"github.com/strobe-debug/strobe/internal/symbol"
)

type exportsKey struct{}

// exported reports whether other modules may call the function by name: then it keeps to the platform's calling
// convention.
func exported(mod *symbol.Module, f *symbol.Function) bool {
	return mod.Memo(exportsKey{}, func() any { return exportsOf(mod) }).(map[uint64]bool)[uint64(f.Low)]
}

// exportsOf is where the functions begin that a file exports.
func exportsOf(mod *symbol.Module) map[uint64]bool {
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
	return set
}
