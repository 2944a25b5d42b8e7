package native

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
	"github.com/strobe-debug/strobe/internal/waits"
)

const spawnProgram = `
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
static atomic_int good, bad;
static int rounds;
__attribute__((noinline)) static void spawn_one(void) {
	pid_t child;
	int status;
	char *args[] = {"/bin/true", 0};
	if (posix_spawn(&child, args[0], 0, 0, args, environ)) { bad++; return; }
	if (waitpid(child, &status, 0) == child && status == 0) good++; else bad++;
}
static void *spawner(void *p) { for (int i = 0; i < rounds; i++) spawn_one(); return 0; }
static void *slow(void *p) {
	pid_t child = vfork();
	if (child == 0) { sleep(2); _exit(0); }
	int status;
	if (waitpid(child, &status, 0) == child && status == 0) good++; else bad++;
	return 0;
}
int main(int argc, char **argv) {
	pthread_t t[4];
	rounds = atoi(argv[1]);
	pthread_create(&t[3], 0, slow, 0);
	for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, spawner, 0);
	for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
	printf("good=%d bad=%d\n", good, bad);
	return 0;
}
`

// TestThreadsAmongSpawns looks at threads that make processes all the time: a thread in vfork cannot be stopped, and
// its child needs the tracer; the look must come back, and the program not notice.
func TestThreadsAmongSpawns(t *testing.T) {
	strobetest.NeedPtrace(t)
	prog := build(t, "spawn.c", spawnProgram, "gcc", "-g", "-O1", "-pthread")
	s := startProgram(t, testRuntime(t), newSink(t), filepath.Dir(prog), []string{"spawn_one"}, prog, "40")
	looks, longest, vfork := 0, time.Duration(0), false
	for ended := false; !ended; looks++ {
		began := time.Now()
		r, err := s.Threads(context.Background())
		longest = max(longest, time.Since(began))
		if err != nil {
			select {
			case <-s.Exited():
			case <-time.After(20 * time.Second):
				t.Fatalf("look %d: %v", looks, err)
			}
			break
		}
		for _, d := range r.Deadlocks {
			t.Errorf("%s", d.Text)
		}
		vfork = vfork || slices.ContainsFunc(r.Threads, func(one waits.Row) bool {
			return one.WaitingFor != nil && one.WaitingFor.Kind == "child" &&
				strings.Contains(one.WaitingFor.Detail, "until it runs")
		})
		select {
		case <-s.Exited():
			ended = true
		default:
		}
	}
	s.wait(t)
	if out := s.stdout.String(); out != "good=121 bad=0\n" {
		t.Errorf("output %q", out)
	}
	if !vfork {
		t.Error("no thread was seen waiting for its vfork child")
	}
	t.Logf("%d looks, the longest took %v", looks, longest)
}

