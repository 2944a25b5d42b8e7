package symbol

import (
	"slices"
	"testing"
)

// TestExternalFunctions: only functions that others may call by name are external; hidden ones are local when they are
// linked.
func TestExternalFunctions(t *testing.T) {
	m := open(t, build(t, "external.c", "gcc", "-g", "-O1"), Options{})
	external := m.ExternalFunctions()
	if !slices.IsSorted(external) {
		t.Errorf("ExternalFunctions() = %v, want them in order", external)
	}
	for name, want := range map[string]bool{"main": true, "weakly": true, "here": false, "hidden": false} {
		if _, got := slices.BinarySearch(external, one(t, m, name).Low); got != want {
			t.Errorf("%s is external: %v, want %v", name, got, want)
		}
	}
}
