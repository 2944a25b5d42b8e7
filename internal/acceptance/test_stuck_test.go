package acceptance

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// TestStuck runs programs that stand still for ever, each in its way: they are told as stuck while they run, and why.
func TestStuck(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	path := strobetest.BuildSource(t, "cpp", "gcc-O0", "waits", readTestdata(t, "waits.cpp"), "-pthread")
	diagnoses := map[string]string{
		"mutexes": "deadlock: ", "three": "deadlock: ", "self": "deadlock: ", "owner": "deadlock: ",
		"condvar": "condvar", "join": "join", "semaphore": "semaphore", "barrier": "barrier", "rwlock": "rwlock",
		"pipefull": "pipe", "pipeempty": "pipe",
		"forever": "sleep of", "pause": "signal", "pollnothing": "signal", "selectnothing": "signal", "child": "child",
		"childpipe": "pipe",
		"inherit":   "deadlock: ", "stream": "for mutex stdout, held by", "once": "deadlock: ", "future": "future",
		"flock": "deadlock: ", "lockf": "deadlock: ", "socketpair": "socket", "connection": "socket",
		"eventfd": "poll of eventfd", "epoll": "poll of eventpoll",
	}
	together(t, slices.Sorted(maps.Keys(diagnoses)), func(t *testing.T, how string) {
		st := seenStuck(t, s, args{"projectRoot": project(t, nil), "command": path + " stuck " + how, "timeout": 120000})
		if want := diagnoses[how]; !strings.Contains(st.Diagnosis, want) || len(st.Threads) == 0 ||
			len(st.Threads[0].Stack) == 0 {
			t.Errorf("%+v, want %s", st, want)
		}
	})
}

// TestSlowIsNotStuck runs programs that take their time, in ways that look like standing still: none is ever called
// stuck.
func TestSlowIsNotStuck(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	path := strobetest.BuildSource(t, "cpp", "gcc-O0", "waits", readTestdata(t, "waits.cpp"), "-pthread")
	together(t, []string{"cpu", "sleep", "naps", "child", "sleepingchild", "thread", "condvar", "lock", "pipe", "network",
		"timedwait", "sigtimedwait", "semtimedop", "timer", "alarm", "timedlock", "stray", "strayflag", "straymutex",
		"flockalarm", "recvtimeout", "timerfd"}, func(t *testing.T, how string) {
		neverStuck(t, s, args{"projectRoot": project(t, nil), "command": path + " slow " + how})
	})
}

// TestEndless runs programs that go round for ever: they are told as such while they run, with the function that does.
func TestEndless(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	for _, variant := range []string{"gcc-O0", "gcc-O2"} {
		path := strobetest.BuildSource(t, "cpp", variant, "loops", readTestdata(t, "loops.cpp"), "-pthread")
		for how, in := range map[string]string{
			"flag": "stuck", "empty": "stuck", "counter": "stuck", "list": "length", "search": "find", "blanks": "skip_blanks",
			"retry": "retry", "compare": "stuck",
			"newton": "root", "spinlock": "SpinLock::lock", "yield": "stuck", "naps": "stuck", "each": "", "worker": "",
			"map": "stuck", "stamps": "stuck", "spoon": "livelock", "corridor": "livelock",
		} {
			usual := map[string][]string{"gcc-O0": {"list", "retry", "spinlock", "naps", "worker", "spoon"},
				"gcc-O2": {"flag", "search", "newton", "each"}}
			if !slices.Contains(usual[variant], how) && !strobetest.Soaks(t, "half of the ways at each level") {
				continue // package spin's own tests have six builds
			}
			t.Run(variant+"/"+how, func(t *testing.T) {
				t.Parallel()
				st := seenStuck(t, s, args{"projectRoot": project(t, nil), "command": path + " stuck " + how, "timeout": 120000})
				want := "infinite loop: " + in
				if in == "livelock" {
					want = in + ": "
				}
				if !strings.HasPrefix(st.Diagnosis, want) || len(st.Threads) == 0 || len(st.Threads[0].Stack) == 0 {
					t.Errorf("%+v, want %q", st, want)
				}
			})
		}
	}
}

