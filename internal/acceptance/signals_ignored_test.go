package acceptance

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// ignoring waits in system calls that a stop ends and the kernel does not begin again, while signals come that it
// ignores: untraced, none of them wakes anybody.
const ignoring = `#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
enum { EPOLL, SEMAPHORE, RECEIVE, SIGNAL, WRITE, EPOLLSHORT, RECEIVESHORT, SIGNALSHORT, KINDS };
static atomic_int cut[KINDS], ended[KINDS], tids[KINDS];
static int sem, ends[2];
static char big[1 << 20];
__attribute__((noinline)) int work(int i) { return i + 1; }
static int await(int kind)
{
	static _Thread_local int epoll = -1, pair[2];
	struct epoll_event e;
	struct sembuf b = {0, -1, 0};
	struct timespec t = {kind == SIGNAL || kind == SEMAPHORE ? 100 : 0, 250000000};
	sigset_t s;
	char c;
	if (epoll < 0) {
		epoll = epoll_create1(0);
		socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
		struct timeval v = {kind == RECEIVE ? 100 : 0, 250000};
		setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &v, sizeof v);
	}
	sigemptyset(&s);
	sigaddset(&s, SIGUSR2);
	switch (kind) {
	case EPOLL: return epoll_wait(epoll, &e, 1, -1);
	case EPOLLSHORT: return epoll_wait(epoll, &e, 1, 250);
	case SEMAPHORE: return semtimedop(sem, &b, 1, &t);
	case RECEIVE: case RECEIVESHORT: return recv(pair[0], &c, 1, 0);
	case SIGNAL: case SIGNALSHORT: return sigtimedwait(&s, 0, &t);
	}
	return write(ends[1], big, sizeof big) == sizeof big ? 1 : (errno = EINTR, -1);
}
static void *waits(void *a)
{
	int kind = (long)a;
	tids[kind] = syscall(SYS_gettid);
	for (;;) {
		if (await(kind) < 0 && errno == EINTR) cut[kind]++;
		else ended[kind]++;
		work(kind);
	}
}
static void *reads(void *a)
{
	static char some[4096];
	for (;;) {
		read(ends[0], some, sizeof some);
		usleep(500);
	}
}
int main(void)
{
	pthread_t t;
	sigset_t s;
	sigemptyset(&s);
	sigaddset(&s, SIGUSR2);
	sigprocmask(SIG_BLOCK, &s, 0);
	signal(SIGUSR1, SIG_IGN);
	sem = semget(IPC_PRIVATE, 1, 0600);
	pipe(ends);
	pthread_create(&t, 0, reads, 0);
	for (long k = 0; k < KINDS; k++) {
		pthread_create(&t, 0, waits, (void *)k);
		while (!tids[k]) usleep(100);
	}
	for (int i = 0; i < 100; i++) {
		pid_t p = fork();
		if (!p) usleep(2000), _exit(0);
		for (int k = 0; k < KINDS; k++) {
			syscall(SYS_tgkill, getpid(), tids[k], SIGURG);
			syscall(SYS_tgkill, getpid(), tids[k], SIGUSR1);
			syscall(SYS_tgkill, getpid(), tids[k], SIGWINCH);
		}
		waitpid(p, 0, 0);
		usleep(10000);
	}
	semctl(sem, 0, IPC_RMID);
	for (int k = 0; k < KINDS; k++) printf("%d cut short%s\n", cut[k], k >= EPOLLSHORT && !ended[k] ? ", never ended" : "");
	fflush(stdout);
	_exit(0);
}
`

// TestIgnoredSignals: signals that a program ignores wake its threads, as they are traced, and it does not see that. A
// wait with a time ends all the same.
func TestIgnoredSignals(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	path := strobetest.BuildSource(t, "c", "gcc-O1", "ignoring", ignoring)
	l := s.Launch(t, path, filepath.Dir(path), nil, map[string]any{"trace": []string{"work"}})
	s.WaitEnd(t, l.SessionID, time.Minute)
	want := "0 cut short\n0 cut short\n0 cut short\n0 cut short\n0 cut short\n0 cut short\n0 cut short\n0 cut short\n"
	if out := s.Output(t, l.SessionID, "stdout"); out != want {
		t.Errorf("epoll, semaphore, receive, signal, write, and three of them for a while:\n%s", out)
	}
}
