//go:build linux && amd64

package unwind

import (
	"cmp"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func show(s Stack) string {
	var b strings.Builder
	for i := range s.Frames {
		f := &s.Frames[i]
		if i >= 60 && i < len(s.Frames)-5 {
			continue
		}
		mark := ""
		if f.Inlined {
			mark = " inlined"
		}
		if f.Signal {
			mark = " signal"
		}
		fmt.Fprintf(&b, "#%d %#x %s %s:%d%s %v %s+%d\n", f.Index, f.PC, f.Function, filepath.Base(f.File), f.Line, mark,
			f.Trust, filepath.Base(f.Module), f.Offset)
	}
	fmt.Fprintf(&b, "end: %s: %s; %d left out\n", s.End, s.Reason, s.Elided)
	return b.String()
}

// plain cuts the parameters and template arguments off a name, and what gdb and demanglers write differently.
func plain(name string) string {
	if name == "None" {
		return ""
	}
	name = strings.ReplaceAll(name, "(anonymous namespace)", "{anon}")
	name = strings.ReplaceAll(name, "operator()", "operator{}")
	name = strings.ReplaceAll(name, "operator<", "operator{lt}")
	name = strings.ReplaceAll(name, "operator>", "operator{gt}")
	depth, angles, out := 0, 0, []byte{}
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == '<':
			angles++
		case c == '>' && angles > 0:
			angles--
		case depth == 0 && angles == 0:
			out = append(out, c)
		}
	}
	s := strings.TrimSuffix(strings.TrimSpace(string(out)), " const")
	if i := strings.IndexByte(s, '.'); i > 0 { // .cold, .part.0
		s = s[:i]
	}
	if i := strings.LastIndexByte(s, ' '); i >= 0 { // a template's result type
		s = s[i+1:]
	}
	return s
}

// sameName compares last parts where the two write scopes differently, and names without glibc's underscores.
func sameName(f *Frame, gdb string) bool {
	got, want := plain(f.Function), plain(gdb)
	if strings.HasSuffix(f.File, ".rs") {
		last := func(s string) string {
			s = strings.TrimSuffix(s, "::")
			s = s[strings.LastIndexByte(s, ':')+1:]
			if strings.HasPrefix(strings.TrimLeft(s, "{"), "closure") {
				return "closure"
			}
			return strings.TrimLeft(s, "_")
		}
		got, want = last(got), last(want)
		return got == want || got == "rust_begin_unwind" && want == "panic_handler"
	}
	trim := func(s string) string {
		return strings.TrimLeft(strings.TrimPrefix(strings.TrimPrefix(s, "__GI_"), "__vdso_"), "_")
	}
	got, want = trim(got), trim(want)
	return got == want || strings.HasSuffix(got, "::"+want) || strings.HasSuffix(want, "::"+got)
}

type stackCase struct {
	source, compiler string
	flags            []string
	kinds            []string
}

var cKinds = []string{"null", "call-null", "call-wild", "abort", "handler", "altstack", "raise", "handler-call-null",
	"qsort", "strlen", "divide", "free", "thread", "vdso"}

var stackCases = []stackCase{
	{"crash.c", "gcc", []string{"-O0"}, cKinds},
	{"crash.c", "gcc", []string{"-O2"}, cKinds},
	{"crash.c", "gcc", []string{"-O2", "-static"}, cKinds},
	{"crash.c", "gcc", []string{"-O2", "-gdwarf-4", "-no-pie", "-fcf-protection=full"},
		[]string{"null", "altstack", "qsort"}},
	{"crash.c", "gcc", []string{"-O0", "-fomit-frame-pointer"}, []string{"null", "altstack", "qsort"}},
	{"crash.c", "clang", []string{"-O0"}, []string{"null", "altstack", "qsort", "abort", "call-null"}},
	{"crash.c", "clang", []string{"-O2"}, []string{"null", "altstack", "qsort", "abort", "call-null"}},
	{"crash.c", "gcc", []string{"-O2", "-s"}, []string{"null", "altstack"}},
	{"throw.cc", "g++", []string{"-O0"}, []string{"virtual", "uncaught", "in-flight", "sort"}},
	{"throw.cc", "g++", []string{"-O2"}, []string{"virtual", "uncaught", "in-flight", "sort"}},
	{"throw.cc", "clang++", []string{"-O2"}, []string{"virtual", "uncaught", "in-flight", "sort"}},
	{"panic.rs", "rustc", []string{"-Cpanic=abort"}, []string{"wild", "index", "total"}},
	{"panic.rs", "rustc", []string{"-Copt-level=2", "-Cpanic=abort"}, []string{"wild", "index", "total"}},
}

