//go:build linux

package acceptance

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/strobe-debug/strobe/internal/daemon"
	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// pairsSource makes exactly so many calls, at no speed that loses any, and says what became of them.
const pairsSource = `
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) long unit(long n) { __asm__ volatile(""); return n + 1; }
int main(int argc, char **argv)
{
	long want = atol(argv[1]), got = 0;
	for (long i = 0; i < want; i++) {
		got = unit(got);
		if (i % 100 == 99) usleep(1000);
	}
	printf("made %ld\n", got);
	return got == want ? 7 : 1;
}
`

// workerOf returns the process that observes a program.
func workerOf(t testing.TB, pid int) int {
	t.Helper()
	tracer := statusField(t, pid, "TracerPid")
	return statusField(t, tracer, "Tgid")
}

func statusField(t testing.TB, pid int, name string) (n int) {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut("\n"+string(b), "\n"+name+":")
	if _, err := fmt.Sscan(rest, &n); err != nil || n == 0 {
		t.Fatalf("%s of process %d: %v, %d", name, pid, err, n)
	}
	return n
}

// What kills the process of one session is nobody else's: ten other sessions and a test run lose nothing, the one is
// interrupted, its program lives, what it had recorded can be read, and a call that was under way says so.
func TestWorkerDiesAlone(t *testing.T) {
	strobetest.NeedPtrace(t)
	path := strobetest.BuildSource(t, "c", "gcc-O1", "pairs", pairsSource)
	root := filepath.Dir(path)
	s := strobetest.Start(t, nil)
	s.WorkersDie = true
	const calls = 60_000
	launch := func() strobetest.Launched {
		return s.Launch(t, path, root, []string{fmt.Sprint(calls)}, args{"trace": []string{"unit"}})
	}
	var others []strobetest.Launched
	for range 10 {
		others = append(others, launch())
	}
	var run struct{ TestRunID string }
	s.Call(t, "debug_test", args{"projectRoot": root, "command": path + " 20000", "tracePatterns": []string{"unit"}}, &run)
	pid := daemon.HolderPID(s.Home)
	// A signal of 0 stands for what Go's runtime gives up at by itself: no address space is left for its heap. A stack
	// that overflows ends a Go program in the same way, by runtime.throw.
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSEGV, syscall.SIGABRT, syscall.SIGQUIT, 0} {
		one := launch()
		s.Query(t, one.SessionID, args{"function": args{"equals": "unit"}, "waitMs": 10000})
		var wg sync.WaitGroup
		var during error
		wg.Go(func() {
			during = s.Try("debug_query", args{"sessionId": one.SessionID, "function": args{"equals": "nosuch"},
				"waitMs": 30000}, nil)
		})
		worker := workerOf(t, one.PID)
		if worker == pid {
			t.Fatalf("the daemon %d itself observes the program", pid)
		}
		strobetest.Eventually(t, endLimit, "the question to wait", func() bool { return waitsForAnswer(s, one.SessionID) })
		if err := syscall.Kill(worker, sig); err != nil {
			t.Fatal(err)
		}
		if sig == 0 {
			starve(t, s, worker, one.SessionID)
		}
		wg.Wait()
		var f *strobetest.ToolError
		if !errors.As(during, &f) || f.Code != "ENGINE_FAILED" || f.Hint == "" {
			t.Errorf("%v: the call under way: %v, want ENGINE_FAILED", sig, during)
		}
		if st := s.Status(t, one.SessionID); st.Status != "interrupted" || st.EventCount["function_enter"] == 0 {
			t.Errorf("%v: the session: %+v", sig, st)
		}
		if page := s.Query(t, one.SessionID, args{"limit": 5}); len(page.Events) != 5 {
			t.Errorf("%v: %d events can be read", sig, len(page.Events))
		}
		if state, _ := stat(one.PID); state == 0 || state == 'Z' || state == 't' {
			t.Errorf("%v: the program is in state %q", sig, state)
		}
		syscall.Kill(one.PID, syscall.SIGKILL) //nolint:errcheck // it has ended
	}
	hostile(t, s)
	for _, o := range others {
		st := s.WaitEnd(t, o.SessionID, endLimit)
		if st.ExitCode == nil || *st.ExitCode != 7 || st.EventCount["function_enter"] != calls || st.DroppedEvents != 0 {
			t.Errorf("%s beside them: %+v", o.SessionID, st)
		}
	}
	var ended struct {
		Status    string
		SessionID string
	}
	s.Call(t, "debug_test", args{"action": "status", "testRunId": run.TestRunID, "waitMs": 30000}, &ended)
	if ended.Status != "completed" || s.Status(t, ended.SessionID).EventCount["function_enter"] != 20_000 {
		t.Errorf("the test run beside them: %+v", ended)
	}
	if now := daemon.HolderPID(s.Home); now != pid {
		t.Errorf("the daemon is %d, was %d", now, pid)
	}
	log, _ := os.ReadFile(filepath.Join(s.Home, "daemon.log"))
	if n := strings.Count(string(log), strobetest.WorkerDied); n != 5 {
		t.Errorf("the log tells of %d dead processes, want 5", n)
	}
	if code, out := strobe(t, s.Home, "", "doctor"); !strings.Contains(out, "5 processes of sessions died") {
		t.Errorf("strobe doctor = %d, %s", code, out)
	}
}

