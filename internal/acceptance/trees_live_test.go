//go:build linux

package acceptance

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// until waits for a condition.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(endLimit); !ok(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", endLimit, what)
		}
	}
}

// TestDaemonised follows a program that goes into the background: its session knows it when the first process has
// ended.
func TestDaemonised(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	dir := t.TempDir()
	prog, report, flag := family(t, "gcc-O0"), filepath.Join(dir, "report"), filepath.Join(dir, "flag")
	l := s.Launch(t, prog, filepath.Dir(prog), []string{report, "daemon", flag}, args{"trace": []string{"work"}})
	defer s.Stop(t, l.SessionID)
	if st := s.WaitEnd(t, l.SessionID, endLimit); st.ExitCode == nil || *st.ExitCode != 0 {
		t.Errorf("when the first process ended: %+v", st)
	}
	// it may be on its way
	until(t, "the one in the background", func() bool { return len(s.Status(t, l.SessionID).PIDs) == 1 })
	until(t, "34 calls", func() bool { return s.Count(t, l.SessionID, "function_enter", "work") == 34 })
	write(t, dir, "flag", "", 0o644)
	waitTree(t, s, l.SessionID)
	if events := checkFamily(t, s, l.SessionID, report, l.PID); len(events) != 3 {
		t.Errorf("events %+v, want a fork and two ends", events)
	}
}

