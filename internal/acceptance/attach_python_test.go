//go:build linux

package acceptance

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/strobe-debug/strobe/internal/daemon"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// till works in four ways and answers each line of its input. At its end it tells what it sees of itself, and whether
// anything that it computed on the way was wrong.
const till = `import os, signal, sys, threading, time, select
class Order:
    def __init__(self, n):
        self.n = n
    def total(self, tax):
        return add(self.n, tax)
def add(a, b):
    return a + b
def crumbs(x):
    return sum([(x + i) * 0.1 for i in range(50)])
wrong = 0
want = [crumbs(x) for x in range(100)]
over = False
def work():
    global wrong
    while not over:
        for x in range(100):
            if crumbs(x) != want[x]:
                wrong += 1
def naps():
    while not over:
        time.sleep(0.003)
def answer(line):
    print("total %d" % Order(int(line)).total(1), flush=True)
def main():
    global over
    mode = sys.argv[1]
    held = threading.Event()
    threads = []
    if mode in ("threads", "busy"):
        threads = [threading.Thread(target=work)]
    if mode == "threads":
        threads += [threading.Thread(target=naps) for _ in range(3)]
        threads.append(threading.Thread(target=held.wait))
    for t in threads:
        t.start()
    hits = []
    signal.signal(signal.SIGUSR1, lambda *a: hits.append(1))
    print("ready", flush=True)
    while True:
        if mode == "busy":
            while not select.select([0], [], [], 0)[0]:
                crumbs(3)
        line = sys.stdin.readline()
        if not line:
            break
        if line == "kill\n":
            os.kill(os.getpid(), signal.SIGUSR1)
            print("signals %d" % len(hits), flush=True)
        elif line == "fork\n":
            pid = os.fork()
            if not pid:
                answer("40")
                os._exit(3)
            print("child %d" % (os.waitpid(pid, 0)[1] >> 8), flush=True)
        else:
            answer(line)
    over = True
    held.set()
    for t in threads:
        t.join()
    print("wrong", wrong, [m for m in sys.modules if "strobe" in m], [v for v in os.environ if "STROBE" in v or "PYTHONPATH" in v],
          sys.path, sys.excepthook is sys.__excepthook__, os._exit.__class__, threading.active_count(), sys.gettrace(), sys.getprofile())
    sys.exit(7)
main()
`

// pid is what the warning of a fork with threads has of the process.
var pid = regexp.MustCompile(`\(pid=\d+\)`)

// pythonRun is a Python program that runs, with its input and output.
type pythonRun struct {
	*exec.Cmd
	in    io.WriteCloser
	pipe  *os.File
	out   *bufio.Reader
	wrote strings.Builder
}

func startPython(t *testing.T, python, dir string, arguments ...string) *pythonRun {
	t.Helper()
	r := &pythonRun{Cmd: exec.Command(python, arguments...)}
	r.Dir, r.Stderr = dir, &r.wrote // whatever stands there is a difference
	in, err := r.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := r.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	r.in, r.pipe, r.out = in, out.(*os.File), bufio.NewReader(out)
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Process.Kill(); _ = r.Wait() })
	r.hears(t, "ready")
	return r
}

// says writes a line to the program, and waits for its answer.
func (r *pythonRun) says(t *testing.T, line, answer string) {
	t.Helper()
	if _, err := io.WriteString(r.in, line+"\n"); err != nil {
		t.Fatal(err)
	}
	r.hears(t, answer)
}

func (r *pythonRun) hears(t *testing.T, want string) {
	t.Helper()
	r.patient(t)
	if got, err := r.out.ReadString('\n'); got != want+"\n" {
		t.Fatalf("the program says %q, want %q: %v; stderr %q", got, want, err, r.wrote.String())
	}
}

// patient bounds the next read of what the program says.
func (r *pythonRun) patient(t *testing.T) {
	t.Helper()
	if err := r.pipe.SetReadDeadline(time.Now().Add(endLimit)); err != nil {
		t.Fatal(err)
	}
}

// ends closes the program's input, and returns what it says then and how it ends.
func (r *pythonRun) ends(t *testing.T) string {
	t.Helper()
	if err := r.in.Close(); err != nil {
		t.Fatal(err)
	}
	r.patient(t)
	rest, err := io.ReadAll(r.out)
	if err != nil {
		t.Fatal(err)
	}
	err = r.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s%s%v", rest, r.wrote.String(), r.ProcessState)
}

// has is what a process has of ours or of its own: threads, open files, and mappings that are no file's.
func (r *pythonRun) has(t *testing.T) string {
	t.Helper()
	count := func(what string) int {
		list, err := os.ReadDir(fmt.Sprintf("/proc/%d/%s", r.Process.Pid, what))
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", r.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d threads, %d files, strobe in its memory: %v", count("task"), count("fd"),
		strings.Contains(string(maps), "strobe-agent"))
}

