package testrun

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/strobetest"
	"github.com/strobe-debug/strobe/internal/waits"
)

func waiting(waits ...*waits.Wait) *collector.ThreadReport {
	r := &collector.ThreadReport{ThreadCount: len(waits)}
	for i, w := range waits {
		r.Threads = append(r.Threads, collector.ThreadRow{ThreadID: i + 1, Name: "t", State: "waiting", WaitingFor: w, Backtrace: []string{"f (a.c:1)"}})
	}
	return r
}

// TestJudge: whoever may be woken from outside, or wakes by itself, is not stuck.
func TestJudge(t *testing.T) {
	on := func(kind string) *waits.Wait { return &waits.Wait{Kind: kind} }
	circle := waiting(on("mutex"), on("mutex"), on("socket"))
	circle.Deadlocks = []collector.Deadlock{{Text: "1 waits for 2, 2 waits for 1"}}
	hidden := waiting(on("mutex"))
	hidden.NotShown = 3
	for name, tc := range map[string]struct {
		rep     *collector.ThreadReport
		outside bool
		timers  bool
		want    string // "": not stuck
	}{
		"a circle beside a socket":        {circle, true, true, "deadlock: "},
		"all wait for each other":         {waiting(on("mutex"), on("join"), on("condvar"), on("child")), false, false, "mutex"},
		"one waits for the network":       {waiting(on("mutex"), on("socket")), false, false, ""},
		"one polls":                       {waiting(on("poll")), false, false, ""},
		"one reads a terminal":            {waiting(on("terminal")), false, false, ""},
		"one runs":                        {waiting(on("mutex"), nil), false, false, ""},
		"one waits for a while":           {waiting(on("mutex"), &waits.Wait{Kind: "condvar", Timed: true}), false, false, ""},
		"a timer's signal may come":       {waiting(on("semaphore")), false, true, ""},
		"a pipe of theirs":                {waiting(&waits.Wait{Kind: "pipe", File: "pipe:[1]"}), false, false, "pipe"},
		"a pipe that others have":         {waiting(&waits.Wait{Kind: "pipe", File: "pipe:[1]"}), true, false, ""},
		"a nap":                           {waiting(&waits.Wait{Kind: "sleep", Timed: true, Detail: "50s"}), false, false, ""},
		"a sleep of days":                 {waiting(&waits.Wait{Kind: "sleep", Timed: true, Detail: "48h0m0s"}), false, false, "sleep of 48h"},
		"a sleep nobody knows the end of": {waiting(&waits.Wait{Kind: "sleep", Timed: true}), false, false, ""},
		"not all are shown":               {hidden, false, false, ""},
		"nobody is there":                 {waiting(), false, false, ""},
	} {
		f := judge(tc.rep, []int{1}, time.Minute, func(string, []int) bool { return tc.outside }, func([]int) bool { return tc.timers }, nil)
		if f.stuck != (tc.want != "") || !strings.Contains(f.diagnosis, tc.want) {
			t.Errorf("%s: stuck %v, %q; want %q", name, f.stuck, f.diagnosis, tc.want)
		}
	}
}

// TestTree ends a process with what it began, also where a parent has ended before.
func TestTree(t *testing.T) {
	strobetest.NeedCommand(t, "sh")
	cmd := exec.Command("sh", "-c", "(sh -c 'sleep 1000 & sleep 1001' &) ; sleep 1002")
	group(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait() //nolint:errcheck // it was killed
	var all []member
	strobetest.Eventually(t, 10*time.Second, "its processes, of which three are no shell", func() bool {
		all = tree(cmd.Process.Pid)
		return len(own(all, []string{"dash", "sh", "bash"})) == 3 // a shell's child is a shell until it has its program
	})
	endTree(cmd.Process.Pid)
	for _, m := range all {
		strobetest.Eventually(t, 10*time.Second, "each to be gone", func() bool {
			now, _, ok := readMember(m.pid)
			return !ok || now.state == 'Z'
		})
	}
	if !timersMayWake([]int{os.Getpid()}) {
		t.Error("this program catches signals of timers, as every Go program")
	}
}

func TestWords(t *testing.T) {
	if got, want := shellLine([]string{"A=b c"}, []string{"go", "test", "-run", "^T$/^it's$", ""}), `A='b c' go test -run '^T$/^it'\''s$' ''`; got != want {
		t.Errorf("shellLine: %s, want %s", got, want)
	}
	if got := cut("aé"+strings.Repeat("x", 100), 2); got != "a…(+102 bytes)" {
		t.Errorf("cut: %q", got)
	}
	for want, list := range map[bool][][]string{
		true:  {{"passed", "failed", "passed"}, {"failed", "passed", "passed", "failed"}},
		false: {{"passed", "failed", "failed"}, {"failed", "passed"}, {"passed", "skipped", "passed"}},
	} {
		for _, l := range list {
			if flips(l, "x") != want {
				t.Errorf("flips(%q) = %v", l, !want)
			}
		}
	}
}
