package acceptance

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// TestPausesUnderSignals pauses a program that is interrupted thousands of times a second, at the very condition each time: a signal
// that comes while the agent decides is delivered behind it as it was sent, and no pause is lost for it.
func TestPausesUnderSignals(t *testing.T) {
	strobetest.NeedPtrace(t)
	const source = `#include <signal.h>
#include <stdio.h>
#include <time.h>
static volatile long ticks, wrong;
static void tick(int s, siginfo_t *i, void *u) { (void)s, (void)u; ticks++; wrong += i->si_code != SI_TIMER || i->si_value.sival_int != 77; }
__attribute__((noinline, noclone)) long work(long i) { return i * 3; }
int main(void)
{
	char line[8];
	long total = 0;
	if (!fgets(line, sizeof line, stdin)) return 1;
	struct sigaction a = {.sa_sigaction = tick, .sa_flags = SA_SIGINFO | SA_RESTART};
	sigaction(SIGRTMIN, &a, 0);
	struct sigevent e = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN, .sigev_value.sival_int = 77};
	struct itimerspec every = {{0, 200000}, {0, 200000}};
	timer_t t;
	timer_create(CLOCK_MONOTONIC, &e, &t);
	timer_settime(t, 0, &every, 0);
	for (long i = 0; i < 3000000; i++) total += work(i) & 1;
	timer_delete(t);
	printf("total %ld %d, %ld wrong\n", total, ticks > 10, wrong);
}
`
	s := strobetest.Start(t, nil)
	path := strobetest.BuildSource(t, "c", "gcc-O2", "ticked", source)
	l := s.Launch(t, path, filepath.Dir(path), nil, map[string]any{"stdin": "pipe"})
	t.Cleanup(func() { s.Stop(t, l.SessionID) })
	d := &debugged{t, s, l.SessionID}
	r := d.points(args{"add": []any{args{"function": "work", "condition": "i % 150000 == 7"}}})
	if !r.Breakpoints[0].InTarget {
		t.Errorf("%+v", r.Breakpoints[0])
	}
	d.input("go\n")
	p := d.paused(1)
	for i := range 20 {
		if want := fmt.Sprint(float64(150000*i + 7)); len(p) != 1 || fmt.Sprint(p[0].Arguments["i"]) != want || p[0].Hit != i+1 {
			t.Fatalf("pause %d: %+v, want i = %s", i, p, want)
		}
		p = d.next(args{}).PausedThreads
	}
	if out := d.output(); out != "total 1500000 1, 0 wrong\n" {
		t.Errorf("output %q", out)
	}
}
