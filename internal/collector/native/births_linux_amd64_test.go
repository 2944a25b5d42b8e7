package native

import (
	"context"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// birthsProgram makes threads and processes all the time, one by one.
const birthsProgram = `
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static long made;
__attribute__((noinline)) long count(long n) { return __sync_add_and_fetch(&made, n); }
static void *run(void *p) { count((long)p); return 0; }
int main(int argc, char **argv) {
	long failed = 0;
	for (long i = 0; i < 400; i++) {
		pthread_t t;
		if (pthread_create(&t, 0, run, (void *)1)) failed++;
		else pthread_join(t, 0);
		if (i % 40 == 0) {
			pid_t pid = fork();
			if (pid == 0) _exit(3);
			int status = 0;
			if (pid < 0 || waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 3) failed++;
		}
	}
	printf("made=%ld failed=%ld\n", made, failed);
	return 0;
}
`

// The first patterns come while the program makes threads: system calls are made in threads of its that may stand in a
// clone.
func TestPatternsDuringBirths(t *testing.T) {
	prog := build(t, "births.c", birthsProgram, "gcc", "-g", "-O1", "-pthread")
	rounds := 5
	if strobetest.Soaks(t, "20 of 25 rounds") {
		rounds = 25
	}
	for i := range rounds {
		sink := newSink(t)
		sink.keep, sink.block = false, true
		s := startProgram(t, testRuntime(t), sink, filepath.Dir(prog), nil, prog)
		for _, pattern := range []string{"count", "run", "@usercode"} {
			if _, err := s.SetTracing(context.Background(),
				collector.Tracing{Probes: []collector.Probe{{Pattern: pattern, Depth: 3}}}); err != nil {
				t.Fatalf("round %d, %s: %v", i, pattern, err)
			}
		}
		s.wait(t)
		if out := s.stdout.String(); out != "made=400 failed=0\n" || s.Exit().Code != 0 {
			t.Fatalf("round %d: %q, exit %+v", i, out, s.Exit())
		}
		checkBalance(t, sink)
	}
}

const birthsAtTheEnd = `
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static void *nothing(void *p) { return p; }
static void *makes(void *p) { for (;;) { pthread_t t; if (pthread_create(&t, 0, nothing, 0) == 0) pthread_detach(t); } }
int main(int argc, char **argv) {
	pthread_t t[3];
	for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, makes, 0);
	struct timespec d = {0, atoi(argv[1]) * 1000};
	nanosleep(&d, 0);
	_exit(3);
}
`

// TestBirthsAtTheEnd: a program that ends while its threads are being born ends, whichever of the kernel's reports
// come.
func TestBirthsAtTheEnd(t *testing.T) {
	prog := build(t, "atend.c", birthsAtTheEnd, "gcc", "-g", "-O1", "-pthread")
	rounds := 15
	if strobetest.Soaks(t, "seven of eight moments") {
		rounds = 120
	}
	for i := range rounds {
		sink := newSink(t)
		sink.keep, sink.block = false, true
		s := startProgram(t, testRuntime(t), sink, filepath.Dir(prog), nil, prog, strconv.Itoa(i*4800/rounds))
		s.wait(t)
		if s.Exit().Code != 3 {
			t.Fatalf("round %d: exit %+v", i, s.Exit())
		}
	}
}
