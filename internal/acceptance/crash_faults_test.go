//go:build linux

package acceptance

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// handledWays end by exiting in a handler: what they crashed of is a signal all the same.
var handledWays = map[string]string{"overflow-altstack": "SIGSEGV", "overflow": "SIGSEGV", "handler-exit": "SIGSEGV",
	"handler-abort":   "SIGSEGV",
	"handler-reraise": "SIGSEGV", "thread-handler": "SIGSEGV", "handler-kill": "SIGSEGV", "handler-waits": "SIGSEGV",
	"handler-faults": "SIGSEGV"}

// comparable is how many frames of a stack gdb and Strobe can agree on, where that is not all.
var comparable = map[string]int{
	// the return address behind is overwritten: gdb shows what lies there, Strobe looks for the next that is one
	"smash": 7,
}

// notUnderGDB are the ways that gdb stops elsewhere, and why.
var notUnderGDB = map[string]string{
	"later-abort": "gdb stops at the first signal, which is survived",
	"killed":      "the signal may come before the program waits for it",
}

// childWays crash in a child.
var childWays = []string{"fork", "vfork", "fork-thread"}

// TestCrashFaults runs programs that die of what they did themselves: see testdata/crash/faults.c.
func TestCrashFaults(t *testing.T) {
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	text, marks := crashSource(t, "faults.c")
	for _, v := range []struct {
		variant string
		ways    []string // nil: all
	}{{"gcc-O0", nil}, {"gcc-O2", nil}, {"clang-O2", clangWays},
		{"gcc-O2-static", []string{"null-write", "null-call", "qsort", "abort", "overflow-main"}}} {
		t.Run(v.variant, func(t *testing.T) {
			path := strobetest.BuildSource(t, "c", v.variant, "faults", text, "-fstack-protector-all", "-U_FORTIFY_SOURCE",
				"-D_FORTIFY_SOURCE=2")
			ways := v.ways
			if ways == nil {
				ways = waysOf(text)
			}
			if v.variant == "gcc-O0" { // the compiler checks in optimized code alone
				ways = slices.DeleteFunc(ways, func(w string) bool { return w == "fortify" })
			}
			optimized := !strings.Contains(v.variant, "O0")
			crashWays(t, s, path, nil, ways, marks, optimized)
		})
	}
}

// clangWays are those in which its code and debug information differ from gcc's.
var clangWays = []string{"null-read", "null-call", "write-constant", "execute-data", "overflow-main",
	"overflow-altstack", "divide-min", "trap", "int3",
	"assert", "smash", "fortify", "qsort", "constructor"}

