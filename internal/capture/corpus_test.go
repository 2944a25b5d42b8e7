//go:build linux && amd64

package capture

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
	"github.com/strobe-debug/strobe/internal/strobetest/sigcorpus"
)

// score counts what a corpus showed.
type score struct {
	functions, right, missing, partial, wrong, uncalled, absent int
}

// build compiles source and returns the program's path.
func build(t testing.TB, name, source string, command ...string) string {
	t.Helper()
	strobetest.NeedTime(t)
	dir := t.TempDir()
	src, bin := filepath.Join(dir, name), filepath.Join(dir, "prog")
	if err := os.WriteFile(src, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	args := append(command[1:len(command):len(command)], src, "-o", bin)
	if out, err := exec.Command(command[0], args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(command, " "), err, firstLines(string(out), 20))
	}
	return bin
}

func firstLines(s string, n int) string {
	lines := strings.SplitN(s, "\n", n+1)
	return strings.Join(lines[:min(len(lines), n)], "\n")
}

// judge compares what a value showed with what it is. optimised allows <optimized out>, also inside.
func (sc *score) judge(t *testing.T, c *sigcorpus.Case, what, got, want string, optimised bool) {
	t.Helper()
	switch {
	case got == want:
		sc.right++
	case optimised && got == `"<optimized out>"`:
		sc.missing++
	case optimised && strings.Contains(got, "<optimized out>") && matches(got, want):
		sc.partial++
	default:
		if sc.wrong++; sc.wrong <= 12 {
			t.Errorf("%s\n  %s = %s\n  want %s", c.Signature, what, got, want)
		}
	}
}

// matches reports whether got is want with parts that are optimized out.
func matches(got, want string) bool {
	var g, w any
	if json.Unmarshal([]byte(got), &g) != nil || json.Unmarshal([]byte(want), &w) != nil {
		return false
	}
	return subset(g, w)
}

func subset(g, w any) bool {
	if g == "<optimized out>" {
		return true
	}
	switch g := g.(type) {
	case map[string]any:
		w, ok := w.(map[string]any)
		if !ok || len(g) != len(w) {
			return false
		}
		for k := range g {
			if !subset(g[k], w[k]) {
				return false
			}
		}
		return true
	case []any:
		w, ok := w.([]any)
		if !ok || len(g) != len(w) {
			return false
		}
		for i := range g {
			if !subset(g[i], w[i]) {
				return false
			}
		}
		return true
	}
	return g == w
}

// check traces a program and compares every argument and result. sparse: the compiler leaves parameters out of
// the debug information, as clang does with unused classes that are passed by reference.
func check(t *testing.T, bin string, cases []sigcorpus.Case, optimised, sparse bool) {
	t.Helper()
	seen := trace(t, bin)
	var args, rets score
	for i := range cases {
		c := &cases[i]
		o := seen[c.Func]
		if o == nil || !o.done {
			if args.uncalled++; !optimised {
				t.Errorf("%s: was not seen", c.Signature)
			}
			continue
		}
		args.functions++
		if len(o.args) != len(c.Args) && !sparse {
			t.Errorf("%s: %d arguments", c.Signature, len(o.args))
		}
		for _, a := range c.Args {
			v, ok := o.args.Get(a.Name)
			if !ok {
				args.absent++
				continue
			}
			args.judge(t, c, a.Name, string(v.AppendJSON(nil)), a.JSON, optimised)
		}
		switch {
		case c.Ret == "" && o.hasRet:
			t.Errorf("%s: returned %v, want nothing", c.Signature, o.ret)
		case c.Ret != "" && !o.hasRet && !optimised:
			t.Errorf("%s: returned nothing, want %s", c.Signature, c.Ret)
		case c.Ret != "":
			rets.judge(t, c, "result", string(o.ret.AppendJSON(nil)), c.Ret, optimised)
		}
	}
	t.Logf("functions %d (not called %d); arguments: right %d, partly %d, optimized out %d, not described %d, wrong %d; "+
		"results: right %d, partly %d, optimized out %d, wrong %d",
		args.functions, args.uncalled, args.right, args.partial, args.missing, args.absent, args.wrong, rets.right,
		rets.partial, rets.missing, rets.wrong)
}

func TestCorpus(t *testing.T) {
	offset, _ := strconv.ParseUint(os.Getenv("STROBE_CORPUS_SEED"), 10, 64)
	for _, c := range []struct {
		name, file string
		seed       uint64
		n          int
		command    []string
	}{
		{"gcc-O0", "a.c", 1, 150, []string{"gcc", "-g", "-O0", "-w"}},
		{"gcc-O2", "a.c", 2, 150, []string{"gcc", "-g", "-O2", "-w"}},
		{"clang-O0", "a.c", 3, 150, []string{"clang", "-g", "-O0", "-w"}},
		{"clang-O2", "a.c", 4, 150, []string{"clang", "-g", "-O2", "-w"}},
		{"g++-O0", "a.cc", 5, 150, []string{"g++", "-std=gnu++17", "-g", "-O0", "-w"}},
		{"g++-O2", "a.cc", 6, 150, []string{"g++", "-std=gnu++17", "-g", "-O2", "-w"}},
		{"clang++-O0", "a.cc", 7, 150, []string{"clang++", "-std=gnu++17", "-g", "-O0", "-w"}},
		{"clang++-O2", "a.cc", 8, 150, []string{"clang++", "-std=gnu++17", "-g", "-O2", "-w"}},
		{"rust-debug", "a.rs", 9, 120, []string{"rustc", "-g"}},
		{"rust-release", "a.rs", 10, 120, []string{"rustc", "-g", "-O"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var source string
			var cases []sigcorpus.Case
			switch filepath.Ext(c.file) {
			case ".rs":
				source, cases = sigcorpus.GenerateRust(c.seed+offset, c.n)
			default:
				source, cases = sigcorpus.GenerateC(c.seed+offset, c.n, c.file == "a.cc")
			}
			bin := build(t, c.file, source, c.command...)
			optimised := strings.Contains(c.name, "O2") || strings.Contains(c.name, "release")
			check(t, bin, cases, optimised, optimised || c.command[0] == "clang++")
		})
	}
}
