package symbol_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
	"github.com/strobe-debug/strobe/internal/symbol"
)

// TestTemplateParams reads the arguments of a class template with a value, a pack and void among them.
func TestTemplateParams(t *testing.T) {
	const source = `
template <typename T, int N, typename... R> struct Box { T t[N]; };
void take_box(Box<float, -3 + 5, void, char[2], Box<int, 1>> *b) { (void)b->t; }
void take_plain(struct Plain *p) { (void)p; }
int main() { Box<float, 2, void, char[2], Box<int, 1>> b{}; take_box(&b); take_plain(nullptr); }
`
	for _, variant := range []string{"gcc-O0", "clang-O0"} {
		t.Run(variant, func(t *testing.T) {
			m, err := symbol.Open(strobetest.BuildSource(t, "cpp", variant, "templates", source), symbol.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			for _, c := range []struct{ function, want string }{
				{"take_box", "T=float, N=int 2, =void, =char[2], =Box<int, 1>"}, {"take_plain", ""}} {
				var got []string
				for _, p := range pointee(t, m, c.function).TemplateParams() {
					s := p.Name + "=" + p.Type.String()
					if p.Const {
						s += fmt.Sprintf(" %d", p.Value)
					}
					got = append(got, s)
				}
				if g := strings.ReplaceAll(strings.Join(got, ", "), "R=", "="); g != c.want {
					t.Errorf("TemplateParams of the parameter of %s = %q, want %q", c.function, g, c.want)
				}
			}
		})
	}
}

func pointee(t *testing.T, m *symbol.Module, function string) *symbol.Type {
	t.Helper()
	for _, f := range m.Functions() {
		if f.Name != function {
			continue
		}
		sig, err := m.Signature(&f)
		if err != nil || len(sig.Params) == 0 {
			t.Fatalf("Signature(%s) = %v, %v", function, sig, err)
		}
		return sig.Params[0].Type.Strip().Elem().Strip()
	}
	t.Fatalf("no function %s", function)
	return nil
}
