package acceptance

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// TestAttachToATest attaches to the process of a test run that is not traced: the run has the command's own end all the
// same, whether the session sees it, or has let go before.
func TestAttachToATest(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	path := strobetest.BuildSource(t, "c", "gcc-O0", "waiting", `#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int step(int n) { return n + 1; }
int main(int argc, char **argv) {
	FILE *f = fopen("pid", "w");
	fprintf(f, "%d\n", getpid());
	fclose(f);
	for (int n = 0; access(argv[1], F_OK) != 0; n = step(n)) usleep(5000);
	if (argv[2][0] == 'a') abort();
	return atoi(argv[2]);
}
`)
	for _, c := range []struct {
		how    string
		detach bool
		code   int
		signal string
	}{{"7", false, 7, ""}, {"9", true, 9, ""}, {"a", false, 0, "SIGABRT"}, {"0", false, 0, ""}} {
		t.Run(c.how, func(t *testing.T) {
			t.Parallel()
			dir := project(t, nil)
			var r testAnswer
			s.Call(t, "debug_test", args{"projectRoot": dir, "command": path + " go " + c.how, "timeout": 60000}, &r)
			id := r.TestRunID
			pid := 0
			strobetest.Eventually(t, endLimit, "the program", func() bool {
				b, err := os.ReadFile(filepath.Join(dir, "pid"))
				_, scanned := fmt.Sscanf(string(b), "%d\n", &pid)
				return err == nil && scanned == nil
			})
			var l strobetest.Launched
			s.Call(t, "debug_launch", args{"pid": pid, "projectRoot": strobetest.TargetsDir(t), "trace": []string{"step"}}, &l)
			strobetest.Eventually(t, endLimit, "a call",
				func() bool { return s.Count(t, l.SessionID, "function_enter", "step") > 0 })
			if c.detach {
				s.Call(t, "debug_session", args{"action": "stop", "sessionId": l.SessionID, "kill": false}, nil)
			}
			if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			r = testAnswer{}
			s.Call(t, "debug_test", args{"action": "status", "testRunId": id, "waitMs": 25000}, &r)
			if r.Status != "completed" || r.Result == nil || r.Result.ExitCode != c.code || r.Result.Signal != c.signal {
				t.Errorf("%+v %+v, want exit code %d %s", r, r.Result, c.code, c.signal)
			}
			if c.detach {
				return
			}
			if st := s.WaitEnd(t, l.SessionID, endLimit); st.Signal != c.signal || c.signal == "" &&
				(st.ExitCode == nil || *st.ExitCode != c.code) {
				t.Errorf("the session: %+v", st)
			}
		})
	}
}