// TestAgainstGDB compares every frame's function and line with gdb's, of the same program at the same signal.
func TestAgainstGDB(t *testing.T) {
	// Binding at a call leaves the saved registers (XSAVEC) on the stack, where a variable that is not set yet will be,
	// and at another place under gdb, whose environment is larger.
	t.Setenv("LD_BIND_NOW", "1")
	frames := 0
	var tally localsTally
	for _, c := range stackCases {
		for _, kind := range c.kinds {
			name := c.source + " " + c.compiler + " " + strings.Join(c.flags, " ") + " " + kind
			t.Run(name, func(t *testing.T) {
				bin := build(t, c.source, c.compiler, c.flags...)
				s := crash(t, bin, kind)
				u := New(s, s.mods, Options{})
				got := u.Walk(s.regs)
				want, _ := gdbStack(t, bin, kind)
				frames += len(want)
				if k := len(got.Frames) - len(want); k > 0 { // hidden by gdb, see compareStacks
					tally.compare(t, u, got.Frames[k:], want)
				} else {
					tally.compare(t, u, got.Frames, want)
				}
				compareStacks(t, got, want)
			})
		}
	}
	t.Logf(
		"%d frames compared; of %d locals %d have the same value, %d are nowhere in both, %d only gdb has, %d only we have",
		frames, tally.all, tally.same, tally.nowhere, tally.theirs, tally.ours)
}

func compareStacks(t *testing.T, got Stack, want []gdbFrame) {
	t.Helper()
	// gdb hides an inlined call at its first instruction, as if it were still to be stepped into.
	for len(got.Frames) > len(want) && got.Frames[0].Inlined && !sameName(&got.Frames[0], want[0].name) {
		got.Frames = got.Frames[1:]
	}
	bad := len(got.Frames) != len(want)
	for i := 0; i < len(want) && i < len(got.Frames); i++ {
		f, w := &got.Frames[i], want[i]
		if w.signal {
			bad = bad || !f.Signal
			continue
		}
		if f.Line != w.line && sameName(f, w.name) && f.Line == addr2line(t, got.Frames, i) {
			continue // gdb takes the last line that is the start of a statement, and one before code that has none
		}
		if f.Line != w.line || w.line > 0 && filepath.Base(f.File) != filepath.Base(w.file) || !sameName(f, w.name) ||
			f.Signal {
			t.Errorf("frame %d is %s at %s:%d, gdb has %s at %s:%d", i, plain(f.Function), f.File, f.Line, plain(w.name), w.file,
				w.line)
			bad = true
		}
	}
	if bad {
		var b strings.Builder
		for i, w := range want {
			fmt.Fprintf(&b, "#%d %s %s:%d %v\n", i, w.name, filepath.Base(w.file), w.line, w.signal)
		}
		t.Errorf("%d frames, gdb has %d\n%s\ngdb:\n%s", len(got.Frames), len(want), show(got), b.String())
	}
}

// addr2line returns the line that it has for a frame.
func addr2line(t *testing.T, frames []Frame, i int) int {
	t.Helper()
	f := &frames[i]
	m := f.at.mod
	if m < 0 {
		return -1
	}
	inner := i
	for inner > 0 && frames[inner-1].at == f.at {
		inner--
	}
	out, err := exec.Command("addr2line", "-i", "-e", f.Module, fmt.Sprintf("%#x", f.at.lookup()-f.at.bias)).Output()
	if err != nil {
		t.Fatalf("addr2line: %v", err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if i-inner >= len(lines) {
		return -1
	}
	var line int
	text := lines[i-inner]
	fmt.Sscanf(text[strings.LastIndexByte(text, ':')+1:], "%d", &line)
	return line
}

// TestDeepStacks walks a hundred thousand frames, and a stack that overflowed.
func TestDeepStacks(t *testing.T) {
	for _, flags := range [][]string{{"-O0"}, {"-O2"}, {"-O2", "-fomit-frame-pointer", "-static"}} {
		bin := build(t, "crash.c", "gcc", flags...)
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			s := crash(t, bin, "deep")
			start := time.Now()
			got := Walk(s, s.regs, s.mods, Options{})
			took := time.Since(start)
			if want := 100000; got.End != EndOutermost || got.Elided+len(got.Frames) < want || got.Elided+len(got.Frames) > want+
				5 || len(got.Frames) != 4096 {
				t.Errorf("%d frames and %d left out (%s: %s), want about %d", len(got.Frames), got.Elided, got.End, got.Reason,
					want)
			}
			last := len(got.Frames) - 1
			for i, want := range map[int]string{0: "recurse", 3000: "recurse", 4000: "recurse", last: "_start"} {
				if got.Frames[i].Function != want {
					t.Errorf("frame %d is %s, want %s", i, got.Frames[i].Function, want)
				}
			}
			if got.Frames[last].Index != got.Elided+last || got.Frames[got.Before].Index != got.Before+got.Elided ||
				got.Frames[got.Before-1].Index != got.Before-1 {
				t.Errorf("frames are numbered %d, %d, %d; %d were left out after %d", got.Frames[got.Before-1].Index,
					got.Frames[got.Before].Index, got.Frames[last].Index, got.Elided, got.Before)
			}
			t.Logf("%v, %v each", took, took/time.Duration(got.Elided+len(got.Frames)))
		})
		t.Run(strings.Join(flags, " ")+" overflow", func(t *testing.T) {
			s := crash(t, bin, "overflow")
			got := Walk(s, s.regs, s.mods, Options{})
			last := len(got.Frames) - 1
			if got.End != EndOutermost || got.Frames[0].Function != "recurse" || got.Frames[last].Function != "_start" {
				t.Errorf("a stack that overflowed goes from %s to %s (%s: %s)", got.Frames[0].Function, got.Frames[last].Function,
					got.End, got.Reason)
			}
		})
	}
}

