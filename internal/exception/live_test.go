//go:build linux && amd64

package exception

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
	"github.com/strobe-debug/strobe/internal/unwind"
)

//go:embed testdata/throws.cpp
var throws string

// wanted is what one case of throws.cpp must give: "state type: message @marker" in which marker names the THROW
// comment of the line; "" for nothing in flight.
var wanted = []struct{ name, inFlight, handled string }{
	{"runtime", "uncaught std::runtime_error: disk full @runtime", ""},
	{"mine", "uncaught Mine: mine 7 base text @mine", ""},
	{"diamond", "uncaught Diamond: diamond @diamond", ""},
	{"offset", "uncaught AtOffset: at an offset @offset", ""},
	{"hidden", "uncaught (anonymous namespace)::Hidden: hidden @hidden", ""},
	{"int", "uncaught int: 42 @int", ""},
	{"text", "uncaught char const*: just text @text", ""},
	{"string", "uncaught std::string: a string that is too long to be kept inside @string", ""},
	{"short", "uncaught std::string: short @short", ""},
	{"plain", `uncaught Plain: code=7, name="seven", on=true, ratio=0.5 @plain`, ""},
	{"color", "uncaught Color: 5 @color", ""},
	{"pointer", "uncaught Plain*: 0x* @pointer", ""},
	{"system", "uncaught std::system_error: open x: No such file or directory @system", ""},
	{"range", "uncaught std::out_of_range: vector* @range", ""},
	{"alloc", "uncaught std::bad_alloc: std::bad_alloc @*", ""},
	{"cast", "uncaught std::bad_cast: std::bad_cast @cast", ""},
	{"thread", "uncaught Mine: mine 7 base text @mine", ""},
	{"noexcept", "terminate std::runtime_error: disk full*", ""},
	{"noexcept-cleanup", "terminate std::runtime_error: disk full", ""},
	{"rethrow", "uncaught std::runtime_error: disk full @rethrow", ""},
	{"nested", "uncaught std::_Nested_exception<Mine>: mine 9 base text * nested std::runtime_error: disk full", ""},
	{"kept", "uncaught int: 42 @kept", ""},
	{"destructor", "unwinding Mine: mine 7 base text", ""},
	{"destructor-throws", "terminate Mine: mine 7 base text*", ""},
	{"destructor-handles", "unwinding Mine: mine 7 base text", "int: 42"},
	{"destructor-thread", "unwinding *", ""},
	{"destructor-kept", "unwinding Mine: mine 7 base text", ""},
	{"handling", "", "Mine: mine 7 base text"},
	{"handled", "", ""},
	{"holding", "", ""},
	{"terminate", "", "Mine: mine 7 base text"},
	{"terminate-alone", "", ""},
	{"joinable", "", ""},
	{"rethrow-nothing", "", ""},
	{"none", "", ""},
}

// TestInFlight ends a program in every way with an exception in flight, and in those that must not be taken for it.
func TestInFlight(t *testing.T) {
	for _, v := range []struct {
		variant string
		flags   []string
	}{
		{"gcc-O0", nil}, {"gcc-O2", nil}, {"clang-O0", nil}, {"clang-O2", nil}, {"gcc-O2-static", nil},
		{"gcc-O2", []string{"-static-libstdc++", "-static-libgcc"}},
		{"clang-O0", []string{"-stdlib=libc++"}}, {"clang-O2", []string{"-stdlib=libc++"}}, {"gcc-O2-nopie", nil},
	} {
		t.Run(v.variant+strings.Join(v.flags, ""), func(t *testing.T) {
			if len(v.flags) > 0 && strings.HasSuffix(v.flags[0], "libc++") {
				if all, _ := filepath.Glob("/usr/lib/llvm-*/lib/libc++.so"); len(all) == 0 {
					strobetest.Lack(t, "libc++ is not installed")
				}
			}
			bin := strobetest.BuildSource(t, "cpp", v.variant, "throws", throws,
				append([]string{"-std=c++17", "-w"}, v.flags...)...)
			var spent, most time.Duration
			for _, w := range wanted {
				runToCrash(t, bin, func(s *stopped) {
					stack := unwind.Walk(s, s.regs, s.mods, unwind.Options{})
					started := time.Now()
					e, ok := InFlight(s, s.mods, &stack, s.fsBase)
					took := time.Since(started)
					spent, most = spent+took, max(most, took)
					want := w.inFlight
					if v.flags != nil && strings.HasSuffix(v.flags[0], "libc++") {
						want = strings.ReplaceAll(want, "std::_Nested_exception<", "std::__nested<")
					}
					if got := sayAll(e); !same(got, want) || ok != (want != "") {
						t.Errorf("%s: %q, want %q\n%+v%s", w.name, got, want, e, names(stack))
					}
					h, _ := New(s, s.mods).BeingHandled(s.fsBase)
					if got := h.text(); w.inFlight == "" && got != w.handled {
						t.Errorf("%s: %q is being handled, want %q", w.name, got, w.handled)
					}
				}, w.name)
			}
			t.Logf("%d cases, %v each, at most %v", len(wanted), spent/time.Duration(len(wanted)), most)
		})
	}
}

func (e *Exception) text() string {
	if e == nil {
		return ""
	}
	return e.Text()
}

func sayAll(e *Exception) string {
	if e == nil {
		return ""
	}
	s := e.State + " " + e.Text()
	if p := e.ThrowPoint; p != nil {
		s += " @" + marker(p)
	}
	if e.Nested != nil {
		s += " nested " + e.Nested.Text()
	}
	return s
}

// marker is the name behind THROW in a source line.
func marker(p *Place) string {
	b, err := os.ReadFile(p.File)
	lines := strings.Split(string(b), "\n")
	if err != nil || p.Line < 1 || p.Line > len(lines) {
		return fmt.Sprintf("%+v", *p)
	}
	_, name, ok := strings.Cut(lines[p.Line-1], "// THROW ")
	if !ok {
		return fmt.Sprintf("%+v", *p)
	}
	return name
}

// same compares with a pattern in which * stands for anything.
func same(got, want string) bool {
	parts := strings.Split(want, "*")
	if len(parts) == 1 {
		return got == want
	}
	ok, err := filepath.Match(strings.ReplaceAll(escape(want), "/", "|"), strings.ReplaceAll(got, "/", "|"))
	return ok && err == nil
}

func escape(s string) string {
	return strings.NewReplacer("[", "\\[", "char const*", "char const\\*", "Plain*", "Plain\\*").Replace(s)
}

func names(s unwind.Stack) string {
	var b strings.Builder
	for _, f := range s.Frames {
		fmt.Fprintf(&b, "\n\t%s %s:%d %s", f.Function, filepath.Base(f.File), f.Line, filepath.Base(f.Module))
	}
	return b.String()
}
