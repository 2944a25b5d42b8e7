//go:build linux && amd64

package capture

import (
	"fmt"
	"strings"
	"testing"
)

// TestManyTraitObjects: of a program whose trait objects may be of very many types, each with trait objects in it (rhai
// 1.27), a function's layout has no more forms than one with derived classes would, and each type its name.
func TestManyTraitObjects(t *testing.T) {
	const traits, each = 12, 40
	var b strings.Builder
	for k := range traits {
		fmt.Fprintf(&b, "pub trait T%d { fn f(&self) -> usize; }\n", k)
	}
	for k := range traits {
		for i := range each {
			fmt.Fprintf(&b, "pub struct S%d_%d { a: Option<Box<dyn T%d>>, b: Option<Box<dyn T%d>>, n: usize }\n", k, i,
				(k+1)%traits, (k+5)%traits)
			fmt.Fprintf(&b, "impl T%d for S%d_%d { fn f(&self) -> usize { self.n + %d } }\n", k, k, i, i)
		}
		fmt.Fprintf(&b, "#[inline(never)] pub fn g%d(x: &dyn T%d) -> usize { x.f() }\n", k, k)
	}
	b.WriteString("fn main() { let mut n = 0;\n")
	for k := range traits {
		for i := range each {
			fmt.Fprintf(&b, " n += g%d(&S%d_%d { a: None, b: None, n });\n", k, k, i)
		}
	}
	b.WriteString(" println!(\"{}\", n);\n}\n")
	m := open(t, build(t, "manytraits.rs", b.String(), "rustc", "-g", "-A", "warnings"))
	walks := NewWalks(nil, nil)
	for k := range traits {
		f, err := Compile(m, find(t, m, fmt.Sprintf("manytraits::g%d", k)), Options{Depth: 3, Walks: walks})
		if err != nil {
			t.Fatal(err)
		}
		names := 0
		for i := range f.Layout.Types {
			names = max(names, len(f.Layout.Types[i].Variants))
		}
		if n := len(f.Layout.Types); n < each || n > 2*maxVirtualTypes || names != each {
			t.Errorf("g%d: %d forms, %d types by name", k, n, names)
		}
	}
}
