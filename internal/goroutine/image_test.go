package goroutine

import "testing"

// TestForeign: what is not Go's is known by the table, or by its name where the table has it not; a function of Go's that
// is named like a part of one of C's is Go's.
func TestForeign(t *testing.T) {
	img := &Image{marks: map[string]mark{"x_cgo_init": markForeign, "x.cold": markForeign, "main.cold": markOwn,
		"_cgoexp_1_f": markOwn}}
	for name, want := range map[string]bool{"x_cgo_init": true, "x.cold": true, "main.cold": false, "_cgoexp_1_f": false,
		"threadentry": true, "copy.part.0": true, "copy.constprop.0.isra.0": true, "main.main": false,
		"main.init.0": false, "main.part.func1": false, "example.com/m.part.0": false, "main.Sum[...]": false} {
		if got := img.Foreign(name); got != want {
			t.Errorf("%s is foreign: %v, want %v", name, got, want)
		}
	}
}
