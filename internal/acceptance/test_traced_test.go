package acceptance

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// drivenTests is a project whose tests are started by other programs, and what a traced run of them must have.
type drivenTests struct {
	needs     []string
	files     map[string]string
	prepare   func(t *testing.T, dir string)
	framework string
	args      []string
	env       map[string]string
	patterns  []string
	watch     string         // a variable, at the first pattern's function
	calls     map[string]int // in all processes together
	processes int            // in which there are calls
	image     string         // a regular expression: the command of each process that has calls
}

const countedC = `
int calls_made;
__attribute__((noinline)) int scale(int n, int by) { calls_made++; return n * by; }
int total(int n) { int s = 0; for (int i = 0; i < n; i++) s = scale(s + i, 1); return s; }
`

const cgoPackage = `package NAME

/*
#cgo CFLAGS: -g -O0
static int calls_made;
__attribute__((noinline)) static int scale(int n, int by) { calls_made++; return n * by; }
static int total(int n) { int s = 0; for (int i = 0; i < n; i++) s = scale(s + i, 1); return s; }
*/
import "C"

func Total(n int) int { return int(C.total(C.int(n))) }
`

const cgoTest = `package NAME

import "testing"

func TestThree(t *testing.T) {
	t.Log("three")
	if got := Total(3); got != 3 {
		t.Errorf("Total(3) = %d", got)
	}
}

func TestWrong(t *testing.T) {
	if got := Total(4); got != 7 {
		t.Errorf("Total(4) = %d, want 7", got)
	}
}
`

const ctypesTest = `import ctypes, os, unittest
lib = ctypes.CDLL(os.path.join(os.path.dirname(os.path.abspath(__file__)), "libcounted.so"))
class Totals(unittest.TestCase):
    def test_one(self): self.assertEqual(lib.total(1), 0)
    def test_two(self): self.assertEqual(lib.total(2), 1)
    def test_three(self): self.assertEqual(lib.total(3), 3)
    def test_four(self):
        print("four")
        self.assertEqual(lib.total(4), 7)
`

// countedMain is a program that makes n calls of scale and fails where they are odd.
const countedMain = `#include <stdio.h>
int total(int n);
int main(void) { printf("total %d\n", total(N)); return N % 2; }
`

func runIn(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
}

func inPackage(text, name string) string {
	return regexp.MustCompile(`\bNAME\b`).ReplaceAllString(text, name)
}

func ctypesLibrary(t *testing.T, dir string) {
	runIn(t, dir, "gcc", "-g", "-O0", "-shared", "-fPIC", "-o", "libcounted.so", "counted.c")
}

func pytestEnv(t *testing.T, dir string) {
	ctypesLibrary(t, dir)
	if err := os.Symlink(strobetest.PythonEnv(t, "pytest"), filepath.Join(dir, ".venv")); err != nil {
		t.Fatal(err)
	}
}

