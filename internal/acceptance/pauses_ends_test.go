package acceptance

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/strobe-debug/strobe/internal/daemon"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// pausedAtEnds works in four threads, and writes what came of it to a file. At round 1,000 three of them meet
// breakpoints.
const pausedAtEnds = `#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static long rounds;
static _Atomic long sum;
static volatile long watched;
__attribute__((noinline, noclone)) long work(long i, long who)
{
	if (i % 5000 == 0 && who == 3) watched = i; // written
	return i * 3 + who;
}
static void *run(void *p)
{
	long mine = 0, who = (long)p;
	for (long i = 0; i < rounds; i++) mine += work(i, who) & 7;
	sum += mine;
	return 0;
}
int main(int argc, char **argv)
{
	pthread_t t[4];
	rounds = atol(argv[2]);
	if (getchar() == EOF) return 2;
	for (long k = 0; k < 4; k++) pthread_create(&t[k], 0, run, (void *)k);
	for (long k = 0; k < 4; k++) pthread_join(t[k], 0);
	FILE *f = fopen(argv[1], "w");
	fprintf(f, "total %ld %ld\n", sum, watched);
	fclose(f);
	return argc;
}
`

// What the points of pausedAtEnds are: in the target, by the tracer, and in the CPU.
var (
	endsInTarget = []any{args{"function": "work", "condition": "i == 1000 && who < 3"},
		args{"function": "work", "message": "{who} {i}", "condition": "i % 1000 == 1"}}
	endsOutside = []any{args{"function": "work", "condition": "i == 1000 && who == 0"},
		args{"file": "ends.c", "line": lineOf(pausedAtEnds, "// written"),
			"condition": "i * 1.0 == 1000.0 && who > 0 && who < 3"},
		args{"function": "work", "message": "{who} {i} {$threadName}", "condition": "i == 900 || i == 2000"},
		args{"variable": "watched"}}
)

// endsRounds are so many that the one thread that does not pause is at work when the session ends.
const endsRounds = 20_000_000

// endsTotal is what the program writes untraced.
func endsTotal(rounds int) string {
	sum := 0
	for who := range 4 {
		for i := range rounds {
			sum += (i*3 + who) & 7
		}
	}
	return fmt.Sprintf("total %d %d\n", sum, (rounds-1)/5000*5000)
}

// endsRun is the program with three paused threads, started by the test and attached to.
type endsRun struct {
	debugged
	cmd    *exec.Cmd
	result string
	rounds int
}

func startEnds(t *testing.T, s *strobetest.Strobe, points []any, rounds int) *endsRun {
	t.Helper()
	path := strobetest.BuildSource(t, "c", "gcc-O2", "ends", pausedAtEnds)
	r := &endsRun{result: filepath.Join(t.TempDir(), "result"), rounds: rounds}
	r.cmd = exec.Command(path, r.result, fmt.Sprint(rounds))
	in, err := r.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.cmd.Process.Kill(); r.cmd.Wait() })
	var l strobetest.Launched
	s.Call(t, "debug_launch", args{"pid": r.cmd.Process.Pid, "projectRoot": filepath.Dir(path)}, &l)
	r.debugged = debugged{t, s, l.SessionID}
	r.points(args{"add": points})
	if _, err := io.WriteString(in, "x"); err != nil {
		t.Fatal(err)
	}
	r.paused(3)
	return r
}

// untouched waits for the program's own end, and fails the test where that is not as it is untraced.
func (r *endsRun) untouched() {
	r.t.Helper()
	err := r.cmd.Wait()
	if code := r.cmd.ProcessState.ExitCode(); code != 3 {
		r.t.Errorf("it ended with %v", err)
	}
	if out, err := os.ReadFile(r.result); err != nil || string(out) != endsTotal(r.rounds) {
		r.t.Errorf("it wrote %q, want %q: %v", out, endsTotal(r.rounds), err)
	}
}

