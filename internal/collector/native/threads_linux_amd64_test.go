package native

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
	"github.com/strobe-debug/strobe/internal/waits"
)

// threadsOf asks until the answer is as wanted, or fails with the last one.
func threadsOf(t *testing.T, s *started, ready func(*waits.Report) bool) *waits.Report {
	t.Helper()
	var last *waits.Report
	defer func() {
		if t.Failed() && last != nil {
			b, _ := json.MarshalIndent(last, "", " ")
			t.Logf("%s", b)
		}
	}()
	strobetest.Eventually(t, 20*time.Second, "threads as wanted", func() bool {
		r, err := s.Threads(context.Background())
		if err != nil {
			t.Fatalf("threads: %v; output:\n%s", err, s.stdout)
		}
		last = r
		return ready(r)
	})
	return last
}

// row returns the first row whose backtrace has a function.
func row(r *waits.Report, function string) *waits.Row {
	for i := range r.Threads {
		for _, f := range r.Threads[i].Backtrace {
			if strings.HasPrefix(f, function+" ") {
				return &r.Threads[i]
			}
		}
	}
	return nil
}

const lockPrograms = `
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

static struct account { long balance; pthread_mutex_t lock; } accounts[3] = {
	{1, PTHREAD_MUTEX_INITIALIZER}, {2, PTHREAD_MUTEX_INITIALIZER}, {3, PTHREAD_MUTEX_INITIALIZER}};
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER, tree = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t meet;
static sem_t tokens;
static int n, eintr;
static atomic_long spins;
static int pipes[2], pair[2];
static pthread_t first;

__attribute__((noinline)) static void take(struct account *a) { pthread_mutex_lock(&a->lock); atomic_fetch_add(&spins, 1); }
__attribute__((noinline)) static int work(int i) {
	struct account *from = &accounts[i], *to = &accounts[(i + 1) % n];
	take(from);
	if (n > 1) pthread_barrier_wait(&meet);
	take(to);
	return from->balance + to->balance;
}
static void *worker(void *p) { prctl(PR_SET_NAME, "worker"); return (void *)(long)work((long)p); }
static void *writer(void *p) {
	pthread_rwlock_t *mine = p ? &table : &tree, *other = p ? &tree : &table;
	pthread_rwlock_wrlock(mine);
	pthread_barrier_wait(&meet);
	if (p) pthread_rwlock_rdlock(other); else pthread_rwlock_wrlock(other);
	return 0;
}
static void *joined(void *p) { pthread_barrier_wait(&meet); pthread_mutex_lock(&gate); return 0; }
static void *joiner(void *p) { pthread_mutex_lock(&gate); pthread_barrier_wait(&meet); pthread_join(first, 0); return 0; }
static void *leaver(void *p) { pthread_mutex_lock(&gate); return 0; }
static void *waiter(void *p) { pthread_mutex_lock(&gate); pthread_cond_wait(&never, &gate); return 0; }
static void *semaphore(void *p) { sem_wait(&tokens); return 0; }
static void *reader(void *p) { char b; if (read(pipes[0], &b, 1) < 0 && errno == EINTR) eintr++; return 0; }
static void *receiver(void *p) { char b; if (recv(pair[0], &b, 1, 0) < 0 && errno == EINTR) eintr++; return 0; }
static void *poller(void *p) { struct pollfd f = {pipes[0], POLLIN, 0}; if (poll(&f, 1, -1) < 0 && errno == EINTR) eintr++; return 0; }
static void *epoller(void *p) {
	struct epoll_event e = {.events = EPOLLIN};
	int fd = epoll_create1(0);
	epoll_ctl(fd, EPOLL_CTL_ADD, pipes[0], &e);
	if (epoll_wait(fd, &e, 1, -1) < 0 && errno == EINTR) eintr++;
	return 0;
}
static void *sleeper(void *p) { struct timespec t = {300, 0}; if (nanosleep(&t, 0) < 0) eintr++; return 0; }
static void *timed(void *p) {
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec += 300;
	pthread_mutex_timedlock(&gate, &t);
	return 0;
}
__attribute__((noinline)) static void spin(void) { while (atomic_load(&spins) >= 0) spins++; }
static void *spinner(void *p) { spin(); return 0; }
static void *contender(void *p) {
	for (long i = (long)p; spins >= 0; i++) {
		struct account *a = &accounts[i % 2 ? 0 : 1], *b = &accounts[i % 2 ? 1 : 0];
		if (a > b) { struct account *c = a; a = b; b = c; }
		pthread_mutex_lock(&a->lock);
		pthread_mutex_lock(&b->lock);
		spins++;
		pthread_mutex_unlock(&b->lock);
		pthread_mutex_unlock(&a->lock);
	}
	return 0;
}
static void start(void *(*f)(void *), void *arg) { pthread_t t; pthread_create(&t, 0, f, arg); }

int main(int argc, char **argv) {
	const char *what = argv[1];
	n = argc > 2 ? atoi(argv[2]) : 2;
	pthread_barrier_init(&meet, 0, n > 3 ? 2 : n);
	sem_init(&tokens, 0, 0);
	if (pipe(pipes) || socketpair(AF_UNIX, SOCK_STREAM, 0, pair)) return 3;
	setvbuf(stdout, 0, _IOLBF, 0);
	if (!strcmp(what, "mutex")) for (long i = 0; i < n; i++) start(worker, (void *)i);
	if (!strcmp(what, "rwlock")) { start(writer, 0); start(writer, &n); }
	if (!strcmp(what, "join")) { pthread_create(&first, 0, joined, 0); start(joiner, 0); }
	if (!strcmp(what, "gone")) { pthread_t t; pthread_create(&t, 0, leaver, 0); pthread_join(t, 0); start(joined, 0); pthread_barrier_wait(&meet); }
	if (!strcmp(what, "condvar")) start(waiter, 0);
	if (!strcmp(what, "many")) for (int i = 0; i < n; i++) start(i % 2 ? waiter : semaphore, 0);
	if (!strcmp(what, "contend")) for (long i = 0; i < n; i++) start(contender, (void *)i);
	if (!strcmp(what, "all")) {
		pthread_mutex_lock(&gate);
		start(semaphore, 0); start(reader, 0); start(receiver, 0); start(poller, 0); start(epoller, 0); start(sleeper, 0); start(timed, 0); start(spinner, 0);
	}
	printf("ready\n");
	char line[16];
	while (fgets(line, sizeof line, stdin) == 0 && errno == EINTR) eintr++;
	spins = -1000000;
	printf("eintr=%d\n", eintr);
	_exit(0);
}
`

