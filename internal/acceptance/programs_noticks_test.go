package acceptance

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// noTicks forbids itself the time stamp counter in several ways, and counts the faults that it sees.
const noTicks = `#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile long faults;
__attribute__((noinline, noclone)) long work(long i) { __asm__ volatile(""); return i * 3; }
static void fault(int s) { (void)s; if (++faults > 3) _exit(70); }
static long calls(long n) { long s = 0; for (long i = 0; i < n; i++) s += work(i); return s; }
static void *thread(void *a) { prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0); return (void *)calls((long)a); }
int main(int argc, char **argv)
{
	char how = argv[argc - 1][0], out[64];
	long n = 40, sum = 0;
	int status = 0;
	void *r;
	pthread_t t;
	signal(SIGSEGV, fault);
	switch (how) {
	case 'b': sum = calls(n) - 3; prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0); sum = calls(n); break; // after calls
	case 't': pthread_create(&t, 0, thread, (void *)n); pthread_join(t, &r); sum = (long)r; break; // in another thread, before its first one
	case 'f': // in a child
		prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
		if (fork() == 0) _exit(calls(n) == 2340 && !faults ? 7 : 8);
		wait(&status);
		sum = WEXITSTATUS(status) == 7 ? calls(n) : -1;
		break;
	default: prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT); sum = calls(n); break;
	}
	int len = snprintf(out, sizeof out, "%ld, %ld faults\n", sum, faults);
	if (write(1, out, len) != len) return 1;
	syscall(SYS_exit, faults ? 9 : 5);
}
`

// TestNoTicks traces programs that may not read the time stamp counter: the agent's reading of it was a fault that
// ended them.
func TestNoTicks(t *testing.T) {
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	path := strobetest.BuildSource(t, "c", "gcc-O1", "noticks", noTicks)
	for _, c := range []struct {
		how, full string
		calls     int64
	}{{"before", "drop", 80}, {"thread", "drop", 40}, {"fork", "drop", 80}, {"strict", "drop", 40},
		{"strict", "block", 40}} {
		l := s.Launch(t, path, filepath.Dir(path), []string{c.how},
			map[string]any{"trace": []any{"work"}, "onFullBuffer": c.full})
		end := s.WaitEnd(t, l.SessionID, time.Minute)
		if end.ExitCode == nil || *end.ExitCode != 5 {
			t.Errorf("%s: it ended as %+v", c.how, end)
		}
		if got := s.Count(t, l.SessionID, "function_exit", "work"); got != c.calls {
			t.Errorf("%s: %d calls, want %d", c.how, got, c.calls)
		}
		if out, want := s.Output(t, l.SessionID, "stdout"), "2340, 0 faults\n"; out != want {
			t.Errorf("%s: output %q, want %q", c.how, out, want)
		}
		if !strings.Contains(strings.Join(end.Warnings, "\n"), "time stamp counter") {
			t.Errorf("%s: warnings %q", c.how, end.Warnings)
		}
		last := int64(-1)
		for _, e := range s.Query(t, l.SessionID, map[string]any{"eventType": "function_exit", "limit": 500}).Events {
			if e.DurationNs == nil || *e.DurationNs < 0 || *e.DurationNs > int64(10*time.Second) || e.ID < last {
				t.Errorf("%s: event %+v", c.how, e)
			}
			last = e.ID
		}
		s.Stop(t, l.SessionID)
	}
}