// TestEndsWhilePaused ends sessions of a program of which three threads are paused, while the fourth meets logpoints
// and writes what a data breakpoint watches: it runs on and ends as it does untraced.
func TestEndsWhilePaused(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	soaks := strobetest.Soaks(t, "points in the target or by the tracer, by turns")
	for turn, how := range []struct {
		name string
		end  func(t *testing.T, s *strobetest.Strobe, r *endsRun)
	}{
		{"stop", func(t *testing.T, s *strobetest.Strobe, r *endsRun) {
			// attached: it is not killed unless asked for
			s.Call(t, "debug_session", args{"action": "stop", "sessionId": r.id}, nil)
		}},
		{"stop and retain", func(t *testing.T, s *strobetest.Strobe, r *endsRun) {
			s.Call(t, "debug_session", args{"action": "stop", "sessionId": r.id, "kill": false, "retain": true}, nil)
		}},
		{"another client goes on", func(t *testing.T, s *strobetest.Strobe, r *endsRun) {
			s.Close(t)
			r.s = strobetest.Connect(t, s.Home)
			if p := r.paused(3); len(p) != 3 || p[0].Function != "work" {
				t.Errorf("paused: %+v", p)
			}
			r.points(args{"remove": []string{"all"}})
			r.next(args{"waitMs": 0})
		}},
		{"daemon ends", func(t *testing.T, s *strobetest.Strobe, r *endsRun) {
			pid := daemon.HolderPID(s.Home)
			if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			strobetest.Eventually(t, endLimit, "the daemon's end",
				func() bool { state, _ := stat(pid); return state == 0 || state == 'Z' })
			if st := strobetest.Connect(t, s.Home).Status(t, r.id); st.Status != "exited" { // says the next one
				t.Errorf("the session is %s", st.Status)
			}
		}},
	} {
		for i, points := range [][]any{endsInTarget, endsOutside} {
			if !soaks && i != turn%2 {
				continue
			}
			t.Run(how.name+"/"+[]string{"in target", "by tracer"}[i], func(t *testing.T) {
				home := strobetest.Home(t)
				s := strobetest.Connect(t, home)
				t.Cleanup(func() { strobetest.Connect(t, home).StopDaemon(t) })
				r := startEnds(t, s, points, []int{endsRounds, 100_000}[i])
				how.end(t, s, r)
				r.untouched()
			})
		}
	}
}

// TestDaemonKilledWhilePaused kills the daemon, which can put nothing back. Points in the target go on without it, and
// paused threads are let go by the kernel, behind their places.
func TestDaemonKilledWhilePaused(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	home := strobetest.Home(t)
	s := strobetest.Connect(t, home)
	r := startEnds(t, s, endsInTarget, endsRounds)
	if err := syscall.Kill(daemon.HolderPID(home), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	r.untouched()
	next := strobetest.Connect(t, home) // what was recorded is there
	defer next.StopDaemon(t)
	if n := next.Count(t, r.id, "pause", ""); n != 3 {
		t.Errorf("%d pauses are recorded, want 3", n)
	}
	if st := next.Status(t, r.id); st.Status != "interrupted" {
		t.Errorf("the session is %s", st.Status)
	}
}

// TestStopOfLaunchedWhilePaused lets a program that was launched run on, and ends one where that was asked for.
func TestStopOfLaunchedWhilePaused(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	path := strobetest.BuildSource(t, "c", "gcc-O2", "ends", pausedAtEnds)
	for i, points := range [][]any{endsInTarget, endsOutside} {
		rounds := []int{endsRounds, 100_000}[i]
		for _, kill := range []bool{false, true} {
			result := filepath.Join(t.TempDir(), "result")
			l := s.Launch(t, path, filepath.Dir(path), []string{result, fmt.Sprint(rounds)},
				args{"stdin": "x", "stopOnEntry": true})
			d := &debugged{t, s, l.SessionID}
			d.paused(1)
			d.points(args{"add": points})
			d.next(args{"waitMs": 0})
			d.paused(3)
			s.Call(t, "debug_session", args{"action": "stop", "sessionId": l.SessionID, "kill": kill}, nil)
			strobetest.Eventually(t, endLimit, "the program's end",
				func() bool { state, _ := stat(l.PID); return state == 0 || state == 'Z' })
			out, _ := os.ReadFile(result) // none where it was killed
			if want := endsTotal(rounds); kill && len(out) > 0 || !kill && string(out) != want {
				t.Errorf("kill %v: it wrote %q, want %q", kill, out, want)
			}
		}
	}
}

// TestStoppedAndPaused pauses threads of a program that is stopped by SIGSTOP meanwhile: let go, they stay stopped
// until SIGCONT.
func TestStoppedAndPaused(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	r := startEnds(t, s, endsInTarget, 100_000)
	pid := r.cmd.Process.Pid
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	r.points(args{"remove": []string{"all"}})
	r.next(args{"waitMs": 0})
	stopped := func() bool {
		state := map[string]bool{}
		all, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		for _, file := range all {
			b, _ := os.ReadFile(file)
			_, rest, _ := strings.Cut(string(b), ") ")
			state[rest[:min(1, len(rest))]] = true
		}
		return len(state) == 1 && (state["t"] || state["T"])
	}
	strobetest.Eventually(t, endLimit, "all threads to be stopped", stopped)
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	r.untouched()
}
