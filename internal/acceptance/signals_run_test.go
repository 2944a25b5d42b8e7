//go:build linux

package acceptance

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// askedProgram has children that each count what they get, and says it; HOW is h(andle), d(efault), i(gnore).
const askedProgram = `#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static volatile sig_atomic_t got, which;
static void count(int s) { got++; which = s; }
static void rest(long ms) { struct timespec t = {ms / 1000, ms % 1000 * 1000000}; while (nanosleep(&t, &t)) {} }
static int await(void) { for (int i = 0; i < 3000 && !got; i++) rest(10); rest(150); return got; }
int main(int argc, char **argv) {
	int kids = atoi(argv[2]), sum = 0, all[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH};
	struct sigaction a; memset(&a, 0, sizeof a);
	a.sa_handler = *argv[1] == 'h' ? count : *argv[1] == 'i' ? SIG_IGN : SIG_DFL;
	for (unsigned i = 0; i < sizeof all / sizeof *all; i++) sigaction(all[i], &a, 0);
	for (int i = 0; i < kids; i++) if (fork() == 0) _exit(await());
	puts("ready"); fflush(stdout);
	int mine = await();
	for (int i = 0; i < kids; i++) { int st; if (wait(&st) > 0 && WIFEXITED(st)) sum = sum * 10 + WEXITSTATUS(st); }
	printf("signal %d, mine %d, kids %d\n", (int)which, mine, sum);
	return 40 + which;
}
`

// front is a strobe run that a test sends signals to.
type front struct {
	cmd  *exec.Cmd
	pipe io.Closer
	out  *bufio.Reader
	err  bytes.Buffer
}

// inFront runs a command with strobe in front, or without, until it says that it is ready.
func inFront(t *testing.T, home string, arg ...string) *front {
	t.Helper()
	f := &front{cmd: exec.Command(arg[0], arg[1:]...)}
	f.cmd.Env = append(os.Environ(), "STROBE_HOME="+home)
	f.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	f.cmd.Stderr = &f.err
	out, err := f.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	f.pipe, f.out = out, bufio.NewReader(out)
	if err := f.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := f.out.ReadString('\n'); strings.TrimSpace(line) != "ready" {
		f.cmd.Process.Kill()
		t.Fatalf("%v began with %q, %v: %s", arg, line, err, f.err.String())
	}
	return f
}

// end returns what it wrote after that, and how a shell would tell its end.
func (f *front) end(t *testing.T) (string, int) {
	t.Helper()
	limit := time.AfterFunc(endLimit, func() { f.cmd.Process.Kill() })
	defer limit.Stop()
	rest, err := io.ReadAll(f.out)
	if err != nil && !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
	f.cmd.Wait() //nolint:errcheck // the state says it
	code := f.cmd.ProcessState.ExitCode()
	if st := f.cmd.ProcessState.Sys().(syscall.WaitStatus); st.Signaled() {
		code = 128 + int(st.Signal())
	}
	return strings.ReplaceAll(string(rest), "\r", ""), code
}

