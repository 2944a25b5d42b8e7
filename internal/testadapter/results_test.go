package testadapter_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
	"github.com/strobe-debug/strobe/internal/testadapter"
)

// However a run ends, no test stays open, none is told twice, and it does not look like success.
func TestBrokenOff(t *testing.T) {
	p := strobetest.ProjectAt(strobetest.Suite(t, "pytest"))
	whole := reportOf(t, "pytest", "8.4.2")
	lines := bytes.SplitAfter(whole, []byte("\n"))
	for n := 0; n < len(lines); n += 3 {
		part := bytes.Join(lines[:n], nil)
		if n%2 == 1 && n < len(lines) {
			part = append(part, lines[n][:len(lines[n])/2]...) // within a line
		}
		for name, exit := range map[string]testadapter.Exit{
			"timeout": {TimedOut: true, Signal: "SIGKILL"}, "crash": {Signal: "SIGSEGV"}, "exit": {Code: 3}, "success": {},
			"cancelled": {Canceled: true, Signal: "SIGKILL"},
		} {
			checkBrokenOff(t, name, exit, replayed(t, testadapter.Pytest{}, p, part, exit))
		}
	}
}

func checkBrokenOff(t *testing.T, name string, exit testadapter.Exit, events []testadapter.Event) {
	t.Helper()
	open, done := map[string]bool{}, map[string]bool{}
	var last *testadapter.Test
	for _, e := range events {
		switch e.Kind {
		case testadapter.TestStarted:
			open[e.Test.ID] = true
		case testadapter.TestEnded:
			if done[e.Test.ID] {
				t.Fatalf("%s: %q ended twice", name, e.Test.ID)
			}
			done[e.Test.ID] = true
			delete(open, e.Test.ID)
			last = e.Test
		}
	}
	if len(open) > 0 {
		t.Fatalf("%s: open: %q", name, keys(open))
	}
	if exit.Canceled {
		return
	}
	if last == nil || !last.Fails {
		t.Fatalf("%s: the last result is %+v", name, last)
	}
	want := map[string]testadapter.Status{"timeout": testadapter.TimedOut, "crash": testadapter.Crashed,
		"exit": testadapter.Crashed, "success": testadapter.Crashed}[name]
	if last.ID != "(run)" && last.Status != want {
		t.Errorf("%s: %q is %s", name, last.ID, last.Status)
	}
	if f := last.Failures[0]; name == "timeout" && !strings.Contains(f.Message, time.Minute.String()) || name == "crash" &&
		f.Signal != "SIGSEGV" {
		t.Errorf("%s: %+v", name, f)
	}
}
