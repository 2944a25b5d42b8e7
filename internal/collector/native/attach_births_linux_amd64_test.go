package native

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
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

// execsItself has another image again and again, until its standard input has something.
const execsItself = `
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) long work(long n) { __asm__ volatile(""); return n * 3; }
int main(int argc, char **argv) {
  struct pollfd in = {0, POLLIN, 0};
  char next[32];
  long n = argc > 1 ? atol(argv[1]) : 0;
  if (n == 0) {
    puts("runs");
    fflush(stdout);
  }
  for (long k = 0; k < 200 * (n % 8); k++)
    if (work(k) != k * 3)
      return 2;
  if (poll(&in, 1, n % 2) != 0) {
    puts("wrong=0");
    return 0;
  }
  snprintf(next, sizeof next, "%ld", n + 1);
  execl("/proc/self/exe", argv[0], next, (char *)0);
  return 3;
}
`

// TestAttachToExecs: a program is attached to whatever image it has at the moment, also where it is about to have
// another, and runs on.
func TestAttachToExecs(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	r := runProgram(t, strobetest.BuildSource(t, "c", "gcc-O1", "execsitself", execsItself))
	rt := testRuntime(t)
	for i := range 40 {
		cmd, err := rt.Find(r.Process.Pid)
		if err != nil {
			t.Fatalf("attach %d: %v", i, err)
		}
		cmd.ProjectRoot = filepath.Dir(cmd.Path)
		cmd.Tracing.Probes = []collector.Probe{{Pattern: "work"}}
		c, err := rt.Launch(context.Background(), cmd, newSink(t))
		if err != nil {
			t.Fatalf("attach %d: %v", i, err)
		}
		if err := c.Stop(context.Background(), false); err != nil {
			t.Fatalf("detach %d: %v", i, err)
		}
	}
	if out := r.end(t); out != "runs\nwrong=0\n" {
		t.Errorf("it wrote %q", out)
	}
}
