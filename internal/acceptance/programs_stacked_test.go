package acceptance

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// stackedSource writes for two seconds. Addresses behind its C library's write are on its stack, so that whatever is
// set at write must do with one byte.
const stackedSource = `
#include <unistd.h>
int main(void)
{
	volatile unsigned long at[5];
	for (int i = 0; i < 5; i++) at[i] = (unsigned long)&write + i;
	for (int i = 0; i < 400; i++) {
		if (write(1, "x", 1) != 1) return 1;
		usleep(5000);
	}
	return at[0] == (unsigned long)&write ? 5 : 2;
}
`

// A trap of a pattern's hook stood where the trap of our hook for output stands already, and took what that one meant
// away with it: the program then met a trap that nobody knew, for ever.
func TestPatternOverOutputHook(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	path := strobetest.BuildSource(t, "c", "gcc-O1", "stacked", stackedSource)
	s := strobetest.Start(t, nil)
	for _, order := range [][]string{{"add", "remove"}, {"add", "remove", "add", "remove"}, {"add"}, {"add", "stop"},
		{"add", "remove", "stop"}} {
		cmd := exec.Command(path)
		var out bytes.Buffer
		cmd.Stdout = &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		late := time.AfterFunc(endLimit, func() { cmd.Process.Kill() }) //nolint:errcheck // it has ended
		var l strobetest.Launched
		s.Call(t, "debug_launch", args{"pid": cmd.Process.Pid, "projectRoot": filepath.Dir(path)}, &l)
		for _, what := range order {
			if what == "stop" {
				s.Call(t, "debug_session", args{"action": "stop", "sessionId": l.SessionID}, nil)
				continue
			}
			before := s.Count(t, l.SessionID, "function_enter", "write")
			s.Call(t, "debug_trace", args{"sessionId": l.SessionID, what: []any{"write"}}, nil)
			if what == "add" {
				strobetest.Eventually(t, endLimit, "calls",
					func() bool { return s.Count(t, l.SessionID, "function_enter", "write") > before })
			}
		}
		err := cmd.Wait()
		late.Stop()
		if code := cmd.ProcessState.ExitCode(); code != 5 || out.Len() != 400 {
			t.Errorf("%v: it ended with %d (%v) and %d bytes, want 5 and 400", order, code, err, out.Len())
		}
		if order[len(order)-1] != "stop" {
			s.Call(t, "debug_session", args{"action": "stop", "sessionId": l.SessionID}, nil)
		}
	}
}
