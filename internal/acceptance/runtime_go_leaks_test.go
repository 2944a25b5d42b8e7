package acceptance

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// What goroutines of testdata/golang/leaks wait for, and who else has it: nobody that can still run, or somebody.
var (
	leakWaits   = []string{"receive", "send", "range", "select", "mutex", "rwmutex", "waitgroup", "cond"}
	leakNobody  = []string{"nobody", "waiters", "leaked"}
	leakHolders = []string{"global", "map", "slice", "struct", "closure", "channel", "goroutine", "blocked", "timer", "defer",
		"busy", "syscall", "context", "signal", "ticker"}
)

// goStuckStatus is what is said of a program's goroutines.
type goStuckStatus struct {
	Threads   []struct{ Name string }
	Deadlocks []struct {
		Text    string
		Threads []struct {
			ThreadID int
			At       string
		}
	}
	Warnings []string
}

// goStuck runs a program until it is ready, and asks.
func goStuck(t *testing.T, s *strobetest.Strobe, bin, root string, arguments ...string) (st goStuckStatus) {
	t.Helper()
	l := s.Launch(t, bin, root, arguments, nil)
	strobetest.Eventually(t, endLimit, "the program is ready", func() bool {
		return strings.Contains(s.Output(t, l.SessionID, "stdout"), "ready")
	})
	s.Call(t, "debug_session", args{"action": "status", "sessionId": l.SessionID, "threads": true}, &st)
	if len(st.Threads) == 0 {
		t.Errorf("%q: no goroutines: %q", arguments, st.Warnings)
	}
	s.Stop(t, l.SessionID)
	return st
}

// TestGoStuck: of small programs whose goroutines wait for each other, lost a wake-up, or are idle, those that are stuck
// are named, and no others.
func TestGoStuck(t *testing.T) {
	t.Parallel()
	bin, root := goProgram(t, "stuck")
	list, err := exec.Command(bin).Output()
	if err != nil {
		t.Fatal(err)
	}
	s := strobetest.Start(t, nil)
	all := strings.Split(strings.TrimSpace(string(list)), "\n")
	long := strobetest.Soaks(t, "most of the programs")
	right, stuck, missed := 0, 0, 0
	for i, line := range all {
		var name string
		var want int
		if _, err := fmt.Sscan(line, &name, &want); err != nil {
			t.Fatal(err)
		}
		if !long && i%4 != 1 {
			continue
		}
		st := goStuck(t, s, bin, root, name)
		got := 0
		for _, d := range st.Deadlocks {
			got += len(d.Threads)
		}
		stuck += want
		switch {
		case got == want:
			right++
		case got > want:
			t.Errorf("%s: %d goroutines are said to be stuck, %d are: %+v", name, got, want, st.Deadlocks)
		default: // a word somewhere looks like an address of theirs
			t.Logf("%s: %d of %d are found: %+v %q", name, got, want, st.Deadlocks, st.Warnings)
			missed += want - got
		}
	}
	t.Logf("%d programs are told right, %d of %d goroutines were missed", right, missed, stuck)
	if missed > max(1, stuck/9) {
		t.Error("too many are missed")
	}
}

// TestGoLeaks: a goroutine that nothing can wake any more is named, and no other.
func TestGoLeaks(t *testing.T) {
	t.Parallel()
	bin, root := goProgram(t, "leaks")
	s := strobetest.Start(t, nil)
	type program struct{ what, by string }
	long := strobetest.Soaks(t, "most of what may hold it")
	var all []program
	for i, what := range leakWaits {
		for k, by := range append(slices.Clone(leakNobody), leakHolders...) {
			if long || k == i%len(leakNobody) || k-len(leakNobody) == 2*i || k-len(leakNobody) == 2*i+1 {
				all = append(all, program{what, by})
			}
		}
	}
	leaks, missed := 0, 0
	for _, p := range all {
		var st goStuckStatus
		want, waiters := slices.Contains(leakNobody, p.by), 0
		// A word somewhere may look like an address of what it waits for: hardly in each of three runs.
		for try := 0; try == 0 || want && waiters == 0 && try < 3; try++ {
			st = goStuck(t, s, bin, root, p.what, p.by)
			for _, d := range st.Deadlocks {
				for _, m := range d.Threads {
					if strings.HasPrefix(m.At, "main.") {
						waiters++
					}
				}
			}
		}
		if want {
			leaks++
			if waiters == 0 {
				t.Logf("%s of what %s has is not found", p.what, p.by)
				missed++
			}
		} else if waiters > 0 {
			t.Errorf("%s of what %s has is no leak: %+v %q", p.what, p.by, st.Deadlocks, st.Warnings)
		}
	}
	t.Logf("%d programs, %d leak, %d of these were missed", len(all), leaks, missed)
	if missed*7 > leaks {
		t.Error("too many are missed")
	}
}
