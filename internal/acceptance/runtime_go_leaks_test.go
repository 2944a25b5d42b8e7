package acceptance

import (
	"slices"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// What goroutines of testdata/golang/leaks wait for, and who else has it: nobody that can still run, or somebody.
var (
	leakWaits   = []string{"receive", "send", "range", "select", "mutex", "rwmutex", "waitgroup"}
	leakNobody  = []string{"nobody", "waiters", "leaked"}
	leakHolders = []string{"global", "map", "slice", "struct", "closure", "channel", "goroutine", "blocked", "timer", "defer",
		"busy", "syscall", "context", "signal", "ticker"}
)

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
		l := s.Launch(t, bin, root, []string{p.what, p.by}, nil)
		strobetest.Eventually(t, endLimit, "the program is ready", func() bool {
			return strings.Contains(s.Output(t, l.SessionID, "stdout"), "ready")
		})
		var st struct {
			Threads   []struct{ Name string }
			Deadlocks []struct {
				Text    string
				Threads []struct{ At string }
			}
			Warnings []string
		}
		s.Call(t, "debug_session", args{"action": "status", "sessionId": l.SessionID, "threads": true}, &st)
		waiters := 0
		for _, d := range st.Deadlocks {
			for _, m := range d.Threads {
				if strings.HasPrefix(m.At, "main.") {
					waiters++
				}
			}
		}
		if want := slices.Contains(leakNobody, p.by); want {
			leaks++
			if waiters == 0 { // a word somewhere looks like its address
				t.Logf("%s of what %s has is not found", p.what, p.by)
				missed++
			}
		} else if waiters > 0 {
			t.Errorf("%s of what %s has is no leak: %+v %q", p.what, p.by, st.Deadlocks, st.Warnings)
		}
		if len(st.Threads) == 0 {
			t.Errorf("no goroutines: %q", st.Warnings)
		}
		s.Stop(t, l.SessionID)
	}
	t.Logf("%d programs, %d leak, %d of these were missed", len(all), leaks, missed)
	if missed*7 > leaks {
		t.Error("too many are missed")
	}
}
