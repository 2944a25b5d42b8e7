package acceptance

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// TestPausesUnderSignals pauses a program that is interrupted thousands of times a second, at the very condition each
// time: a signal that comes while the agent decides is delivered behind it as it was sent, and no pause is lost for it.
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
		if want := fmt.Sprint(float64(150000*i + 7)); len(p) != 1 || fmt.Sprint(p[0].Arguments["i"]) != want ||
			p[0].Hit != i+1 {
			t.Fatalf("pause %d: %+v, want i = %s", i, p, want)
		}
		p = d.next(args{}).PausedThreads
	}
	if out := d.output(); out != "total 1500000 1, 0 wrong\n" {
		t.Errorf("output %q", out)
	}
}

// TestTracedPointsUnderSignals has a condition and a logpoint decided in the target in functions that are traced: their
// points stand in the hooks' stubs. A signal that comes in such a stub is delivered behind it, and the thread meets the
// point on its way there: passing that by would run on amid an instruction.
func TestTracedPointsUnderSignals(t *testing.T) {
	strobetest.NeedPtrace(t)
	const source = `#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static volatile long ticks, wrong, watched;
__attribute__((noinline, noclone)) long told(long i) { return i * 2 + 1; }
static void tick(int s, siginfo_t *i, void *u) { (void)s, (void)u; ticks++; wrong += i->si_code != SI_TIMER || told(3) != 7; }
__attribute__((noinline, noclone)) long deep(long n) { return n <= 0 ? 0 : 1 + deep(n - 1); }
static void *loop(void *arg)
{
	struct sigevent e = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN};
	e._sigev_un._tid = (int)syscall(SYS_gettid);
	struct itimerspec every = {{0, 2000000}, {0, 2000000}};
	timer_t t;
	timer_create(CLOCK_MONOTONIC, &e, &t);
	timer_settime(t, 0, &every, 0);
	for (long i = 0; i < 120; i++) wrong += deep(i % 30) != i % 30;
	timer_delete(t);
	return arg;
}
int main(void)
{
	char line[8];
	pthread_t t[3];
	struct sigaction a = {.sa_sigaction = tick, .sa_flags = SA_SIGINFO | SA_RESTART};
	sigaction(SIGRTMIN, &a, 0);
	while (fgets(line, sizeof line, stdin) && line[0] != 'q') {
		for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, loop, 0);
		for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
		printf("%d, %ld wrong\n", ticks > 2, wrong);
		fflush(stdout);
	}
	return wrong ? 9 : 5;
}
`
	s := strobetest.Start(t, nil)
	path := strobetest.BuildSource(t, "c", "gcc-O1", "tickedstubs", source)
	l := s.Launch(t, path, filepath.Dir(path), nil, map[string]any{"stdin": "pipe", "trace": []any{"deep", "told"}})
	t.Cleanup(func() { s.Stop(t, l.SessionID) })
	d := &debugged{t, s, l.SessionID}
	d.points(args{"add": []any{
		args{"function": "deep", "condition": "n == 12345"},
		args{"function": "deep", "condition": "n == 29", "message": "at {n}"},
		args{"function": "told", "condition": "i != 3"},
	}})
	d.input("go\ngo\ngo\nq\n")
	if end := s.WaitEnd(t, l.SessionID, time.Minute); end.ExitCode == nil || *end.ExitCode != 5 {
		t.Errorf("it ended as %+v", end)
	}
	if out := s.Output(t, l.SessionID, "stdout"); out != strings.Repeat("1, 0 wrong\n", 3) {
		t.Errorf("output %q", out)
	}
	if n, want := len(d.events("logpoint")), 3*3*4; n != want {
		t.Errorf("%d logpoints, want %d", n, want)
	}
}

// TestSignalsInLongRecords interrupts a program every 2 ms while the agent records hundreds of objects of a call, and
// its handler calls a function that is recorded, too. Stepped out of the agent, each signal took longer than the next
// one needed to come, and was delivered in the midst of the record in the end: the program got no further, and its ring
// was damaged.
func TestSignalsInLongRecords(t *testing.T) {
	strobetest.NeedPtrace(t)
	const source = `#include <map>
#include <string>
#include <vector>
#include <cstdio>
#include <cstdlib>
#include <csignal>
#include <pthread.h>
#include <sys/time.h>
#include <unistd.h>
struct Item { std::string name; std::vector<int> v; std::map<int, std::string> m; };
static volatile long wrong, ticks;
extern "C" __attribute__((noinline)) long told(long n) { __asm__ volatile(""); return n * 2 + 1; }
extern "C" __attribute__((noinline)) long wide(const std::map<std::string, Item> &m, long n) { __asm__ volatile(""); return (long)m.size() + n; }
static void tick(int) { ticks = ticks + 1; if (told(3) != 7) wrong = wrong + 1; }
static std::map<std::string, Item> items;
static void *loop(void *n)
{
	for (long i = 0; i < (long)n || (ticks < 20 && i < 100000); i++) {
		if (wide(items, i) != 30 + i) wrong = wrong + 1;
		if (i >= (long)n) usleep(300);
	}
	return nullptr;
}
int main()
{
	for (int i = 0; i < 30; i++) {
		Item it;
		it.name = "item number " + std::to_string(i) + " with a long name";
		for (int k = 0; k < 20; k++) it.v.push_back(k), it.m[k] = "text " + std::to_string(k);
		items["key " + std::to_string(i)] = it;
	}
	struct sigaction a = {};
	a.sa_handler = tick, a.sa_flags = SA_RESTART;
	sigaction(SIGALRM, &a, nullptr);
	itimerval every = {{0, 2000}, {0, 2000}}, never = {};
	pthread_t t[2];
	sigset_t s;
	sigemptyset(&s), sigaddset(&s, SIGALRM);
	setitimer(ITIMER_REAL, &every, nullptr);
	for (auto &x : t) pthread_create(&x, nullptr, loop, (void *)600L);
	pthread_sigmask(SIG_BLOCK, &s, nullptr);
	for (auto &x : t) pthread_join(x, nullptr);
	setitimer(ITIMER_REAL, &never, nullptr);
	printf("%d, %ld wrong\n", ticks >= 20, wrong);
	return wrong ? 9 : 5;
}
`
	s := strobetest.Start(t, nil)
	path := strobetest.BuildSource(t, "cpp", "gcc-O1", "tickedrecords", source)
	l := s.Launch(t, path, filepath.Dir(path), nil,
		map[string]any{"trace": []any{"wide", "told"}, "serializationDepth": 4})
	if end := s.WaitEnd(t, l.SessionID, time.Minute); end.ExitCode == nil || *end.ExitCode != 5 || len(end.Warnings) > 0 {
		t.Errorf("it ended as %+v", end)
	}
	if out := s.Output(t, l.SessionID, "stdout"); out != "1, 0 wrong\n" {
		t.Errorf("output %q", out)
	}
	s.Stop(t, l.SessionID)
}
