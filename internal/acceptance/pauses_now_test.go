package acceptance

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// waiters has a thread in each kind of wait, those among them that a stop ends with EINTR, and one that computes. Each
// says what its wait gave.
const waiters = `
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <thread>
#include <vector>
#include <atomic>
#include <mutex>
#include <condition_variable>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>
static std::atomic<bool> over;
static std::atomic<int> ready;
static int pipes[16][2];
static char said[16][80];
static int listener;
static int reader(int k) { char c; ready++; return read(pipes[k][0], &c, 1) == 1 ? 0 : errno; }
static int poller(int k) { pollfd p{pipes[k][0], POLLIN, 0}; ready++; return poll(&p, 1, 100000) == 1 ? 0 : errno; }
static int poller2(int k) { fd_set s; FD_ZERO(&s); FD_SET(pipes[k][0], &s); ready++; return select(pipes[k][0] + 1, &s, 0, 0, 0) == 1 ? 0 : errno; }
static int epoller(int k)
{
	int e = epoll_create1(0);
	epoll_event ev{};
	ev.events = EPOLLIN;
	epoll_ctl(e, EPOLL_CTL_ADD, pipes[k][0], &ev);
	ready++;
	return epoll_wait(e, &ev, 1, -1) == 1 ? 0 : errno;
}
static int sleeper(int) { timespec t{8, 0}; ready++; return nanosleep(&t, 0) == 0 ? 0 : errno; }
static int semaphore(int)
{
	int id = semget(IPC_PRIVATE, 1, 0600);
	sembuf op{0, -1, 0};
	timespec t{8, 0};
	ready++;
	int r = semtimedop(id, &op, 1, &t) == 0 ? 0 : errno; // EAGAIN: its time is up
	semctl(id, 0, IPC_RMID);
	return r == EAGAIN ? 0 : r ? r : -1;
}
static int signals(int)
{
	sigset_t s;
	sigemptyset(&s);
	sigaddset(&s, SIGUSR2);
	timespec t{8, 0};
	ready++;
	return sigtimedwait(&s, 0, &t) == -1 && errno == EAGAIN ? 0 : errno;
}
static std::mutex m;
static std::condition_variable cv;
static int connecter(int k) // to one whose queue is full until main takes what is in it
{
	sockaddr_un a{};
	a.sun_family = AF_UNIX;
	snprintf(a.sun_path + 1, sizeof a.sun_path - 1, "strobe-%d", getpid());
	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	if (bind(listener, (sockaddr *)&a, sizeof a) || listen(listener, 0)) return errno;
	timeval limit{100, 0};
	int first = socket(AF_UNIX, SOCK_STREAM, 0), second = socket(AF_UNIX, SOCK_STREAM, 0);
	setsockopt(second, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
	if (connect(first, (sockaddr *)&a, sizeof a)) return errno;
	ready++;
	return connect(second, (sockaddr *)&a, sizeof a) == 0 ? 0 : errno;
}
static int condition(int) { std::unique_lock<std::mutex> l(m); ready++; cv.wait(l, [] { return over.load(); }); return 0; }
static int computer(int) { volatile unsigned long n = 0; ready++; while (!over) n = n + 1; return n > 0 ? 0 : 1; }
int main()
{
	struct { const char *name; int (*f)(int); } all[] = {{"read", reader}, {"poll", poller}, {"select", poller2}, {"epoll", epoller}, {"nanosleep", sleeper},
		{"semtimedop", semaphore}, {"sigtimedwait", signals}, {"futex", condition}, {"computes", computer}, {"connect", connecter}};
	int n = sizeof all / sizeof *all;
	std::vector<std::thread> t;
	for (int i = 0; i < n; i++) {
		socketpair(AF_UNIX, SOCK_STREAM, 0, pipes[i]);
		t.emplace_back([&, i] { int r = all[i].f(i); snprintf(said[i], sizeof said[i], "%s: %s", all[i].name, r ? strerror(r) : "well"); while (!over) usleep(1000); });
	}
	while (ready < n) usleep(1000);
	puts("ready");
	fflush(stdout);
	char line[8];
	if (!fgets(line, sizeof line, stdin)) return 1;
	over = true;
	{ std::lock_guard<std::mutex> l(m); }
	cv.notify_all();
	if (accept(listener, 0, 0) < 0) return 3;
	for (int i = 0; i < n; i++) if (write(pipes[i][1], "x", 1) != 1) return 2;
	for (auto &th : t) th.join();
	for (int i = 0; i < n; i++) puts(said[i]);
	puts("total");
}
`