func lockProgram(t *testing.T, flags ...string) string {
	return build(t, "locks.c", lockPrograms, append([]string{"gcc", "-g", "-pthread"}, flags...)...)
}

func startLocks(t *testing.T, prog string, patterns []string, args ...string) *started {
	return startProgram(t, testRuntime(t), newSink(t), filepath.Dir(prog), patterns, append([]string{prog}, args...)...)
}

// finishQuietly ends the program and checks that it never noticed anything.
func finishQuietly(t *testing.T, s *started) {
	t.Helper()
	finishInterrupted(t, s, 0)
}

// finishInterrupted is finishQuietly for a program of which at most so many calls may say that a signal came.
func finishInterrupted(t *testing.T, s *started, most int) {
	t.Helper()
	s.stdin.WriteString("\n")
	s.wait(t)
	out := s.stdout.String()
	_, text, _ := strings.Cut(strings.TrimSuffix(out, "\n"), "eintr=")
	if n, err := strconv.Atoi(text); err != nil || n < 0 || n > most || s.Exit().Code != 0 || s.Exit().Signal != "" {
		t.Errorf("the program noticed: output %q, exit %+v", out, s.Exit())
	}
}

func variants(t *testing.T, run func(t *testing.T, prog string)) {
	strobetest.NeedPtrace(t)
	for _, flags := range []string{"-O0", "-O2", "-O2 -static"} {
		t.Run(flags, func(t *testing.T) { run(t, lockProgram(t, strings.Fields(flags)...)) })
	}
}

