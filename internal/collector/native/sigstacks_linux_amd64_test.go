package native

import (
	"bufio"
	"context"
	"os/exec"
	"testing"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// sigstacksProgram waits for a byte in a handler of a signal that has a stack of its own: below called, or below a
// handler without a stack of its own, which has interrupted amid at its second instruction. Then it goes on there.
const sigstacksProgram = `
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static char own[1 << 16];
static long value = 20, *volatile at;
static void say(const char *s) { if (write(1, s, strlen(s)) < 0) _exit(8); }
static void wait_byte(void) { char c; if (read(0, &c, 1) != 1) _exit(9); }
static void on_usr2(int sig) { (void)sig; say("waits\n"); wait_byte(); }
static void on_segv(int sig, siginfo_t *i, void *context) {
	(void)sig; (void)i;
	raise(SIGUSR2);
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RDI] = (long)&value;
}
__attribute__((noinline)) long inner(int now) { if (now) raise(SIGUSR2); return 1; }
__attribute__((noinline)) long called(int n) { long r = inner(n > 3); __asm__ volatile(""); return r + 40; }
long amid(long *p);
__asm__(".globl amid\n.type amid,@function\namid: nop\nmov (%rdi),%rax\nlea 1(%rax,%rax),%rax\nnop\nnop\nret\n.size amid,.-amid\n");
int main(int argc, char **argv) {
	stack_t s = {.ss_sp = own, .ss_size = sizeof own};
	struct sigaction a = {.sa_handler = on_usr2, .sa_flags = SA_ONSTACK};
	sigaltstack(&s, 0);
	sigaction(SIGUSR2, &a, 0);
	a.sa_sigaction = on_segv, a.sa_flags = SA_SIGINFO;
	sigaction(SIGSEGV, &a, 0);
	say("ready\n");
	long r;
	if (argc > 1 && !strcmp(argv[1], "amid")) {
		r = amid(at);
	} else {
		wait_byte();
		r = called(4);
	}
	if (amid(&value) != 41) return 7;
	printf("%ld\n", r);
	return 0;
}
`

// TestHandlersWithStacks: what a thread has to return through is known also while it is in a handler that has a stack
// of its own. Stubs stay that it returns to, and no jump is laid over the place that it comes back to.
func TestHandlersWithStacks(t *testing.T) {
	strobetest.NeedPtrace(t)
	path := strobetest.BuildSource(t, "c", "gcc-O1", "sigstacks", sigstacksProgram)
	for _, how := range []string{"called", "amid"} {
		cmd := exec.Command(path, how)
		in, out := pipes(t, cmd)
		lines := bufio.NewReader(out)
		heard := func(want string) {
			t.Helper()
			if line, err := lines.ReadString('\n'); line != want {
				t.Fatalf("%s: it says %q, want %q: %v", how, line, want, err)
			}
		}
		heard("ready\n")
		if how == "amid" {
			heard("waits\n")
		}
		sink := newSink(t)
		c := attachTo(t, testRuntime(t), sink, cmd.Process.Pid, how)
		if how == "called" {
			in.Write([]byte("x"))
			heard("waits\n")
			if err := c.Stop(context.Background(), false); err != nil {
				t.Fatal(err)
			}
		}
		in.Write([]byte("x"))
		heard("41\n")
		if how == "amid" {
			if <-c.Exited(); sink.enters["amid"] != 1 || c.Exit() != (collector.ExitInfo{}) {
				t.Errorf("%d calls, %+v", sink.enters["amid"], c.Exit())
			}
		}
		if err := collect(cmd); err != nil {
			t.Errorf("%s: %v", how, err)
		}
	}
}
