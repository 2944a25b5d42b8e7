package testadapter

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestLinesThatTellNothing: what is asked of a line before an expression never says no to one that matches, in any case
// of letters.
func TestLinesThatTellNothing(t *testing.T) {
	lines := []string{"", " ", "x", "3 tests passed", "12 passed, 1 FAILED in 0.1s", "= 3 Skipped =", "Ran 12 tests in 3s",
		"ran 1 test", "FAILED (failures=2, errors=1)", "(FAILURES=1)", "# TOTAL: 12",
		"# pass: 3", "Tests run: 3, Failures: 0", "Tests  3", "Passed 12", "failed: 2", "Test Suites: 2 passed", "tests: 0",
		"1 error", "2 pending", "7 ignored; 0 x", "10 succeeded", "3 failing",
		"PASS: a", "XFAIL: a b", "ERROR: x", "SKIP: t", "test a::b ... ok", "test a - b (line 3) ... ignored, slow",
		"--- PASS: T (0.00s)", "    --- FAIL: T/a (0.10s)", "a/t.py::x PASSED [ 1%]",
		"FAILED a.py::t - x", "ERROR a.py", "  ✓ works (3 ms)", "✗ fails", "✘ a", "✖ b", "✕ c", "✔ d", "1..3", "ok 1 - a",
		"not ok", "TAP version 13", "Bail out! x", "  ---", "# note"}
	for _, f := range resultForms {
		for _, line := range lines {
			if f.re.MatchString(line) && !f.may(line) {
				t.Errorf("%s: %q is left out", f.shape, line)
			}
		}
	}
	for _, line := range lines {
		for _, form := range []string{line, strings.ToUpper(line), strings.ToLower(line), "in all: " + line,
			"(" + line + ")"} {
			if sumLines.MatchString(form) && !mayBeSum(form) {
				t.Errorf("the sum %q is left out", form)
			}
		}
		if (tapPlan.MatchString(line) || tapPoint.MatchString(line)) && !mayBeTAP(line) {
			t.Errorf("TAP's %q is left out", line)
		}
	}
	for _, line := range []string{"2026-01-01 12:00:01 worker 3: handled request 5 of client 7 in 12 us", "plain words",
		"f(x) = 3 units"} {
		if mayBeSum(line) || mayBeTAP(line) {
			t.Errorf("%q is looked at", line)
		}
		for _, f := range resultForms {
			if f.may(line) {
				t.Errorf("%s: %q is looked at", f.shape, line)
			}
		}
	}
}

// BenchmarkOutput reads what tests print that tells nothing.
func BenchmarkOutput(b *testing.B) {
	var text []byte
	for i := 0; len(text) < 4<<20; i++ {
		text = fmt.Appendf(text, "2026-01-01 12:00:%02d worker %d: handled request %d of client %d in %d us\n", i%60, i%8, i,
			i%977, i%1313)
	}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		x, err := Generic{}.Start(&Project{Root: b.TempDir(), FS: os.DirFS(".")}, &Request{Command: []string{"prints"}},
			func(Event) {})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := x.Next(); err != nil {
			b.Fatal(err)
		}
		for piece := range slices.Chunk(text, 64<<10) {
			x.Output(Stdout, piece)
		}
		x.End(Exit{})
	}
}
