package page_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// ring is a program in which two threads each wait for the lock that the other holds.
const ring = `
#include <chrono>
#include <mutex>
#include <thread>
std::mutex plates, glasses;
void hold(std::mutex &first, std::mutex &second) {
  std::lock_guard<std::mutex> one(first);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  std::lock_guard<std::mutex> two(second);
}
int main() {
  std::thread a([] { hold(plates, glasses); }), b([] { hold(glasses, plates); });
  a.join();
  b.join();
}
`

// suite has a test of each state.
const suite = `
import time, unittest

class Basket(unittest.TestCase):
    def test_adds(self):
        time.sleep(0.2)
    def test_total(self):
        self.assertEqual({"pear": 3}, {"pear": 4})
    def test_raises(self):
        raise KeyError("fig")
    @unittest.skip("no scales here")
    def test_weighs(self):
        pass
    @unittest.expectedFailure
    def test_known(self):
        self.fail("not yet")
`

// ended is a run's answer.
type ended struct {
	TestRunID, Status string
	Result            struct {
		Details string
		Summary struct{ Passed, Failed, Skipped, ExpectedFailures int }
	}
}

// TestPageRuns: runs of tests are listed and drawn: tests by state with how long they took, failures with message and
// place, and what is stuck as threads that wait for each other.
func TestPageRuns(t *testing.T) {
	strobetest.NeedPtrace(t)
	strobetest.NeedCommand(t, "python3")
	s := strobetest.Start(t, nil)
	run := func(a args) ended {
		t.Helper()
		var r ended
		s.Call(t, "debug_test", a, &r)
		for id := r.TestRunID; r.Status == "running"; {
			r = ended{}
			s.Call(t, "debug_test", args{"action": "status", "testRunId": id, "waitMs": 20000}, &r)
		}
		return r
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "test_basket.py"), []byte(suite), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := run(args{"projectRoot": dir, "framework": "unittest"})
	bin := strobetest.BuildSource(t, "cpp", "gcc-O0", "ring", ring, "-pthread")
	stuck := run(args{"projectRoot": t.TempDir(), "command": bin, "timeout": 120000})
	d := drive(t, begin(t, s))
	d.do(args{"do": "wait", "of": "main", "text": tests.TestRunID}, nil)
	d.do(args{"do": "wait", "of": "main", "text": stuck.TestRunID}, nil)
	open := func(id, wait string) string {
		t.Helper()
		d.do(args{"do": "open", "url": d.base + "/#run=" + id, "wait": wait}, nil)
		var text string
		d.do(args{"do": "text", "of": ".run"}, &text)
		return text
	}
	text := open(tests.TestRunID, ".run tbody tr")
	n := tests.Result.Summary
	for _, part := range []string{
		fmt.Sprintf("%d passed", n.Passed), fmt.Sprintf("%d failed", n.Failed), fmt.Sprintf("%d skipped", n.Skipped),
		fmt.Sprintf("%d failed as expected", n.ExpectedFailures), "test_basket.py:8", "test_basket.py:10", "KeyError", "'pear': 4",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("the run lacks %q: %s", part, text)
		}
	}
	var rows [][]string
	d.do(args{"do": "rows", "of": ".run tbody tr"}, &rows)
	if len(rows) != 5 || !strings.HasSuffix(rows[2][1], "test_adds") || !strings.HasSuffix(rows[2][2], "ms") {
		t.Errorf("tests are %q, want those that failed, then the one that took longest", rows)
	}
	shots := os.Getenv("STROBE_SHOTS")
	d.shotAndAxe("run", shots)
	text = open(stuck.TestRunID, ".waits")
	if !strings.Contains(text, "deadlock") {
		t.Errorf("the run is not said to be stuck: %s", text)
	}
	for of, want := range map[string]int{".waits rect.circle": 2, ".waits path.wait.circle": 2, ".waitbox li strong": 2} {
		var got int
		if d.do(args{"do": "count", "of": of}, &got); got != want {
			t.Errorf("%d of %s are drawn, want %d: %s", got, of, want, text)
		}
	}
	for _, lock := range []string{"plates", "glasses"} {
		d.do(args{"do": "wait", "of": ".waitbox li", "text": lock}, nil)
	}
	d.shotAndAxe("stuck", shots)
	if err := os.Remove(stuck.Result.Details); err != nil {
		t.Fatal(err)
	}
	if text = open(stuck.TestRunID, ".run .warn"); !strings.Contains(text, "details") {
		t.Errorf("that the details are gone is not said: %s", text)
	}
}

// shotAndAxe has axe-core look at the page in both themes, and keeps pictures where they are wanted.
func (d *driver) shotAndAxe(name, dir string) {
	d.t.Helper()
	for _, theme := range []string{"light", "dark"} {
		d.do(args{"do": "theme", "name": theme}, nil)
		var found []string
		if d.do(args{"do": "axe"}, &found); len(found) > 0 {
			d.t.Errorf("axe-core, of %s, %s: %v", name, theme, found)
		}
		if dir != "" {
			d.do(args{"do": "shot", "path": filepath.Join(dir, name+"-"+theme+".png")}, nil)
		}
	}
	d.do(args{"do": "theme", "name": "light"}, nil)
}

// TestPageRenews: events, statistics and the flame graph of a program that runs show what it does without being asked.
func TestPageRenews(t *testing.T) {
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	bin := strobetest.BuildSource(t, "cpp", "gcc-O0", "slowly", slowly)
	l := s.Launch(t, bin, t.TempDir(), nil, args{"stdin": "pipe", "trace": []string{"outer", "answer", "inner"}})
	id := l.SessionID
	send := func(times int) {
		t.Helper()
		s.Call(t, "debug_session", args{"action": "input", "sessionId": id, "text": strings.Repeat("again\n", times)}, nil)
	}
	link := begin(t, s, id)
	link.Fragment = ""
	d := drive(t, link)
	sum := 0
	for _, view := range []struct {
		name, wait, of string
		want           func(answers int) string
	}{
		{"events&filter=" + `{"function":"answer","eventType":["function_exit"]}`, ".events .sum", ".events .sum",
			func(n int) string { return fmt.Sprintf("%d of %d events", n, n) }},
		{"stats", ".stats tbody", ".stats tbody tr", func(n int) string { return fmt.Sprintf("answer\t%d\t", n) }},
		{"flame&by=count", ".sums tbody", ".flame .sum", func(n int) string { return fmt.Sprintf("%d calls", 2*n+1) }},
	} {
		d.do(args{"do": "open", "url": d.base + "/#s=" + id + "&view=" + view.name, "wait": view.wait}, nil)
		for _, more := range []int{2, 3} {
			send(more)
			sum += more
			d.do(args{"do": "wait", "of": view.of, "text": view.want(sum)}, nil)
		}
	}
	s.Call(t, "debug_session", args{"action": "input", "sessionId": id, "text": "", "eof": true}, nil)
	d.do(args{"do": "wait", "of": ".status", "text": "exited with 0"}, nil)
}
