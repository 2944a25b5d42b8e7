package acceptance

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// lockOrders takes locks in the ways that its argument names, the threads one after the other by a semaphore, which
// orders nothing that holds next time. With wait it sums what its threads waited.
const lockOrders = `#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t A = PTHREAD_MUTEX_INITIALIZER, B = PTHREAD_MUTEX_INITIALIZER, C = PTHREAD_MUTEX_INITIALIZER,
	G = PTHREAD_MUTEX_INITIALIZER, E = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_rwlock_t R = PTHREAD_RWLOCK_INITIALIZER, S = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t Q = PTHREAD_COND_INITIALIZER;
static sem_t turn[4];
static const char *mode;
static long long waited;
static int is(const char *m) { return !strcmp(mode, m); }
static long long now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000000000ll + t.tv_nsec; }
__attribute__((noinline)) static void both(pthread_mutex_t *a, pthread_mutex_t *b) {
	pthread_mutex_lock(a); pthread_mutex_lock(b); pthread_mutex_unlock(b); pthread_mutex_unlock(a);
}
__attribute__((noinline)) static void rw(pthread_rwlock_t *a, int wa, pthread_rwlock_t *b, int wb) {
	if (wa) pthread_rwlock_wrlock(a); else pthread_rwlock_rdlock(a);
	if (wb) pthread_rwlock_wrlock(b); else pthread_rwlock_rdlock(b);
	pthread_rwlock_unlock(b); pthread_rwlock_unlock(a);
}
static void *first(void *arg) {
	if (is("gate")) { pthread_mutex_lock(&G); both(&A, &B); pthread_mutex_unlock(&G); }
	else if (is("write")) rw(&R, 0, &S, 1);
	else if (is("read")) rw(&R, 0, &S, 0);
	else if (is("cond")) {
		struct timespec t; clock_gettime(CLOCK_REALTIME, &t); t.tv_nsec = 0; t.tv_sec--;
		pthread_mutex_lock(&A); pthread_mutex_lock(&B);
		pthread_cond_timedwait(&Q, &A, &t);
		pthread_mutex_unlock(&B); pthread_mutex_unlock(&A);
	} else if (is("failed")) {
		pthread_mutex_lock(&E);
		if (pthread_mutex_lock(&E) == 0) abort();
		pthread_mutex_unlock(&E);
		pthread_mutex_lock(&A); pthread_mutex_unlock(&A);
	} else both(&A, &B);
	sem_post(&turn[1]);
	return 0;
}
static void *second(void *arg) {
	sem_wait(&turn[1]);
	if (is("gate")) { pthread_mutex_lock(&G); both(&B, &A); pthread_mutex_unlock(&G); }
	else if (is("three")) both(&B, &C);
	else if (is("write")) rw(&S, 0, &R, 1);
	else if (is("read")) rw(&S, 0, &R, 0);
	else if (is("cond")) both(&A, &B);
	else if (is("failed")) both(&A, &E);
	else if (is("try")) { pthread_mutex_lock(&B); if (!pthread_mutex_trylock(&A)) pthread_mutex_unlock(&A); pthread_mutex_unlock(&B); }
	else if (is("ended")) { pthread_mutex_destroy(&A); pthread_mutex_init(&A, 0); both(&B, &A); }
	else both(&B, &A);
	sem_post(&turn[2]);
	return 0;
}
static void *third(void *arg) { sem_wait(&turn[2]); both(&C, &A); return 0; }
__attribute__((noinline)) static void busy(void) {
	long long from = now();
	pthread_mutex_lock(&A);
	__atomic_add_fetch(&waited, now() - from, __ATOMIC_RELAXED);
	usleep(300);
	pthread_mutex_unlock(&A);
}
static void *waits(void *arg) { for (int i = 0; i < 200; i++) busy(); return 0; }
static void run(int n, void *(*f[])(void *), int apart) {
	pthread_t t[4];
	for (int i = 0; i < n; i++) { pthread_create(&t[i], 0, f[i], 0); if (apart) pthread_join(t[i], 0); }
	for (int i = 0; i < n && !apart; i++) pthread_join(t[i], 0);
}
int main(int c, char **v) {
	mode = v[1];
	for (int i = 0; i < 4; i++) sem_init(&turn[i], 0, 0);
	void *(*some[])(void *) = {first, second, third}, *(*all[])(void *) = {waits, waits, waits, waits};
	if (is("wait")) run(4, all, 0);
	else if (is("alone")) { both(&A, &B); both(&B, &A); }
	else if (is("before")) { both(&B, &A); run(1, some, 0); both(&B, &A); }
	else run(is("three") ? 3 : 2, some, is("joined"));
	printf("%s %lld\n", mode, waited);
	return 0;
}
`

