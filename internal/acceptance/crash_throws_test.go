//go:build linux

package acceptance

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// thrown are the exceptions in flight at the ends of testdata/crash/throws.cpp: type and message. Ways that are not
// here have none.
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
		t.Errorf("%s: exception %s (%q), want %s (%q): %.900s", what, c.ExceptionType, c.ExceptionMessage, want[0], want[1],
			c.raw)
	}
	if c.Class == "uncaught-exception" && !strings.Contains(c.Reason, want[0]) {
		t.Errorf("%s: reason %q does not name %s", what, c.Reason, want[0])
	}
}

// TestCrashTerminateHandler runs programs whose own handler of std::terminate exits, and others that exit with an
// error.
func TestCrashTerminateHandler(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	path := strobetest.BuildSource(t, "cpp", "gcc-O0", "terminates", `
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
static int throws(int index) { if (index == 42) throw std::runtime_error("no stock of item " + std::to_string(index)); return index; }
static void never(int index) noexcept { throws(index); }
int main(int, char **argv) {
	std::string way = argv[1];
	std::set_terminate([] { exit(3); });
	if (way == "thrown") throws(42);
	if (way == "noexcept") never(42);
	if (way == "thread") std::thread([] { throws(42); }).join();
	if (way == "joinable") { int index = 42; std::thread t([&] { while (index) std::this_thread::yield(); }); }
	if (way == "caught") { try { throws(42); } catch (const std::exception &) { exit(3); } }
	std::function<void(int)> end = [](int code) { exit(code); };
	std::thread(end, 3).join();
}
`, "-std=c++17")
	cache, err := strobetest.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ way, class, reason, message, function string }{
		{"thrown", "uncaught-exception", "uncaught exception std::runtime_error", "no stock of item 42", "throws"},
		{"noexcept", "uncaught-exception", "was about to leave a function that may not throw", "no stock of item 42",
			"throws"},
		{"thread", "uncaught-exception", "uncaught exception std::runtime_error", "no stock of item 42", "throws"},
		{"joinable", "terminate", "std::terminate was called without an exception", "", "main"},
		{"caught", "", "", "", ""}, {"exits", "", "", "", ""},
	} {
		l := s.Launch(t, path, cache, []string{tc.way}, nil)
		if st := s.WaitEnd(t, l.SessionID, endLimit); st.ExitCode == nil || *st.ExitCode != 3 {
			t.Errorf("%s: ended with %+v", tc.way, st)
		}
		all := crashesOf(t, s, l.SessionID)
		if len(all) != 1 {
			if len(all) != 0 || tc.class != "" {
				t.Errorf("%s: %d crashes: %+v", tc.way, len(all), all)
			}
			continue
		}
		c := all[0]
		if c.Class != tc.class || !strings.Contains(c.Reason, tc.reason) || c.ExceptionMessage != tc.message ||
			c.Function != tc.function ||
			string(c.Locals["index"]) != "42" || c.EndedBy != "the terminate handler ended the process" || len(c.Handler) == 0 {
			t.Errorf("%s: %.1500s", tc.way, c.raw)
		}
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

// panicked compares a panic that has unwound, and ended the program by an exit code: its picture was taken when it
// began.
func (c *crashEvent) panicked(t testing.TB, what string, m mark) {
	t.Helper()
	if !c.Fatal || c.ExceptionType != "panic" || c.ExceptionMessage == "" {
		t.Errorf("%s: fatal %v, exception %s (%q)", what, c.Fatal, c.ExceptionType, c.ExceptionMessage)
	}
	if len(c.Backtrace) == 0 || len(c.Report.Stacks) > 0 {
		t.Errorf("%s: %d frames, and %d stacks in the report: %.900s", what, len(c.Backtrace), len(c.Report.Stacks), c.raw)
	}
	c.is(t, what, m, false)
}

// TestCrashPanicHook runs programs whose panics end in other ways than that the stack unwinds to the end of main.
func TestCrashPanicHook(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	path := strobetest.BuildSource(t, "rust", "rust-debug", "hooks", `
use std::panic;
#[inline(never)] fn index(list: &[i32], at: usize) -> i32 { list[at] }
extern "C" fn callback(at: usize) -> i32 { index(&[1, 2], at) }
fn often() { for i in 0..3000 { let _ = panic::catch_unwind(|| index(&[1], i + 1)); } }
fn main() {
    match std::env::args().nth(1).unwrap().as_str() {
        "exits" => { panic::set_hook(Box::new(|_| std::process::exit(4))); println!("{}", index(&[1, 2], 42)); }
        "callback" => println!("{}", callback(42)),
        "caught" => { panic::set_hook(Box::new(|_| {})); often(); std::process::exit(3); }
        _ => panic!("of another kind"),
    }
}
`)
	cache, _ := strobetest.CacheDir()
	for _, tc := range []struct{ way, class, function, at, cause, endedBy string }{
		{"exits", "panic", "hooks::index", "42", "", "the panic hook ended the process"},
		{"callback", "panic-cannot-unwind", "hooks::callback", "42", "index out of bounds: the len is 2 but the index is 42",
			""},
	} {
		l := s.Launch(t, path, cache, []string{tc.way}, nil)
		s.WaitEnd(t, l.SessionID, endLimit)
		all := crashesOf(t, s, l.SessionID)
		if len(all) != 1 {
			t.Errorf("%s: %d crashes, want 1: %+v", tc.way, len(all), all)
			continue
		}
		c := all[0]
		if c.Class != tc.class || c.Function != tc.function || string(c.Locals["at"]) != tc.at || c.EndedBy != tc.endedBy ||
			!strings.Contains(strings.Join(c.CausedBy, "\n"), tc.cause) || !strings.Contains(c.Reason, "panic: ") {
			t.Errorf("%s: %.1500s", tc.way, c.raw)
		}
	}
	// What panics all the time and catches that is let alone, and has not crashed.
	l := s.Launch(t, path, filepath.Dir(path), []string{"caught"}, nil)
	if st := s.WaitEnd(t, l.SessionID, endLimit); st.ExitCode == nil || *st.ExitCode != 3 || len(st.Warnings) != 1 ||
		!strings.Contains(st.Warnings[0], "panics and goes on very often") {
		t.Errorf("ended with %+v", st)
	}
	if all := crashesOf(t, s, l.SessionID); len(all) != 0 {
		t.Errorf("%d crashes: %.900s", len(all), all[0].raw)
	}
}
