package acceptance

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// TestPointsWhileForking changes points while a program forks, and while its children live on: each child has the
// patches that stood when it was made, and must lose them again. Keeps out: a child made between the decision about a
// point and its patch knew nothing of that patch ("a breakpoint of somebody else stands there" at the next change), or
// of one to come.
func TestPointsWhileForking(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	const source = `#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
__attribute__((noinline)) int work(int n) { __asm__ volatile(""); return n + 1; }
static void nap(long us) { struct timespec d = {0, us * 1000}; nanosleep(&d, 0); }
int main(void)
{
	int live = 0, bad = 0, made = 0, st;
	time_t end = time(0) + 6;
	while (time(0) < end) {
		pid_t p = fork();
		if (!p) {
			int n = 0;
			for (int i = 0; i < 100; i++) { n = work(n); nap(1000); }
			_exit(n == 100 ? 3 : 4);
		}
		made++;
		if (++live > 6) { wait(&st); live--; bad += !WIFEXITED(st) || WEXITSTATUS(st) != 3; }
		work(made);
		nap(500);
	}
	while (live-- > 0) { wait(&st); bad += !WIFEXITED(st) || WEXITSTATUS(st) != 3; }
	printf("%d bad of %s\n", bad, made > 20 ? "many" : "few");
	return 5;
}
`
	s := strobetest.Start(t, nil)
	path := strobetest.BuildSource(t, "c", "gcc-O0", "forking", source)
	l := s.Launch(t, path, filepath.Dir(path), nil, nil)
	changes := 0
	conditions := []string{"n == -77", "n == 12345.5"} // the agent decides, and the tracer
	for ; s.Status(t, l.SessionID).Status == "running"; changes++ {
		var r pointsResult
		err := s.Try("debug_breakpoint", args{"sessionId": l.SessionID,
			"add": []any{args{"function": "work", "condition": conditions[changes%2]}}}, &r)
		for _, b := range r.Breakpoints {
			err = errors.Join(err, s.Try("debug_breakpoint", args{"sessionId": l.SessionID, "remove": []any{b.ID}}, nil))
		}
		if err != nil && !isCode(err, "PROCESS_EXITED") {
			t.Errorf("change %d: %v", changes, err)
		}
	}
	end := s.WaitEnd(t, l.SessionID, endLimit)
	if out := s.Output(t, l.SessionID, "stdout"); end.ExitCode == nil || *end.ExitCode != 5 || out != "0 bad of many\n" {
		t.Errorf("%q, it ended as %+v", out, end)
	}
	if changes < 5 {
		t.Errorf("%d changes", changes)
	}
	t.Logf("%d changes", changes)
	s.Stop(t, l.SessionID)
}
