package capture

import (
	"reflect"
	"testing"

	"github.com/strobe-debug/strobe/internal/secret"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// TestSecretsCostNothing compares what is recorded of functions without secrets: names must not change it.
func TestSecretsCostNothing(t *testing.T) {
	m := open(t, strobetest.Build(t, "exceptions", "gcc-O1"))
	names, err := secret.New("")
	if err != nil {
		t.Fatal(err)
	}
	with, without, n := NewWalks(nil, names), NewWalks(nil, nil), 0
	for _, f := range m.Functions() {
		if !f.HasDWARF {
			continue
		}
		a, _ := Compile(m, &f, Options{Depth: 3, Walks: with})
		b, _ := Compile(m, &f, Options{Depth: 3, Walks: without})
		if n++; !reflect.DeepEqual(a.Plan, b.Plan) {
			t.Errorf("%s: %+v with names, %+v without", f.Name, a.Plan, b.Plan)
		}
	}
	if n == 0 || !reflect.DeepEqual(with.Programs(0), without.Programs(0)) {
		t.Errorf("programs of %d functions differ", n)
	}
}
