package testadapter_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/strobetest"
	"github.com/strobe-debug/strobe/internal/testadapter"
)

// configured is a copy of a suite whose build folder some command makes; the adapter builds it.
func configured(t *testing.T, suite string, argv ...string) *testadapter.Project {
	t.Helper()
	strobetest.NeedCommand(t, argv[0])
	root := strobetest.Suite(t, suite)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%q: %v\n%s", argv, err, out)
	}
	return strobetest.ProjectAt(root)
}

// TestCTestFolder: a build folder of any name is the project's where it was configured for it.
func TestCTestFolder(t *testing.T) {
	root := t.TempDir()
	for file, text := range map[string]string{"CMakeLists.txt": "enable_testing()", "b/CTestTestfile.cmake": "",
		"b/CMakeCache.txt": "# cache\nCMAKE_HOME_DIRECTORY:INTERNAL=" + root + "\nX:BOOL=ON\n", "a/CTestTestfile.cmake": "",
		"a/CMakeCache.txt": "\nCMAKE_HOME_DIRECTORY:INTERNAL=" + root + "/a\n", "0/CTestTestfile.cmake": ""} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, file)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d := testadapter.CTest{}.Detect(strobetest.ProjectAt(root))
	if d.Confidence != 80 || !slices.Equal(d.Evidence, []string{"b/CTestTestfile.cmake"}) {
		t.Errorf("Detect = %+v", d)
	}
}

func TestCTestSuite(t *testing.T) {
	t.Parallel()
	p := configured(t, "ctest", "cmake", "-S", ".", "-B", "build", "-DCMAKE_BUILD_TYPE=Debug")
	a := testadapter.CTest{}
	if d := a.Detect(p); d.Confidence != 80 {
		t.Errorf("Detect = %+v", d)
	}
	events := strobetest.RunAdapter(t, a, p, testadapter.Request{})
	golden(t, "ctest/suite.txt", told(events), p.Root, "ROOT")
	if !slices.ContainsFunc(events, func(e testadapter.Event) bool {
		return e.Kind == testadapter.PhaseChanged && strings.Contains(e.Text, "Building CXX object")
	}) {
		t.Error("the build is not told of")
	}
	if !slices.ContainsFunc(events, func(e testadapter.Event) bool { return e.Kind == testadapter.OwnTotals }) {
		t.Error("no totals of CTest's own")
	}
	if *update {
		return
	}
	alone(t, a, p, ended(events), func(x *testadapter.Test) bool { return x.Name != "needs_server" && x.Name != "hangs" })
	ctestLevels(t, p)
	ctestBroken(t, p)
}

func ctestLevels(t *testing.T, p *testadapter.Project) {
	t.Helper()
	for level, want := range map[testadapter.Level][]string{
		testadapter.Unit:        {"unit_one"},
		testadapter.Integration: {"needs_server", "starts_server"},
		testadapter.EndToEnd:    {},
	} {
		events := strobetest.RunAdapter(t, testadapter.CTest{}, p, testadapter.Request{Level: level})
		if got := keys(ended(events)); !slices.Equal(got, want) {
			t.Errorf("%s ran %q, want %q", level, got, want)
		}
		if level == testadapter.EndToEnd && !strings.Contains(notes(events), "no test has the label e2e") {
			t.Errorf("notes = %q", notes(events))
		}
	}
	events := strobetest.RunAdapter(t, testadapter.CTest{}, p, testadapter.Request{Test: "skip"})
	if got := keys(ended(events)); !slices.Equal(got, []string{"skips", "skips_by_words"}) {
		t.Errorf("skip ran %q", got)
	}
	events = strobetest.RunAdapter(t, testadapter.CTest{}, p, testadapter.Request{Test: "abort_"})
	if len(ended(events)) != 0 || !strings.Contains(notes(events), "near it: aborts") {
		t.Errorf("abort_ ran %q: %s", keys(ended(events)), notes(events))
	}
}

