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
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/daemon"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// loaded is a program under load that counts what is done to it; see testdata/targets/c/loaded.c.
type loaded struct {
	*exec.Cmd
	in     io.Closer
	ended  chan struct{}
	output strings.Builder
}

func startLoaded(t *testing.T, command ...string) *loaded {
	t.Helper()
	l := &loaded{Cmd: exec.Command(command[0], command[1:]...), ended: make(chan struct{})}
	in, err := l.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := l.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	l.in, l.Stderr = in, os.Stderr
	if err := l.Start(); err != nil {
		t.Fatal(err)
	}
	ready := make(chan struct{})
	go func() {
		defer close(l.ended)
		sc := bufio.NewScanner(out)
		for first := true; sc.Scan(); first = false {
			l.output.WriteString(sc.Text() + "\n")
			if first {
				close(ready)
			}
		}
	}()
	t.Cleanup(func() { l.Process.Kill(); <-l.ended; l.Wait() })
	select {
	case <-ready:
	case <-time.After(20 * time.Second):
		t.Fatal("the program says nothing")
	}
	return l
}

// unnoticed ends the program, and fails the test if it noticed anything.
func (l *loaded) unnoticed(t *testing.T) string {
	t.Helper()
	l.in.Close()
	select {
	case <-l.ended:
	case <-time.After(30 * time.Second):
		t.Fatal("the program does not end")
	}
	out := l.output.String()
	if err := l.Wait(); err != nil || !strings.HasSuffix(out, "\nwrong=0\n") {
		t.Errorf("the program ended with %v and wrote %q", err, out[max(0, len(out)-300):])
	}
	return out
}

// TestAttachOverMCP goes through an attached session's life as a client sees it.
func TestAttachOverMCP(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Connect(t, strobetest.Home(t))
	prog := startLoaded(t, strobetest.Build(t, "loaded", "gcc-O1"), "0")
	pid, root := prog.Process.Pid, strobetest.TargetsDir(t)
	var l struct {
		SessionID    string
		PID          int
		Capabilities struct {
			OutputCapture string
			Limitations   []string
		}
		HookedFunctions int
	}
	s.Call(t, "debug_launch", args{"pid": pid, "projectRoot": root, "trace": []string{"tally"}}, &l)
	if l.PID != pid || !strings.HasPrefix(l.SessionID, "loaded-") || l.HookedFunctions != 1 ||
		l.Capabilities.OutputCapture != "partial" || len(l.Capabilities.Limitations) == 0 {
		t.Errorf("attached: %+v", l)
	}
	s.Query(t, l.SessionID, args{"function": args{"equals": "tally"}, "waitMs": 10000})
	s.Call(t, "debug_trace", args{"sessionId": l.SessionID, "add": []string{"mix"}}, nil)
	if page := s.Query(t, l.SessionID, args{"function": args{"equals": "mix"}, "waitMs": 10000}); len(page.Events) == 0 {
		t.Error("no call of a pattern that came later")
	}
	if page := s.Query(t, l.SessionID, args{"eventType": "stdout", "waitMs": 10000}); len(page.Events) == 0 {
		t.Error("no output")
	}
	if err := s.Try("debug_launch", args{"pid": pid, "projectRoot": root}, nil); !isCode(err, "ATTACH_FAILED") ||
		!strings.Contains(err.Error(), l.SessionID) {
		t.Errorf("a second attach: %v", err)
	}
	if err := s.Try("debug_session", args{"action": "input", "sessionId": l.SessionID, "text": "x"}, nil); !isCode(err,
		"VALIDATION_ERROR") {
		t.Errorf("input: %v", err)
	}
	for _, in := range []args{{"projectRoot": root}, {"pid": pid, "command": "x", "projectRoot": root},
		{"pid": pid, "args": []string{"x"}, "projectRoot": root}} {
		if err := s.Try("debug_launch", in, nil); !isCode(err, "VALIDATION_ERROR") {
			t.Errorf("%v: %v", in, err)
		}
	}
	var stop struct {
		Status   string
		Released bool
		Warnings []string
	}
	s.Call(t, "debug_session", args{"action": "stop", "sessionId": l.SessionID, "retain": true}, &stop)
	if !stop.Released || stop.Status != "exited" || len(stop.Warnings) > 0 {
		t.Errorf("stop: %+v", stop)
	}
	if st := s.Status(t, l.SessionID); st.Status != "exited" {
		t.Errorf("status after the stop: %+v", st)
	}
	for tool, in := range map[string]args{"debug_trace": {"add": []string{"tally"}},
		"debug_breakpoint": {"add": []args{{"function": "tally"}}}} {
		in["sessionId"] = l.SessionID
		if err := s.Try(tool, in, nil); !isCode(err, "PROCESS_EXITED") || !strings.Contains(err.Error(), "was let go") {
			t.Errorf("%s of a program that was let go: %v", tool, err)
		}
	}
	// The end of the daemon lets an attached program run on, too.
	s.Call(t, "debug_launch", args{"pid": pid, "projectRoot": root, "trace": []string{"tally"}}, &l)
	s.StopDaemon(t)
	prog.unnoticed(t)
}

