package symbol_test

import (
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
	"github.com/strobe-debug/strobe/internal/symbol"
)

// TestNonTrivialTemplate keeps out that a constructor from another instance of the same template, as complex<double>
// has one from complex<float>, made a class non-trivial for calls.
func TestNonTrivialTemplate(t *testing.T) {
	const source = `
template <typename T> struct Pair { T a, b; Pair(T x) : a(x), b(x) {} Pair(const Pair<float> &o); };
template <> struct Pair<float> { float a, b; Pair(float x) : a(x), b(x) {} Pair(const Pair &o) : a(o.a), b(o.b) {} };
template <typename T> Pair<T>::Pair(const Pair<float> &o) : a(o.a), b(o.b) {}
void take_converted(Pair<double> *p) { (void)p; }
void take_copied(Pair<float> *p) { (void)p; }
int main() { Pair<float> f(1); Pair<double> d(f); take_converted(&d); take_copied(&f); }
`
	for _, variant := range []string{"gcc-O0", "clang-O0"} {
		t.Run(variant, func(t *testing.T) {
			m, err := symbol.Open(strobetest.BuildSource(t, "cpp", variant, "nontrivial", source), symbol.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			for function, want := range map[string]bool{"take_converted": false, "take_copied": true} {
				if got := pointee(t, m, function).NonTrivial(); got != want {
					t.Errorf("NonTrivial of the pointee of %s = %t, want %t", function, got, want)
				}
			}
		})
	}
}
