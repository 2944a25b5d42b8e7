package testrun

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
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
		"a circle beside a socket":        {circle, true, true, "deadlock: "},
		"all wait for each other":         {waiting(on("mutex"), on("join"), on("condvar"), on("child")), false, false, "mutex"},
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
		f := judge(tc.rep, []int{1}, time.Minute, func(*collector.ThreadRow, *waits.Wait, []int) bool { return tc.outside }, func([]int) bool { return tc.timers }, nil)
		if f.stuck != (tc.want != "") || !strings.Contains(f.diagnosis, tc.want) {
			t.Errorf("%s: stuck %v, %q; want %q", name, f.stuck, f.diagnosis, tc.want)
		}
	}
}

// TestTree ends a process with what it began, also where a parent has ended before.
func TestTree(t *testing.T) {
	strobetest.NeedCommand(t, "sh", "setsid")
	// Of one shell, one that has ended, and one in a session of its own, whose parent ends as soon as its input does.
	cmd := exec.Command("sh", "-c", "(sh -c 'sleep 1000 & sleep 1001' &) ; (setsid sh -c 'sleep 1003 & exec sleep 1004' & read _) & exec sleep 1002")
	group(cmd)
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Args[2] = "exec 3<&0; " + strings.Replace(cmd.Args[2], "read _", "read _ <&3", 1)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait() //nolint:errcheck // it was killed
	f := newFamily(cmd.Process.Pid, []string{"dash", "sh", "bash"}, func(string) {})
	sleeps := func(all []member) map[string]int {
		pids := map[string]int{}
		for _, m := range all {
			if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", m.pid)); err == nil && bytes.HasPrefix(b, []byte("sleep\x00")) {
				pids[strings.Trim(string(b[6:]), "\x00")] = m.pid
			}
		}
		return pids
	}
	strobetest.Eventually(t, 10*time.Second, "whoever has a parent, in whatever session", func() bool {
		now := sleeps(f.now())
		return now["1002"] != 0 && now["1003"] != 0 && now["1004"] != 0
	})
	input.Close()
	var found map[string]int
	strobetest.Eventually(t, 10*time.Second, "all, with the two in the background, and those that lost their parent", func() bool {
		found = sleeps(f.every())
		return len(found) == 5
	})
	if now := f.now(); len(now) != 5 || len(sleeps(now)) != 5 {
		t.Errorf("without the shells, and once they are known, there are %+v", now)
	}
	all := f.byDepth()
	f.end()
	for _, m := range all {
		strobetest.Eventually(t, 10*time.Second, "each to be gone", func() bool {
			now := readProcess(m.pid)
			return now == nil || now.state == 'Z'
		})
	}
	if !timersMayWake([]int{os.Getpid()}) {
		t.Error("this program catches signals of timers, as every Go program")
	}
}

// TestFamilyIsFollowed: a process that becomes another program is judged by that; nobody else's is taken for one of the family; what
// computes is known again by one look; and only a scan finds who has no parent and was never seen with one.
func TestFamilyIsFollowed(t *testing.T) {
	strobetest.NeedCommand(t, "sh")
	cmd := exec.Command("sh", "-c", "read _; (sleep 1000 &) ; exec sh -c 'read _; exec sleep 1001'")
	group(cmd)
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait() //nolint:errcheck // it was killed
	f := newFamily(cmd.Process.Pid, []string{"dash", "sh", "bash"}, func(string) {})
	defer f.end()
	if now := f.now(); len(now) != 0 || !f.known[f.root].driver {
		t.Errorf("a shell that waits: %+v", now)
	}
	io.WriteString(input, "\n") //nolint:errcheck // seen below
	shell := f.known[f.root].image
	strobetest.Eventually(t, 10*time.Second, "the next shell, and a sleep whose parent has ended", func() bool {
		r := readProcess(f.root)
		return r != nil && r.image != shell && len(children(f.root)) == 0
	})
	if now := f.now(); childLists() && len(now) != 0 {
		t.Errorf("without a scan: %+v", now)
	}
	strobetest.Eventually(t, 10*time.Second, "the sleep", func() bool { return len(f.every()) == 1 })
	io.WriteString(input, "\n") //nolint:errcheck // seen below
	strobetest.Eventually(t, 10*time.Second, "the program that the shell became", func() bool { return len(f.now()) == 2 })
	for pid := range f.known {
		if r := f.known[pid]; r.group != f.root {
			t.Errorf("of another family: %+v", r)
		}
	}

	strobetest.Eventually(t, 10*time.Second, "nothing to compute any more", func() bool { return !f.busy() })
	loop := exec.Command("sh", "-c", "while :; do :; done")
	group(loop)
	if err := loop.Start(); err != nil {
		t.Fatal(err)
	}
	defer loop.Wait() //nolint:errcheck // it was killed
	g := newFamily(loop.Process.Pid, nil, func(string) {})
	defer g.end()
	strobetest.Eventually(t, 10*time.Second, "who computes", func() bool { return len(g.now()) == 1 && g.busy() })
}

// TestStrays: a process of a session of its own, whose parents have ended before anybody looked, is looked at and never ended; nor is one of
// another run, or of another environment, taken for it.
func TestStrays(t *testing.T) {
	strobetest.NeedCommand(t, "sh", "setsid", "env")
	dir, other := t.TempDir(), t.TempDir()
	cmd := exec.Command("sh", "-c", "for go in . "+other+" /proc; do (cd $go; setsid sh -c 'sleep 1008 >&- & echo $!'); done; env -i setsid sh -c 'sleep 1008 >&- & echo $!'; exec sleep 1009")
	cmd.Dir = dir
	group(cmd)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait() //nolint:errcheck // it was killed
	var pids [4]int
	if _, err := fmt.Fscan(out, &pids[0], &pids[1], &pids[2], &pids[3]); err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		defer syscall.Kill(pid, syscall.SIGKILL) //nolint:errcheck // it is there
	}
	strobetest.Eventually(t, 10*time.Second, "their parents to have ended, and the sleep", func() bool {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", cmd.Process.Pid))
		return err == nil && bytes.HasPrefix(b, []byte("sleep\x00")) && len(children(cmd.Process.Pid)) == 0
	})
	f := newFamily(cmd.Process.Pid, nil, func(string) {})
	f.elsewhere = func(dir string) bool { return dir == other }
	if now := f.now(); childLists() && len(now) != 1 {
		t.Errorf("without a scan: %+v", now)
	}
	all := f.every()
	if got := pidsOf(all); len(all) != 2 || !slices.Contains(got, cmd.Process.Pid) || !slices.Contains(got, pids[0]) {
		t.Errorf("%+v, want %d and %d", all, cmd.Process.Pid, pids[0])
	}
	if len(f.now()) != 2 {
		t.Error("a stray that is known is not looked at")
	}
	f.end()
	if r := readProcess(pids[0]); r == nil || r.state == 'Z' || r.state == 'T' {
		t.Errorf("a stray was ended: %+v", r)
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
