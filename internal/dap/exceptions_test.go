package dap_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	proto "github.com/google/go-dap"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

const cxxThrows = `#include <cstdio>
#include <stdexcept>
#include <string>
static int risky(int n) {
	if (n % 2) throw std::out_of_range("odd " + std::to_string(n));
	return n;
}
int main() {
	for (int i = 0; i < 4; i++)
		try { risky(i); } catch (const std::exception &e) { std::puts(e.what()); }
	std::fflush(stdout);
	return risky(7);
}
`

const rustPanics = `fn risky(n: i32) -> i32 {
    if n % 2 == 1 { panic!("odd {}", n) }
    n
}
fn main() {
    for i in 0..4 { let _ = std::panic::catch_unwind(|| risky(i)); }
    risky(7);
}
`

const goPanics = `package main

import "fmt"

//go:noinline
func risky(n int) int {
	if n%2 == 1 { panic(fmt.Sprintf("odd %d", n)) }
	return n
}

func try(n int) {
	defer func() { recover() }()
	risky(n)
}

func main() {
	for i := range 4 { try(i) }
	risky(7)
}
`

// TestExceptionsPause: machine code pauses at each exception or panic, or at that which nobody catches, with what it
// says, beside a recording of them.
func TestExceptionsPause(t *testing.T) {
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	for language, of := range map[string]struct {
		build func(t *testing.T) string
		id    string
		code  int
	}{
		"c++": {func(t *testing.T) string {
			return strobetest.BuildSource(t, "cpp", "gcc-O0", "throws", cxxThrows)
		}, "std::out_of_range", 134},
		"rust": {func(t *testing.T) string { return built(t, "rustc", "panics.rs", rustPanics, "-g", "-o") }, "panic", 101},
		"go":   {func(t *testing.T) string { return built(t, "go", "panics.go", goPanics, "build", "-o") }, "panic", 2},
	} {
		t.Run(language, func(t *testing.T) {
			bin := of.build(t)
			for filter, want := range map[string][]string{"@exceptions": {"odd 1", "odd 3", "odd 7"}, "@uncaught": {"odd 7"}} {
				for _, trace := range [][]string{nil, {"@exceptions", "**risky"}} {
					e := open(t, s.Home)
					e.launch(args{"program": bin, "trace": trace}, func() {
						set := ask[*proto.SetExceptionBreakpointsResponse](e, "setExceptionBreakpoints",
							args{"filters": []string{filter}}).Body.Breakpoints
						if len(set) != 1 || !set[0].Verified {
							t.Fatalf("%s: %+v", filter, set)
						}
					})
					for _, text := range want {
						stop := e.stops("exception")
						info := ask[*proto.ExceptionInfoResponse](e, "exceptionInfo", args{"threadId": stop.ThreadId}).Body
						if info.ExceptionId != of.id || !strings.Contains(info.Description, text) {
							t.Errorf("%s: %+v, want %s", filter, info, text)
						}
						thrower := false
						for _, f := range e.stack(stop.ThreadId) {
							thrower = thrower || strings.Contains(f.Name, "risky") && f.Source != nil
						}
						if !thrower {
							t.Errorf("%s: %+v is not on the stack", filter, e.stack(stop.ThreadId))
						}
						ask[*proto.ContinueResponse](e, "continue", args{"threadId": stop.ThreadId})
					}
					e.ends(of.code)
				}
			}
		})
	}
}

// TestDeathPauses: a program pauses in front of the signal that ends it, where its variables are, and then it dies of it.
func TestDeathPauses(t *testing.T) {
	source := "#include <stdlib.h>\nstatic int get(int *p)\n{\n\treturn *p; // here\n}\nint main(int argc, char **argv)\n{\n" +
		"\tif (argc > 1)\n\t\tabort();\n\treturn get(0);\n}\n"
	bin, _ := program(t, "dies", source)
	s := strobetest.Start(t, nil)
	for signal, with := range map[string][]string{"SIGSEGV": nil, "SIGABRT": {"abort"}} {
		e := open(t, s.Home)
		e.launch(args{"program": bin, "args": with}, func() {
			ask[*proto.SetExceptionBreakpointsResponse](e, "setExceptionBreakpoints", args{"filters": []string{"@uncaught"}})
		})
		stop := e.stops("exception")
		info := ask[*proto.ExceptionInfoResponse](e, "exceptionInfo", args{"threadId": stop.ThreadId}).Body
		if info.ExceptionId != signal || info.BreakMode != "unhandled" || info.Description == "" {
			t.Errorf("%+v, want %s", info, signal)
		}
		if top := e.stack(stop.ThreadId)[0]; signal == "SIGSEGV" && (top.Name != "get" || top.Line != lineOf(t, source, "// here")) {
			t.Errorf("it stands at %+v", top)
		}
		ask[*proto.NextResponse](e, "next", args{"threadId": stop.ThreadId})
		e.ends(128 + map[string]int{"SIGSEGV": 11, "SIGABRT": 6}[signal])
		if !strings.Contains(e.said["important"], signal) {
			t.Errorf("said %q", e.said)
		}
	}
}

// built compiles a source with a compiler's own command.
func built(t *testing.T, compiler, name, source string, flags ...string) string {
	t.Helper()
	strobetest.NeedCommand(t, compiler)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(dir, "program")
	cmd := exec.Command(compiler, append(flags, bin, name)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return bin
}