// TestPauseNow pauses all threads of a program wherever they are, and one, again and again: no wait of its own sees
// that.
func TestPauseNow(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	d := debug(t, s, "gcc-O0", "waiters", waiters, args{"stdin": "pipe"})
	d.said("ready")
	const threads = 10 // and one that connects, which nothing may stop
	for round := range 4 {
		r := d.next(args{"action": "pause"})
		if len(r.PausedThreads) != threads || r.Status != "paused" {
			t.Fatalf("round %d: %s, %d threads are paused, want %d: %+v", round, r.Status, len(r.PausedThreads), threads, r)
		}
		for _, p := range r.PausedThreads {
			if p.Reason != "pause" || len(p.Backtrace) == 0 {
				t.Errorf("thread %d: reason %s, backtrace %q", p.ThreadID, p.Reason, p.Backtrace)
			}
		}
		if len(r.PausesLater) != 1 || !strings.Contains(r.PausesLater[0].Why, "connects") {
			t.Errorf("round %d: later pause %+v", round, r.PausesLater)
		}
		if all := fmt.Sprint(r.PausedThreads); round == 0 {
			for _, name := range []string{"reader", "poller", "epoller", "sleeper", "semaphore", "signals", "condition",
				"computer", "main"} {
				if !strings.Contains(all, name) {
					t.Errorf("no paused thread is in %s: %s", name, all)
				}
			}
		}
		if again := d.next(args{"action": "pause"}); len(again.PausedThreads) != threads {
			t.Errorf("paused once more: %+v", again)
		}
		if r := d.next(args{"waitMs": 1}); r.Status != "running" {
			t.Fatalf("round %d: let go, the program is %s", round, r.Status)
		}
	}
	main := 0
	for _, p := range d.next(args{"action": "pause"}).PausedThreads {
		if strings.Contains(fmt.Sprint(p.Backtrace), "main (") {
			main = p.ThreadID
		}
	}
	d.next(args{"waitMs": 1})
	r := d.next(args{"action": "pause", "threadId": main})
	if len(r.PausedThreads) != 1 || r.PausedThreads[0].ThreadID != main {
		t.Errorf("one thread: %+v", r.PausedThreads)
	}
	// One event for all that stood at once, and one for each thread that on a busy machine took a moment: each thread is
	// told once for each time.
	told := 0
	events := d.events("pause")
	for _, e := range events {
		if n, several := e["threads"].(float64); several {
			told += int(n)
		} else {
			told++
		}
	}
	if len(events) < 6 || told != 5*threads+1 {
		t.Errorf("%d pause events tell of %d threads, want %d", len(events), told, 5*threads+1)
	}
	d.next(args{"waitMs": 1})
	d.input("x\n")
	out := d.output()
	if strings.Count(out, ": well\n") != 10 {
		t.Errorf("it wrote\n%s", out)
	}
}

