package acceptance

import (
	"path/filepath"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// TestPointsExchanged changes who decides about a point, the tracer or the agent, while the only thread of a program is
// somewhere in the function: its patch is then one byte long or five. Most of the thread's time goes into an
// instruction that the longer patch overwrites: it must go on with the copy. Keeps out: a halted program with one
// thread taken for one in which nothing can stand in the way (SIGSEGV at the fourth change).
func TestPointsExchanged(t *testing.T) {
	strobetest.NeedPtrace(t)
	const source = `#include <stdio.h>
#include <string.h>
#include <time.h>
static char to[1 << 20];
__asm__(".globl fill\n.type fill, @function\nfill: mov %rsi,%rcx\n\trep stosb\n\tret\n.size fill, . - fill");
int main(void)
{
	long rounds = 0, wrong = 0;
	struct timespec z, now;
	clock_gettime(CLOCK_MONOTONIC, &z);
	do {
		memset(to, 0, sizeof to);
		char *at = to;
		long n = sizeof to;
		__asm__ volatile("call fill" : "+D"(at), "+S"(n) : "a"(7) : "rcx", "rdx", "memory", "cc");
		for (unsigned long i = 0; i < sizeof to; i += 4095) wrong += to[i] != 7;
		rounds++;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec < z.tv_sec + 4);
	printf("%d rounds, %ld wrong\n", rounds > 10, wrong);
	return 5;
}
`
	s := strobetest.Start(t, nil)
	path := strobetest.BuildSource(t, "c", "gcc-O0", "filled", source)
	l := s.Launch(t, path, filepath.Dir(path), nil, nil)
	d := &debugged{t, s, l.SessionID}
	stays := d.points(args{"add": []any{args{"function": "fill", "condition": "$rsi == -77"}}}).Breakpoints[0].ID
	changes := 0
	for ; s.Status(t, l.SessionID).Status == "running"; changes++ {
		var r pointsResult
		if s.Try("debug_breakpoint", args{"sessionId": d.id,
			"add": []any{args{"function": "fill", "condition": "$rsi == 12345.5"}}}, &r) != nil {
			continue // it has ended
		}
		for _, b := range r.Breakpoints {
			if b.ID != stays {
				s.Try("debug_breakpoint", args{"sessionId": d.id, "remove": []any{b.ID}}, nil) //nolint:errcheck // it may have ended
			}
		}
	}
	end := s.WaitEnd(t, l.SessionID, endLimit)
	if out := s.Output(t, l.SessionID, "stdout"); end.ExitCode == nil || *end.ExitCode != 5 ||
		out != "1 rounds, 0 wrong\n" {
		t.Errorf("%q, it ended as %+v", out, end)
	}
	if changes < 5 {
		t.Errorf("%d changes", changes)
	}
	s.Stop(t, l.SessionID)
}