// TestRunPassesSignals sends strobe run the signals that a terminal, a shell and a supervisor send, and compares with
// the same program alone: what it says, how often each of its processes got the signal, and the exit code. Ctrl-C was a
// SIGKILL, and 137.
func TestRunPassesSignals(t *testing.T) {
	strobetest.NeedPtrace(t)
	t.Parallel()
	// where we run under nohup, both would inherit that it is ignored; what is caught here is not
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	s := strobetest.Start(t, nil)
	bin := strobetest.BuildSource(t, "c", "gcc-O0", "asked", askedProgram)
	type c struct {
		sig  syscall.Signal
		how  string
		kids string
		flag []string
	}
	var cases []c
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1,
		syscall.SIGUSR2} {
		cases = append(cases, c{sig, "h", "2", nil}, c{sig, "d", "0", nil})
	}
	cases = append(cases, c{syscall.SIGWINCH, "h", "1", nil}, c{syscall.SIGINT, "h", "2", []string{"--terminal"}},
		c{syscall.SIGTERM, "d", "1", []string{"--terminal"}},
		c{syscall.SIGINT, "h", "1", []string{"--trace", "count", "--trace", "await"}})
	for _, c := range cases {
		t.Run(fmt.Sprintf("%v %s %s %v", c.sig, c.how, c.kids, c.flag), func(t *testing.T) {
			alone := inFront(t, s.Home, bin, c.how, c.kids)
			syscall.Kill(-alone.cmd.Process.Pid, c.sig)
			want, wantCode := alone.end(t)
			f := inFront(t, s.Home, append(append([]string{s.Bin, "run"}, c.flag...), "--", bin, c.how, c.kids)...)
			f.cmd.Process.Signal(c.sig)
			got, code := f.end(t)
			if code != wantCode || got != want {
				t.Errorf("alone %q with %d, with strobe %q with %d: %s", want, wantCode, got, code, f.err.String())
			}
		})
	}
	t.Run("ignored, then again", func(t *testing.T) {
		f := inFront(t, s.Home, s.Bin, "run", "--timeout", "3s", "--grace", "300ms", "--", bin, "i", "0")
		f.cmd.Process.Signal(syscall.SIGINT)
		f.cmd.Process.Signal(syscall.SIGINT)
		if _, code := f.end(t); code != 128+9 ||
			!strings.Contains(f.err.String(), "it had not ended 300ms after SIGTERM and was killed") {
			t.Errorf("code %d: %s", code, f.err.String())
		}
	})
	t.Run("nobody reads", func(t *testing.T) {
		f := inFront(t, s.Home, s.Bin, "run", "--", "sh", "-c", "echo ready; exec yes")
		f.pipe.Close()
		if _, code := f.end(t); code != 128+13 {
			t.Errorf("code %d: %s", code, f.err.String())
		}
	})
	t.Run("timeout", func(t *testing.T) {
		f := inFront(t, s.Home, s.Bin, "run", "--timeout", "1s", "--signal", "SIGHUP", "--", bin, "h", "1")
		if got, code := f.end(t); code != 40+1 || got != "signal 1, mine 1, kids 1\n" {
			t.Errorf("%q, code %d: %s", got, code, f.err.String())
		}
	})
}

// TestStopAsks: a stop asks first, also of a program that stands at a breakpoint, and says which it was.
func TestStopAsks(t *testing.T) {
	strobetest.NeedPtrace(t)
	t.Parallel()
	s := strobetest.Start(t, nil)
	bin := strobetest.BuildSource(t, "c", "gcc-O0", "asked", askedProgram)
	for _, c := range []struct {
		how, point string
		stop       args
		asked      string
		killed     bool
		code       int
		signal     string
	}{
		{"h", "", nil, "SIGTERM", false, 55, ""},
		{"h", "", args{"signal": "SIGINT"}, "SIGINT", false, 42, ""},
		{"h", "await", nil, "SIGTERM", false, 55, ""},
		{"h", "count", args{"signal": "SIGHUP"}, "SIGHUP", false, 41, ""},
		{"d", "rest", nil, "SIGTERM", false, 0, "SIGTERM"},
		{"i", "", args{"graceMs": 300}, "SIGTERM", true, 0, "SIGKILL"},
		{"h", "", args{"graceMs": 0}, "", true, 0, "SIGKILL"},
	} {
		t.Run(fmt.Sprintf("%s at %s %v", c.how, c.point, c.stop), func(t *testing.T) {
			l := s.Launch(t, bin, t.TempDir(), []string{c.how, "1"}, args{"stopOnEntry": true})
			if c.point != "" {
				s.Call(t, "debug_breakpoint", args{"sessionId": l.SessionID, "add": []any{args{"function": c.point}}}, nil)
			}
			s.Call(t, "debug_continue", args{"sessionId": l.SessionID, "waitMs": 0}, nil)
			if c.point != "count" { // a pause may come before the first line
				strobetest.Eventually(t, endLimit, "its first line or pause", func() bool {
					return s.Query(t, l.SessionID, args{"eventType": []string{"stdout", "pause"}, "limit": 1}).TotalCount > 0 &&
						(c.point == "" || s.Status(t, l.SessionID).Status == "paused")
				})
			}
			if c.point == "count" || c.point == "" {
				strobetest.Eventually(t, endLimit, "its first line",
					func() bool { return s.Count(t, l.SessionID, "stdout", "") > 0 })
			}
			var r struct {
				Asked    string
				Killed   bool
				ExitCode *int
				Signal   string
			}
			s.Call(t, "debug_session", laid(args{"action": "stop", "sessionId": l.SessionID}, c.stop).(args), &r)
			if r.Asked != c.asked || r.Killed != c.killed || r.Signal != c.signal || r.Signal == "" &&
				(r.ExitCode == nil || *r.ExitCode != c.code) {
				t.Errorf("stopped: %+v, exit code %v", r, r.ExitCode)
			}
		})
	}
}

