//go:build linux && amd64

package unwind

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
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
		fmt.Fprintf(&b, "#%d %#x %s %s:%d%s %v %s+%d\n", f.Index, f.PC, f.Function, filepath.Base(f.File), f.Line, mark, f.Trust, filepath.Base(f.Module), f.Offset)
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
	s = strings.TrimPrefix(strings.TrimPrefix(s, "__GI_"), "___") // glibc's own names for its functions
	for _, cut := range []string{".cold", ".part.0", ".isra.0", ".constprop.0"} {
		s = strings.ReplaceAll(s, cut, "")
	}
	if i := strings.LastIndexByte(s, ' '); i >= 0 { // a template's result type
		s = s[i+1:]
	}
	return s
}

type stackCase struct {
	source, compiler string
	flags            []string
	kinds            []string
}

var cKinds = []string{"null", "call-null", "call-wild", "abort", "handler", "altstack", "raise", "handler-call-null", "qsort", "strlen", "divide", "free"}

var stackCases = []stackCase{
	{"crash.c", "gcc", []string{"-O0"}, cKinds},
	{"crash.c", "gcc", []string{"-O2"}, cKinds},
	{"crash.c", "gcc", []string{"-O2", "-static"}, cKinds},
	{"crash.c", "gcc", []string{"-O2", "-gdwarf-4", "-no-pie", "-fcf-protection=full"}, []string{"null", "altstack", "qsort"}},
	{"crash.c", "gcc", []string{"-O0", "-fomit-frame-pointer"}, []string{"null", "altstack", "qsort"}},
	{"crash.c", "clang", []string{"-O0"}, []string{"null", "altstack", "qsort", "abort", "call-null"}},
	{"crash.c", "clang", []string{"-O2"}, []string{"null", "altstack", "qsort", "abort", "call-null"}},
	{"throw.cc", "g++", []string{"-O0"}, []string{"virtual", "uncaught", "in-flight", "sort"}},
	{"throw.cc", "g++", []string{"-O2"}, []string{"virtual", "uncaught", "in-flight", "sort"}},
	{"throw.cc", "clang++", []string{"-O2"}, []string{"virtual", "uncaught", "in-flight", "sort"}},
	{"panic.rs", "rustc", []string{"-Cpanic=abort"}, []string{"wild", "index", "total"}},
	{"panic.rs", "rustc", []string{"-Copt-level=2", "-Cpanic=abort"}, []string{"wild", "index", "total"}},
}

// TestAgainstGDB compares every frame's function and line with gdb's, of the same program at the same signal.
func TestAgainstGDB(t *testing.T) {
	frames := 0
	for _, c := range stackCases {
		for _, kind := range c.kinds {
			name := c.source + " " + c.compiler + " " + strings.Join(c.flags, " ") + " " + kind
			t.Run(name, func(t *testing.T) {
				bin := build(t, c.source, c.compiler, c.flags...)
				s := crash(t, bin, kind)
				got := Walk(s, s.regs, s.mods, Options{})
				want, _ := gdbStack(t, bin, kind)
				frames += len(want)
				compareStacks(t, got, want)
			})
		}
	}
	t.Logf("%d frames compared", frames)
}

func compareStacks(t *testing.T, got Stack, want []gdbFrame) {
	t.Helper()
	bad := len(got.Frames) != len(want)
	for i := 0; i < len(want) && i < len(got.Frames); i++ {
		f, w := &got.Frames[i], want[i]
		if w.signal {
			bad = bad || !f.Signal
			continue
		}
		if f.Line != w.line || w.line > 0 && filepath.Base(f.File) != filepath.Base(w.file) || plain(f.Function) != plain(w.name) || f.Signal {
			t.Errorf("frame %d is %s at %s:%d, gdb has %s at %s:%d", i, plain(f.Function), f.File, f.Line, plain(w.name), w.file, w.line)
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