// TestAttachedProgramOutlivesADaemon: the daemon is killed while it is attached, again and again; the program runs on,
// and can be attached to by the next one.
func TestAttachedProgramOutlivesADaemon(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	home := strobetest.Home(t)
	// without forks: a child that is being taken over would die with the daemon
	prog := startLoaded(t, strobetest.Build(t, "loaded", "gcc-O1"), "0", "0")
	for range 3 {
		s := strobetest.Connect(t, home)
		var l struct{ SessionID string }
		// What the killed one had begun holds the program until it has noticed that it is alone.
		strobetest.Eventually(t, endLimit, "the program can be attached to", func() bool {
			return s.Try("debug_launch", args{"pid": prog.Process.Pid, "projectRoot": strobetest.TargetsDir(t),
				"trace": []string{"tally"}}, &l) == nil
		})
		if page := s.Query(t, l.SessionID, args{"function": args{"equals": "tally"},
			"waitMs": 10000}); len(page.Events) == 0 {
			t.Error("no call")
		}
		if err := syscall.Kill(daemon.HolderPID(home), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	s := strobetest.Connect(t, home)
	defer s.StopDaemon(t)
	prog.unnoticed(t)
}

// TestAttachRebuilt attaches to a program whose file was replaced since it started: it is the old one's functions that
// count.
func TestAttachRebuilt(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	path := filepath.Join(t.TempDir(), "loaded")
	copyFile(t, strobetest.Build(t, "loaded", "gcc-O1"), path)
	prog := startLoaded(t, path, "0")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	copyFile(t, strobetest.Build(t, "loaded", "gcc-O2"), path)
	var l struct{ SessionID string }
	s.Call(t, "debug_launch", args{"pid": prog.Process.Pid, "projectRoot": strobetest.TargetsDir(t),
		"trace": []string{"tally"}}, &l)
	if page := s.Query(t, l.SessionID, args{"function": args{"equals": "tally"}, "waitMs": 10000}); len(page.Events) == 0 {
		t.Error("no call")
	}
	if !strings.HasPrefix(l.SessionID, "loaded-") {
		t.Errorf("session %s", l.SessionID)
	}
	s.Stop(t, l.SessionID)
	prog.unnoticed(t)
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestAttachIntoAContainer attaches to a program in pid and mount namespaces of its own, in which its file is at
// another place.
func TestAttachIntoAContainer(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	strobetest.NeedCommand(t, "unshare", "mount")
	if err := exec.Command("unshare", "--pid", "--mount", "--fork", "true").Run(); err != nil {
		strobetest.Lack(t, "no namespaces may be made: %v", err)
	}
	s := strobetest.Start(t, nil)
	inside := t.TempDir()
	built := strobetest.Build(t, "loaded", "gcc-O1")
	script := fmt.Sprintf("mount --bind %q %q && exec %q/loaded 0", filepath.Dir(built), inside, inside)
	prog := startLoaded(t, "unshare", "--pid", "--mount", "--fork", "--kill-child", "sh", "-c", script)
	pid := childOf(t, prog.Process.Pid)
	var l struct {
		SessionID string
		PID       int
	}
	s.Call(t, "debug_launch", args{"pid": pid, "projectRoot": strobetest.TargetsDir(t), "trace": []string{"tally"}}, &l)
	if page := s.Query(t, l.SessionID, args{"function": args{"equals": "tally"}, "waitMs": 10000}); len(page.Events) == 0 {
		t.Errorf("no call; status %+v", s.Status(t, l.SessionID))
	}
	if l.PID != pid {
		t.Errorf("pid %d, want %d", l.PID, pid)
	}
	s.Stop(t, l.SessionID)
	prog.unnoticed(t)
}

// childOf waits for a process's only child.
func childOf(t *testing.T, pid int) int {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
		child := 0
		if _, serr := fmt.Sscan(string(b), &child); err == nil && serr == nil {
			return child
		}
	}
	t.Fatalf("process %d has no child", pid)
	return 0
}

// secretProgram lets nobody trace it.
const secretProgram = `
#include <stdio.h>
#include <sys/prctl.h>
int main(void) {
	prctl(PR_SET_DUMPABLE, 0);
	puts("ready");
	fflush(stdout);
	getchar();
	puts("\nwrong=0");
	return 0;
}
`

// TestAttachDenied: a daemon without rights says what is in its way.
func TestAttachDenied(t *testing.T) {
	strobetest.NeedPtrace(t)
	strobetest.NeedRoot(t)
	strobetest.NeedCommand(t, "setpriv")
	const nobody = "65534"
	dir, err := os.MkdirTemp("", "strobe-denied-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	bin, hidden, secret := filepath.Join(dir, "strobe"), filepath.Join(dir, "hidden"), filepath.Join(dir, "secret")
	copyFile(t, strobetest.Binary(t), bin)
	copyFile(t, strobetest.Build(t, "loaded", "gcc-O1"), hidden)
	copyFile(t, strobetest.BuildSource(t, "c", "gcc-O1", "secret", secretProgram), secret)
	for path, mode := range map[string]os.FileMode{dir: 0o777, bin: 0o755, hidden: 0o711, secret: 0o755} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	as := func(command ...string) *exec.Cmd {
		c := exec.Command("setpriv", append([]string{"--reuid", nobody, "--regid", nobody, "--clear-groups"}, command...)...)
		c.Dir = dir
		c.Env = append(os.Environ(), "STROBE_HOME="+filepath.Join(dir, "home"), "HOME="+dir)
		return c
	}
	defer func() {
		if out, err := as(bin, "daemon", "stop").CombinedOutput(); err != nil {
			t.Errorf("stop the daemon: %v: %s", err, out)
		}
	}()
	roots := startLoaded(t, strobetest.Build(t, "loaded", "gcc-O1"), "0")
	unread := startLoaded(t, "setpriv", "--reuid", nobody, "--regid", nobody, "--clear-groups", hidden, "0")
	undumpable := startLoaded(t, "setpriv", "--reuid", nobody, "--regid", nobody, "--clear-groups", secret)
	for _, c := range []struct {
		pid  int
		says string
	}{
		{roots.Process.Pid, "belongs to user 0"},
		{unread.Process.Pid, "may not read"},
		{undumpable.Process.Pid, "not dumpable"},
	} {
		out, err := as(bin, "attach", fmt.Sprint(c.pid)).CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || !strings.Contains(string(out), "PERMISSION_DENIED") ||
			!strings.Contains(string(out), c.says) {
			t.Errorf("attach to %d: %v, %s; want %q", c.pid, err, out, c.says)
		}
	}
	roots.unnoticed(t)
	unread.unnoticed(t)
	undumpable.unnoticed(t)
}

// TestAttachCommand: strobe attach shows output and calls, and detaches when it is interrupted.
func TestAttachCommand(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	prog := startLoaded(t, strobetest.Build(t, "loaded", "gcc-O1"), "0")
	cmd := exec.Command(s.Bin, "attach", "--trace", "tally", fmt.Sprint(prog.Process.Pid))
	cmd.Env = append(os.Environ(), "STROBE_HOME="+s.Home)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var told strings.Builder
	cmd.Stderr = &told
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	sc := bufio.NewScanner(out)
	for n := 0; n < 20 && sc.Scan(); n++ {
		if !strings.HasPrefix(sc.Text(), "tick ") {
			t.Errorf("line %q", sc.Text())
		}
	}
	cmd.Process.Signal(syscall.SIGINT)
	for sc.Scan() {
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("strobe attach: %v\n%s", err, told.String())
	}
	for _, want := range []string{"attached to", "tally(", "detached; it runs on"} {
		if !strings.Contains(told.String(), want) {
			t.Errorf("stderr lacks %q:\n%s", want, told.String())
		}
	}
	prog.unnoticed(t)
}