// ctestBroken: what does not build does not run, and is told with the compiler's and the linker's errors.
func ctestBroken(t *testing.T, p *testadapter.Project) {
	t.Helper()
	for text, want := range map[string]testadapter.Failure{
		"int main() { int n = \"text\"; return missing; }\n": {File: "prog.cpp", Line: 1, Column: 22},
		"void elsewhere();\nint main() { elsewhere(); }\n": {File: "prog.cpp", Line: 2,
			Message: "undefined reference to `elsewhere()'"},
	} {
		if err := os.WriteFile(filepath.Join(p.Root, "prog.cpp"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got := ended(strobetest.RunAdapter(t, testadapter.CTest{}, p, testadapter.Request{}))
		if len(got) != 1 || got["(build)"] == nil || got["(build)"].Status != testadapter.Errored {
			t.Fatalf("ended %q", keys(got))
		}
		f := got["(build)"].Failures[0]
		if f.Kind != "compile" || f.File != want.File || f.Line != want.Line || want.Column != 0 && f.Column != want.Column ||
			want.Message != "" && f.Message != want.Message {
			t.Errorf("failure = %+v, want %+v", f, want)
		}
	}
}

func TestCTestFaults(t *testing.T) {
	p := strobetest.ProjectAt(strobetest.Suite(t, "ctest"))
	if d := (testadapter.CTest{}).Detect(p); d.Confidence != 60 {
		t.Errorf("Detect = %+v", d)
	}
	_, err := testadapter.CTest{}.Start(p, &testadapter.Request{}, func(testadapter.Event) {})
	if f := new(fault.Error); !errors.As(err, &f) || f.Code != fault.ValidationError ||
		!strings.Contains(f.Hint, "cmake -S . -B build") {
		t.Errorf("Start = %v", err)
	}
}

const ctestList = `{"backtraceGraph": {"commands": ["add_test"], "files": ["/project/CMakeLists.txt"], "nodes": [{"file": 0}, {"command": 0, "file": 0, "line": 6, "parent": 0}]},
"tests": [{"name": "a", "backtrace": 1, "properties": []}, {"name": "twice", "backtrace": 1}, {"name": "twice", "backtrace": 1}, {"name": "d"}], "version": {"major": 1}}`

// TestCTestRecorded: tests of one name, a run that is cut off, and CTest before 3.21, which writes no JUnit report.
func TestCTestRecorded(t *testing.T) {
	p := projectOf(mapFS(map[string]string{"CMakeLists.txt": "enable_testing()\n", "build/CTestTestfile.cmake": ""}))
	const begin = "Test project /project/build\n    Start 1: a\n1/4 Test #1: a .....   Passed    0.01 sec\n    Start 2: " +
		"twice\n2/4 Test #2: twice ...***Failed    0.02 sec\n" +
		"    Start 3: twice\n3/4 Test #3: twice ...Child aborted***Exception:   0.03 sec\n    Start 4: d\n"
	for name, step := range map[string]recorded{
		"old": {stdout: begin + "4/4 Test #4: d .....***Failed  Error regular expression found in output. Regex=[bad]  " +
			"0.01 sec\n\n25% tests passed, 3 tests failed out of 4\n",
			exit: testadapter.Exit{Code: 8}},
		"timeout": {stdout: begin, exit: testadapter.Exit{TimedOut: true}},
		"torn": {stdout: begin,
			report: `<testsuite><testcase name="twice" status="fail"><failure message=""/><system-out>x.c:3: error: first`,
			exit:   testadapter.Exit{Signal: "SIGKILL"}},
	} {
		t.Run(name, func(t *testing.T) {
			golden(t, "ctest/"+name+".txt", told(replay(t, testadapter.CTest{}, p, testadapter.Request{}, recorded{},
				recorded{stdout: ctestList}, step)))
		})
	}
}

func FuzzCTest(f *testing.F) {
	f.Add([]byte("    Start 1: a\n1/1 Test #1: a ...***Failed  0.1 sec\n0% tests passed, 1 tests failed out of 1\n"),
		[]byte(`<testsuite><testcase name="a"><system-out>x.c:1: error: y</system-out></testcase></testsuite>`))
	p := projectOf(mapFS(map[string]string{"build/CTestTestfile.cmake": ""}))
	f.Fuzz(func(t *testing.T, text, report []byte) {
		replay(t, testadapter.CTest{}, p, testadapter.Request{}, recorded{}, recorded{stdout: ctestList},
			recorded{stdout: string(text), report: string(report)})
		abuse(t, testadapter.CTest{}, p, testadapter.Request{}, text, testadapter.Exit{})
	})
}

// TestBuildTimeout: a run whose time is over while it builds says so, and runs nothing more.
func TestBuildTimeout(t *testing.T) {
	p := projectOf(mapFS(map[string]string{"build/CTestTestfile.cmake": "", "Cargo.toml": "[package]\n",
		"go.mod": "module m\n"}))
	for _, a := range []testadapter.Adapter{testadapter.CTest{}, testadapter.Cargo{}, testadapter.Go{}} {
		got := ended(replay(t, a, p, testadapter.Request{},
			recorded{stderr: "compiling\n", exit: testadapter.Exit{TimedOut: true, Signal: "SIGKILL"}}))
		if len(got) != 1 {
			t.Errorf("%s: ended %q", a.Name(), keys(got))
		}
		for _, x := range got {
			if x.Status != testadapter.Errored || x.Failures[0].Kind != "timeout" {
				t.Errorf("%s: %+v", a.Name(), x)
			}
		}
	}
}
