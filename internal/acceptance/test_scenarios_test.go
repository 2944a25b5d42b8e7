package acceptance

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

const cargoManifest = "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"

const wrongParser = `pub fn parse(text: &str) -> Vec<i32> { text.split(',').map(|t| t.parse().unwrap_or(0)).collect() }
#[cfg(test)]
mod tests {
    use super::*;
    #[test] fn numbers() { assert_eq!(parse("1,2"), vec![1, 2]); }
    #[test] fn spaces() {
        assert_eq!(parse("1, 2"), vec![1, 2], "spaces are allowed");
    }
    #[test] #[ignore = "later"] fn negative() {}
}
`

// TestScenarioA is scenario A of the seeds: what failed, where and why, without a line of the framework's output; then
// the code is mended, and that one test and all of them pass.
func TestScenarioA(t *testing.T) {
	t.Parallel()
	strobetest.NeedCommand(t, "cargo")
	s := strobetest.Start(t, nil)
	dir := project(t, map[string]string{"Cargo.toml": cargoManifest, "src/lib.rs": wrongParser})
	r := runTests(t, s, args{"projectRoot": dir, "waitMs": 60000})
	if r.Status != "completed" || r.Framework != "cargo" || len(r.Evidence) == 0 || summary(r) != [3]int{1, 1, 1} {
		t.Fatalf("%+v %+v", r, r.Result)
	}
	f := r.Result.Failures[0]
	if f.Name != "tests::spaces" || f.File != "src/lib.rs" || f.Line != lineOf(wrongParser, "spaces are allowed") ||
		!strings.Contains(f.Message, "spaces are allowed") ||
		f.Expected != "[1, 2]" || f.Actual != "[1, 0]" || !slices.Contains(f.SuggestedTraces, "shop::parse") ||
		f.Rerun.Test == "" || f.Rerun.Command == "" {
		t.Errorf("failure %+v", f)
	}
	mended := strings.Replace(wrongParser, "t.parse()", "t.trim().parse()", 1)
	if err := os.WriteFile(filepath.Join(dir, "src/lib.rs"), []byte(mended), 0o600); err != nil {
		t.Fatal(err)
	}
	for test, passed := range map[string]int{f.Rerun.Test: 1, "": 2} {
		request := args{"projectRoot": dir, "waitMs": 60000}
		if test != "" { // empty is no test's name
			request["test"] = test
		}
		r = runTests(t, s, request)
		if r.Status != "completed" || r.Result.Summary.Passed != passed || len(r.Result.Failures) > 0 {
			t.Errorf("after the change, test %q: %+v %+v", test, r, r.Result)
		}
	}
}

const lockOrder = `use std::sync::{Arc, Barrier, Mutex};
fn transfer(from: &Mutex<i32>, to: &Mutex<i32>, both: &Barrier) {
    let mut a = from.lock().unwrap();
    both.wait();
    let mut b = to.lock().unwrap();
    *a -= 1;
    *b += 1;
}
#[test]
fn opposite_orders() {
    let child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
    std::fs::write(std::env::var("PIDS").unwrap(), format!("{} {}", std::process::id(), child.id())).unwrap();
    let (x, y, both) = (Arc::new(Mutex::new(5)), Arc::new(Mutex::new(5)), Arc::new(Barrier::new(2)));
    let (x2, y2, both2) = (x.clone(), y.clone(), both.clone());
    let other = std::thread::spawn(move || transfer(&y2, &x2, &both2));
    transfer(&x, &y, &both);
    other.join().unwrap();
}
#[test]
fn quick() { assert_eq!(1 + 1, 2); }
`