// crashWays checks each way of a program: alone, without and with hooks, and under gdb. Usual runs check half of the
// ways in optimized code, and the other half in code that is not, with and without hooks by turns.
func crashWays(t *testing.T, s *strobetest.Strobe, path string, extra []string, ways []string, marks map[string]mark,
	optimized bool) {
	withHooks := func(string) []bool { return []bool{false, true} }
	if len(ways) > 1 && !strobetest.Soaks(t, "half of the ways in each build, each with or without hooks") {
		withHooks = func(way string) []bool { return []bool{slices.Index(ways, way)%2 == 0} }
		ways = slices.Sorted(slices.Values(ways))
		turn := 0
		ways = slices.DeleteFunc(ways, func(string) bool { turn++; return turn%2 == 0 == optimized })
	}
	var under []gdbWay
	for _, w := range ways {
		if _, dies := marks[w]; dies && notUnderGDB[w] == "" {
			under = append(under, gdbWay{Name: w, Args: strings.Join(append([]string{w}, extra...), " "),
				Child: slices.Contains(childWays, w)})
		}
	}
	stops := underGDB(t, path, under)
	for way, n := range comparable {
		if s, ok := stops[way]; ok && len(s.Frames) > n {
			s.Frames = s.Frames[:n]
			stops[way] = s
		}
	}
	var frames, values atomic.Int64
	t.Run("ways", func(t *testing.T) {
		parallelWays(t, ways, func(t *testing.T, way string) {
			r := crashRun{path: path, args: append([]string{way}, extra...)}
			m, dies := marks[way]
			plain := r.alone(t)
			for _, hooked := range withHooks(way) {
				what := path + " " + way
				if hooked {
					what += ", hooked"
				}
				o := r.under(t, s, hooked)
				sameEnd(t, what, o.ended, plain)
				if !dies {
					if len(o.crashes) != 0 {
						t.Errorf("%s: survives or ends otherwise, but a crash is told: %.900s", what, o.crashes[0].raw)
					}
					continue
				}
				if len(o.crashes) != 1 {
					t.Errorf("%s: %d crashes are told, want one: %+v", what, len(o.crashes), o.crashes)
					continue
				}
				c := &o.crashes[0]
				if c.Report.Tool == "rust-panic" && c.Signal == "" { // it has unwound: all that is left is what was written
					c.panicked(t, what, m)
					continue
				}
				c.is(t, what, m, optimized)
				if panicked := c.Report.Tool == "rust-panic"; strings.HasSuffix(m.file, ".rs") &&
					(c.ExceptionType != "") != panicked {
					t.Errorf("%s: exception %s (%q), the report is a panic's: %v: %.900s", what, c.ExceptionType, c.ExceptionMessage,
						panicked, c.raw)
				}
				if strings.HasSuffix(m.file, ".cpp") {
					c.threw(t, what, way)
				}
				want := plain.signal
				if sig := handledWays[way]; sig != "" {
					want = sig
				}
				if slices.Contains(childWays, way) {
					if want = "SIGSEGV"; c.PID == o.pid || c.PID == 0 {
						t.Errorf("%s: pid %d of the crash is the parent's", what, c.PID)
					}
				} else if c.PID != o.pid {
					t.Errorf("%s: pid %d, want %d", what, c.PID, o.pid)
				}
				if ended := c.EndedBy != ""; ended != (handledWays[way] != "") {
					t.Errorf("%s: ended by %q", what, c.EndedBy)
				}
				if c.Signal != want || !c.Fatal {
					t.Errorf("%s: signal %s, fatal %v, want %s, true", what, c.Signal, c.Fatal, want)
				}
				if notUnderGDB[way] != "" {
					continue
				}
				f, v := c.agrees(t, what, stops[way])
				frames.Add(int64(f))
				values.Add(int64(v))
			}
		})
	})
	t.Logf("%d ways to crash; %d frames and %d integers are gdb's", len(under), frames.Load(), values.Load())
}

// TestCrashSignals runs programs that die of signals, in handlers, threads, children and libraries, and those that
// survive what would have been a crash: see testdata/crash/signals.c.
func TestCrashSignals(t *testing.T) {
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	text, marks := crashSource(t, "signals.c")
	source, inLibrary := crashSource(t, "library.c")
	for way, m := range inLibrary {
		marks[way] = m
	}
	for _, v := range []struct{ variant string }{{"gcc-O0"}, {"clang-O2"}} {
		t.Run(v.variant, func(t *testing.T) {
			path := strobetest.BuildSource(t, "c", v.variant, "signals", text)
			library := strobetest.BuildSource(t, "c", v.variant, "library", source, "-shared", "-fPIC")
			bare := strobetest.BuildSource(t, "c", v.variant, "library", source, "-shared", "-fPIC", "-s", "-g0")
			ways := slices.DeleteFunc(waysOf(text), func(w string) bool {
				return w == "stripped" || v.variant != "gcc-O0" && (w == "xcpu" || strings.HasPrefix(w, "lives-"))
			})
			optimized := !strings.Contains(v.variant, "O0")
			t.Run("library", func(t *testing.T) { crashWays(t, s, path, []string{library}, ways, marks, optimized) })
			t.Run("bare", func(t *testing.T) { crashWays(t, s, path, []string{bare}, []string{"stripped"}, marks, optimized) })
		})
	}
}
