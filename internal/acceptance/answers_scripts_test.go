package acceptance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// TestProgramsThroughScripts: of a program that a script starts, as libtool's and pyenv's do, the launch said that it
// "was stripped", and the status of a Python program that had ended without being asked before said that its agent had
// not come, and of no functions.
func TestProgramsThroughScripts(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	strobetest.NeedCommand(t, "python3")
	dir := project(t, map[string]string{
		"run.sh": "#!/bin/sh\nread line\npython3 a.py\n",
		"a.py":   "def add(a, b):\n    return a + b\nprint(add(1, 2))\n",
	})
	path := filepath.Join(dir, "run.sh")
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	s := strobetest.Start(t, nil)
	l := s.Launch(t, path, dir, nil, args{"trace": []string{"@usercode"}, "stdin": "a\n"})
	said := strings.Join(l.Warnings, "\n")
	if !strings.Contains(said, "run.sh is a script") || strings.Contains(said, "NO_DEBUG_SYMBOLS") {
		t.Errorf("the launch says %q", said)
	}
	s.WaitEnd(t, l.SessionID, 30*time.Second)
	if n := s.Count(t, l.SessionID, "function_exit", "a.add"); n != 1 {
		t.Errorf("%d calls of a.add are recorded, want 1", n)
	}
	exec := s.Launch(t, "/bin/sh", dir, nil, args{"args": []string{"-c", "exec python3 a.py"}, "cwd": dir,
		"trace": []string{"@usercode"}})
	st := struct {
		Hooked       int `json:"hookedFunctions"`
		Capabilities struct{ RuntimeDetail string }
	}{}
	s.Query(t, exec.SessionID, args{"eventType": "stdout", "waitMs": 20000}) // no status: that asks the agent
	s.WaitEnd(t, exec.SessionID, 30*time.Second)
	s.Call(t, "debug_session", args{"action": "status", "sessionId": exec.SessionID}, &st)
	if st.Hooked != 1 || !strings.Contains(st.Capabilities.RuntimeDetail, "CPython 3") {
		t.Errorf("status after the end: %+v", st)
	}
}