// TestJobControl stands in for a person at a terminal with an interactive shell: Ctrl-Z, bg, fg, Ctrl-C.
func TestJobControl(t *testing.T) {
	strobetest.NeedPtrace(t)
	strobetest.NeedCommand(t, "bash")
	t.Parallel()
	s := strobetest.Start(t, nil)
	bin := strobetest.BuildSource(t, "c", "gcc-O0", "asked", askedProgram)
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		strobetest.Lack(t, "no pseudo-terminal: %v", err)
	}
	defer master.Close()
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	sh := exec.Command("bash", "--norc", "--noprofile", "-i")
	sh.Env = append(os.Environ(), "STROBE_HOME="+s.Home, "PS1=$ ", "TERM=dumb", "HISTFILE=/dev/null")
	sh.Stdin, sh.Stdout, sh.Stderr = tty, tty, tty
	sh.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := sh.Start(); err != nil {
		t.Fatal(err)
	}
	tty.Close()
	seen := make(chan string, 1000)
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf)
			if n > 0 {
				seen <- string(buf[:n])
			}
			if err != nil {
				close(seen)
				return
			}
		}
	}()
	text := ""
	expect := func(what string) {
		t.Helper()
		limit := time.After(endLimit)
		for {
			if _, after, ok := strings.Cut(text, what); ok {
				text = after
				return
			}
			select {
			case part, ok := <-seen:
				if text += part; !ok {
					t.Fatalf("the shell ended, no %q: %s", what, text)
				}
			case <-limit:
				sh.Process.Kill()
				t.Fatalf("no %q: %s", what, text)
			}
		}
	}
	typed := func(s string) {
		if _, err := master.WriteString(s); err != nil {
			t.Fatal(err)
		}
	}
	target := func() int {
		var l struct {
			Sessions []struct {
				PID    int
				Status string
			}
		}
		s.Call(t, "debug_session", args{"action": "list"}, &l)
		return l.Sessions[0].PID
	}
	stopped := func(pid int) bool {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		return bytes.Contains(b, []byte("State:\tT")) || bytes.Contains(b, []byte("State:\tt"))
	}
	front := func() {
		t.Helper()
		strobetest.Eventually(t, endLimit, "the shell to give the terminal away", func() bool {
			g, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPGRP)
			return err == nil && g != sh.Process.Pid
		})
	}
	expect("$ ")
	typed(s.Bin + " run -- " + bin + " h 1\n")
	expect("ready")
	pid := target()
	typed("\x1a")
	expect("Stopped")
	strobetest.Eventually(t, endLimit, "the program to stand", func() bool { return stopped(pid) })
	typed("bg\n")
	strobetest.Eventually(t, endLimit, "the program to go on in the background", func() bool { return !stopped(pid) })
	typed("jobs\n")
	expect("Running")
	expect("h 1 &")
	typed("fg\n")
	front()
	typed("\x1a")
	expect("Stopped")
	typed("fg\n")
	front()
	strobetest.Eventually(t, endLimit, "the program to go on", func() bool { return !stopped(pid) })
	typed("\x03")
	expect("signal 2, mine 1, kids 1")
	expect("$ ")
	typed("echo code=$?\n")
	expect("code=42")
	typed(s.Bin + " run --terminal -- sh -c 'stty size; echo ready; read line; echo got $line; sleep 60'\n")
	expect("ready")
	typed("some text\n")
	expect("got some text")
	typed("\x03")
	expect("$ ")
	typed("echo code=$?; stty -a | grep -c ' echo '\n")
	expect("code=130")
	typed("exit\n")
	sh.Wait() //nolint:errcheck // its last command's code
}