// driven are the projects of TestScenarioC.
var driven = map[string]drivenTests{
	"go": {needs: []string{"go", "gcc"}, framework: "go", patterns: []string{"total", "scale"}, watch: "calls_made",
		args: []string{"./..."}, env: map[string]string{"CGO_ENABLED": "1"},
		files: map[string]string{"go.mod": "module example.com/counted\n\ngo 1.21\n", "a/a.go": inPackage(cgoPackage, "a"),
			"a/a_test.go": inPackage(cgoTest, "a"),
			"b/b.go":      inPackage(cgoPackage, "b"), "b/b_test.go": inPackage(cgoTest, "b")},
		calls: map[string]int{"total": 4, "scale": 14}, processes: 2, image: `/[ab]\.test `},
	"pytest": {needs: []string{"gcc"}, framework: "pytest", patterns: []string{"total", "scale"}, watch: "calls_made",
		prepare: pytestEnv,
		files:   map[string]string{"counted.c": countedC, "test_totals.py": ctypesTest, "conftest.py": "import pytest\n"},
		calls:   map[string]int{"total": 4, "scale": 10}, processes: 1, image: `python.* -m pytest`},
	"pytest-xdist": {needs: []string{"gcc"}, framework: "pytest", patterns: []string{"total"}, watch: "calls_made",
		prepare: pytestEnv, args: []string{"-n2"},
		files: map[string]string{"counted.c": countedC, "test_totals.py": ctypesTest, "conftest.py": "import pytest\n"},
		calls: map[string]int{"total": 4}, processes: 2, image: `python.* -c .*exec`},
	"unittest": {needs: []string{"gcc", "python3"}, framework: "unittest", patterns: []string{"total", "scale"},
		watch: "calls_made", prepare: ctypesLibrary,
		files: map[string]string{"counted.c": countedC, "test_totals.py": ctypesTest},
		calls: map[string]int{"total": 4, "scale": 10}, processes: 1, image: `python`},
	"ctest": {needs: []string{"cmake", "gcc"}, framework: "ctest", patterns: []string{"total", "scale"},
		watch: "calls_made", args: []string{"-j2"},
		files: map[string]string{"counted.c": countedC, "main.c": countedMain,
			"CMakeLists.txt": `cmake_minimum_required(VERSION 3.10)
project(counted C)
enable_testing()
foreach(n 2 3 4)
  add_executable(with${n} main.c counted.c)
  target_compile_options(with${n} PRIVATE -g -DN=${n})
  add_test(NAME with${n} COMMAND with${n})
endforeach()
`},
		prepare: func(t *testing.T, dir string) { runIn(t, dir, "cmake", "-S", ".", "-B", "build") },
		calls:   map[string]int{"total": 3, "scale": 9}, processes: 3, image: `/build/with[234]`},
	"meson": {needs: []string{"meson", "ninja", "gcc"}, framework: "meson", patterns: []string{"total", "scale"},
		watch: "calls_made",
		files: map[string]string{"counted.c": countedC, "main.c": countedMain, "meson.build": `project('counted', 'c')
foreach n : ['2', '3']
  test('with' + n, executable('with' + n, 'main.c', 'counted.c', c_args: '-DN=' + n))
endforeach
`},
		prepare: func(t *testing.T, dir string) { runIn(t, dir, "meson", "setup", "--buildtype=debug", "build") },
		calls:   map[string]int{"total": 2, "scale": 5}, processes: 2, image: `/build/with[23]`},
}

// callEvent is what these tests read of an event.
type callEvent struct {
	PID         int
	Function    string
	Command     string
	What        string
	WatchValues map[string]json.RawMessage
}

// allEvents are a session's events of some kinds, and more conditions.
func allEvents(t *testing.T, s *strobetest.Strobe, id string, filter args) (all []callEvent) {
	t.Helper()
	for after := int64(0); ; {
		in := args{"sessionId": id, "limit": 500, "verbose": true, "afterEventId": after}
		maps.Copy(in, filter)
		var p struct {
			Events      []callEvent
			HasMore     bool
			LastEventID int64
		}
		s.Call(t, "debug_query", in, &p)
		all = append(all, p.Events...)
		if !p.HasMore || len(p.Events) == 0 {
			return all
		}
		after = p.LastEventID
	}
}

// toldOf is what a run's details say of its tests, without times.
func toldOf(t *testing.T, r testAnswer) string {
	t.Helper()
	var d struct {
		Tests []struct{ ID, Status, Output string }
	}
	b, err := os.ReadFile(r.Result.Details)
	if err == nil {
		err = json.Unmarshal(b, &d)
	}
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	var lines []string
	for _, x := range d.Tests {
		lines = append(lines, x.ID+" "+x.Status+" "+x.Output)
	}
	slices.Sort(lines)
	for _, line := range lines {
		text += line + "\n"
	}
	return regexp.MustCompile(`\d+\.\d+ ?s|\[gw\d\]|0x[0-9a-f]+`).ReplaceAllString(text, "…")
}

