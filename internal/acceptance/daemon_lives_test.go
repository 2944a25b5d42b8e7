//go:build linux

package acceptance

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/daemon"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// Ten clients that come at once get one daemon.
func TestOneDaemonForAll(t *testing.T) {
	t.Parallel()
	home := strobetest.Home(t)
	bin := strobetest.Binary(t)
	var clients sync.WaitGroup
	for range 10 {
		clients.Go(func() {
			if code, out := strobe(t, home, "", "sessions", "--json"); code > 1 {
				t.Errorf("strobe sessions = %d, %s", code, out)
			}
		})
	}
	clients.Wait()
	s := strobetest.Connect(t, home)
	t.Cleanup(func() { s.StopDaemon(t) })
	pid, daemons := daemon.HolderPID(home), 0
	strobetest.Eventually(t, endLimit, "the losers to end", func() bool {
		daemons = 0
		for _, cmd := range processes(t, home) {
			if strings.Contains(cmd, "daemon") {
				daemons++
			}
		}
		return daemons == 1
	})
	if state, _ := stat(pid); state == 0 {
		t.Errorf("the daemon %d of %s is gone", pid, bin)
	}
}

// SIGTERM ends the daemon in order: programs are ended, data is there, nothing stays behind.
func TestTermDuringSessions(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	calm := waiting(t, s, "work")
	quiet := s.Launch(t, "sleep", t.TempDir(), []string{"60"}, nil)
	strobetest.Eventually(t, endLimit, "calls",
		func() bool { return s.Count(t, calm.SessionID, "function_enter", "work") > 20 })
	pid := daemon.HolderPID(s.Home)
	started := time.Now()
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	strobetest.Eventually(t, endLimit, "the daemon's end",
		func() bool { state, _ := stat(pid); return state == 0 || state == 'Z' })
	t.Logf("ended within %v", time.Since(started))
	for _, p := range []int{calm.PID, quiet.PID} {
		if state, _ := stat(p); state != 0 && state != 'Z' {
			t.Errorf("program %d is left in state %c", p, state)
		}
	}
	if n := s.Count(t, calm.SessionID, "function_enter", "work"); n <= 20 {
		t.Errorf("%d calls are there afterwards", n)
	}
	for _, id := range []string{calm.SessionID, quiet.SessionID} {
		if st := s.Status(t, id); st.Status != "exited" {
			t.Errorf("session %s is %s, want exited", id, st.Status)
		}
	}
	serves(t, s, daemon.HolderPID(s.Home))
}

// An idle daemon ends, but never while a program runs.
func TestIdleEndWaitsForSessions(t *testing.T) {
	strobetest.NeedPtrace(t)
	home := strobetest.Home(t)
	const idle = 200 * time.Millisecond
	t.Setenv("STROBE_DEBUG_IDLE", idle.String())
	code, out := strobe(t, home, "", "sessions", "--json")
	if code > 1 {
		t.Fatalf("strobe sessions = %d, %s", code, out)
	}
	first := daemon.HolderPID(home)
	strobetest.Eventually(t, endLimit, "the idle daemon's end",
		func() bool { state, _ := stat(first); return state == 0 || state == 'Z' })
	// A client launches and goes; the program runs for ten times as long as idleness may last.
	func() {
		dir := t.TempDir()
		s := strobetest.Connect(t, home)
		l := s.Launch(t, "sh", dir, []string{"-c", "sleep 2; echo late > done"}, nil)
		s.Close(t)
		pid := daemon.HolderPID(home)
		strobetest.Eventually(t, endLimit, "the program's end", func() bool {
			_, err := os.Stat(filepath.Join(dir, "done"))
			if state, _ := stat(pid); (state == 0 || state == 'Z') && err != nil {
				t.Fatal("the daemon ended while a program ran")
			}
			return err == nil
		})
		strobetest.Eventually(t, endLimit, "the daemon's end",
			func() bool { state, _ := stat(pid); return state == 0 || state == 'Z' })
		if state, _ := stat(l.PID); state != 0 && state != 'Z' {
			t.Errorf("the program is in state %c", state)
		}
	}()
	strobetest.Eventually(t, endLimit, "all processes to end", func() bool { return len(processes(t, home)) == 0 })
}

// usage is what the daemon holds.
type usage struct {
	files    int
	children []string
	rssKB    int
	threads  int
}

func usageOf(t *testing.T, pid int) (u usage) {
	t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	u.files = len(entries)
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range all {
		var child int
		fmt.Sscanf(p, "/proc/%d", &child)
		if state, parent := stat(child); parent == pid {
			cmdline, _ := os.ReadFile(p + "/cmdline")
			u.children = append(u.children, fmt.Sprintf("%d %c %q", child, state, cmdline))
		}
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(status), "\n") {
		fmt.Sscanf(line, "VmRSS: %d kB", &u.rssKB)
		fmt.Sscanf(line, "Threads: %d", &u.threads)
	}
	return u
}

// Two hundred programs, launched, traced and stopped in every way, leave nothing in the daemon.
func TestNothingLeaks(t *testing.T) {
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	dir := t.TempDir()
	ending := strobetest.Build(t, "ending", "gcc-O0")
	round := func(i int) {
		var l strobetest.Launched
		switch i % 5 {
		case 0:
			l = s.Launch(t, ending, dir, []string{"exit", "3"}, args{"trace": []string{"end", "deep"}})
			s.WaitEnd(t, l.SessionID, endLimit)
		case 1:
			l = s.Launch(t, ending, dir, []string{"segv"}, nil)
			s.WaitEnd(t, l.SessionID, endLimit)
		case 2: // stopped while it runs
			l = s.Launch(t, "sleep", dir, []string{"60"}, args{"stdin": "pipe"})
		case 3:
			l = s.Launch(t, "sh", dir, []string{"-c", "echo out; (exec 1>&- 2>&-; sleep 0.01) & exit 0"}, args{"terminal": true})
			s.WaitEnd(t, l.SessionID, endLimit)
		case 4: // fails
			refused(t, s, "debug_launch", args{"command": "./none", "projectRoot": dir}, "LAUNCH_FAILED")
			return
		}
		s.Stop(t, l.SessionID)
	}
	warm, rounds := 25, 50
	if strobetest.Soaks(t, "150 of 200 launches") {
		rounds = 200
	}
	for i := range warm {
		round(i)
	}
	pid := daemon.HolderPID(s.Home)
	before := usageOf(t, pid)
	for i := range rounds {
		round(i)
	}
	var after usage
	ok := func() bool {
		after = usageOf(t, pid)
		return after.files <= before.files+4 && len(after.children) <= 1 && after.threads <= before.threads+8
	}
	strobetest.Eventually(t, endLimit, "the daemon to let go of everything", ok)
	t.Logf("before %+v, after %d launches %+v", before, rounds, after)
	for _, c := range after.children {
		if !strings.Contains(c, "worker") { // the one that was started ahead
			t.Errorf("the daemon still has a child: %s", c)
		}
	}
	if after.rssKB > before.rssKB+64<<10 {
		t.Errorf("the daemon's memory grew from %d to %d kB", before.rssKB, after.rssKB)
	}
	if files, _ := filepath.Glob(filepath.Join(s.Home, "sessions", "*")); len(files) != 0 {
		t.Errorf("files of stopped sessions: %v", files)
	}
}
