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

// TestHasNotRun: of patterns that no function was found for, the status of an interpreter's program that had ended said
// nothing: while it ran, one might have been loaded later. Of those by which calls are recorded it says nothing wrong.
func TestHasNotRun(t *testing.T) {
	t.Parallel()
	dir := project(t, map[string]string{
		"run.py": "def main():\n    import late\n    print(late.add(1, 2))\nmain()\n", "late.py": "def add(a, b):\n    return a + b\n",
		"run.js":  "function main() { return require('./late').add(1, 2); }\nconsole.log(main());\n",
		"late.js": "exports.add = (a, b) => a + b;\n",
	})
	s := strobetest.Start(t, nil)
	for program, file := range map[string]string{"python3": "run.py", "node": "run.js"} {
		strobetest.NeedCommand(t, program)
		for pattern, calls := range map[string]int64{"late.**": 1, "file:late.*": 1, "__main__.main": 1, "add": 1, "nowhere.**": 0} {
			l := s.Launch(t, program, dir, []string{file}, args{"cwd": dir, "trace": []string{pattern}})
			said := strings.Join(s.WaitEnd(t, l.SessionID, 30*time.Second).Warnings, "\n")
			if strings.Contains(said, "no function that "+pattern+" names has run") != (calls == 0) {
				t.Errorf("%s, %s: the status says %q", program, pattern, said)
			}
			if n := s.Count(t, l.SessionID, "function_exit", ""); n != calls {
				t.Errorf("%s, %s: %d calls are recorded, want %d", program, pattern, n, calls)
			}
		}
	}
}

// TestCompiledModules: of a pattern that names functions of Python's and more that are compiled, as of packages by mypyc,
// the status said nothing of these.
func TestCompiledModules(t *testing.T) {
	t.Parallel()
	strobetest.NeedCommand(t, "python3")
	dir := project(t, map[string]string{
		"run.py":  "import fast, slow\nprint(fast.one() + slow.one())\n",
		"fast.py": "from math import sin, cos, tan\ndef one():\n    return sin(1)\n",
		"slow.py": "from math import sin\ndef one():\n    return sin(1)\ndef two():\n    pass\n",
	})
	s := strobetest.Start(t, nil)
	for pattern, want := range map[string]bool{"fast.**": true, "slow.**": false} {
		l := s.Launch(t, "python3", dir, []string{"run.py"}, args{"cwd": dir, "trace": []string{pattern}})
		said := strings.Join(append(l.Warnings, s.WaitEnd(t, l.SessionID, 30*time.Second).Warnings...), "\n")
		if got := strings.Contains(said, "are written in C, as fast."); got != want {
			t.Errorf("%s: the status says %q", pattern, said)
		}
		if n := s.Count(t, l.SessionID, "function_exit", ""); n != 1 {
			t.Errorf("%s: %d calls are recorded, want 1", pattern, n)
		}
	}
}