// TestPauseNowSteps steps from where a thread was paused amid its computing, and with a function traced that it calls
// all the time.
func TestPauseNowSteps(t *testing.T) {
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	const source = `
#include <cstdio>
static volatile long stop;
__attribute__((noinline)) long twice(long n) { return n + n; }
int main()
{
	long i = 0, sum = 0;
	puts("ready");
	fflush(stdout);
	while (!stop) {
		sum += twice(i); // in
		i++;
	}
	printf("total %d\n", sum != 0);
}
`
	for _, trace := range [][]string{nil, {"twice"}} {
		t.Run(fmt.Sprint(trace), func(t *testing.T) {
			d := debug(t, s, "gcc-O0", "turning", source, args{"trace": trace})
			d.said("ready") // before, it has no source
			for range 5 {
				r := d.next(args{"action": "pause"})
				if len(r.PausedThreads) != 1 {
					t.Fatalf("paused: %+v", r)
				}
				id := r.PausedThreads[0].ThreadID
				for range 4 {
					r = d.next(args{"action": "step-over", "threadId": id})
					if len(r.PausedThreads) != 1 || r.PausedThreads[0].Reason != "step" || r.PausedThreads[0].Line == 0 {
						t.Fatalf("stepped: %+v", r)
					}
				}
				d.next(args{"waitMs": 1})
			}
			d.next(args{"action": "pause"})
			if err := s.Try("debug_memory", args{"sessionId": d.id, "action": "write",
				"targets": []any{args{"variable": "stop", "value": 1}}}, nil); err != nil {
				t.Fatal(err)
			}
			d.next(args{})
			if out := d.output(); out != "ready\ntotal 1\n" {
				t.Errorf("it wrote %q", out)
			}
		})
	}
}

// said waits for a line that the program writes.
func (d *debugged) said(text string) {
	d.t.Helper()
	strobetest.Eventually(d.t, endLimit, "the program to say "+text, func() bool {
		for _, e := range d.events("stdout") {
			if strings.Contains(fmt.Sprint(e["text"]), text) {
				return true
			}
		}
		return false
	})
}

// bearing makes threads, forks, starts programs and takes signals all the time, and counts what went wrong.
const bearing = `
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <spawn.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
static std::atomic<bool> over;
static std::atomic<long> wrong, made[3], ticks;
static void tick(int) { ticks++; }
int main()
{
	struct sigaction sa{};
	sa.sa_handler = tick;
	sa.sa_flags = SA_RESTART;
	sigaction(SIGALRM, &sa, 0);
	itimerval often{{0, 3000}, {0, 3000}};
	setitimer(ITIMER_REAL, &often, 0);
	std::thread threads([] {
		while (!over) { int n = 0; std::thread t([&] { n = 1; }); t.join(); wrong += n != 1; made[0]++; }
	});
	std::thread forks([] {
		while (!over) {
			pid_t p = fork();
			if (p == 0) _exit(7);
			int st = 0;
			if (p < 0 || waitpid(p, &st, 0) != p || WEXITSTATUS(st) != 7) wrong++;
			made[1]++;
		}
	});
	std::thread starts([] {
		while (!over) {
			char name[] = "/bin/true", *argv[] = {name, 0}, *env[] = {0};
			pid_t p = 0;
			int st = 0;
			if (posix_spawn(&p, name, 0, 0, argv, env) || waitpid(p, &st, 0) != p || st) wrong++;
			made[2]++;
		}
	});
	puts("ready");
	fflush(stdout);
	char line[8];
	if (!fgets(line, sizeof line, stdin)) return 1;
	over = true;
	threads.join();
	forks.join();
	starts.join();
	printf("total wrong %ld, enough %d\n", wrong.load(), made[0] > 0 && made[1] > 0 && made[2] > 0 && ticks > 0);
}
`

// TestPauseNowWhileBearing pauses a program that makes threads, forks, starts programs and takes signals: all of it
// stands, what is born last included, until it is let go, and nothing of it goes wrong.
func TestPauseNowWhileBearing(t *testing.T) {
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	d := debug(t, s, "gcc-O0", "bearing", bearing, args{"stdin": "pipe"})
	d.said("ready")
	var status struct{ PIDs []int }
	for round := range 10 {
		d.next(args{"action": "pause"})
		strobetest.Eventually(t, endLimit, "all to stand", func() bool {
			if err := s.Try("debug_session", args{"action": "status", "sessionId": d.id}, &status); err != nil {
				t.Fatal(err)
			}
			return !running(status.PIDs)
		})
		for range 50 {
			if running(status.PIDs) {
				t.Fatalf("round %d: something runs while all is paused", round)
			}
		}
		if r := d.next(args{"waitMs": 1}); r.Status != "running" {
			t.Fatalf("round %d: let go, it is %s: %+v", round, r.Status, r.PausedThreads)
		}
	}
	d.input("x\n")
	if out := d.output(); !strings.Contains(out, "total wrong 0, enough 1\n") {
		t.Errorf("it wrote %q", out)
	}
}

