package native

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/ptrace"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// slowBirths makes threads all the time. Where it may, each gets a network namespace, which takes the kernel
// milliseconds: an attach comes amid most of them.
const slowBirths = `
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile int over;
static void nap(long ns) { struct timespec ts = {0, ns}; nanosleep(&ts, 0); }
__attribute__((noinline)) long work(long n) { __asm__ volatile(""); return n * 3; }
static int lives(void *a) {
  for (long n = 0; n < 300; n++) {
    if (work(n) != n * 3)
      abort();
    nap(100000);
  }
  *(volatile int *)a = 1;
  syscall(SYS_exit, 0);
  return 0;
}
static void *makes(void *a) {
  int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD;
  char *stack = malloc(65536);
  while (!over) {
    volatile int done = 0;
    if (clone(lives, stack + 65536, flags | CLONE_NEWNET, (void *)&done) < 0 &&
        clone(lives, stack + 65536, flags, (void *)&done) < 0)
      abort();
    while (!done)
      nap(500000);
    nap(1000000); // it leaves its stack
  }
  return a;
}
int main(void) {
  pthread_t th[3];
  char c;
  for (int n = 0; n < 3; n++)
    pthread_create(&th[n], 0, makes, 0);
  puts("runs");
  fflush(stdout);
  over = read(0, &c, 1) <= 0;
  for (int n = 0; n < 3; n++)
    pthread_join(th[n], 0);
  return 0;
}
`

// TestAttachAmidBirths: also threads are traced that were being made when their makers were seized. What is patched
// they would meet without us, and end the program.
func TestAttachAmidBirths(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	r := runProgram(t, strobetest.BuildSource(t, "c", "gcc-O2", "slowbirths", slowBirths))
	seen, missed, rt := 0, 0, testRuntime(t)
	for range 12 {
		c := attachTo(t, rt, newSink(t), r.Process.Pid, "work")
		for began := time.Now(); time.Since(began) < 20*time.Millisecond; {
			list, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", r.Process.Pid))
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range list {
				tid, _ := strconv.Atoi(e.Name())
				if seen++; ptrace.TracerOf(tid) == 0 && !ptrace.Ends(tid) {
					missed++
				}
			}
		}
		if err := c.Stop(context.Background(), false); err != nil {
			t.Fatal(err)
		}
	}
	if missed > 0 {
		t.Errorf("%d of %d times a thread was not traced", missed, seen)
	}
	r.end(t)
}
