package symbol

import (
	"debug/elf"

	"github.com/ianlancetaylor/demangle"
)

// DataAt returns the symbol of the variable that has the byte at a: its name, demangled, and where it begins. It reads
// all symbols: ask for few addresses.
func (m *Module) DataAt(a Addr) (name string, start Addr, ok bool) {
	raw := ""
	_ = m.guarded(func() error {
		for _, im := range m.images() {
			im.eachSym(func(s elfSym) bool {
				if t := elf.SymType(s.typ); t != elf.STT_OBJECT && t != elf.STT_COMMON || s.value > uint64(a) ||
					uint64(a)-s.value >= s.size {
					return true
				}
				raw, start, ok = string(s.name), Addr(s.value), true
				return false
			})
			if ok {
				return nil
			}
		}
		return nil
	})
	if !ok {
		return "", 0, false
	}
	return demangle.Filter(withUnderscores(raw), demangle.NoParams, demangle.NoClones), start, true
}