// oldestAndNewest are two of pythons: each has another back end of the agent. make soak has all.
func oldestAndNewest(t *testing.T) map[string]string {
	t.Helper()
	found := strobetest.Pythons(t)
	if len(found) > 2 && !strobetest.Soaks(t, "the Python versions between") {
		found = []strobetest.Interpreter{found[0], found[len(found)-1]}
	}
	all := map[string]string{}
	for _, in := range found {
		all[in.Name] = in.Path
	}
	return all
}

type attachAnswer struct {
	SessionID       string
	Runtime         string
	HookedFunctions int
	Warnings        []string
	Capabilities    struct {
		Runtime, RuntimeDetail, FunctionTracing string
		Limitations                             []string
	}
}

// TestAttachPython: a program that runs is traced live, let go, and traced again, while it computes, waits, and does so
// with several threads; it ends as it does by itself.
func TestAttachPython(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	for version, python := range oldestAndNewest(t) {
		for _, mode := range []string{"busy", "sleeps", "threads"} {
			t.Run(version+" "+mode, func(t *testing.T) {
				dir := t.TempDir()
				write(t, dir, "till.py", till, 0o644)
				plain := startPython(t, python, dir, "till.py", mode)
				plain.says(t, "fork", "total 41")
				plain.hears(t, "child 3")
				want := pid.ReplaceAllString(plain.ends(t), "")
				r := startPython(t, python, dir, "till.py", mode)
				before := r.has(t)
				for n := range 3 {
					var l attachAnswer
					s.Call(t, "debug_launch", args{"pid": r.Process.Pid, "projectRoot": dir, "trace": []string{"Order.**"}}, &l)
					if l.Capabilities.Runtime != "python" || l.Capabilities.FunctionTracing != "full" || l.HookedFunctions != 2 ||
						!strings.Contains(l.Capabilities.RuntimeDetail, "CPython "+version) || len(l.Warnings) > 0 {
						t.Errorf("attached: %+v", l)
					}
					r.says(t, "4", "total 5")
					s.Call(t, "debug_trace", args{"sessionId": l.SessionID, "add": []string{"till.add"}}, nil)
					r.says(t, "6", "total 7")
					tree := varying.ReplaceAllString(s.Query(t, l.SessionID, args{"view": "tree", "unfold": true}).Tree, "")
					for _, call := range []string{"till.Order.__init__(self=Order{}, n=4) → null\n",
						"till.Order.total(self=Order{n: 4}, tax=1) → 5\n",
						"till.Order.total(self=Order{n: 6}, tax=1) → 7\n  till.add(a=6, b=1) → 7\n"} {
						if !strings.Contains(tree, call) {
							t.Errorf("attach %d: no %q in\n%s", n, call, tree)
						}
					}
					if n == 1 {
						r.says(t, "fork", "total 41")
						r.hears(t, "child 3")
						if c := s.Count(t, l.SessionID, "function_enter", "till.Order.total"); c != 3 {
							t.Errorf("%d calls with those of a child that was forked", c)
						}
						r.says(t, "kill", "signals 1")
					}
					s.Stop(t, l.SessionID)
					r.says(t, "8", "total 9")
					strobetest.Eventually(t, endLimit, "the program has what it had", func() bool { return r.has(t) == before })
				}
				if diff := cmp.Diff(want, pid.ReplaceAllString(r.ends(t), "")); diff != "" {
					t.Errorf("by itself and after three attaches it ends otherwise:\n%s", diff)
				}
			})
		}
	}
}

// TestAttachedPythonOutlivesADaemon: the daemon and its session are killed; the agent takes itself out, and the next
// daemon attaches again.
func TestAttachedPythonOutlivesADaemon(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	for version, python := range oldestAndNewest(t) {
		t.Run(version, func(t *testing.T) {
			home, dir := strobetest.Home(t), t.TempDir()
			write(t, dir, "till.py", till, 0o644)
			r := startPython(t, python, dir, "till.py", "threads")
			before := r.has(t)
			for range 2 {
				s := strobetest.Connect(t, home)
				var l attachAnswer
				s.Call(t, "debug_launch", args{"pid": r.Process.Pid, "projectRoot": dir, "trace": []string{"Order.**"}}, &l)
				r.says(t, "4", "total 5")
				if n := s.Count(t, l.SessionID, "function_enter", "till.Order.total"); n != 1 {
					t.Errorf("%d calls", n)
				}
				if err := syscall.Kill(daemon.HolderPID(home), syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
				strobetest.Eventually(t, endLimit, "the agent is gone",
					func() bool { return strings.HasPrefix(r.has(t), strings.SplitAfter(before, "files")[0]) })
				r.says(t, "8", "total 9")
			}
			s := strobetest.Connect(t, home)
			defer s.StopDaemon(t)
			if out := r.ends(t); !strings.Contains(out, "wrong 0 []") || !strings.HasSuffix(out, "exit status 7") {
				t.Errorf("it ended %q", out)
			}
		})
	}
}

// TestAttachPythonInC: an interpreter that is in a long call of C lets the agent in behind it, and the answer says so.
func TestAttachPythonInC(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	for version, python := range oldestAndNewest(t) {
		t.Run(version, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "long.py", `import sys, ctypes
def after(n):
    return n + 1
libc = ctypes.PyDLL(None)
print("ready", flush=True)
libc.read(0, ctypes.create_string_buffer(1), 1)  # with the interpreter's lock
for line in sys.stdin:
    print(after(int(line)), flush=True)
`, 0o644)
			r := startPython(t, python, dir, "long.py")
			var l attachAnswer
			s.Call(t, "debug_launch", args{"pid": r.Process.Pid, "projectRoot": dir, "trace": []string{"long.after"}}, &l)
			if !strings.Contains(strings.Join(l.Warnings, "\n"), "has not come into process") {
				t.Errorf("attached: %+v", l)
			}
			if _, err := r.in.Write([]byte(".")); err != nil {
				t.Fatal(err)
			}
			r.says(t, "4", "5")
			strobetest.Eventually(t, endLimit, "a traced call", func() bool {
				r.says(t, "6", "7")
				return s.Count(t, l.SessionID, "function_enter", "long.after") > 0
			})
			s.Stop(t, l.SessionID)
			if out := r.ends(t); out != "exit status 0" {
				t.Errorf("it ended %q", out)
			}
		})
	}
}