// TestStoppedThreads: a program that its user stopped is read where it stands, and stays stopped.
func TestStoppedThreads(t *testing.T) {
	strobetest.NeedPtrace(t)
	s := startLocks(t, lockProgram(t, "-O0"), nil, "all")
	kinds(t, s, map[string]string{"semaphore": "semaphore", "timed": "mutex", "main": "pipe"})
	if err := syscall.Kill(s.pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		threadsOf(t, s, func(r *waits.Report) bool {
			spin := row(r, "spin")
			return spin != nil && row(r, "semaphore") != nil &&
				!slices.ContainsFunc(r.Threads, func(one waits.Row) bool { return one.State != waits.Stopped || one.Note != "" })
		})
	}
	if err := syscall.Kill(s.pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	kinds(t, s, map[string]string{"semaphore": "semaphore", "timed": "mutex"})
	finishInterrupted(t, s, 1) // epoll_wait says so after a stop also where nobody traces: signal(7)
}

// TestThreadsEnd: a target that is gone says so.
func TestThreadsEnd(t *testing.T) {
	strobetest.NeedPtrace(t)
	prog := build(t, "first.c", firstProgram, "gcc", "-g")
	s := startProgram(t, testRuntime(t), newSink(t), filepath.Dir(prog), nil, prog)
	s.wait(t)
	strobetest.Eventually(t, 10*time.Second, "the end", func() bool {
		r, err := s.Threads(context.Background())
		return err != nil && strings.Contains(fmt.Sprint(err), "has ended") || err == nil && len(r.Threads) == 0
	})
}

// BenchmarkThreads is the time of one look, at threads that wait, and at those of an unoptimised program, which are
// stopped.
func BenchmarkThreads(b *testing.B) {
	strobetest.NeedPtrace(b)
	for _, flags := range []string{"-O0", "-O2"} {
		prog := build(b, "locks.c", lockPrograms, "gcc", "-g", "-pthread", flags)
		for _, n := range []string{"8", "1000"} {
			b.Run(flags+"/"+n, func(b *testing.B) {
				s := startProgram(b, testRuntime(b), newSink(b), filepath.Dir(prog), nil, prog, "many", n)
				strobetest.Eventually(b, 20*time.Second, "all threads", func() bool {
					r, err := s.Threads(context.Background())
					return err == nil && fmt.Sprint(r.ThreadCount-1) == n
				})
				for b.Loop() {
					if _, err := s.Threads(context.Background()); err != nil {
						b.Fatal(err)
					}
				}
				s.stdin.WriteString("\n")
				s.wait(b)
			})
		}
	}
}

// TestEntered: the call by which a thread came into the C library names the function also where that is on no stack any
// more: sem_wait and pthread_join end in jumps.
func TestEntered(t *testing.T) {
	strobetest.NeedPtrace(t)
	for _, flags := range [][]string{{"-O0"}, {"-O2", "-fno-plt"}} {
		s := startLocks(t, lockProgram(t, flags...), nil, "all")
		kinds(t, s, map[string]string{"semaphore": "semaphore", "timed": "mutex", "main": "pipe", "poller": "poll"})
		// one that the look before stopped may be on its way back
		strobetest.Eventually(t, 20*time.Second, "all threads by their calls", func() bool {
			l, err := s.processes()[0].look(context.Background(), maxThreads)
			if err != nil {
				t.Fatal(err)
			}
			l.asked()
			want := map[string]string{"semaphore": "sem_wait", "reader": "read", "poller": "poll",
				"timed": "pthread_mutex_timedlock"}
			for _, one := range l.seen {
				for i := range one.stack.Frames {
					if name, ok := want[one.stack.Frames[i].Function]; ok && strings.Contains(one.thread.Entered, name) {
						delete(want, one.stack.Frames[i].Function)
					}
				}
			}
			return len(want) == 0
		})
		finishQuietly(t, s)
	}
}

// TestMuslWaits: a C library without unwind tables; kinds are right, and frames that were guessed say so.
func TestMuslWaits(t *testing.T) {
	strobetest.NeedPtrace(t)
	strobetest.NeedCommand(t, "musl-gcc")
	for _, flags := range [][]string{{"-O0"}, {"-O2", "-static"}} {
		prog := build(t, "locks.c", lockPrograms, append([]string{"musl-gcc", "-g", "-pthread"}, flags...)...)
		s := startLocks(t, prog, nil, "all")
		r := threadsOf(t, s, func(r *waits.Report) bool {
			found := map[string]bool{}
			for _, one := range r.Threads {
				if one.WaitingFor != nil {
					found[one.WaitingFor.What()] = true
				}
			}
			for _, w := range []string{"semaphore tokens", "pipe (fd 3)", "socket (fd 5)", "poll of pipe (fd 3)",
				"poll of eventpoll (fd 7)", "sleep 5m0s", "mutex gate"} {
				if !found[w] {
					return false
				}
			}
			return row(r, "spin") != nil
		})
		if len(r.Deadlocks) > 0 {
			t.Errorf("deadlock: %s", r.Deadlocks[0].Text)
		}
		finishQuietly(t, s)
	}
}
