package acceptance

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

const plainSource = `#include <stdio.h>
#include <unistd.h>
__attribute__((noinline)) int add(int a, int b) { return a + b; }
int main() { char c; read(0, &c, 1); printf("%d\n", add(1, 2)); return 0; }
`

// TestProgramsWithoutSymbols: a stripped program was asked "did you mean authdes_validate", of the C library's debug
// information, and NO_DEBUG_SYMBOLS was never given.
func TestProgramsWithoutSymbols(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	for _, name := range []string{"gcc", "strip", "go", "rustc"} {
		strobetest.NeedCommand(t, name)
	}
	dir := project(t, map[string]string{
		"plain.c": plainSource, "go.mod": "module m\n",
		"main.go": "package main\n\n//go:noinline\nfunc add(a, b int) int { return a + b }\n\nfunc main() { " +
			"println(add(1, 2)) }\n",
		"m.rs": "#[inline(never)] fn add(a: i32, b: i32) -> i32 { std::hint::black_box(a) + b }\nfn main() { " +
			"println!(\"{}\", add(1, 2)); }\n",
	})
	s := strobetest.Start(t, nil)
	for _, x := range []struct {
		name    string
		build   []string
		pattern string
		want    []string
	}{
		{"symbols", []string{"gcc", "-O0", "plain.c"}, "main::add",
			[]string{"no debug information", "with -g", "did you mean add?"}},
		{"dash-s", []string{"gcc", "-O0", "-s", "plain.c"}, "add", []string{"stripped", "-g"}},
		{"static", []string{"gcc", "-O0", "-s", "-static", "plain.c"}, "add", []string{"stripped", "-g"}},
		{"stripped", []string{"sh", "-c", "gcc -g plain.c -o stripped && strip stripped && exec true"}, "@usercode",
			[]string{"stripped", "-g"}},
		{"go-sw", []string{"go", "build", "-ldflags=-s -w"}, "main.add", []string{"stripped", `-ldflags "-s -w"`}},
		{"rust", []string{"rustc", "-O", "m.rs"}, "m::*", []string{"m::add", "exact names", "debug = true"}},
		{"rust-s", []string{"rustc", "-O", "-C", "strip=symbols", "m.rs"}, "m::add", []string{"stripped", "debug = true"}},
	} {
		args1 := append(x.build[1:], "-o", x.name)
		if x.name == "go-sw" {
			args1 = append(x.build[1:], "-o", x.name, ".")
		}
		cmd := exec.Command(x.build[0], args1...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", x.name, err, out)
		}
		l := s.Launch(t, filepath.Join(dir, x.name), dir, nil, args{"trace": []string{x.pattern}, "stdin": "pipe"})
		said := strings.Join(l.Warnings, "\n")
		for _, want := range append(x.want, "NO_DEBUG_SYMBOLS: ", x.pattern) {
			if !strings.Contains(said, want) {
				t.Errorf("%s: the launch says %q, without %q", x.name, said, want)
			}
		}
		for _, wrong := range []string{"authdes", "dladdr", "envz_"} {
			if strings.Contains(said, wrong) {
				t.Errorf("%s: the launch suggests names of the C library: %q", x.name, said)
			}
		}
		if strings.HasPrefix(x.name, "dash") {
			refused(t, s, "debug_breakpoint", args{"sessionId": l.SessionID, "add": []args{{"function": "add"}}},
				"NO_DEBUG_SYMBOLS", "-g")
			refused(t, s, "debug_breakpoint", args{"sessionId": l.SessionID, "add": []args{{"file": "plain.c", "line": 3}}},
				"NO_DEBUG_SYMBOLS", "-g")
		}
		s.Stop(t, l.SessionID)
	}
}

const laterHost = `#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>
int main(int c, char **v) {
  char b; puts("up"); fflush(stdout); read(0, &b, 1);
  int (*f)(int) = dlsym(dlopen(v[1], RTLD_NOW), "later_work");
  int t = 0; for (int i = 0; i < 5; i++) t += f(i);
  printf("%d\n", t); fflush(stdout); read(0, &b, 1);
}
`

// TestWhatIsElsewhereOrComesLater: hooked functions of the C library were "only declared here", and a pattern of a
// library that is loaded later was answered with near names of the C library.
func TestWhatIsElsewhereOrComesLater(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	strobetest.NeedCommand(t, "gcc")
	dir := project(t, map[string]string{"host.c": laterHost, "later.c": "int later_work(int n) { return n * 2; }\n"})
	for _, a := range [][]string{{"-g", "host.c", "-o", "host", "-ldl"},
		{"-g", "-shared", "-fPIC", "later.c", "-o", "liblater.so"}} {
		cmd := exec.Command("gcc", a...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	s := strobetest.Start(t, nil)
	var l struct {
		SessionID  string
		Warnings   []string
		Unhookable []struct {
			Function, Reason string
			Also             []string
		}
	}
	s.Call(t, "debug_launch", args{"command": filepath.Join(dir, "host"),
		"args": []string{filepath.Join(dir, "liblater.so")}, "projectRoot": dir, "stdin": "pipe",
		"trace": []string{"later_work", "puts", "printf", "p*"}}, &l)
	t.Cleanup(func() { s.Stop(t, l.SessionID) })
	for _, u := range l.Unhookable {
		for _, name := range append(u.Also, u.Function) {
			if strings.Contains(u.Reason, "only declared") && (name == "puts" || name == "printf") {
				t.Errorf("%s, which is hooked, is %q", name, u.Reason)
			}
		}
	}
	said := strings.Join(l.Warnings, "\n")
	if !strings.Contains(said, "later_work") || !strings.Contains(said, "libraries that are loaded later") ||
		strings.Contains(said, "did you mean") {
		t.Errorf("of the library to come the launch says %q", said)
	}
	s.Call(t, "debug_session", args{"action": "input", "sessionId": l.SessionID, "text": "x"}, nil)
	s.Query(t, l.SessionID, args{"function": "later_work", "eventType": "function_exit", "waitMs": 20000})
	strobetest.Eventually(t, 20*time.Second, "no warning once it is there", func() bool {
		var now struct{ Warnings []string }
		s.Call(t, "debug_trace", args{"sessionId": l.SessionID}, &now)
		return !strings.Contains(strings.Join(now.Warnings, "\n"), "later_work")
	})
}

const taggedSource = `#include <string>
namespace { struct Box { std::string name; std::string label(int n) { return name + std::to_string(n); } }; }
std::string greet(int n) { return std::to_string(n); }
int main() { Box b{"x"}; return greet(3).size() + b.label(2).size() > 100; }
`

// TestFilterNamesLikePatterns: function.equals needed [abi:cxx11], which patterns do not.
func TestFilterNamesLikePatterns(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	id := traced(t, s, "cpp", "tagged", taggedSource, "greet", "Box::label")
	for _, name := range []string{"greet", "Box::label"} {
		for _, filter := range []any{name, args{"equals": name}, args{"contains": name}} {
			if n := s.Query(t, id, args{"function": filter}).TotalCount; n != 2 {
				t.Errorf("%v: %d events, want 2", filter, n)
			}
		}
	}
}