// starve takes a worker's address space, and asks it until it has noticed.
func starve(t *testing.T, s *strobetest.Strobe, worker int, id string) {
	t.Helper()
	if err := unix.Prlimit(worker, unix.RLIMIT_AS, &unix.Rlimit{Cur: 1 << 20, Max: 1 << 20}, nil); err != nil {
		t.Fatal(err)
	}
	strobetest.Eventually(t, endLimit, "the worker to give up", func() bool {
		// It answers as long as it lives, and each answer takes memory.
		_ = s.Try("debug_query", args{"sessionId": id, "limit": 500, "verbose": true}, nil)
		return syscall.Kill(worker, 0) != nil
	})
}

// A session that takes too much memory ends its own process; ten others beside it lose nothing.
func TestWorkerMemoryBound(t *testing.T) {
	strobetest.NeedPtrace(t)
	path := strobetest.BuildSource(t, "c", "gcc-O2", "burst", burstSource)
	calm := strobetest.BuildSource(t, "c", "gcc-O1", "pairs", pairsSource)
	dir := t.TempDir()
	home := strobetest.Home(t)
	first := strobetest.Connect(t, home) // what is read for the first time takes memory, too
	first.Stop(t, first.Launch(t, calm, dir, []string{"1"}, args{"trace": []string{"unit"}}).SessionID)
	first.StopDaemon(t)
	s := strobetest.Connect(t, home, "STROBE_DEBUG_WORKER_MEMORY=80000000")
	s.WorkersDie = true
	t.Cleanup(func() { s.StopDaemon(t) })
	const calls = 20_000
	var others []strobetest.Launched
	for range 10 {
		others = append(others, s.Launch(t, calm, dir, []string{fmt.Sprint(calls)}, args{"trace": []string{"unit"}}))
	}
	l := s.Launch(t, path, filepath.Dir(path), []string{filepath.Join(dir, "called"), filepath.Join(dir, "done")},
		args{"trace": []string{"unit"}, "cwd": dir, "stopOnEntry": true})
	// The launch has its answer before the burst begins; going on may find the worker dead already.
	_ = s.Try("debug_continue", args{"sessionId": l.SessionID, "waitMs": 1}, nil)
	strobetest.Eventually(t, endLimit, "its end", func() bool {
		var st strobetest.Status
		return s.Try("debug_session", args{"action": "status", "sessionId": l.SessionID}, &st) == nil &&
			st.Status == "interrupted"
	})
	strobetest.Eventually(t, endLimit, "the program's own end",
		func() bool { _, err := os.Stat(filepath.Join(dir, "done")); return err == nil })
	if log, _ := os.ReadFile(filepath.Join(s.Home, "daemon.log")); !strings.Contains(string(log), "too much memory") {
		t.Errorf("the log does not say why:\n%s", log)
	}
	for _, o := range others {
		st := s.WaitEnd(t, o.SessionID, endLimit)
		if st.ExitCode == nil || *st.ExitCode != 7 || st.EventCount["function_enter"] != calls || st.DroppedEvents != 0 {
			t.Errorf("%s beside it: %+v", o.SessionID, st)
		}
	}
}

// hostile gives sessions of their own a program that overwrites what its calls are recorded in, damaged programs and
// damaged cores.
func hostile(t *testing.T, s *strobetest.Strobe) {
	t.Helper()
	path := strobetest.BuildSource(t, "c", "gcc-O1", "scribbles",
		strings.Replace(scribbles, "RINGS", fmt.Sprint(ring.RingsOff), 1))
	l := s.Launch(t, path, filepath.Dir(path), []string{"1"}, args{"trace": []string{"work"}})
	if st := s.WaitEnd(t, l.SessionID, time.Minute); st.ExitCode == nil || *st.ExitCode != 5 {
		t.Errorf("what overwrites its records ended as %+v", st)
	}
	data, err := os.ReadFile(strobetest.Build(t, "ending", "gcc-O0"))
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(3, 4))
	dir := t.TempDir()
	for i := range 6 {
		bad := bytes.Clone(data)
		damage(random, bad, [][2]int{{0, 64 + 14*56}, {len(bad) - 40*64, len(bad)}})
		tryDamaged(t, s, write(t, dir, fmt.Sprintf("bad%d", i), string(bad), 0o755), dir)
		bad[16] = byte(elf.ET_CORE)
		core := write(t, dir, fmt.Sprintf("core%d", i), string(bad), 0o600)
		var f *strobetest.ToolError
		if err := s.Try("debug_launch", args{"core": core, "projectRoot": dir}, nil); err != nil &&
			(!errors.As(err, &f) || f.Code == "INTERNAL_ERROR" || f.Code == "ENGINE_FAILED") {
			t.Errorf("a damaged core: %v", err)
		}
	}
}

