package acceptance

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// testAnswer is an answer of debug_test.
type testAnswer struct {
	TestRunID, Status, Framework, SessionID, Error, Hint string
	Evidence, Warnings                                   []string
	Progress                                             *struct {
		Phase                   string
		Passed, Failed, Skipped int
		CurrentTests            []struct {
			Name                  string
			ElapsedMs, BaselineMs int64
		}
		Stuck    []stuckTest
		Paused   []string
		Warnings []string
	}
	Result *testResult
}

type testResult struct {
	Summary  struct{ Passed, Failed, Skipped, Stuck, ExpectedFailures, UnexpectedPasses, Todo, DurationMs int }
	Failures []struct {
		Name, Suite, Status, Kind, File, Message, Expected, Actual string
		Line                                                       int
		Stack, Further, SuggestedTraces                            []string
		FurtherFailures                                            int
		Rerun                                                      struct{ Test, Command string }
	}
	Stuck    []stuckTest
	Slow     []struct{ Name string }
	Flaky    []string
	Notes    []string
	Details  string
	ExitCode int
	Signal   string
	Rounds   int
	NoTests  bool
	Project  *struct {
		Language, BuildSystem string
		TestFiles             int
	}
	Hint string
}

// stuckTest is a test that does not go on.
type stuckTest struct {
	Name, Diagnosis    string
	SuggestedTraces    []string
	ElapsedMs, SinceMs int64
	PIDs               []int
	Ended              bool
	Threads            []struct {
		Name  string
		Stack []string
	}
}

