package native

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// TestLooksAtThreadsThatBeginToWait looks at threads that run for a moment and wait for events, or for room in a pipe,
// for another, again and again: one that ran when it was looked at waits by the time it stands, and the kernel ends such
// a wait with EINTR, or with a part of what was to be written.
func TestLooksAtThreadsThatBeginToWait(t *testing.T) {
	strobetest.NeedPtrace(t)
	prog := build(t, "turns.c", `
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>
static atomic_int eintr, turns, shorts;
static int pipes[2];
static char text[1 << 17];
static long now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000000000L + t.tv_nsec; }
__attribute__((noinline)) static void turn(int fd) {
	struct epoll_event e;
	for (long end = now() + 300000; now() < end;) turns++;
	if (epoll_wait(fd, &e, 1, 1) < 0 && errno == EINTR) eintr++;
}
static void *loop(void *p) { int fd = epoll_create1(0); for (int i = 0; i < 1500; i++) turn(fd); return p; }
__attribute__((noinline)) static void put(void) {
	for (long end = now() + 300000; now() < end;) turns++;
	if (write(pipes[1], text, sizeof text) != sizeof text) shorts++;
}
static void *writer(void *p) { for (int i = 0; i < 500; i++) put(); close(pipes[1]); return p; }
static void *reader(void *p) {
	static char got[1 << 16];
	while (read(pipes[0], got, sizeof got) > 0) usleep(500);
	return p;
}
int main(void) {
	pthread_t t[5];
	void *(*of[5])(void *) = {loop, loop, loop, writer, reader};
	if (pipe(pipes)) return 1;
	for (int i = 0; i < 5; i++) pthread_create(&t[i], 0, of[i], 0);
	for (int i = 0; i < 5; i++) pthread_join(t[i], 0);
	printf("eintr=%d short=%d\n", eintr, shorts);
	return 0;
}
`, "gcc", "-g", "-O1", "-pthread")
	s := startProgram(t, testRuntime(t), newSink(t), filepath.Dir(prog), []string{"turn", "put"}, prog)
	looks := 0
	for ended := false; !ended; looks++ {
		if _, err := s.Threads(context.Background()); err != nil {
			select {
			case <-s.Exited():
			case <-time.After(20 * time.Second):
				t.Fatalf("look %d: %v", looks, err)
			}
		}
		select {
		case <-s.Exited():
			ended = true
		default:
		}
	}
	s.wait(t)
	if out := s.stdout.String(); out != "eintr=0 short=0\n" || looks < 20 {
		t.Errorf("output %q, %d looks", out, looks)
	}
}