// waitsForAnswer reports that the worker of a session answers calls: what was sent before has reached it.
func waitsForAnswer(s *strobetest.Strobe, id string) bool {
	return s.Try("debug_session", args{"action": "status", "sessionId": id}, nil) == nil
}

// Sessions that have ended give their processes back, and the daemon answers for them.
func TestWorkersEnd(t *testing.T) {
	strobetest.NeedPtrace(t)
	path := strobetest.BuildSource(t, "c", "gcc-O1", "pairs", pairsSource)
	s := strobetest.Start(t, nil)
	n := 12
	if strobetest.Soaks(t, "500 sessions one after another") {
		n = 500
	}
	rss := func() (kb int) { return statusField(t, daemon.HolderPID(s.Home), "VmRSS") }
	files := func() int {
		list, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", daemon.HolderPID(s.Home)))
		return len(list)
	}
	var ids []string
	var first, firstFiles int
	for i := range n {
		l := s.Launch(t, path, filepath.Dir(path), []string{"300"}, args{"trace": []string{"unit"}})
		if st := s.WaitEnd(t, l.SessionID, endLimit); st.EventCount["function_enter"] != 300 {
			t.Errorf("%s: %+v", l.SessionID, st)
		}
		if ids = append(ids, l.SessionID); i%2 == 1 {
			s.Call(t, "debug_session", args{"action": "stop", "sessionId": l.SessionID, "retain": true}, nil)
		}
		if i == min(n/2, 50) {
			first, firstFiles = rss(), files()
		}
	}
	workers := func() (n int) {
		for _, cmd := range processes(t, s.Home) {
			if cmd == "strobe worker" {
				n++
			}
		}
		return n
	}
	const most = 8 + 1 // of ended sessions that may still be asked for, and the one that was started ahead
	strobetest.Eventually(t, 2*endLimit, "processes to end", func() bool { return workers() <= most })
	t.Logf("%d sessions: the daemon has %d kB and %d files, after the first %d and %d", n, rss(), files(), first,
		firstFiles)
	if rss() > first+15_000 || files() > firstFiles+20 {
		t.Errorf("the daemon grows: %d kB and %d files, was %d and %d", rss(), files(), first, firstFiles)
	}
	for _, id := range ids {
		if page := s.Query(t, id, args{"limit": 1}); page.TotalCount != 602 && page.TotalCount != 601 {
			t.Errorf("%s: %d events", id, page.TotalCount)
		}
	}
	var list struct {
		Sessions []struct{ SessionID, Status string }
	}
	s.Call(t, "debug_session", args{"action": "list"}, &list)
	if len(list.Sessions) != n || slices.ContainsFunc(list.Sessions,
		func(r struct{ SessionID, Status string }) bool { return r.Status != "exited" }) {
		t.Errorf("the list: %+v", list)
	}
}

// burstSource makes calls as fast as they go, makes a file of its first argument's name, runs on for two seconds, and
// says that it did by another's.
const burstSource = `
#include <stdio.h>
#include <unistd.h>
__attribute__((noinline)) long unit(long n) { __asm__ volatile(""); return n + 1; }
static int mark(const char *path) { FILE *f = fopen(path, "w"); return !f || fclose(f); }
int main(int argc, char **argv)
{
	long got = 0;
	for (long i = 0; i < 2000000; i++) got = unit(got);
	if (mark(argv[1])) return 2;
	for (int i = 0; i < 200; i++) { usleep(10000); got = unit(got); }
	return got != 2000200 || mark(argv[2]) ? 3 : 0;
}
`

// A daemon that is killed behind a burst, of which most is not decoded yet, leaves all of it: its worker lets the
// program run on and decodes to the end.
func TestDaemonKilledBehindABurst(t *testing.T) {
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, map[string]any{"sampling.threshold": 1_000_000_000})
	path := strobetest.BuildSource(t, "c", "gcc-O2", "burst", burstSource)
	dir := t.TempDir()
	called, done := filepath.Join(dir, "called"), filepath.Join(dir, "done")
	l := s.Launch(t, path, filepath.Dir(path), []string{called, done}, args{"trace": []string{"unit"}, "cwd": dir})
	exists := func(path string) func() bool {
		return func() bool { _, err := os.Stat(path); return err == nil }
	}
	strobetest.Eventually(t, endLimit, "the burst", exists(called))
	<-time.After(100 * time.Millisecond)
	if err := syscall.Kill(daemon.HolderPID(s.Home), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	var st strobetest.Status
	strobetest.Eventually(t, endLimit, "what was recorded", func() bool {
		return s.Try("debug_session", args{"action": "status", "sessionId": l.SessionID}, &st) == nil
	})
	if st.Status != "interrupted" || st.EventCount["function_enter"] < 2_000_000 || st.DroppedEvents != 0 {
		t.Errorf("the session: %+v", st)
	}
	strobetest.Eventually(t, endLimit, "the program's own end", exists(done))
}
