package native

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/ptrace"
	"github.com/strobe-debug/strobe/internal/strobetest"
	"golang.org/x/sys/unix"
)

// momentsProgram waits in the way that its argument names, until its standard input has a byte; then it calls work.
const momentsProgram = `
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) int work(int n) { return n * 2 + 1; }
static int failed(const char *what) { fprintf(stderr, "%s: %s\n", what, strerror(errno)); exit(9); }
static void on_usr1(int sig) { (void)sig; }
static void handler(int sig) { (void)sig; char c; if (read(0, &c, 1) != 1) failed("read in handler"); }
static void *reader(void *arg) { char c; if (read(0, &c, 1) != 1) failed("read"); return arg; }
static void finish(void) { printf("%d\n", work(20)); exit(0); }
static void *survivor(void *arg) { reader(arg); finish(); return arg; }
int main(int argc, char **argv) {
	const char *how = argc > 1 ? argv[1] : "read";
	char c;
	printf("ready %d\n", getpid());
	fflush(stdout);
	if (!strcmp(how, "epoll")) {
		struct epoll_event e = {.events = EPOLLIN};
		int ep = epoll_create1(0);
		epoll_ctl(ep, EPOLL_CTL_ADD, 0, &e);
		if (epoll_wait(ep, &e, 1, -1) != 1) failed("epoll_wait");
	} else if (!strcmp(how, "poll")) {
		struct pollfd p = {.fd = 0, .events = POLLIN};
		if (poll(&p, 1, -1) != 1) failed("poll");
	} else if (!strcmp(how, "select")) {
		fd_set s;
		FD_ZERO(&s);
		FD_SET(0, &s);
		if (select(1, &s, 0, 0, 0) != 1) failed("select");
	} else if (!strcmp(how, "handler")) {
		signal(SIGUSR2, handler);
		raise(SIGUSR2);
		finish();
	} else if (!strcmp(how, "suspend")) {
		sigset_t set, old;
		sigemptyset(&set);
		sigaddset(&set, SIGUSR1);
		sigprocmask(SIG_BLOCK, &set, &old);
		signal(SIGUSR1, on_usr1);
		pid_t pid = fork();
		if (!pid) { if (read(0, &c, 1) == 1) kill(getppid(), SIGUSR1); _exit(0); }
		sigdelset(&old, SIGUSR1);
		if (sigsuspend(&old) != -1 || errno != EINTR) failed("sigsuspend");
		sigprocmask(SIG_BLOCK, 0, &old);
		if (!sigismember(&old, SIGUSR1)) failed("mask");
		int st;
		waitpid(pid, &st, 0);
		finish();
	} else if (!strcmp(how, "vfork")) {
		pthread_t t;
		pthread_create(&t, 0, reader, 0);
		pid_t pid = vfork();
		if (!pid) { execl("/bin/sleep", "sleep", "0.3", (char *)0); _exit(1); }
		pthread_join(t, 0);
		finish();
	} else if (!strcmp(how, "leader")) {
		pthread_t t;
		pthread_create(&t, 0, survivor, 0);
		pthread_exit(0);
	} else if (!strcmp(how, "many")) {
		pthread_attr_t a;
		pthread_attr_init(&a);
		pthread_attr_setstacksize(&a, 65536);
		pthread_t t;
		for (int i = 0; i < 2000; i++)
			if (pthread_create(&t, &a, (void *(*)(void *))(void *)pause, 0)) failed("pthread_create");
	}
	if (read(0, &c, 1) != 1) failed("read");
	finish();
}
`