// TestEndlessTraced: loops are told in a traced run as well, also of functions that are hooked, and that call hooked
// ones.
func TestEndlessTraced(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	path := strobetest.BuildSource(t, "cpp", "gcc-O0", "loops", readTestdata(t, "loops.cpp"), "-pthread")
	for how, want := range map[string]string{"search": "infinite loop: find", "list": "infinite loop: length",
		"retry": "infinite loop: retry", "naps": "infinite loop: stuck", "spoon": "livelock: "} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			st := seenStuck(t, s, args{"projectRoot": project(t, nil), "command": path + " stuck " + how, "timeout": 120000,
				"tracePatterns": []string{"main", "stuck", "find", "length", "retry", "connect_once"}})
			if !strings.HasPrefix(st.Diagnosis, want) || len(st.Threads) == 0 || len(st.Threads[0].Stack) == 0 {
				t.Errorf("%+v, want %q", st, want)
			}
		})
	}
	for _, how := range []string{"collatz", "spinwait"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			neverStuck(t, s, args{"projectRoot": project(t, nil), "command": path + " slow " + how,
				"tracePatterns": []string{"main", "slow"}})
		})
	}
}

// TestBusyIsNotEndless runs programs that take their time with the CPU, or wait for one that does.
func TestBusyIsNotEndless(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	path := strobetest.BuildSource(t, "cpp", "gcc-O2", "loops", readTestdata(t, "loops.cpp"), "-pthread")
	for i, how := range []string{"collatz", "spinwait", "handoff", "alarmedchild", "wait4child", "deadline", "pollwait",
		"sort", "count", "fib", "computes", "series", "text", "cycle", "tickets", "hidden"} {
		if i >= 5 && !strobetest.Soaks(t, "all but five programs") {
			break // package spin's own tests have 27 such functions
		}
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			neverStuck(t, s, args{"projectRoot": project(t, nil), "command": path + " slow " + how})
		})
	}
}

// seenStuck runs tests until one is called stuck, and ends them.
func seenStuck(t *testing.T, s *strobetest.Strobe, what args) stuckTest {
	t.Helper()
	var r testAnswer
	what["onStuck"] = "keep"
	s.Call(t, "debug_test", what, &r)
	id := r.TestRunID
	strobetest.Eventually(t, endLimit, "it to be called stuck", func() bool {
		r = testAnswer{}
		s.Call(t, "debug_test", args{"action": "status", "testRunId": id, "waitMs": 200}, &r)
		return r.Progress == nil || len(r.Progress.Stuck) > 0
	})
	if r.Progress == nil {
		t.Fatalf("it ended: %+v %+v", r, r.Result)
	}
	st := r.Progress.Stuck[0]
	s.Call(t, "debug_test", args{"action": "cancel", "testRunId": id}, &r)
	return st
}

// neverStuck runs tests that pass, none of which is ever called stuck.
func neverStuck(t *testing.T, s *strobetest.Strobe, a args) {
	t.Helper()
	var r testAnswer
	a["timeout"] = 120000
	s.Call(t, "debug_test", a, &r)
	for id := r.TestRunID; r.Status == "running"; {
		r = testAnswer{}
		s.Call(t, "debug_test", args{"action": "status", "testRunId": id, "waitMs": 200}, &r)
		if r.Progress != nil && len(r.Progress.Stuck) > 0 {
			t.Fatalf("called stuck: %+v", r.Progress.Stuck)
		}
	}
	if r.Status != "completed" || len(r.Result.Stuck) > 0 || r.Result.Summary.Failed > 0 || r.Result.Summary.Passed == 0 {
		t.Errorf("%+v %+v", r, r.Result)
	}
}

// TestStuckAtItsTimeout: the stacks are in the result of a run that is ended for its time, and its processes are gone.
func TestStuckAtItsTimeout(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	path := strobetest.BuildSource(t, "cpp", "gcc-O0", "waits", readTestdata(t, "waits.cpp"), "-pthread")
	for how, want := range map[string]string{"stuck mutexes": "deadlock: ", "slow naps": "time is up"} {
		r := runTests(t, s, args{"projectRoot": project(t, nil), "command": path + " " + how, "timeout": 3000,
			"waitMs": 20000})
		if r.Status != "completed" || len(r.Result.Stuck) != 1 || r.Result.Summary.Stuck != 1 ||
			!strings.Contains(r.Result.Stuck[0].Diagnosis, want) || len(r.Result.Stuck[0].Threads) == 0 {
			t.Errorf("%s: %+v %+v", how, r, r.Result)
		}
	}
}