// TestDeadlocks: circles are named, with their locks, places and owners; each thread waits for the next.
func TestDeadlocks(t *testing.T) {
	variants(t, func(t *testing.T, prog string) {
		for _, c := range []struct {
			args  []string
			size  int
			says  []string
			trace bool
		}{
			{[]string{"mutex", "2"}, 2, []string{"mutex accounts[0].lock", "mutex accounts[1].lock", "take (locks.c:"}, false},
			{[]string{"mutex", "2"}, 2, []string{"mutex accounts[0].lock", "mutex accounts[1].lock", "take (locks.c:"}, true},
			{[]string{"mutex", "3"}, 3, []string{"accounts[0].lock", "accounts[1].lock", "accounts[2].lock"}, false},
			{[]string{"mutex", "1"}, 1, []string{"mutex accounts[0].lock", "which it holds itself"}, false},
			{[]string{"rwlock"}, 2, []string{"rwlock-read tree", "rwlock-write table", "writer (locks.c:"}, false},
			{[]string{"join"}, 2, []string{"join", "mutex gate", "joiner (locks.c:", "joined (locks.c:"}, false},
			{[]string{"gone"}, 1, []string{"mutex gate", "is gone", "joined (locks.c:"}, false},
		} {
			var patterns []string
			if c.trace {
				patterns = []string{"@usercode"}
			}
			s := startLocks(t, prog, patterns, c.args...)
			r := threadsOf(t, s, func(r *waits.Report) bool { return len(r.Deadlocks) == 1 })
			d := r.Deadlocks[0]
			if len(d.Threads) != c.size || d.Probable {
				t.Errorf("%v: %d threads in the deadlock, probable %v: %s", c.args, len(d.Threads), d.Probable, d.Text)
			}
			for _, w := range c.says {
				if !strings.Contains(d.Text, w) {
					t.Errorf("%v: %q does not say %q", c.args, d.Text, w)
				}
			}
			for i, m := range d.Threads {
				if next := d.Threads[(i+1)%len(d.Threads)].ThreadID; m.HeldBy != next && c.args[0] != "gone" {
					t.Errorf("%v: thread %d waits for %d, want %d", c.args, m.ThreadID, m.HeldBy, next)
				}
			}
			t.Logf("%v: %s", c.args, d.Text)
			finishQuietly(t, s)
		}
	})
}

// TestWaits: what every kind of thread waits for is said, it stands in its function, and none notices, also when
// functions are hooked.
func TestWaits(t *testing.T) {
	variants(t, func(t *testing.T, prog string) {
		for _, patterns := range [][]string{nil, {"@usercode"}} {
			s := startLocks(t, prog, patterns, "all")
			want := map[string]string{"semaphore": "semaphore tokens", "reader": "pipe (fd 3)", "receiver": "socket (fd 5)",
				"poller": "poll of pipe (fd 3)", "epoller": "poll of eventpoll (fd 7)", "sleeper": "sleep 5m0s",
				"timed": "mutex gate", "main": "pipe (fd 0)"}
			r := threadsOf(t, s, func(r *waits.Report) bool {
				for f, what := range want {
					if one := row(r, f); one == nil || one.State != waits.Waiting || one.WaitingFor == nil ||
						one.WaitingFor.What() != what {
						return false
					}
				}
				one := row(r, "spin")
				return one != nil && one.State == waits.Running
			})
			if len(r.Deadlocks) > 0 {
				t.Errorf("deadlocks %+v", r.Deadlocks)
			}
			if w := row(r, "timed").WaitingFor; w.Owner != s.pid || !w.Timed || w.OwnerKnownBy != "lock" {
				t.Errorf("the timed lock: %+v, want owner %d", w, s.pid)
			}
			for _, one := range r.Threads {
				if one.Note != "" || slices.ContainsFunc(one.Backtrace, func(f string) bool { return strings.HasSuffix(f, "?") }) {
					t.Errorf("a stack that is not certain: %+v", one)
				}
			}
			for range 20 {
				if _, err := s.Threads(context.Background()); err != nil {
					t.Fatal(err)
				}
			}
			finishQuietly(t, s)
		}
	})
}

// TestManyThreads: a thousand threads that do the same share rows, and one answer stays small.
func TestManyThreads(t *testing.T) {
	variants(t, func(t *testing.T, prog string) {
		s := startLocks(t, prog, nil, "many", "1000")
		r := threadsOf(t, s, func(r *waits.Report) bool {
			a, b := row(r, "waiter"), row(r, "semaphore")
			return a != nil && a.Count == 500 && b != nil && b.Count == 500
		})
		if r.ThreadCount != 1001 || r.NotShown != 0 || len(r.Threads) > 4 ||
			row(r, "waiter").WaitingFor.What() != "condvar never" {
			b, _ := json.MarshalIndent(r, "", " ")
			t.Errorf("%d threads, %d not shown:\n%s", r.ThreadCount, r.NotShown, b)
		}
		began := time.Now()
		const looks = 5
		for range looks {
			if _, err := s.Threads(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		t.Logf("%v each", time.Since(began)/looks)
		finishQuietly(t, s)
	})
}

// TestContentionIsNoDeadlock: threads that hand locks on are never said to be stuck.
func TestContentionIsNoDeadlock(t *testing.T) {
	variants(t, func(t *testing.T, prog string) {
		s := startLocks(t, prog, nil, "contend", "8")
		for i := range 25 {
			r, err := s.Threads(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Deadlocks) > 0 {
				t.Fatalf("look %d: %s", i, r.Deadlocks[0].Text)
			}
		}
		finishQuietly(t, s)
	})
}
