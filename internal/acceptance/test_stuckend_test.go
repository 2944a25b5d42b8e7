package acceptance

import (
	"slices"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// TestStuckEnds: a test that is shown never to go on is told to whoever waits, and its run is ended long before its
// time, with its stacks. Before, it was kept to its limit, here two minutes, and a wait slept on although the verdict
// was there.
func TestStuckEnds(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	waits := strobetest.BuildSource(t, "cpp", "gcc-O0", "waits", readTestdata(t, "waits.cpp"), "-pthread")
	loops := strobetest.BuildSource(t, "cpp", "gcc-O0", "loops", readTestdata(t, "loops.cpp"), "-pthread")
	const long = 120000
	for _, c := range []struct {
		name, what, why string
		a               args
	}{
		{"locks", "(command)", "deadlock: ", args{"command": waits + " stuck mutexes"}},
		{"pipe", "(command)", "pipe", args{"command": waits + " stuck pipeempty"}},
		{"loop", "(command)", "infinite loop: find", args{"command": loops + " stuck search"}},
		// it takes next to no processor time
		{"naps", "(command)", "infinite loop: stuck", args{"command": loops + " stuck naps"}},
		{"traced", "(command)", "deadlock: ", args{"command": waits + " stuck three", "tracePatterns": []string{"main"}}},
		{"go", "TestHangs", "no goroutine can go on", args{}},
		{"python", "test_b", "deadlock", args{"framework": "unittest"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{}
			switch c.name {
			case "go":
				strobetest.NeedCommand(t, "go")
				files = map[string]string{"go.mod": "module example.com/hangs\n\ngo 1.21\n",
					"hangs_test.go": "package hangs\n\nimport \"testing\"\n\nfunc TestFirst(t *testing.T) {}\n\nfunc TestHangs(t " +
						"*testing.T) { <-make(chan int) }\n\nfunc TestLast(t *testing.T) {}\n"}
			case "python":
				strobetest.NeedCommand(t, "python3")
				files = map[string]string{"test_hang.py": "import threading, unittest\n\nclass Hang(unittest.TestCase):\n    def " +
					"test_a(self):\n        pass\n\n    def test_b(self):\n        lock = threading.Lock()\n        " +
					"lock.acquire()\n        lock.acquire()\n"}
				c.why = "wait for"
			}
			c.a["projectRoot"], c.a["timeout"], c.a["waitMs"] = project(t, files), long, 60000
			var r testAnswer
			s.Call(t, "debug_test", c.a, &r)
			if r.Status != "running" || r.Progress == nil || len(r.Progress.Stuck) != 1 ||
				!strings.Contains(r.Progress.Stuck[0].Diagnosis, c.why) {
				t.Fatalf("the wait ended with %+v %+v", r, r.Progress)
			}
			id := r.TestRunID
			r = testAnswer{}
			s.Call(t, "debug_test", args{"action": "status", "testRunId": id, "waitMs": 60000}, &r)
			if r.Status != "completed" || r.Result == nil || len(r.Result.Stuck) != 1 || r.Result.Summary.DurationMs >= long/2 {
				t.Fatalf("%+v %+v", r, r.Result)
			}
			st := r.Result.Stuck[0]
			if !st.Ended || !strings.Contains(st.Diagnosis, c.why) || len(st.Threads) == 0 || len(st.Threads[0].Stack) == 0 ||
				st.SinceMs > st.ElapsedMs && st.ElapsedMs == 0 {
				t.Errorf("%+v", st)
			}
			if n := len(r.Result.Failures); n != 1 || r.Result.Failures[0].Status != "stuck" ||
				!strings.Contains(r.Result.Failures[0].Message, st.Diagnosis) {
				t.Errorf("%+v", r.Result.Failures)
			} else if f := r.Result.Failures[0]; c.what != "(command)" && f.Name != c.what {
				t.Errorf("%+v, want %s", f, c.what)
			}
			if !slices.ContainsFunc(r.Result.Notes, func(n string) bool { return strings.Contains(n, "onStuck") }) {
				t.Errorf("%q", r.Result.Notes)
			}
		})
	}
}

// TestStuckKept: onStuck keep leaves a stuck test for looking at, and a wait for it does not sleep.
func TestStuckKept(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	waits := strobetest.BuildSource(t, "cpp", "gcc-O0", "waits", readTestdata(t, "waits.cpp"), "-pthread")
	var r testAnswer
	s.Call(t, "debug_test", args{"projectRoot": project(t, nil), "command": waits + " stuck mutexes", "onStuck": "keep",
		"timeout": 120000, "waitMs": 60000}, &r)
	if r.Progress == nil || len(r.Progress.Stuck) != 1 || len(r.Progress.Stuck[0].PIDs) == 0 ||
		!strings.Contains(r.Hint, "debug_launch with pid") {
		t.Fatalf("%+v %+v", r, r.Progress)
	}
	var l strobetest.Launched
	s.Call(t, "debug_launch", args{"pid": r.Progress.Stuck[0].PIDs[0], "projectRoot": strobetest.TargetsDir(t)}, &l)
	s.Call(t, "debug_session", args{"action": "stop", "sessionId": l.SessionID, "kill": false}, nil)
	var again testAnswer
	s.Call(t, "debug_test", args{"action": "status", "testRunId": r.TestRunID, "waitMs": 60000}, &again)
	if again.Status != "running" || len(again.Progress.Stuck) != 1 {
		t.Fatalf("%+v %+v", again, again.Progress)
	}
	s.Call(t, "debug_test", args{"action": "cancel", "testRunId": r.TestRunID}, &again)
}

// TestWaitEndsAtAPause: who waits for a traced run hears that a breakpoint stopped it.
func TestWaitEndsAtAPause(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	path := strobetest.BuildSource(t, "c", "gcc-O0", "steps",
		"#include <stdio.h>\n#include <unistd.h>\nint step(int n) { return n + 1; }\nint main(void) {\n\twhile "+
			"(access(\"go\", F_OK)) usleep(5000);\n\treturn step(-1);\n}\n")
	dir := project(t, nil)
	var r testAnswer
	s.Call(t, "debug_test", args{"projectRoot": dir, "command": path, "tracePatterns": []string{"step"}, "timeout": 60000},
		&r)
	id := r.TestRunID
	strobetest.Eventually(t, endLimit, "its session", func() bool {
		r = testAnswer{}
		s.Call(t, "debug_test", args{"action": "status", "testRunId": id}, &r)
		var list struct{ Sessions []struct{ SessionID string } }
		s.Call(t, "debug_session", args{"action": "list"}, &list)
		return r.SessionID != "" && len(list.Sessions) == 1
	})
	s.Call(t, "debug_breakpoint", args{"sessionId": r.SessionID, "add": []args{{"function": "step"}}}, nil)
	write(t, dir, "go", "", 0o600)
	var paused testAnswer
	s.Call(t, "debug_test", args{"action": "status", "testRunId": id, "waitMs": 60000}, &paused)
	if paused.Progress == nil || len(paused.Progress.Paused) != 1 ||
		!strings.Contains(paused.Progress.Paused[0], "step") || !strings.Contains(paused.Hint, "debug_continue") {
		t.Fatalf("%+v %+v", paused, paused.Progress)
	}
	s.Call(t, "debug_continue", args{"sessionId": r.SessionID, "action": "continue", "waitMs": 0}, nil)
	r = testAnswer{}
	s.Call(t, "debug_test", args{"action": "status", "testRunId": id, "waitMs": 60000}, &r)
	if r.Status != "completed" || r.Result.Summary.Passed != 1 {
		t.Errorf("%+v %+v", r, r.Result)
	}
}
