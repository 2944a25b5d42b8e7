package symbol_test

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
	"github.com/strobe-debug/strobe/internal/symbol"
)

// TestVtables finds the implementors of a trait, and in each table an address by which it is known.
func TestVtables(t *testing.T) {
	for _, variant := range []string{"rust-debug", "rust-release", "rust-static"} {
		t.Run(variant, func(t *testing.T) {
			m, err := symbol.Open(strobetest.Build(t, "types_own", variant), symbol.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			var of, types []string
			deltas := map[[2]int64]bool{}
			for _, v := range pointee(t, m, "types_own::structs::take_unit").Implementors("types_own::Animal") {
				of, types = append(of, v.Of), append(types, v.Type.QualifiedName())
				deltas[[2]int64{v.Anchor, v.Delta}] = true
				head, err := m.BytesAt(v.Addr+8, 8)
				if err != nil || int64(binary.LittleEndian.Uint64(head)) != v.Type.Size {
					t.Errorf("vtable of %s has size %x, %v, want %d", v.Of, head, err, v.Type.Size)
				}
				if v.Anchor < 0 {
					t.Errorf("vtable of %s has no address", v.Of)
				}
			}
			slices.Sort(of)
			slices.Sort(types)
			want := []string{"types_own::Bird", "types_own::Dog", "types_own::Ghost"}
			if !slices.Equal(slices.Compact(of), want) || !slices.Equal(slices.Compact(types), want) {
				t.Errorf("implementors of Animal = %q of types %q, want %q", of, types, want)
			}
			if len(deltas) < len(want) {
				t.Errorf("%d vtables have %d anchors", len(of), len(deltas))
			}
		})
	}
}
