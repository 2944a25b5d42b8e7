package symbol

import (
	"debug/elf"
	"slices"
)

// ExternalFunctions returns the addresses of functions that other modules or objects may call by name: those with a
// global or weak symbol, in order, each once. What a linker or an optimiser of whole programs made local is not among
// them.
func (m *Module) ExternalFunctions() []Addr {
	var out []Addr
	_ = m.guarded(func() error {
		for _, im := range m.images() {
			im.eachSym(func(s elfSym) bool {
				if s.typ == uint8(elf.STT_FUNC) && (s.bind == uint8(elf.STB_GLOBAL) || s.bind == uint8(elf.STB_WEAK)) {
					out = append(out, Addr(s.value))
				}
				return true
			})
		}
		return nil
	})
	slices.Sort(out)
	return slices.Compact(out)
}
