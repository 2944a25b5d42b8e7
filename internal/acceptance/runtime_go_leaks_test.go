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
		"busy", "syscall", "finalizer",
		"finalizes", "cleanup", "context", "signal", "ticker"}
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
		default:
			t.Errorf("%s: %d of %d are found: %+v %q", name, got, want, st.Deadlocks, st.Warnings)
			missed += want - got
		}
	}
	t.Logf("%d programs are told right, %d of %d goroutines were missed", right, missed, stuck)
}

// TestGoLeaks: a goroutine that nothing can wake any more is named, and no other.
func TestGoLeaks(t *testing.T) {
	t.Parallel()
	goLeaks(t, strobetest.Soaks(t, "most of what may hold it"))
}

// TestGoLeaksOfVersions: so it is with other versions of Go, and however a program is built.
func TestGoLeaksOfVersions(t *testing.T) {
	strobetest.Soak(t)
	for _, flags := range [][]string{{"go1.21.13"}, {"go1.22.12"}, {"go1.23.12"}, {"go1.24.13"}, {"go1.25.5"},
		{"-race"}, {"-buildmode=pie"}, {"-gcflags=all=-N -l"}, {"-ldflags=-w"}} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			t.Parallel()
			goLeaks(t, true, flags...)
		})
	}
}

func goLeaks(t *testing.T, all bool, flags ...string) {
	t.Helper()
	bin, root := goProgram(t, "leaks", flags...)
	s := strobetest.Start(t, nil)
	programs, leaks := 0, 0
	for i, what := range leakWaits {
		for k, by := range append(slices.Clone(leakNobody), leakHolders...) {
			if !all && k != i%len(leakNobody) && k-len(leakNobody) != 2*i && k-len(leakNobody) != 2*i+1 {
				continue
			}
			programs++
			st := goStuck(t, s, bin, root, what, by)
			waiters := 0
			for _, d := range st.Deadlocks {
				for _, m := range d.Threads {
					if strings.HasPrefix(m.At, "main.") {
						waiters++
					}
				}
			}
			switch want := slices.Contains(leakNobody, by); {
			case want && waiters == 0:
				t.Errorf("%s of what %s has is not found: %q", what, by, st.Warnings)
			case want:
				leaks++
			case waiters > 0:
				t.Errorf("%s of what %s has is no leak: %+v %q", what, by, st.Deadlocks, st.Warnings)
			}
		}
	}
	t.Logf("%d programs, of which %d leak and are found", programs, leaks)
}