// TestAttachAtAnyMoment attaches to programs that wait in all kinds of ways: the hook is there when they go on, and
// they go on as if nothing had been.
func TestAttachAtAnyMoment(t *testing.T) {
	strobetest.NeedPtrace(t)
	for _, variant := range []string{"gcc-O1", "gcc-O2-static"} {
		path := strobetest.BuildSource(t, "c", variant, "moments", momentsProgram)
		for _, how := range []string{"read", "epoll", "poll", "select", "handler", "suspend", "vfork", "leader", "many",
			"stopped"} {
			t.Run(variant+"/"+how, func(t *testing.T) {
				cmd := exec.Command(path, how)
				in, out := pipes(t, cmd)
				line := make([]byte, 64)
				n, _ := out.Read(line)
				pid, _ := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(string(line[:n]), "ready ")))
				if pid != cmd.Process.Pid {
					t.Fatalf("it says %q", line[:n])
				}
				if how == "stopped" {
					cmd.Process.Signal(syscall.SIGSTOP)
					await(t, "stop", func() bool { return strings.HasPrefix(ptrace.StatusField(pid, "State"), "T") })
				}
				if how == "leader" {
					await(t, "end of the first thread", func() bool {
						return strings.HasPrefix(ptrace.StatusField(pid, "State"), "Z")
					})
				}
				if how == "many" {
					await(t, "threads", func() bool { return len(listThreads(pid)) == 2001 })
				}
				sink := newSink(t)
				started := time.Now()
				c := attachTo(t, testRuntime(t), sink, pid, "work")
				t.Logf("attached after %v", time.Since(started))
				if st := c.Status(); st.Hooked != 1 || len(st.Warnings) > 0 {
					t.Errorf("status %+v", st)
				}
				if how == "stopped" {
					await(t, "stop again", func() bool { // the agent was given to it by system calls of its own
						st := ptrace.StatusField(pid, "State")
						return st != "" && (st[0] == 't' || st[0] == 'T')
					})
					in.Write([]byte("x"))
					select {
					case <-c.Exited():
						t.Error("it ran on")
					case <-time.After(50 * time.Millisecond):
					}
					cmd.Process.Signal(syscall.SIGCONT)
				} else {
					in.Write([]byte("x"))
				}
				select {
				case <-c.Exited():
				case <-time.After(20 * time.Second):
					t.Fatal("it does not end")
				}
				n, _ = out.Read(line)
				if err := collect(cmd); err != nil || string(line[:n]) != "41\n" {
					t.Errorf("it ended with %v and wrote %q", err, line[:n])
				}
				if sink.enters["work"] != 1 || c.Exit() != (collector.ExitInfo{}) {
					t.Errorf("%d calls, exit %+v\n%s", sink.enters["work"], c.Exit(), sink.text())
				}
				written := ""
				for _, e := range sink.events {
					if e.Kind == event.Stdout {
						written += string(e.Payload)
					}
				}
				if written != "41\n" {
					t.Errorf("output %q", written)
				}
			})
		}
	}
}

// collect waits for a program that was attached to from here: then its tracer, which is its parent as well, may have
// had its status.
func collect(cmd *exec.Cmd) error {
	err := cmd.Wait()
	if errors.Is(err, syscall.ECHILD) {
		return nil
	}
	return err
}

func pipes(t *testing.T, cmd *exec.Cmd) (in *os.File, out *os.File) {
	t.Helper()
	inR, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inR, outW, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	inR.Close()
	outW.Close()
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait(); in.Close(); out.Close() })
	return in, out
}

