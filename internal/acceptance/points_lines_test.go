package acceptance

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

const copiesProgram = `#include <cstdio>
volatile int seen;
static inline __attribute__((always_inline)) int square(int x) {
  int r = x * x; // begins
  seen += r; // body
  return r;
}
template <typename T> static T twice(T v) {
  seen = 3; // amid
  return v + v;
}
__attribute__((noinline)) int use(int a, int b) { return square(a) + square(b); } // both
int main(int argc, char **argv) {
  int t = 0;
  for (int i = 0; i < 4; i++) t += use(i, argc + i);
  t += twice(3) + (int)twice(2.5) + twice<long>(4) + twice('a');
  printf("%d\n", t);
}
`

// TestLinesOfCopies sets points on lines of functions that were inlined twice into one line, and of template functions
// whose line optimization left no statement: each copy counts.
func TestLinesOfCopies(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	d := debug(t, s, "gcc-O2", "copies", copiesProgram, args{"stopOnEntry": true})
	var add []args
	lines := []string{"begins", "body", "amid", "both"}
	want := map[string]int{"begins": 8, "body": 8, "amid": 4, "both": 4}
	for _, name := range lines {
		add = append(add, args{"file": "copies.cpp", "line": lineOf(copiesProgram, "// "+name), "message": name})
	}
	for i, p := range d.points(args{"add": add}).Logpoints {
		if p.Line != add[i]["line"] || p.Note != "" {
			t.Errorf("%s: %+v, want line %v", lines[i], p, add[i]["line"])
		}
	}
	d.next(args{})
	s.WaitEnd(t, d.id, endLimit)
	got := map[string]int{}
	for _, e := range d.events("logpoint") {
		got[e["message"].(string)]++
	}
	for _, name := range lines {
		if got[name] != want[name] {
			t.Errorf("%s: %d hits, want %d", name, got[name], want[name])
		}
	}
}

// TestSameFileNames sets points by the end of a path that a file of the program and one of its library share: it is
// refused, with both.
func TestSameFileNames(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	strobetest.NeedCommand(t, "gcc")
	dir := project(t, map[string]string{
		"a/util.c": "int lib(int n);\nint own(int n) {\n  return n + 1;\n}\nint main(void) { return own(1) + lib(2) - 6; }\n",
		"b/util.c": "int lib(int n) {\n  n += 1;\n  return n + 1;\n}\n",
	})
	for _, build := range []string{"-shared -fPIC b/util.c -o libutil.so", "a/util.c -o same -L. -lutil -Wl,-rpath," +
		dir} {
		cmd := exec.Command("gcc", append([]string{"-g", "-O0"}, strings.Fields(build)...)...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "LC_ALL=C")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	s := strobetest.Start(t, nil)
	l := s.Launch(t, filepath.Join(dir, "same"), dir, nil, args{"stopOnEntry": true})
	t.Cleanup(func() { s.Stop(t, l.SessionID) })
	d := &debugged{t, s, l.SessionID}
	refused(t, s, "debug_breakpoint", args{"sessionId": d.id, "add": []args{{"file": "util.c", "line": 3}}},
		"VALIDATION_ERROR", "more than one file")
	refused(t, s, "debug_continue", args{"sessionId": d.id, "until": "util.c:3"}, "VALIDATION_ERROR",
		filepath.Join(dir, "b/util.c"))
	for file, function := range map[string]string{"a/util.c": "own", filepath.Join(dir, "b/util.c"): "lib"} {
		if p := d.points(args{"add": []args{{"file": file, "line": 3}},
			"remove": []string{"all"}}).Breakpoints[0]; p.Locations != 1 || p.Function != function {
			t.Errorf("%s: %+v, want one place, in %s", file, p, function)
		} else if at, err := strconv.ParseUint(p.Address, 0, 64); err != nil { // of an instruction of several bytes
			t.Errorf("%s: address %q: %v", file, p.Address, err)
		} else {
			refused(t, s, "debug_breakpoint", args{"sessionId": d.id, "add": []args{{"address": fmt.Sprintf("0x%x", at+1)}}},
				"VALIDATION_ERROR", "no instruction begins")
		}
	}
}