// TestEndsWhilePausedNow ends a session of a program whose threads all stand: it runs on and ends as it does untraced.
func TestEndsWhilePausedNow(t *testing.T) {
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	for _, points := range [][]any{endsInTarget, endsOutside} {
		r := startEnds(t, s, points, 100_000)
		if r := r.next(args{"action": "pause"}); len(r.PausedThreads) < 4 {
			t.Errorf("paused: %+v", r)
		}
		s.Call(t, "debug_session", args{"action": "stop", "sessionId": r.id}, nil)
		r.untouched()
	}
}

// running reports whether a thread of the processes is not stopped by its tracer, and does not wait for a vfork child,
// which nothing stops.
func running(pids []int) bool {
	for _, pid := range pids {
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		for _, file := range tasks {
			b, _ := os.ReadFile(file)
			_, rest, _ := strings.Cut(string(b), ") ")
			if rest != "" && !strings.Contains("tDZX", rest[:1]) {
				return true
			}
		}
	}
	return false
}

// TestChangesForOthers: a client hears what another one does to a session and what the program does, while it waits for
// it.
func TestChangesForOthers(t *testing.T) {
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	d := debug(t, s, "gcc-O0", "paused", pausedProgram, args{"stdin": "pipe"}, "two")
	other := strobetest.Connect(t, s.Home)
	type row struct {
		Seq                    int64
		Kind, By, Reason       string
		BreakpointID, Function string
		Step                   string
		Added                  []string
		ExitCode               *int
	}
	heard := make(chan []row)
	go func() {
		var all []row
		for after := int64(0); ; {
			var page struct {
				Changes    []row
				Last       int64
				More, Over bool
			}
			if err := other.Try("debug_view", args{"action": "changes", "sessionId": d.id, "after": after, "waitMs": 20000},
				&page); err != nil {
				t.Error(err)
				break
			}
			all, after = append(all, page.Changes...), page.Last
			if n := len(all); page.Over || n > 0 && all[n-1].Kind == "exited" {
				break
			}
		}
		heard <- all
	}()
	d.next(args{"action": "pause"}) // where it waits for input
	d.next(args{"waitMs": 1})
	id := d.points(args{"add": []any{args{"function": "divide", "hitCount": 1}}}).Added[0]
	d.input("\n")
	p := d.paused(1)[0]
	d.next(args{"action": "step-out", "threadId": p.ThreadID})
	d.points(args{"remove": []string{"all"}})
	d.next(args{})
	d.output()
	all := <-heard
	var kinds []string
	for i, r := range all {
		if r.Seq != int64(i+1) {
			t.Errorf("number %d is the change %+v", i+1, r)
		}
		kinds = append(kinds, strings.TrimSpace(fmt.Sprint(r.Kind, " ", r.Reason, r.Step)))
		if r.Reason == "breakpoint" && (r.BreakpointID != id || r.By != "program" ||
			!strings.HasPrefix(r.Function, "divide")) || (r.Reason == "step" || r.Reason == "pause" || r.Kind == "launched") &&
			r.By != "strobetest" ||
			r.Kind == "exited" && (r.By != "program" || r.ExitCode == nil || *r.ExitCode != 0) {
			t.Errorf("%+v", r)
		}
	}
	text := strings.Join(kinds, "\n")
	for _, want := range []string{"launched", "paused pause", "resumed", "points-changed", "paused breakpoint",
		"stepped step-out", "paused step", "points-changed", "resumed", "exited"} {
		_, rest, found := strings.Cut(text, want)
		if !found {
			t.Fatalf("no %s, or not behind the others, in\n%s", want, strings.Join(kinds, "\n"))
		}
		text = rest
	}
}