// TestWithoutTables walks code that has no unwind tables: what is found is marked as guessed.
func TestWithoutTables(t *testing.T) {
	want := []string{"leaf", "middle", "main"}
	for _, c := range [][]string{
		{"gcc", "-O0"}, {"gcc", "-O2", "-fno-omit-frame-pointer"}, {"gcc", "-O2"}, {"clang", "-O2"},
		{"musl-gcc", "-static", "-O0"}, {"musl-gcc", "-static", "-O2"},
	} {
		t.Run(strings.Join(c, " "), func(t *testing.T) {
			flags := append([]string{"-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-fno-dwarf2-cfi-asm"}, c[1:]...)
			flags = append(flags, "-g0")
			bin := build(t, "crash.c", c[0], flags...)
			for _, kind := range []string{"null", "altstack", "call-null"} {
				s := crash(t, bin, kind)
				got := Walk(s, s.regs, s.mods, Options{})
				found := 0
				for _, f := range got.Frames {
					if found < len(want) && f.Function == want[found] {
						found++
					}
				}
				if kind != "call-null" && found < len(want) || kind == "call-null" &&
					(len(got.Frames) < 2 || got.Frames[1].Function != "main" || got.Frames[1].Trust != TrustCall) {
					t.Errorf("%s: some of %v are missing:\n%s", kind, want, show(got))
				}
			}
		})
	}
}

// TestNewThread walks both sides of the call that makes a thread, where C libraries' code has no rules: the new thread
// started there, the other one returns to who made it.
func TestNewThread(t *testing.T) {
	for _, c := range [][]string{{"gcc", "-O0", "-pthread"}, {"musl-gcc", "-static", "-O2"}} {
		bin := build(t, "crash.c", c[0], c[1:]...)
		t.Run("new "+c[0], func(t *testing.T) {
			first := 0
			s := stopAt(t, func(tid int, _ syscall.WaitStatus) bool {
				first = cmp.Or(first, tid)
				return tid != first
			}, bin, "thread")
			if got := Walk(s, s.regs, s.mods, Options{}); got.End != EndOutermost || len(got.Frames) != 1 ||
				!strings.Contains(got.Frames[0].Function, "clone") {
				t.Errorf("%s (%s):\n%s", got.End, got.Reason, show(got))
			}
		})
		t.Run("maker "+c[0], func(t *testing.T) {
			s := stopAt(t, func(_ int, ws syscall.WaitStatus) bool { return ws.TrapCause() == syscall.PTRACE_EVENT_CLONE }, bin,
				"thread")
			if got := Walk(s, s.regs, s.mods, Options{}); len(got.Frames) < 3 || !strings.Contains(show(got), " main ") {
				t.Errorf("%s (%s):\n%s", got.End, got.Reason, show(got))
			}
		})
	}
}

// TestSmashedStack ends where the return address leads nowhere, and says so.
func TestSmashedStack(t *testing.T) {
	for _, opt := range []string{"-O0", "-O2"} {
		bin := build(t, "crash.c", "gcc", opt, "-fno-stack-protector")
		s := crash(t, bin, "smash")
		got := Walk(s, s.regs, s.mods, Options{})
		if got.Frames[0].Function != "smash" || len(got.Frames) > 1 && got.Frames[1].PC != 0x4141414141414141 {
			t.Errorf("%s:\n%s", opt, show(got))
		}
		for _, f := range got.Frames[min(2, len(got.Frames)):] {
			if f.Trust != TrustScan && f.Trust != TrustCFI {
				t.Errorf("%s: %s is found by %v", opt, f.Function, f.Trust)
			}
		}
	}
}

// TestMusl walks a static program of a C library without unwind tables: its own code has them.
func TestMusl(t *testing.T) {
	bin := build(t, "crash.c", "musl-gcc", "-static", "-O2")
	for kind, want := range map[string][]string{
		"null":     {"inner_inlined", "outer_inlined", "leaf", "middle", "main"},
		"altstack": {"do_abort", "on_signal", "inner_inlined", "outer_inlined", "leaf", "middle", "main"},
		"qsort":    {"do_abort", "compare", "main"},
		"strlen":   {"strlen", "main"},
	} {
		s := crash(t, bin, kind)
		got := Walk(s, s.regs, s.mods, Options{})
		found := 0
		for _, f := range got.Frames {
			if found < len(want) && f.Function == want[found] {
				found++
			}
		}
		if found < len(want) {
			t.Errorf("%s: %v are missing:\n%s", kind, want[found:], show(got))
		}
	}
}
