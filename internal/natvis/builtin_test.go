package natvis

import (
	"testing"

	"github.com/strobe-debug/strobe/internal/packed"
)

// TestBuiltin reads what we bring: all of it is understood.
func TestBuiltin(t *testing.T) {
	all := packed.Embedded(packedBuiltin)()
	for name, data := range all {
		f, err := Parse(name, data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(f.Problems) > 0 || len(f.Types) == 0 {
			t.Errorf("%s: %d types, problems %v", name, len(f.Types), f.Problems)
		}
	}
	if s := Builtin(); len(s.Files) != len(all) {
		t.Errorf("%d files of %d", len(s.Files), len(all))
	}
}