// TestDetachLeavesItStopped: a stopped program that is attached to and let go is as stopped as before, and runs on when
// it is continued.
func TestDetachLeavesItStopped(t *testing.T) {
	strobetest.NeedPtrace(t)
	cmd := exec.Command(strobetest.BuildSource(t, "c", "gcc-O1", "moments", momentsProgram), "read")
	in, out := pipes(t, cmd)
	out.Read(make([]byte, 64))
	pid := cmd.Process.Pid
	cmd.Process.Signal(syscall.SIGSTOP)
	await(t, "stop", func() bool { return strings.HasPrefix(ptrace.StatusField(pid, "State"), "T") })
	c := attachTo(t, testRuntime(t), newSink(t), pid, "work")
	if err := c.Stop(context.Background(), false); err != nil {
		t.Fatal(err)
	}
	await(t, "stop", func() bool { return strings.HasPrefix(ptrace.StatusField(pid, "State"), "T") })
	in.Write([]byte("x"))
	cmd.Process.Signal(syscall.SIGCONT)
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// TestAttachWhileItStarts attaches at all moments of a program's start: it runs as it should, and is hooked from then
// on.
func TestAttachWhileItStarts(t *testing.T) {
	strobetest.NeedPtrace(t)
	path := strobetest.BuildSource(t, "c", "gcc-O1", "moments", momentsProgram)
	rt := testRuntime(t)
	for i := range 40 {
		cmd := exec.Command(path, "read")
		in, out := pipes(t, cmd)
		for until := time.Now().Add(time.Duration(i) * 50 * time.Microsecond); time.Now().Before(until); {
		}
		sink := newSink(t)
		found, err := rt.Find(cmd.Process.Pid)
		if err != nil {
			t.Fatalf("start %d: %v", i, err)
		}
		if found.Path != path { // not yet at its exec
			cmd.Process.Kill()
			continue
		}
		found.ProjectRoot = filepath.Dir(path)
		found.Tracing.Probes = []collector.Probe{{Pattern: "work"}}
		c, err := rt.Launch(context.Background(), found, sink)
		if err != nil {
			t.Fatalf("start %d: %v", i, err)
		}
		in.Write([]byte("x"))
		select {
		case <-c.Exited():
		case <-time.After(20 * time.Second):
			t.Fatalf("start %d: it does not end", i)
		}
		if err := collect(cmd); err != nil || sink.enters["work"] != 1 || c.Exit() != (collector.ExitInfo{}) {
			t.Errorf("start %d: %v, %d calls, %+v", i, err, sink.enters["work"], c.Exit())
		}
		out.Close()
	}
}

// TestAttachAmidExec attaches while the kernel makes the program's image: the old one is gone, and of the new one not
// everything is there.
func TestAttachAmidExec(t *testing.T) {
	strobetest.NeedPtrace(t)
	strobetest.NeedCommand(t, "taskset")
	path := strobetest.BuildSource(t, "c", "gcc-O1", "moments", momentsProgram)
	rt := testRuntime(t)
	hog := exec.Command("taskset", "-c", onCPU(t), "sh", "-c", "ulimit -t 60; while :; do :; done")
	if err := hog.Start(); err != nil {
		t.Fatal(err)
	}
	defer collect(hog)
	defer hog.Process.Kill()
	for met := 0; met < 3; {
		cmd := exec.Command("taskset", "-c", onCPU(t), "chrt", "-i", "0", path, "read")
		in, out := pipes(t, cmd)
		amid := false
		for until := time.Now().Add(time.Minute); ; {
			if exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", cmd.Process.Pid)); exe == path {
				amid = execing(cmd.Process.Pid)
				break
			} else if time.Now().After(until) {
				t.Fatalf("%s is not begun", path)
			}
		}
		if !amid {
			cmd.Process.Kill()
			collect(cmd)
			continue
		}
		met++
		sink := newSink(t)
		found, err := rt.Find(cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		found.ProjectRoot = filepath.Dir(path)
		found.Tracing.Probes = []collector.Probe{{Pattern: "work"}}
		c, err := rt.Launch(context.Background(), found, sink)
		if err != nil {
			t.Fatal(err)
		}
		// Idle, it would come to an end when nobody else of the machine wants the CPU.
		if out, err := exec.Command("chrt", "-o", "-p", "0", fmt.Sprint(cmd.Process.Pid)).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		in.Write([]byte("x"))
		select {
		case <-c.Exited():
		case <-time.After(time.Minute):
			t.Fatal("it does not end")
		}
		if err := collect(cmd); err != nil || sink.enters["work"] != 1 || c.Exit() != (collector.ExitInfo{}) {
			t.Errorf("%v, %d calls, %+v", err, sink.enters["work"], c.Exit())
		}
		out.Close()
	}
}

// onCPU is one of the CPUs that may be used.
func onCPU(t *testing.T) string {
	t.Helper()
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		t.Fatal(err)
	}
	for i := range 1024 {
		if set.IsSet(i) {
			return strconv.Itoa(i)
		}
	}
	t.Fatal("no CPU")
	return ""
}

