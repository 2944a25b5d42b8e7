package acceptance

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// sends has threads that compute, each sent one signal after the other by the first: those that an instruction may
// raise, one that it may not, and stops with their end. It says which never came.
const sends = `
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <sys/syscall.h>
enum { THREADS = 3 };
static volatile int tids[THREADS];
static _Atomic long came[65];
static void took(int sig) { came[sig]++; }
__attribute__((noinline)) long w0(long n) { return n * 2 + 1; }
__attribute__((noinline)) long w1(long n) { return w0(n) ^ n; }
static void *loop(void *at)
{
	*(volatile int *)at = syscall(SYS_gettid);
	for (long i = 0;; i++) w1(i);
}
int main(int argc, char **argv)
{
	static const int kinds[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGUSR1 };
	long sent = 0, lost = 0, twice = 0;
	pthread_t t;
	struct timespec from, now;
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (int i = 0; i < 6; i++) signal(kinds[i], took);
	for (int i = 0; i < THREADS; i++) {
		pthread_create(&t, 0, loop, (void *)&tids[i]);
		while (!tids[i]) usleep(100);
	}
	for (int n = 0;; n++) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		if ((now.tv_sec - from.tv_sec) * 1000 + (now.tv_nsec - from.tv_nsec) / 1000000 > atoi(argv[1])) break;
		int sig = kinds[n % 6];
		long before = came[sig];
		syscall(SYS_tgkill, getpid(), tids[n % THREADS], sig);
		for (int k = 0; k < 40000 && came[sig] == before; k++) usleep(100);
		if (came[sig] == before) lost++, printf("signal %d never came\n", sig), fflush(stdout);
		if (came[sig] > before + 1) twice++;
		sent++;
		usleep(20);
	}
	printf("%s, %ld lost, %ld twice\n", sent > 2 ? "sent" : "too few", lost, twice);
	fflush(stdout);
	_exit(0);
}
`

// TestSentFaults: a signal that somebody sends is none that an instruction raised: it arrives, once, whatever is done
// in its thread meanwhile.
func TestSentFaults(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	path := strobetest.BuildSource(t, "c", "gcc-O1", "sends", sends, "-pthread", "-w")
	for range 12 {
		l := s.Launch(t, path, filepath.Dir(path), []string{"500"}, nil)
		for s.Status(t, l.SessionID).Status == "running" { // the first of them puts the agent there
			for _, call := range []args{{"add": []any{"w0", "w1"}}, {"remove": []any{"w0"}}} {
				call["sessionId"] = l.SessionID
				s.Try("debug_trace", call, nil) //nolint:errcheck // it may have ended: what counts is what it says
			}
			added := args{"sessionId": l.SessionID, "add": []any{args{"function": "w1", "condition": "n == -5"}}}
			s.Try("debug_breakpoint", added, nil) //nolint:errcheck // as above
		}
		s.WaitEnd(t, l.SessionID, time.Minute)
		if out := s.Output(t, l.SessionID, "stdout"); out != "sent, 0 lost, 0 twice\n" {
			t.Error(out)
		}
		s.Stop(t, l.SessionID)
	}
}