// TestStopEndsTree stops a session whose first process has ended and left others, which left its process group.
func TestStopEndsTree(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	prog := family(t, "gcc-O2")
	for _, kill := range []bool{true, false} {
		report := filepath.Join(t.TempDir(), "report")
		l := s.Launch(t, prog, filepath.Dir(prog), []string{report, "outlive", "5"}, args{"trace": []string{"work"}})
		s.WaitEnd(t, l.SessionID, endLimit)
		until(t, "5 processes", func() bool { return len(s.Status(t, l.SessionID).PIDs) == 5 })
		pids := s.Status(t, l.SessionID).PIDs
		for _, pid := range pids {
			until(t, "calls of a child", func() bool {
				return s.Query(t, l.SessionID, args{"eventType": "function_enter", "pid": pid, "limit": 1}).TotalCount > 4
			})
		}
		s.Call(t, "debug_session", args{"action": "stop", "sessionId": l.SessionID, "kill": kill}, nil)
		for _, pid := range pids {
			alive := func() bool { return syscall.Kill(pid, 0) == nil }
			if kill {
				until(t, "end of a child", func() bool { return !alive() })
				continue
			}
			asOnDisk(t, readText(t, pid))
			before := switches(t, pid)
			until(t, "work of a child that was let go", func() bool { return switches(t, pid) != before })
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// switches is a number that grows while a process goes on.
func switches(t testing.TB, pid int) string {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "voluntary_ctxt_switches:")
	line, _, _ := strings.Cut(rest, "\n")
	return line
}

// TestPatternsDuringForks changes the patterns while a program forks without pause; what is asked for from beginning to
// end is counted exactly, whatever comes and goes beside it.
func TestPatternsDuringForks(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	prog := family(t, "gcc-O2")
	for mode, forks := range map[string]int{"fork": 150, "threads": 150, "vfork": 60} {
		t.Run(mode, func(t *testing.T) {
			for n := 1; n <= 8; n *= 2 { // it may end before a second change comes
				if patternsDuring(t, s, prog, mode, strconv.Itoa(n*forks)) >= 2 {
					return
				}
			}
			t.Error("the patterns did not change while it ran")
		})
	}
}

// patternsDuring is one run of it, and returns how often the patterns changed.
func patternsDuring(t *testing.T, s *strobetest.Strobe, prog string, mode ...string) (changes int) {
	t.Helper()
	report := filepath.Join(t.TempDir(), "report")
	l := s.Launch(t, prog, filepath.Dir(prog), append([]string{report}, mode...),
		args{"trace": []string{"work"}, "onFullBuffer": "block"})
	defer s.Stop(t, l.SessionID)
	for ; ; changes++ {
		in := args{"sessionId": l.SessionID, "add": []string{"many", "forked", "tell", "leaf"}}
		if changes%2 == 1 {
			in = args{"sessionId": l.SessionID, "remove": []string{"many", "forked", "tell", "leaf"}}
		}
		if err := s.Try("debug_trace", in, nil); isCode(err, "PROCESS_EXITED") {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	st := s.WaitEnd(t, l.SessionID, endLimit)
	if st.ExitCode == nil || *st.ExitCode != 0 || st.DroppedEvents != 0 {
		t.Errorf("ended as %+v, stderr %q", st, s.Output(t, l.SessionID, "stderr"))
	}
	waitTree(t, s, l.SessionID)
	checkFamily(t, s, l.SessionID, report, l.PID)
	return changes
}

// TestMake builds a project with make -j4 and looks at what the compiler's own processes do.
func TestMake(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	strobetest.NeedCommand(t, "make")
	strobetest.NeedCommand(t, "gcc")
	s := strobetest.Start(t, nil)
	dir := t.TempDir()
	const files = 6
	makefile := "all: program\nOBJ ="
	for i := range files {
		write(t, dir, fmt.Sprintf("f%d.c", i), fmt.Sprintf("int f%d(int x) { return x + %d; }\n", i, i), 0o644)
		makefile += fmt.Sprintf(" f%d.o", i)
	}
	write(t, dir, "main.c", "int f0(int); int main(void) { return f0(0); }\n", 0o644)
	write(t, dir, "Makefile", makefile+" main.o\nprogram: $(OBJ)\n\tgcc -o $@ $(OBJ)\n%.o: %.c\n\t./cc -c -o $@ $<\n",
		0o644)
	// The compiler: a program of ours that runs the real one.
	wrapper := strobetest.BuildSource(t, "c", "gcc-O0", "cc", `#include <unistd.h>
__attribute__((noinline)) int compile_one(char **argv) { execvp(argv[0], argv); return 127; }
__attribute__((noinline)) int options(int argc) { return argc; }
int main(int argc, char **argv) { options(argc); argv[0] = "gcc"; return compile_one(argv); }
`)
	if err := os.Symlink(wrapper, filepath.Join(dir, "cc")); err != nil {
		t.Fatal(err)
	}
	l := s.Launch(t, "make", dir, []string{"-j4"}, args{"trace": []string{"compile_one", "options"}, "cwd": dir})
	defer s.Stop(t, l.SessionID)
	st := s.WaitEnd(t, l.SessionID, endLimit)
	if st.ExitCode == nil || *st.ExitCode != 0 || len(st.Warnings) != 0 {
		t.Fatalf("ended as %+v: %s", st, s.Output(t, l.SessionID, "stderr"))
	}
	waitTree(t, s, l.SessionID)
	for _, f := range []string{"compile_one", "options"} {
		if n := s.Count(t, l.SessionID, "function_enter", f); n != files+1 {
			t.Errorf("%d calls of %s, want %d", n, f, files+1)
		}
	}
	execs := map[string]int{}
	for _, e := range processEvents(t, s, l.SessionID) {
		if e.What == "exec" {
			name, _, _ := strings.Cut(e.Command, " ")
			execs[filepath.Base(name)]++
		}
	}
	if execs["cc"] != files+1 || execs["cc1"] != files+1 || execs["collect2"] != 1 {
		t.Errorf("execs %v, want %d of cc and cc1 and one of collect2", execs, files+1)
	}
	if out, err := exec.Command(filepath.Join(dir, "program")).CombinedOutput(); err != nil {
		t.Errorf("the program that was built: %v %s", err, out)
	}
}

// TestScriptStartsProgram traces a program that a shell script starts, in a pipe and in the background.
func TestScriptStartsProgram(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	dir := t.TempDir()
	prog, report := family(t, "gcc-O2"), filepath.Join(dir, "report")
	script := write(t, dir, "run.sh", fmt.Sprintf(
		"#!/bin/sh\necho begin\n%[1]s %[2]s leaf 3 | cat\n%[1]s %[2]s leaf 4 &\nwait\nx=$(%[1]s %[2]s leaf 5; echo "+
			"$?)\necho got $x\nexec %[1]s %[2]s fork 2\n", prog, report), 0o755)
	l := s.Launch(t, script, filepath.Dir(prog), nil, args{"trace": []string{"work"}})
	defer s.Stop(t, l.SessionID)
	st := s.WaitEnd(t, l.SessionID, endLimit)
	if out := s.Output(t, l.SessionID, "stdout"); out != "begin\ngot 7\n" || st.ExitCode == nil || *st.ExitCode != 0 {
		t.Errorf("wrote %q and ended as %+v", out, st)
	}
	waitTree(t, s, l.SessionID)
	checkFamily(t, s, l.SessionID, report, l.PID)
	var page struct {
		Events []struct {
			PID  int
			Text string
		}
		PIDs []int
	}
	s.Call(t, "debug_query", args{"sessionId": l.SessionID, "eventType": "stdout"}, &page)
	if n := len(page.Events); n == 0 || page.Events[n-1].PID == 0 || len(page.PIDs) < 5 {
		t.Errorf("output of several processes without the one that wrote it: %+v, of %v", page.Events, page.PIDs)
	}
}

// TestPreforkingServer traces a server whose workers were forked before the first connection, and adds a pattern when
// the first process has forked them: each request is answered, and counted in the worker that says it answered it.
func TestPreforkingServer(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	prog := strobetest.BuildSource(t, "c", "gcc-O2", "prefork", preforkSource)
	const workers, requests = 4, 200
	l := s.Launch(t, prog, filepath.Dir(prog), []string{fmt.Sprint(workers)}, args{"trace": []string{"answer"}})
	defer s.Stop(t, l.SessionID)
	port := ""
	until(t, "the port", func() bool { port = strings.TrimSpace(s.Output(t, l.SessionID, "stdout")); return port != "" })
	// a busy machine starts one late
	until(t, "all workers", func() bool { return len(s.Status(t, l.SessionID).PIDs) == workers+1 })
	served := map[int]int64{}
	for i := range requests {
		if i == requests/2 {
			s.Call(t, "debug_trace", args{"sessionId": l.SessionID, "add": []string{"parse"}}, nil)
		}
		conn, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "%d\n", i)
		var pid, got int
		if _, err := fmt.Fscan(conn, &pid, &got); err != nil || got != 2*i {
			t.Fatalf("request %d was answered with %d: %v", i, got, err)
		}
		served[pid]++
		conn.Close()
	}
	var parsed int64
	for pid, n := range served {
		if got := s.Query(t, l.SessionID, args{"eventType": "function_exit", "function": args{"equals": "answer"}, "pid": pid,
			"limit": 1}).TotalCount; got != n {
			t.Errorf("worker %d has %d answers, want %d", pid, got, n)
		}
		parsed += s.Query(t, l.SessionID, args{"eventType": "function_exit", "function": args{"equals": "parse"}, "pid": pid,
			"limit": 1}).TotalCount
	}
	if parsed != requests/2 {
		t.Errorf("%d requests parsed since the pattern came, want %d", parsed, requests/2)
	}
	if st := s.Status(t, l.SessionID); len(st.PIDs) != workers+1 || st.DroppedEvents != 0 || len(st.Warnings) != 0 {
		t.Errorf("status %+v", st)
	}
}

const preforkSource = `#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) int parse(const char *s) { return atoi(s); }
__attribute__((noinline)) int answer(const char *s) { return 2 * parse(s); }
static void worker(int s) {
	for (;;) {
		char buf[64] = "", out[64];
		int c = accept(s, 0, 0);
		if (c < 0 || read(c, buf, sizeof buf - 1) <= 0) _exit(1);
		int n = snprintf(out, sizeof out, "%d %d\n", (int)getpid(), answer(buf));
		if (write(c, out, n) != n) _exit(1);
		close(c);
	}
}
int main(int argc, char **argv) {
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof a;
	int s = socket(AF_INET, SOCK_STREAM, 0);
	if (argc < 2 || bind(s, (void *)&a, len) || listen(s, 64) || getsockname(s, (void *)&a, &len)) return 1;
	for (int i = atoi(argv[1]); i > 0; i--)
		if (!fork()) worker(s);
	printf("%d\n", ntohs(a.sin_port));
	fflush(stdout);
	while (wait(0) > 0) {}
	return 0;
}
`

// TestSeccomp forks and execs in a program whose filter ends it for a system call that it does not make: no child is
// hurt, and the status says that they are not traced.
func TestSeccomp(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	prog := strobetest.BuildSource(t, "c", "gcc-O0", "sealed", sealedSource)
	l := s.Launch(t, prog, filepath.Dir(prog), nil, args{"trace": []string{"work"}})
	defer s.Stop(t, l.SessionID)
	st := s.WaitEnd(t, l.SessionID, endLimit)
	if st.ExitCode == nil || *st.ExitCode != 0 || !strings.Contains(strings.Join(st.Warnings, " "), "seccomp") {
		t.Errorf("ended as %+v, stderr %q", st, s.Output(t, l.SessionID, "stderr"))
	}
	if n := s.Query(t, l.SessionID, args{"eventType": "function_exit", "function": args{"equals": "work"}, "pid": l.PID,
		"limit": 1}).TotalCount; n != 20 {
		t.Errorf("%d calls of the first process, want 20", n)
	}
}

const sealedSource = `#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) int work(int x) { return x * 3; }
__attribute__((noinline)) int family(int n) {
	int st = 0, sum = 0;
	for (int i = 0; i < n; i++) {
		pid_t pid = fork();
		if (!pid) { for (int k = 0; k < 5; k++) sum += work(k); _exit(sum == 30 ? 4 : 1); }
		if (waitpid(pid, &st, 0) != pid || !WIFEXITED(st) || WEXITSTATUS(st) != 4) return 1;
		work(i);
	}
	return 0;
}
int main(void) {
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = {sizeof f / sizeof *f, f};
	for (int i = 0; i < 10; i++) work(i);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p)) return 2;
	return family(10);
}
`