// TestAttachRefuses: what cannot be attached to is told apart, each with its way out.
func TestAttachRefuses(t *testing.T) {
	strobetest.NeedPtrace(t)
	rt := testRuntime(t)
	path := strobetest.BuildSource(t, "c", "gcc-O1", "moments", momentsProgram)
	start := func(args ...string) int {
		cmd := exec.Command(path, args...)
		_, out := pipes(t, cmd)
		out.Read(make([]byte, 64))
		return cmd.Process.Pid
	}
	zombie := exec.Command("/bin/true")
	if err := zombie.Start(); err != nil {
		t.Fatal(err)
	}
	defer zombie.Wait()
	await(t, "zombie", func() bool { return strings.HasPrefix(ptrace.StatusField(zombie.Process.Pid, "State"), "Z") })
	traced := start("read")
	attachTo(t, testRuntime(t), newSink(t), traced)
	threaded := start("vfork")
	var tid int
	await(t, "second thread", func() bool {
		for _, id := range listThreads(threaded) {
			if id != threaded {
				tid = id
			}
		}
		return tid != 0
	})
	for name, c := range map[string]struct {
		pid  int
		code fault.Code
		says string
	}{
		"nobody":  {1<<22 - 1, fault.AttachFailed, "there is no process"},
		"zombie":  {zombie.Process.Pid, fault.AttachFailed, "zombie"},
		"thread":  {tid, fault.AttachFailed, "is a thread of process " + strconv.Itoa(threaded)},
		"itself":  {os.Getpid(), fault.AttachFailed, "this daemon itself"},
		"parent":  {os.Getppid(), fault.AttachFailed, "a parent of this daemon"},
		"another": {traced, fault.AttachFailed, "belongs to a session of this daemon"},
	} {
		_, err := rt.Find(c.pid)
		if fault.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.says) || fault.From(err).Hint == "" {
			t.Errorf("%s: %v, want %s with %q", name, err, c.code, c.says)
		}
	}
	for scope, says := range map[int]string{1: "only its own children", 2: "CAP_SYS_PTRACE",
		3: "forbids ptrace to everybody", -1: "forbid it"} {
		err := deniedFault(start("read"), scope, syscall.EPERM)
		if mayTraceAll() && scope != 3 {
			says = "forbid it"
		}
		if fault.CodeOf(err) != fault.PermissionDenied || !strings.Contains(err.Error(), says) {
			t.Errorf("scope %d: %v", scope, err)
		}
	}
}

// TestAttachKernelThread needs a machine whose kernel threads are in sight.
func TestAttachKernelThread(t *testing.T) {
	const kthreadd = 2
	if !ptrace.KernelThread(kthreadd) {
		strobetest.Lack(t, "no kernel thread is in sight")
	}
	if _, err := testRuntime(t).Find(kthreadd); fault.CodeOf(err) != fault.AttachFailed ||
		!strings.Contains(err.Error(), "thread of the kernel") {
		t.Error(err)
	}
}

// TestAttachTracedByOther: who traces a program already is named.
func TestAttachTracedByOther(t *testing.T) {
	strobetest.NeedPtrace(t)
	strobetest.NeedCommand(t, "gdb")
	cmd := exec.Command(strobetest.BuildSource(t, "c", "gcc-O1", "moments", momentsProgram), "read")
	_, out := pipes(t, cmd)
	out.Read(make([]byte, 64))
	gdb := exec.Command("gdb", "-q", "-nx", "-p", strconv.Itoa(cmd.Process.Pid))
	in, err := gdb.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := gdb.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { in.Close(); gdb.Process.Kill(); gdb.Wait() }()
	await(t, "tracer", func() bool { return ptrace.TracerOf(cmd.Process.Pid) != 0 })
	_, err = testRuntime(t).Find(cmd.Process.Pid)
	if fault.CodeOf(err) != fault.AttachFailed || !strings.Contains(err.Error(), "gdb") {
		t.Error(err)
	}
}
