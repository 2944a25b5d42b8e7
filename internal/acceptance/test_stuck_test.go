package acceptance

import (
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// TestStuck runs programs that stand still for ever, each in its way: they are told as stuck while they run, and why.
func TestStuck(t *testing.T) {
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	path := strobetest.BuildSource(t, "cpp", "gcc-O0", "waits", readTestdata(t, "waits.cpp"), "-pthread")
	for how, want := range map[string]string{
		"mutexes": "deadlock: ", "three": "deadlock: ", "self": "deadlock: ", "owner": "deadlock: ",
		"condvar": "condvar", "join": "join", "semaphore": "semaphore", "barrier": "barrier", "rwlock": "rwlock", "pipefull": "pipe", "pipeempty": "pipe",
		"forever": "sleep of", "pause": "signal", "child": "child", "childpipe": "pipe",
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			dir := project(t, nil)
			var r testAnswer
			s.Call(t, "debug_test", args{"projectRoot": dir, "command": path + " stuck " + how, "timeout": 60000}, &r)
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
			if !strings.Contains(st.Diagnosis, want) || len(st.Threads) == 0 || len(st.Threads[0].Stack) == 0 {
				t.Errorf("%+v, want %s", st, want)
			}
			s.Call(t, "debug_test", args{"action": "cancel", "testRunId": id}, &r)
		})
	}
}

// TestSlowIsNotStuck runs programs that take their time, in ways that look like standing still: none is ever called stuck.
func TestSlowIsNotStuck(t *testing.T) {
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	path := strobetest.BuildSource(t, "cpp", "gcc-O0", "waits", readTestdata(t, "waits.cpp"), "-pthread")
	for _, how := range []string{"cpu", "sleep", "naps", "child", "sleepingchild", "thread", "condvar", "lock", "pipe", "network", "timedwait", "alarm"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			dir := project(t, nil)
			var r testAnswer
			s.Call(t, "debug_test", args{"projectRoot": dir, "command": path + " slow " + how, "timeout": 60000}, &r)
			for id := r.TestRunID; r.Status == "running"; {
				r = testAnswer{}
				s.Call(t, "debug_test", args{"action": "status", "testRunId": id, "waitMs": 200}, &r)
				if r.Progress != nil && len(r.Progress.Stuck) > 0 {
					t.Fatalf("called stuck: %+v", r.Progress.Stuck)
				}
			}
			if r.Status != "completed" || len(r.Result.Stuck) > 0 || r.Result.Summary.Failed > 0 {
				t.Errorf("%+v %+v", r, r.Result)
			}
		})
	}
}

// TestStuckAtItsTimeout: the stacks are in the result of a run that is ended for its time, and its processes are gone.
func TestStuckAtItsTimeout(t *testing.T) {
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	path := strobetest.BuildSource(t, "cpp", "gcc-O0", "waits", readTestdata(t, "waits.cpp"), "-pthread")
	for how, want := range map[string]string{"stuck mutexes": "deadlock: ", "slow naps": "time is up"} {
		r := runTests(t, s, args{"projectRoot": project(t, nil), "command": path + " " + how, "timeout": 3000, "waitMs": 20000})
		if r.Status != "completed" || len(r.Result.Stuck) != 1 || r.Result.Summary.Stuck != 1 || !strings.Contains(r.Result.Stuck[0].Diagnosis, want) || len(r.Result.Stuck[0].Threads) == 0 {
			t.Errorf("%s: %+v %+v", how, r, r.Result)
		}
	}
}
