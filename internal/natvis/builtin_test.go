package natvis

import "testing"

// TestBuiltin reads what we bring: all of it is understood.
func TestBuiltin(t *testing.T) {
	names, err := builtinFiles.ReadDir("builtin")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		data, err := builtinFiles.ReadFile("builtin/" + n.Name())
		if err != nil {
			t.Fatal(err)
		}
		f, err := Parse(n.Name(), data)
		if err != nil {
			t.Errorf("%s: %v", n.Name(), err)
			continue
		}
		if len(f.Problems) > 0 || len(f.Types) == 0 {
			t.Errorf("%s: %d types, problems %v", n.Name(), len(f.Types), f.Problems)
		}
	}
	if s := Builtin(); len(s.Files) != len(names) {
		t.Errorf("%d files of %d", len(s.Files), len(names))
	}
}
