//go:build linux

package acceptance

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// vforking writes a variable after each vfork, until its standard input ends.
const vforking = `#define _GNU_SOURCE
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>
volatile long written;
int main(int argc, char **argv)
{
	struct pollfd in = {0, POLLIN, 0};
	int often = argc > 1;
	write(1, "ready\n", 6);
	int status = 0;
	while (poll(&in, 1, often ? 0 : 100) == 0 && status == 0) {
		pid_t p = vfork();
		if (!p && often) execl("/bin/true", "true", (char *)0);
		if (!p) usleep(300000), _exit(0);
		waitpid(p, &status, 0);
		written++;
	}
	if (status == 0) write(1, "wrong=0\n", 8);
	return status != 0;
}
`

// TestLetGoWhileItVforks lets a program go whose thread cannot be stopped just then, and has its debug registers set: a
// write that it makes afterwards once ended it.
func TestLetGoWhileItVforks(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	p := startLoaded(t, strobetest.BuildSource(t, "c", "gcc-O1", "vforking", vforking))
	var l strobetest.Launched
	s.Call(t, "debug_launch", args{"pid": p.Process.Pid, "projectRoot": "/"}, &l)
	s.Call(t, "debug_breakpoint", args{"sessionId": l.SessionID, "add": []any{args{"variable": "written"}}}, nil)
	until(t, "a write", func() bool { return s.Count(t, l.SessionID, "variable_write", "") > 0 })
	until(t, "a vfork", func() bool {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/syscall", p.Process.Pid))
		return strings.HasPrefix(string(b), "58 ")
	})
	s.Stop(t, l.SessionID)
	p.unnoticed(t)
}

// TestAttachWhileItVforks attaches to a program that makes nothing but vforks: a system call of ours in a thread that
// was to wait for its child once kept both from going on, for ever. And a child that came while the program was let go
// once met a trap of ours.
func TestAttachWhileItVforks(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	p := startLoaded(t, strobetest.BuildSource(t, "c", "gcc-O1", "vforking", vforking), "often")
	for range 20 {
		var l strobetest.Launched
		s.Call(t, "debug_launch", args{"pid": p.Process.Pid, "projectRoot": "/"}, &l)
		s.Stop(t, l.SessionID)
	}
	p.unnoticed(t)
}

// trapping raises SIGTRAP all the time, by two threads, and counts what its handler takes.
const trapping = `#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>
static atomic_long taken, raised;
static atomic_int ends;
__attribute__((noinline)) long work(long i) { return i + 1; }
static void take(int s) { (void)s; for (int i = 0; i < 100; i++) taken += work(i) == 0; taken++; }
static void *raises(void *a)
{
	while (!ends) {
		raised++;
		__asm__ volatile("int3" ::: "memory");
		work(raised);
	}
	return a;
}
int main(void)
{
	pthread_t t[2];
	char c;
	signal(SIGTRAP, take);
	write(1, "ready\n", 6);
	for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, raises, 0);
	while (read(0, &c, 1) == 1) {}
	ends = 1;
	for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
	printf("wrong=%ld\n", raised - taken);
	return 0;
}
`

// TestAttachAmongTraps attaches to a program that handles traps of its own, and is in that handler most of the time:
// none is lost, and none of ours takes the handler away.
func TestAttachAmongTraps(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	p := startLoaded(t, strobetest.BuildSource(t, "c", "gcc-O1", "trapping", trapping, "-lpthread"))
	for range 15 {
		var l strobetest.Launched
		s.Call(t, "debug_launch", args{"pid": p.Process.Pid, "projectRoot": "/"}, &l)
		s.Stop(t, l.SessionID)
	}
	p.unnoticed(t)
}
