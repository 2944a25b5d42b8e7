//go:build linux

package acceptance

import (
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// TestAttachPythonAmidForks: a program that forks all the time is not told by Python of threads that are ours, as it was
// where it forked while the agent came in, or went.
func TestAttachPythonAmidForks(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	for version, python := range oldestAndNewest(t) {
		t.Run(version, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "forks.py", `import os, select, warnings
warnings.simplefilter("always")
def code(n):
    return n % 7
def forks(n):
    pid = os.fork()
    if pid == 0:
        os._exit(code(n))
    return os.waitpid(pid, 0)[1] >> 8 == code(n)
print("ready", flush=True)
n, right = 0, True
while not select.select([0], [], [], 0.02)[0]:
    n += 1
    right = forks(n) and right
print("right", right)
`, 0o644)
			r := startPython(t, python, dir, "forks.py")
			for range 3 {
				var l attachAnswer
				s.Call(t, "debug_launch", args{"pid": r.Process.Pid, "projectRoot": dir, "trace": []string{"forks.forks"}}, &l)
				strobetest.Eventually(t, endLimit, "traced calls", func() bool {
					return s.Count(t, l.SessionID, "function_exit", "forks.forks") > 3
				})
				s.Stop(t, l.SessionID)
			}
			if got := r.ends(t); got != "right True\nexit status 0" {
				t.Errorf("it ends with %q", got)
			}
		})
	}
}