// TestTracedCrashIsNamed: where a traced test crashes, the answer names the crash event.
func TestTracedCrashIsNamed(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	path := strobetest.BuildSource(t, "cpp", "gcc-O0", "dies",
		"static int *volatile p;\nvoid boom(int n) { *p = n; }\nint main() { boom(7); }\n")
	r := runTests(t, s, args{"projectRoot": project(t, nil), "command": path, "tracePatterns": []string{"boom"},
		"waitMs": 60000})
	if r.SessionID == "" || !strings.Contains(r.Hint, "eventType crash") || r.Result.Failures[0].Status != "crashed" {
		t.Fatalf("%+v %+v", r, r.Result)
	}
	var q struct {
		Events []struct{ EventType string }
	}
	s.Call(t, "debug_query", args{"sessionId": r.SessionID, "eventType": "crash"}, &q)
	if len(q.Events) != 1 || q.Events[0].EventType != "crash" {
		t.Errorf("%+v", q)
	}
}

// TestScenarioC: tests that other programs start are traced in their own processes, each one's calls with its pid, and
// nothing of what starts them; results and output are those of a plain run. TestTracedRun has the same of cargo.
func TestScenarioC(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	for name, c := range driven {
		t.Run(name, func(t *testing.T) {
			strobetest.NeedCommand(t, c.needs...)
			dir := project(t, c.files)
			if c.prepare != nil {
				c.prepare(t, dir)
			}
			env := map[string]string{}
			maps.Copy(env, c.env)
			request := args{"projectRoot": dir, "framework": c.framework, "args": append([]string{}, c.args...), "env": env,
				"waitMs": 60000}
			plain := runTests(t, s, request)
			if plain.Status != "completed" || plain.Result.Summary.Failed == 0 || plain.Result.Summary.Passed == 0 ||
				plain.SessionID != "" {
				t.Fatalf("plain: %+v %+v", plain, plain.Result)
			}
			request["tracePatterns"] = c.patterns
			request["watches"] = args{"add": []args{{"variable": c.watch, "on": []string{c.patterns[0]}}}}
			r := runTests(t, s, request)
			r.Result.Summary.DurationMs = plain.Result.Summary.DurationMs // counts are compared
			if r.Status != "completed" || r.SessionID == "" || r.Result.Summary != plain.Result.Summary {
				t.Fatalf("traced: %+v %+v, want the counts %+v", r, r.Result, plain.Result.Summary)
			}
			if got, want := toldOf(t, r), toldOf(t, plain); got != want {
				t.Errorf("traced, the tests said\n%s\nwant\n%s", got, want)
			}
			c.check(t, s, r.SessionID)
		})
	}
}

// check looks at the session of a traced run.
func (c *drivenTests) check(t *testing.T, s *strobetest.Strobe, id string) {
	t.Helper()
	var st struct {
		PID      int
		ExitCode *int
	}
	s.Call(t, "debug_session", args{"action": "status", "sessionId": id}, &st)
	if st.ExitCode == nil || *st.ExitCode == 0 {
		t.Errorf("the command with failed tests left with %v", st.ExitCode)
	}
	commands := map[int]string{}
	for _, e := range allEvents(t, s, id, args{"eventType": "process"}) {
		if e.What == "exec" {
			commands[e.PID] = e.Command
		}
	}
	calls, pids := map[string]int{}, map[int]int{}
	watched := 0
	for _, e := range allEvents(t, s, id, args{"eventType": "function_enter"}) {
		calls[e.Function]++
		pids[e.PID]++
		if len(e.WatchValues[c.watch]) > 0 {
			watched++
		}
	}
	if !maps.Equal(calls, c.calls) || len(pids) != c.processes || watched != c.calls[c.patterns[0]] {
		t.Errorf("calls %v in processes %v, %d with a watched value; want %v in %d processes, watched at each %s", calls,
			pids, watched, c.calls, c.processes, c.patterns[0])
	}
	for pid, n := range pids {
		if cmd, ok := commands[pid]; ok && !regexp.MustCompile(c.image).MatchString(cmd) || !ok && pid != st.PID {
			t.Errorf("process %d has calls and is %q", pid, cmd)
		}
		if own := allEvents(t, s, id, args{"eventType": "function_enter", "pid": pid}); len(own) != n || own[0].PID != pid {
			t.Errorf("debug_query by pid %d: %d events, want %d", pid, len(own), n)
		}
	}
}