// TestLockOrders: locks that threads take in a circle are told though they never blocked, with both places; what cannot
// block is not. Nothing changes for the program, and nothing is lost.
func TestLockOrders(t *testing.T) {
	strobetest.NeedPtrace(t)
	program := strobetest.BuildSource(t, "c", "gcc-O1", "lock-orders", lockOrders, "-pthread")
	s := strobetest.Start(t, nil)
	for mode, locks := range map[string]string{
		"plain": "A B", "three": "A B C", "write": "R S", "cond": "A B",
		"gate": "", "alone": "", "joined": "", "before": "", "try": "", "read": "", "ended": "", "failed": "",
	} {
		l := s.Launch(t, program, filepath.Dir(program), []string{mode}, args{"trace": []string{"@locks"}})
		if end := s.WaitEnd(t, l.SessionID, 30*time.Second); end.ExitCode == nil || *end.ExitCode != 0 {
			t.Errorf("%s: ended with %+v", mode, end)
		}
		if out := s.Output(t, l.SessionID, "stdout"); out != mode+" 0\n" {
			t.Errorf("%s: wrote %q", mode, out)
		}
		r := locksOf(t, s, l.SessionID)
		if locks == "" {
			if len(r.Inversions) > 0 || r.Orders == 0 {
				t.Errorf("%s cannot block: %d orders, %+v", mode, r.Orders, r.Inversions)
			}
			continue
		}
		if len(r.Inversions) != 1 || len(r.Inversions[0].Locks) != len(strings.Fields(locks)) {
			t.Errorf("%s: %+v, want one circle of %s", mode, r.Inversions, locks)
			continue
		}
		for _, name := range strings.Fields(locks) {
			if !strings.Contains(" "+strings.Join(r.Inversions[0].Locks, " ")+" ", " "+name+" ") {
				t.Errorf("%s: circle of %v, want %s", mode, r.Inversions[0].Locks, locks)
			}
		}
		for _, take := range r.Inversions[0].Takes {
			if len(take.Stack) == 0 || take.ThreadID == 0 || take.Holds == take.Takes ||
				!strings.Contains(strings.Join(take.Stack, " "), ".c:") {
				t.Errorf("%s: a side of it is %+v", mode, take)
			}
		}
		for _, n := range r.NotSeen {
			if strings.Contains(n, "full") {
				t.Errorf("%s: not seen: %s", mode, n)
			}
		}
	}
}

func locksOf(t *testing.T, s *strobetest.Strobe, id string) *collector.LockReport {
	t.Helper()
	var r struct{ Locks *collector.LockReport }
	s.Call(t, "debug_session", args{"action": "status", "sessionId": id, "locks": true}, &r)
	if r.Locks == nil {
		t.Fatal("no locks in the status")
	}
	return r.Locks
}

// TestLockWaits: how long threads wait for a lock is what they measure themselves, by the command and over MCP.
func TestLockWaits(t *testing.T) {
	strobetest.NeedPtrace(t)
	program := strobetest.BuildSource(t, "c", "gcc-O1", "lock-orders", lockOrders, "-pthread")
	s := strobetest.Start(t, nil)
	l := s.Launch(t, program, filepath.Dir(program), []string{"wait"}, args{"trace": []string{"@locks"}})
	s.WaitEnd(t, l.SessionID, 60*time.Second)
	var own int64
	if _, err := fmt.Sscanf(s.Output(t, l.SessionID, "stdout"), "wait %d", &own); err != nil {
		t.Fatal(err)
	}
	r := locksOf(t, s, l.SessionID)
	if len(r.Contention) == 0 || r.Contention[0].Lock != "A" {
		t.Fatalf("waited for %+v, want A first", r.Contention)
	}
	w := r.Contention[0]
	if diff := own - w.TotalNs; diff < -own/10 || diff > own/10 {
		t.Errorf("waited %d ns, the program says %d", w.TotalNs, own)
	}
	if w.Waits == 0 || w.Waiter == 0 || w.Owner == 0 || w.Waiter == w.Owner || len(w.Places) == 0 ||
		!strings.HasPrefix(w.Places[0].Stack[0], "busy (") {
		t.Errorf("waits: %+v", w)
	}

	code, out := strobe(t, s.Home, "", "locks", "--", program, "plain")
	if code != 0 || !strings.Contains(out, "Inversion of ") || !strings.Contains(out, "plain 0\n") {
		t.Errorf("strobe locks = %d: %s", code, out)
	}
	if code, out := strobe(t, s.Home, "", "locks", "--", program, "alone"); code != 1 ||
		!strings.Contains(out, "No inversion among 2 orders") {
		t.Errorf("strobe locks of what cannot block = %d: %s", code, out)
	}
	code, out = strobe(t, s.Home, "", "--json", "locks", "--", program, "plain")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	var last struct{ Locks *collector.LockReport }
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || code != 0 || last.Locks == nil ||
		len(last.Locks.Inversions) != 1 {
		t.Errorf("strobe --json locks = %d, %v: %s", code, err, out)
	}
}

