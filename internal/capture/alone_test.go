//go:build linux && amd64

package capture

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
	"github.com/strobe-debug/strobe/internal/strobetest/typecorpus"
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/value"
)

// TestPlanAlone compares plans that were made alone, and completed later, with those that had their layouts at once: the
// same layouts, and no walk is made later than the plan that needs it.
func TestPlanAlone(t *testing.T) {
	programs := map[string]string{
		"graph, C++":  build(t, "a.cc", typecorpus.GenerateCPP(3, 12, 6), "g++", "-std=c++17", "-g", "-w"),
		"graph, Rust": build(t, "a.rs", typecorpus.GenerateRust(4, 20, 10), "rustc", "--edition=2021", "-g"),
		"classes":     strobetest.Build(t, "virtuals", "gcc-O0"),
	}
	for name, bin := range programs {
		for _, depth := range []int{1, 3} {
			m, err := symbol.Open(bin, symbol.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			fns := slices.DeleteFunc(slices.Clone(m.Functions()), func(f symbol.Function) bool {
				return !strings.HasPrefix(filepath.Base(f.File), "a.") && !strings.HasPrefix(f.File, strobetest.Root(t))
			})
			w := NewWalks(nil, nil)
			o := Options{Depth: depth, Walks: w, PlanAlone: true}
			var alone []*Function
			types := 0
			for i := range fns {
				f, err := Compile(m, &fns[i], o)
				if err != nil {
					t.Fatalf("%s: compile %s: %v", name, fns[i].Name, err)
				}
				alone = append(alone, f)
				types += len(f.Layout.Types)
			}
			walks := len(w.Programs(0))
			o.PlanAlone = false
			whole := 0
			for i := range fns {
				want, _ := Compile(m, &fns[i], o)
				alone[i].Complete()
				whole += len(want.Layout.Types)
				if !bytes.Equal(alone[i].Layout.Marshal(), want.Layout.Marshal()) {
					t.Errorf("%s, depth %d: the layout of %s is another one", name, depth, fns[i].Name)
				}
			}
			if late := w.Programs(walks); len(late) > 0 {
				t.Errorf("%s, depth %d: %d of %d walks were made later than the plans", name, depth, len(late), walks+len(late))
			}
			t.Logf("%s, depth %d: %d functions, %d walks, forms %d, whole %d", name, depth, len(fns), walks, types, whole)
		}
	}
}

// TestPlanAloneOfAFileThatIsGone: what cannot be completed names its types, and shows no value for them.
func TestPlanAloneOfAFileThatIsGone(t *testing.T) {
	m, err := symbol.Open(build(t, "a.c", `struct in { int x; }; struct s { struct in a; long b; };
int f1(struct s v) { return v.a.x; } int f2(struct s v) { return v.a.x; } int main() { return 0; }`, "gcc", "-g"),
		symbol.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Depth: 3, Walks: NewWalks(nil, nil), PlanAlone: true}
	var second *Function
	for _, name := range []string{"f1", "f2"} {
		if second, err = Compile(m, find(t, m, name), o); err != nil {
			t.Fatal(err)
		}
	}
	m.Close()
	second.Complete()
	if l := second.Layout; len(l.Args) != 1 || l.Types[l.Args[0].Type].Class != value.ClassOpaque ||
		l.Types[l.Args[0].Type].Name != "s" {
		t.Errorf("it has %+v", l)
	}
}