// deadlocked is one run of lockOrder, or of its like, that ends at its time limit.
func deadlocked(t *testing.T, s *strobetest.Strobe, request args, name string) (during, after stuckTest, rerun string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pids")
	request["env"] = map[string]string{"PIDS": file}
	request["timeout"] = 15000
	var r testAnswer
	s.Call(t, "debug_test", request, &r)
	id := r.TestRunID
	strobetest.Eventually(t, endLimit, "the test to be called stuck", func() bool {
		r = testAnswer{}
		s.Call(t, "debug_test", args{"action": "status", "testRunId": id, "waitMs": 200}, &r)
		return r.Progress == nil || len(r.Progress.Stuck) > 0
	})
	if r.Progress == nil {
		t.Fatalf("it was not called stuck before its time was up: %+v %+v", r, r.Result)
	}
	during = r.Progress.Stuck[0]
	for tries := 0; r.Status == "running"; tries++ {
		if tries > 20 {
			t.Fatalf("the run does not end: %+v", r.Progress)
		}
		r = testAnswer{}
		s.Call(t, "debug_test", args{"action": "status", "testRunId": id, "waitMs": 20000}, &r)
	}
	if r.Status != "completed" || r.Result.Summary.Stuck != 1 || len(r.Result.Stuck) != 1 || len(r.Result.Failures) != 1 ||
		r.Result.Failures[0].Name != name {
		t.Fatalf("%+v %+v", r, r.Result)
	}
	b, err := os.ReadFile(file)
	pids := strings.Fields(string(b))
	if err != nil || len(pids) < 2 {
		t.Fatalf("pids %q: %v", b, err)
	}
	for _, p := range pids {
		pid, err := strconv.Atoi(p)
		if err != nil {
			t.Fatal(err)
		}
		strobetest.Eventually(t, endLimit, "process "+p+" of the test to be gone", func() bool {
			b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			return err != nil && syscall.Kill(pid, 0) != nil || strings.Contains(string(b), ") Z ")
		})
	}
	return during, r.Result.Stuck[0], r.Result.Failures[0].Rerun.Test
}

// TestScenarioB is scenario B of the seeds: an integration test stands still; its locks are named while it does, and
// again in the result when it was ended at its time limit, with all its processes.
func TestScenarioB(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	strobetest.NeedCommand(t, "cargo", "sleep")
	s := strobetest.Start(t, nil)
	dir := project(t, map[string]string{"Cargo.toml": cargoManifest, "src/lib.rs": "", "tests/bank.rs": lockOrder})
	during, after, rerun := deadlocked(t, s, args{"projectRoot": dir, "level": "integration"}, "opposite_orders")
	for _, st := range []stuckTest{during, after} {
		inTransfer := 0
		for _, thread := range st.Threads {
			if slices.ContainsFunc(thread.Stack, func(line string) bool {
				return strings.Contains(line, "transfer") && strings.Contains(line, "bank.rs:")
			}) {
				inTransfer++
			}
		}
		if !strings.Contains(st.Name, "opposite_orders") ||
			!regexp.MustCompile(`(?i)deadlock|mutex`).MatchString(st.Diagnosis) || inTransfer != 2 ||
			!slices.Contains(st.SuggestedTraces, "bank::transfer") {
			t.Errorf("stuck: %+v; want two threads in transfer, and it suggested", st)
		}
	}
	// What it suggests shows the calls that do not return.
	r := runTests(t, s, args{"projectRoot": dir, "test": rerun, "tracePatterns": after.SuggestedTraces, "timeout": 6000,
		"waitMs": 60000,
		"env":    map[string]string{"PIDS": filepath.Join(t.TempDir(), "pids")}})
	if r.SessionID == "" || r.Result.Summary.Stuck != 1 {
		t.Fatalf("traced: %+v %+v", r, r.Result)
	}
	calls := map[string]int{}
	for _, e := range allEvents(t, s, r.SessionID, args{"eventType": "function_enter"}) {
		calls[e.Function]++
	}
	for _, p := range after.SuggestedTraces {
		if !strings.HasPrefix(p, "file:") && calls[p] == 0 {
			t.Errorf("%s was suggested and has no call: %v", p, calls)
		}
	}
	if calls["bank::transfer"] != 2 {
		t.Errorf("calls %v", calls)
	}
}