// TestAttachPythonRefused: where no agent can come in, the answer says why, and the program goes on.
func TestAttachPythonRefused(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	old, err := filepath.Glob(filepath.Join(home, ".pyenv/versions/3.[67]*/bin/python"))
	if err != nil || len(old) == 0 {
		strobetest.Lack(t, "no Python 3.6 or 3.7 is here")
	}
	for _, python := range old {
		dir := t.TempDir()
		write(t, dir, "echo.py", "import sys\nsys.stdout.write('ready\\n'); sys.stdout.flush()\nwhile "+
			"sys.stdin.readline():\n    sys.stdout.write('here\\n'); sys.stdout.flush()\n", 0o644)
		r := startPython(t, python, dir, "echo.py")
		err := s.Try("debug_launch", args{"pid": r.Process.Pid, "projectRoot": dir}, nil)
		if !isCode(err, "UNSUPPORTED") || !strings.Contains(err.Error(), "the agent is of 3.8 and newer") {
			t.Errorf("%s: %v", python, err)
		}
		r.says(t, "x", "here")
		if out := r.ends(t); out != "exit status 0" {
			t.Errorf("it ended %q", out)
		}
	}
}

// TestAttachPythonKeptOut: a program whose kernel or user keeps others out of it says so by the answer, and goes on.
func TestAttachPythonKeptOut(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	const echo = "import sys\nprint('ready', flush=True)\nwhile sys.stdin.readline():\n    print('here', flush=True)\n"
	const filter = `import ctypes
libc = ctypes.CDLL(None)
allow = (ctypes.c_uint8 * 8)(6, 0, 0, 0, 0, 0, 0xff, 0x7f)
class Program(ctypes.Structure):
    _fields_ = [("n", ctypes.c_ushort), ("at", ctypes.c_void_p)]
program = Program(1, ctypes.addressof(allow))
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, ctypes.byref(program)) == 0
`
	for version, python := range oldestAndNewest(t) {
		dir := t.TempDir()
		for name, c := range map[string]struct{ text, code, says string }{
			"stopped":  {echo, "ATTACH_FAILED", "is stopped by a signal"},
			"filtered": {filter + echo, "UNSUPPORTED", "seccomp"},
		} {
			t.Run(version+" "+name, func(t *testing.T) {
				write(t, dir, name+".py", c.text, 0o644)
				r := startPython(t, python, dir, name+".py")
				if name == "stopped" {
					if err := r.Process.Signal(syscall.SIGSTOP); err != nil {
						t.Fatal(err)
					}
				}
				err := s.Try("debug_launch", args{"pid": r.Process.Pid, "projectRoot": dir}, nil)
				if !isCode(err, c.code) || !strings.Contains(err.Error(), c.says) {
					t.Errorf("%v, want %s that says %q", err, c.code, c.says)
				}
				if err := r.Process.Signal(syscall.SIGCONT); err != nil {
					t.Fatal(err)
				}
				r.says(t, "x", "here")
				if out := r.ends(t); out != "exit status 0" {
					t.Errorf("it ended %q", out)
				}
			})
		}
	}
}

// TestPythonForksQuietly: the interpreter warns of threads at a fork from 3.12 on, and must not of the agent's.
func TestPythonForksQuietly(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	for version, python := range oldestAndNewest(t) {
		t.Run(version, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "forks.py", "import os\nfor i in range(5):\n    p = os.fork()\n    if not p: os._exit(0)\n    "+
				"os.waitpid(p, 0)\nprint('done')\n", 0o644)
			l := s.Launch(t, python, dir, []string{"forks.py"}, args{"trace": []string{"@usercode"}, "cwd": dir})
			defer s.Stop(t, l.SessionID)
			s.WaitEnd(t, l.SessionID, endLimit)
			if out, e := s.Output(t, l.SessionID, "stdout"), s.Output(t, l.SessionID, "stderr"); out != "done\n" || e != "" {
				t.Errorf("it wrote %q and %q", out, e)
			}
		})
	}
}