// TestLocksLive: of a program that runs, recording begins when it is asked for, and leaves no trace when it is taken
// away.
func TestLocksLive(t *testing.T) {
	strobetest.NeedPtrace(t)
	program := strobetest.BuildSource(t, "c", "gcc-O1", "locks-live", `#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static pthread_mutex_t A = PTHREAD_MUTEX_INITIALIZER, B = PTHREAD_MUTEX_INITIALIZER, C = PTHREAD_MUTEX_INITIALIZER;
static volatile int go = 1;
static void *w(void *a) {
	for (long n = 0; go; n++) {
		pthread_mutex_lock(&C);
		pthread_mutex_lock(a ? &A : &B); pthread_mutex_unlock(a ? &A : &B);
		pthread_mutex_unlock(&C);
		pthread_mutex_lock(&B); pthread_mutex_lock(&C); pthread_mutex_unlock(&C); pthread_mutex_unlock(&B);
		usleep(100);
		if (!a) break;
	}
	return 0;
}
int main(void) {
	pthread_t t, u;
	char c;
	pthread_create(&t, 0, w, &A);
	while (read(0, &c, 1) == 1) { pthread_create(&u, 0, w, 0); pthread_join(u, 0); puts("done"); fflush(stdout); }
	go = 0;
	pthread_join(t, 0);
	return 7;
}
`, "-pthread")
	s := strobetest.Start(t, nil)
	l := s.Launch(t, program, filepath.Dir(program), nil, args{"stdin": "pipe"})
	var r struct {
		Locks    *collector.LockReport
		Warnings []string
	}
	ask := args{"action": "status", "sessionId": l.SessionID, "locks": true}
	s.Call(t, "debug_session", ask, &r)
	if r.Locks != nil || !strings.Contains(strings.Join(r.Warnings, " "), "from now on") {
		t.Errorf("the first answer: %+v", r)
	}
	s.Call(t, "debug_session", args{"action": "input", "sessionId": l.SessionID, "text": "x"}, nil)
	strobetest.Eventually(t, 20*time.Second, "an inversion of B and C", func() bool {
		got := locksOf(t, s, l.SessionID)
		return len(got.Inversions) == 1 && strings.Contains(strings.Join(got.Inversions[0].Locks, ""), "C")
	})
	s.Call(t, "debug_trace", args{"sessionId": l.SessionID, "remove": []string{"@locks"}}, nil)
	s.Call(t, "debug_session", args{"action": "input", "sessionId": l.SessionID, "text": "x", "eof": true}, nil)
	if end := s.WaitEnd(t, l.SessionID, 30*time.Second); end.ExitCode == nil || *end.ExitCode != 7 {
		t.Errorf("it ended with %+v", end)
	}
	if out := s.Output(t, l.SessionID, "stdout"); out != "done\ndone\n" {
		t.Errorf("it wrote %q", out)
	}
	refused(t, s, "debug_session", args{"action": "list", "locks": true}, "VALIDATION_ERROR", "status")
}

// TestLocksDeadlocked: waits that do not end are told as well, by the names of their locks.
func TestLocksDeadlocked(t *testing.T) {
	strobetest.NeedPtrace(t)
	program := strobetest.BuildSource(t, "c", "gcc-O1", "locks-dead", `#include <pthread.h>
static pthread_mutex_t A = PTHREAD_MUTEX_INITIALIZER, B = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
static void *w(void *a) {
	pthread_mutex_lock(a ? &A : &B);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(a ? &B : &A);
	return 0;
}
int main(void) {
	pthread_t t;
	pthread_barrier_init(&both, 0, 2);
	pthread_create(&t, 0, w, &A);
	w(0);
}
`, "-pthread")
	s := strobetest.Start(t, nil)
	l := s.Launch(t, program, filepath.Dir(program), nil, args{"trace": []string{"@locks"}})
	defer s.Stop(t, l.SessionID)
	strobetest.Eventually(t, 20*time.Second, "waits for A and B", func() bool {
		var names []string
		for _, w := range locksOf(t, s, l.SessionID).Contention {
			names = append(names, w.Lock)
		}
		slices.Sort(names)
		return slices.Equal(names, []string{"A", "B"})
	})
}
