package stuck

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/waits"
)

func waiting(waits ...*waits.Wait) *collector.ThreadReport {
	r := &collector.ThreadReport{ThreadCount: len(waits)}
	for i, w := range waits {
		r.Threads = append(r.Threads, collector.ThreadRow{ThreadID: i + 1, Name: "t", State: "waiting", WaitingFor: w,
			Backtrace: []string{"f (a.c:1)"}})
	}
	return r
}

// TestJudge: whoever may be woken from outside, or wakes by itself, is not stuck.
func TestJudge(t *testing.T) {
	on := func(kind string) *waits.Wait { return &waits.Wait{Kind: kind} }
	circle := waiting(on("mutex"), on("mutex"), on("socket"))
	circle.Deadlocks = []collector.Deadlock{{Text: "1 waits for 2, 2 waits for 1"}}
	broken := waiting(on("file-lock"))
	broken.Deadlocks = []collector.Deadlock{{Text: "1 waits for itself", Breakable: true}}
	limited := waiting(on("join"), &waits.Wait{Kind: "mutex", Timed: true})
	limited.Deadlocks = []collector.Deadlock{{Text: "1 waits for 2, 2 waits for 1", Timed: true}}
	guessed := waiting(on("mutex"), on("mutex"), &waits.Wait{Kind: "sleep", Timed: true, Detail: "5s"})
	guessed.Deadlocks = []collector.Deadlock{{Text: "1 waits for 2, 2 waits for 1", Probable: true}}
	hidden := waiting(on("mutex"))
	hidden.NotShown = 3
	for name, tc := range map[string]struct {
		rep     *collector.ThreadReport
		outside bool
		timers  bool
		want    string // "": not stuck
	}{
		"a circle beside a socket": {circle, true, true, "deadlock: "},
		"all wait for each other": {waiting(on("mutex"), on("join"), on("condvar"), on("child")), false, false,
			"mutex"},
		"one waits for the network":       {waiting(on("mutex"), on("socket")), true, false, ""},
		"one polls":                       {waiting(on("poll")), true, false, ""},
		"one polls files of theirs":       {waiting(on("poll")), false, false, "poll"},
		"a lock on a file that they have": {waiting(on("file-lock")), false, false, "file-lock"},
		"a circle that a signal may end":  {broken, false, true, ""},
		"a circle with a time limit":      {limited, false, false, ""},
		"a circle that is a guess":        {guessed, false, false, ""},
		"a circle through a child":        {broken, false, false, "deadlock: "},
		"one reads a terminal":            {waiting(on("terminal")), false, false, ""},
		"one runs":                        {waiting(on("mutex"), nil), false, false, ""},
		"one waits for a while": {waiting(on("mutex"), &waits.Wait{Kind: "condvar", Timed: true}), false, false,
			""},
		"a timer's signal may come": {waiting(on("semaphore")), false, true, ""},
		"a pipe of theirs":          {waiting(&waits.Wait{Kind: "pipe", File: "pipe:[1]"}), false, false, "pipe"},
		"a pipe that others have":   {waiting(&waits.Wait{Kind: "pipe", File: "pipe:[1]"}), true, false, ""},
		"a nap": {waiting(&waits.Wait{Kind: "sleep", Timed: true, Detail: "50s"}), false, false,
			""},
		"a sleep of days": {waiting(&waits.Wait{Kind: "sleep", Timed: true, Detail: "48h0m0s"}), false, false,
			"sleep of 48h"},
		"a sleep nobody knows the end of": {waiting(&waits.Wait{Kind: "sleep", Timed: true}), false, false, ""},
		"not all are shown":               {hidden, false, false, ""},
		"nobody is there":                 {waiting(), false, false, ""},
	} {
		f := judge(tc.rep, []int{1}, time.Minute, func(*collector.ThreadRow, *waits.Wait, []int) bool {
			return tc.outside
		}, func([]int) bool { return tc.timers }, nil)
		if f.Stuck != (tc.want != "") || !strings.Contains(f.Diagnosis, tc.want) {
			t.Errorf("%s: stuck %v, %q; want %q", name, f.Stuck, f.Diagnosis, tc.want)
		}
	}
}

func TestTimersMayWake(t *testing.T) {
	if !timersMayWake([]int{os.Getpid()}) {
		t.Error("this program catches signals of timers, as every Go program")
	}
}