// readTestdata reads a file of testdata.
func readTestdata(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// project writes files into a new directory.
func project(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// summary is how many tests passed, failed and were skipped.
func summary(r testAnswer) [3]int {
	return [3]int{r.Result.Summary.Passed, r.Result.Summary.Failed, r.Result.Summary.Skipped}
}

// runTests runs a project's tests to their end.
func runTests(t *testing.T, s *strobetest.Strobe, a args) testAnswer {
	t.Helper()
	var r testAnswer
	s.Call(t, "debug_test", a, &r)
	for tries := 0; r.Status == "running"; tries++ {
		if tries > 20 {
			t.Fatalf("the tests do not end: %+v", r.Progress)
		}
		id := r.TestRunID
		r = testAnswer{}
		s.Call(t, "debug_test", args{"action": "status", "testRunId": id, "waitMs": 20000}, &r)
	}
	return r
}

// The tests that are run.
//
//go:embed testdata/sums_test.go.txt
var goTests string

//go:embed testdata/turns_test.go.txt
var turnTests string

// TestRunsOfTests: a suite's results, one test again, what a run refuses, and the list.
func TestRunsOfTests(t *testing.T) {
	t.Parallel()
	strobetest.NeedCommand(t, "go")
	s := strobetest.Start(t, nil)
	dir := project(t, map[string]string{"go.mod": "module example.com/sums\n\ngo 1.21\n", "sums_test.go": goTests})
	r := runTests(t, s, args{"projectRoot": dir, "waitMs": 60000})
	if r.Status != "completed" || r.Framework != "go" || summary(r) != [3]int{3, 2, 2} {
		t.Fatalf("%+v %+v", r, r.Result)
	}
	f := r.Result.Failures[0]
	if f.Name != "TestWrong" || f.File != "sums_test.go" || f.Line != lineOf(goTests, "t.Errorf") ||
		f.Message != "add(1, 1) = 2, want 3" || f.Expected != "3" || f.Actual != "2" {
		t.Errorf("failure %+v", f)
	}
	if f = r.Result.Failures[1]; f.Name != "TestMany/a/b" || f.Message != "of a/b" {
		t.Errorf("failure %+v", f)
	}
	again := runTests(t, s, args{"projectRoot": dir, "test": f.Rerun.Test, "waitMs": 60000})
	if again.Result.Summary.Failed != 1 || again.Result.Summary.Passed != 0 ||
		again.Result.Failures[0].Name != "TestMany/a/b" {
		t.Errorf("again: %+v", again.Result)
	}
	none := runTests(t, s, args{"projectRoot": dir, "test": "TestNothing", "waitMs": 60000})
	if none.Status != "completed" || !none.Result.NoTests || !strings.Contains(none.Result.Hint, "TestNothing") {
		t.Errorf("no test of that name: %+v", none.Result)
	}
	b, err := os.ReadFile(r.Result.Details)
	var d struct {
		Tests []struct{ ID, Status string }
	}
	if err != nil || json.Unmarshal(b, &d) != nil || len(d.Tests) != 8 { // with the parent
		t.Errorf("details: %v, %d tests", err, len(d.Tests))
	}
	if info, err := os.Stat(r.Result.Details); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("details: %v %v", info, err)
	}
	refused(t, s, "debug_test", args{"projectRoot": dir, "framework": "gotest"}, "VALIDATION_ERROR", "Frameworks: ")
	refused(t, s, "debug_test", args{"projectRoot": filepath.Join(dir, "none")}, "VALIDATION_ERROR", "no directory")
	refused(t, s, "debug_test", args{"projectRoot": "relative"}, "VALIDATION_ERROR", "absolute")
	refused(t, s, "debug_test", args{"action": "status", "testRunId": "test-none"}, "TEST_RUN_NOT_FOUND", r.TestRunID)
	var l struct {
		Runs []struct{ TestRunID, Status string }
	}
	s.Call(t, "debug_test", args{"action": "list"}, &l)
	if len(l.Runs) != 3 || l.Runs[2].TestRunID != r.TestRunID {
		t.Errorf("list %+v", l)
	}
}

// TestTellsApart: every failure of a test is told, and what is expected to fail is counted for itself.
func TestTellsApart(t *testing.T) {
	t.Parallel()
	strobetest.NeedCommand(t, "python3")
	s := strobetest.Start(t, nil)
	dir := project(t, map[string]string{"test_apart.py": `import unittest

class Apart(unittest.TestCase):
    def tearDown(self):
        if self._testMethodName == "test_twice":
            raise ValueError("taken down\nbadly")
    def test_twice(self): self.assertEqual(1, 2)
    @unittest.expectedFailure
    def test_known(self): self.fail("known")
    @unittest.skip("later")
    def test_later(self): pass
    def test_passes(self): pass
`})
	r := runTests(t, s, args{"projectRoot": dir, "framework": "unittest", "waitMs": 60000})
	if summary(r) != [3]int{1, 1, 1} || r.Result.Summary.ExpectedFailures != 1 || r.Result.Summary.Todo != 0 {
		t.Fatalf("%+v %+v", r, r.Result)
	}
	f := r.Result.Failures[0]
	if f.FurtherFailures != 1 || len(f.Further) != 1 || f.Further[0] != "test_apart.py:6: ValueError: taken down badly" {
		t.Errorf("failure %+v", f)
	}
}

// TestCommandHasTheShellsEnvironment: strobe test runs tests with the environment that it was called with, not the
// daemon's.
func TestCommandHasTheShellsEnvironment(t *testing.T) {
	s := strobetest.Start(t, nil)
	dir := project(t, nil)
	t.Setenv("STROBE_TEST_SHELL", "here")
	if out, code := strobeCommand(t, s, "test", "-C", dir, "--command",
		"/bin/sh -c 'test \"$STROBE_TEST_SHELL\" = here'"); code != 0 {
		t.Errorf("code %d: %s", code, out)
	}
}

// TestRunIsCanceled ends a run with all its processes; meanwhile the project has no second one. The run goes on when
// its client is gone.
func TestRunIsCanceled(t *testing.T) {
	t.Parallel()
	strobetest.NeedCommand(t, "go")
	s := strobetest.Start(t, nil)
	dir := project(t, map[string]string{"go.mod": "module example.com/sums\n\ngo 1.21\n", "sums_test.go": goTests})
	file := filepath.Join(t.TempDir(), "pid")
	var r testAnswer
	s.Call(t, "debug_test", args{"projectRoot": dir, "test": "TestHangs", "env": map[string]string{"HANG": file}}, &r)
	var child int
	strobetest.Eventually(t, endLimit, "the test's own process", func() bool {
		b, _ := os.ReadFile(file)
		child, _ = strconv.Atoi(string(b))
		return child > 0
	})
	refused(t, s, "debug_test", args{"projectRoot": dir}, "TEST_ALREADY_RUNNING", r.TestRunID)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	refused(t, s, "debug_test", args{"projectRoot": link}, "TEST_ALREADY_RUNNING", r.TestRunID)
	var now testAnswer
	strobetest.Eventually(t, endLimit, "the test that runs", func() bool {
		s.Call(t, "debug_test", args{"action": "status", "testRunId": r.TestRunID}, &now)
		return now.Progress != nil && len(now.Progress.CurrentTests) == 1
	})
	if now.Status != "running" || now.Progress.Phase != "running" ||
		!strings.HasSuffix(now.Progress.CurrentTests[0].Name, "TestHangs") {
		t.Errorf("while it runs: %+v %+v", now, now.Progress)
	}
	s.Call(t, "debug_test", args{"action": "cancel", "testRunId": r.TestRunID}, &now)
	if now.Status != "canceled" || now.Result == nil {
		t.Errorf("canceled: %+v", now)
	}
	strobetest.Eventually(t, endLimit, "its process to be gone", func() bool {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", child))
		return err != nil && syscall.Kill(child, 0) != nil || strings.Contains(string(b), ") Z ")
	})
	after := runTests(t, s, args{"projectRoot": dir, "test": "TestGood", "waitMs": 60000})
	if after.Status != "completed" || after.Result.Summary.Passed != 1 {
		t.Errorf("after it: %+v", after.Result)
	}
}

// TestRunRemembers: tests that are slower than usual, and those that pass and fail in turn.
func TestRunRemembers(t *testing.T) {
	t.Parallel()
	strobetest.NeedCommand(t, "go")
	s := strobetest.Start(t, nil)
	dir := project(t, map[string]string{"go.mod": "module example.com/turns\n\ngo 1.21\n", "turns_test.go": turnTests})
	var r testAnswer
	for i, env := range []map[string]string{{}, {"FAIL": "1"}, {}, {"FAIL": "1", "SLOW": "1"}} {
		if r = runTests(t, s, args{"projectRoot": dir, "env": env, "waitMs": 60000}); r.Status != "completed" ||
			r.Result.Summary.Failed != i%2 {
			t.Fatalf("run %d: %+v", i, r.Result)
		}
	}
	if len(r.Result.Slow) != 1 || !strings.HasSuffix(r.Result.Slow[0].Name, "TestSteady") || len(r.Result.Flaky) != 1 ||
		!strings.HasSuffix(r.Result.Flaky[0], "TestTurns") {
		t.Errorf("slow %+v, flaky %q", r.Result.Slow, r.Result.Flaky)
	}
	for i, command := range []string{"true", "false", "true", "false"} { // each has results of its own
		if r = runTests(t, s, args{"projectRoot": dir, "command": command}); r.Result.Summary.Failed != i%2 ||
			len(r.Result.Flaky) != 0 {
			t.Errorf("%s: %+v", command, r.Result)
		}
	}
}

// TestRepeat runs a test until it fails, and keeps the session of the round in which it did.
func TestRepeat(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	strobetest.NeedCommand(t, "cargo")
	s := strobetest.Start(t, nil)
	count := filepath.Join(t.TempDir(), "count")
	dir := project(t, map[string]string{"Cargo.toml": "[package]\nname = \"fickle\"\nversion = \"0.1.0\"\nedition = " +
		"\"2021\"\n", "src/lib.rs": `
pub fn attempt(n: usize) -> bool { n < 3 }
#[test] fn third_time() {
    let file = std::env::var("COUNT").unwrap();
    let n = std::fs::read(&file).unwrap_or_default().len() + 1;
    std::fs::write(&file, vec![b'x'; n]).unwrap();
    assert!(attempt(n), "round {n}");
}
`})
	r := runTests(t, s, args{"projectRoot": dir, "repeat": 10, "tracePatterns": []string{"fickle::attempt"},
		"env": map[string]string{"COUNT": count}, "waitMs": 60000})
	if r.Status != "completed" || r.Result.Rounds != 3 || r.Result.Summary.Failed != 1 ||
		!strings.Contains(r.Result.Failures[0].Message, "round 3") {
		t.Fatalf("%+v %+v", r, r.Result)
	}
	p := s.Query(t, r.SessionID, args{"eventType": "function_exit", "verbose": true})
	if len(p.Events) != 1 || string(p.Events[0].Return) != "false" {
		t.Errorf("the failing round's calls: %+v", p.Events)
	}
	var l struct{ Sessions []struct{ SessionID string } }
	s.Call(t, "debug_session", args{"action": "list"}, &l)
	if len(l.Sessions) != 2 { // of the last round: its tests, and its documentation's
		t.Errorf("%d sessions are left", len(l.Sessions))
	}
}

const cargoTests = `pub fn price(items: &[i32], discount: i32) -> i32 { let sum: i32 = items.iter().sum(); sum - discount }
#[cfg(test)]
mod tests {
    use super::*;
    #[test] fn plain() { assert_eq!(price(&[1, 2], 0), 3); }
    #[test] fn discounted() { assert_eq!(price(&[10, 20], 5), 24); }
}
`

// TestTracedRun is scenario C of the seeds: a failure, then that one test again, traced; the calls are those of the
// test's own program.
func TestTracedRun(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	strobetest.NeedCommand(t, "cargo")
	s := strobetest.Start(t, nil)
	dir := project(t, map[string]string{"Cargo.toml": "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = " +
		"\"2021\"\n", "src/lib.rs": cargoTests})
	r := runTests(t, s, args{"projectRoot": dir, "waitMs": 60000})
	if r.Framework != "cargo" || len(r.Result.Failures) != 1 || r.Result.Summary.Passed != 1 || r.SessionID != "" {
		t.Fatalf("%+v %+v", r, r.Result)
	}
	f := r.Result.Failures[0]
	if !strings.HasSuffix(f.Name, "discounted") || f.Line != lineOf(cargoTests, "fn discounted") || f.Expected != "24" ||
		f.Actual != "25" || len(f.SuggestedTraces) == 0 {
		t.Errorf("failure %+v", f)
	}
	r = runTests(t, s, args{"projectRoot": dir, "test": f.Rerun.Test,
		"tracePatterns": append(f.SuggestedTraces, "shop::price"), "waitMs": 60000})
	if r.SessionID == "" || r.Result.Summary.Failed != 1 || r.Result.Summary.Passed != 0 {
		t.Fatalf("traced: %+v %+v", r, r.Result)
	}
	p := s.Query(t, r.SessionID, args{"eventType": []string{"function_enter", "function_exit"},
		"function": args{"equals": "shop::price"}, "verbose": true})
	if len(p.Events) != 2 || string(p.Events[0].Arguments) != `{"items":[10,20],"discount":5}` ||
		string(p.Events[1].Return) != "25" {
		t.Errorf("calls %+v", p.Events)
	}
	var st struct{ Status string }
	s.Call(t, "debug_session", args{"action": "status", "sessionId": r.SessionID}, &st)
	if st.Status != "exited" {
		t.Errorf("its session is %s", st.Status)
	}
}
