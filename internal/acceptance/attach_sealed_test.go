//go:build linux

package acceptance

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/strobe-debug/strobe/internal/ptrace"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// sealing has a thread whose filter ends the program for what Strobe does in programs; with SIGUSR1 the first thread
// gets it, too.
const sealing = `#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
static volatile long calls;
static volatile sig_atomic_t asked, sealed;
__attribute__((noinline)) long work(long i) { return i + 1; }
static void ask(int s) { (void)s; asked = 1; }
static void seal(void)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 4, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_munmap, 2, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog p = {sizeof f / sizeof *f, f};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p)) _exit(2);
}
static void *computes(void *a)
{
	seal();
	for (;;) calls = work(calls);
}
int main(void)
{
	static char line[64];
	pthread_t t;
	struct sigaction sa = {.sa_handler = ask};
	sigaction(SIGUSR1, &sa, 0);
	pthread_create(&t, 0, computes, 0);
	while (calls == 0) usleep(1000);
	write(1, "ready\n", 6);
	while (read(0, line, 1) != 0) {
		if (asked && !sealed) sealed = 1, seal(), write(1, "sealed\n", 7);
	}
	write(1, "wrong=0\n", 8);
	_exit(0);
}
`

// TestSealedThreads attaches to a program one of whose threads has a seccomp filter, lets it go, and does so while all
// have: no system call is made in a thread whose filter ends the program for it.
func TestSealedThreads(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	p := startLoaded(t, strobetest.BuildSource(t, "c", "gcc-O1", "sealing", sealing))
	for _, sealed := range []bool{false, false, true} {
		var l strobetest.Launched
		s.Call(t, "debug_launch", args{"pid": p.Process.Pid, "projectRoot": "/", "trace": []string{"work"}}, &l)
		until(t, "calls", func() bool { return s.Count(t, l.SessionID, "function_enter", "work") > 0 })
		if sealed {
			p.Process.Signal(syscall.SIGUSR1)
			until(t, "a filter on every thread", func() bool {
				b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Process.Pid))
				return strings.Contains(string(b), "\nSeccomp:\t2")
			})
		}
		s.Stop(t, l.SessionID)
	}
	p.unnoticed(t)
}

// locking has all its memory locked, also what it maps later.
const locking = `#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
__attribute__((noinline)) int work(int i) { return i + 1; }
int main(void)
{
	char c;
	if (mlockall(MCL_CURRENT | MCL_FUTURE)) return perror("mlockall"), 1;
	write(1, "ready\n", 6);
	volatile int n = 0;
	for (int i = 0; i < 100; i++) n = work(n);
	while (read(0, &c, 1) == 1) n = work(c);
	write(1, "wrong=0\n", 8);
	return 0;
}
`

// TestLockedMemory attaches to a program that has its memory locked, and launches it: what Strobe maps in it does not
// fill the machine.
func TestLockedMemory(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	const most = 512 << 10 // kB
	s := strobetest.Start(t, nil)
	path := strobetest.BuildSource(t, "c", "gcc-O1", "locking", locking)
	locked := func(pid int) (n int) {
		t.Helper()
		fmt.Sscan(ptrace.StatusField(pid, "VmLck"), &n)
		return n
	}
	p := startLoaded(t, path)
	var l strobetest.Launched
	s.Call(t, "debug_launch", args{"pid": p.Process.Pid, "projectRoot": "/", "trace": []string{"work"}}, &l)
	if n := locked(p.Process.Pid); n > most || l.HookedFunctions != 1 {
		t.Errorf("attached: %d kB are locked, %+v", n, l)
	}
	s.Stop(t, l.SessionID)
	p.unnoticed(t)
	l = s.Launch(t, path, "/", nil, args{"trace": []string{"work"}, "stdin": "pipe"})
	until(t, "calls", func() bool { return s.Count(t, l.SessionID, "function_exit", "work") == 100 })
	if n := locked(l.PID); n == 0 || n > most {
		t.Errorf("launched: %d kB are locked", n)
	}
	s.Stop(t, l.SessionID)
}
