//go:build linux

package acceptance

import (
	"maps"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// thrown are the exceptions in flight at the ends of testdata/crash/throws.cpp: type and message. Ways that are not here have none.
var thrown = map[string][2]string{
	"throw":             {"std::runtime_error", "no stock of item 42"},
	"thread":            {"std::runtime_error", "no stock of item 42"},
	"caught-then-throw": {"std::runtime_error", "no stock of item 42"},
	"noexcept":          {"std::runtime_error", "no stock of item 42"},
	"destructor":        {"std::runtime_error", "no stock of item 42"},
	"throw-own":         {"shop::refused", "order refused"},
	"rethrow":           {"shop::refused", "order refused"},
	"throw-plain":       {"shop::plain", "*"},
	"throw-int":         {"int", "42"},
	"map-at":            {"std::out_of_range", "map::at"},
	"no-memory":         {"std::bad_alloc", "std::bad_alloc"},
}

// TestCrashThrows runs programs that C++ ends, or that crash around exceptions: see testdata/crash/throws.cpp.
func TestCrashThrows(t *testing.T) {
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	text, marks := crashSource(t, "throws.cpp")
	for _, variant := range []string{"gcc-O0", "clang-O2"} {
		t.Run(variant, func(t *testing.T) {
			marks := maps.Clone(marks)
			if variant == "clang-O2" { // its landing pads end the program, when the frames above are gone
				marks["noexcept"] = marks["noexcept-unwound"]
			}
			path := strobetest.BuildSource(t, "cpp", variant, "throws", text, "-std=c++17")
			crashWays(t, s, path, nil, waysOf(text), marks, variant != "gcc-O0")
		})
	}
}

// threw compares the exception in flight.
func (c *crashEvent) threw(t testing.TB, what, way string) {
	t.Helper()
	want := thrown[way]
	if c.ExceptionType != want[0] || c.ExceptionMessage != want[1] && want[1] != "*" {
		t.Errorf("%s: exception %s (%q), want %s (%q): %.900s", what, c.ExceptionType, c.ExceptionMessage, want[0], want[1], c.raw)
	}
	if c.Class == "uncaught-exception" && !strings.Contains(c.Reason, want[0]) {
		t.Errorf("%s: reason %q does not name %s", what, c.Reason, want[0])
	}
}

// TestCrashPanics runs Rust programs: see testdata/crash/panics.rs.
func TestCrashPanics(t *testing.T) {
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	text, marks := crashSource(t, "panics.rs")
	var ways []string
	for way := range marks {
		ways = append(ways, way)
	}
	ways = append(ways, "lives-joined", "lives-caught")
	for _, v := range []struct {
		name, variant string
		flags         []string
	}{
		{"unwind", "rust-debug", nil},
		{"abort", "rust-release", []string{"-Cpanic=abort"}},
	} {
		t.Run(v.name, func(t *testing.T) {
			path := strobetest.BuildSource(t, "rust", v.variant, "panics", text, v.flags...)
			if v.name == "abort" {
				crashWays(t, s, path, nil, dying(ways), marks, true)
				return
			}
			crashWays(t, s, path, nil, ways, marks, false)
		})
	}
}

// dying leaves out the ways that survive when panics unwind.
func dying(ways []string) (out []string) {
	for _, w := range ways {
		if !strings.HasPrefix(w, "lives-") && !strings.HasPrefix(w, "caught-") {
			out = append(out, w)
		}
	}
	return out
}

// panicked compares a crash that only the panic's message tells of.
func (c *crashEvent) panicked(t testing.TB, what string, m mark) {
	t.Helper()
	if m.name = ""; !c.Fatal {
		t.Errorf("%s: not fatal", what)
	}
	c.is(t, what, m, true)
}
