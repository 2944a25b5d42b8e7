package native

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
)

// idleProgram waits in a system call that the kernel does not restart, and says when it is interrupted. SIGUSR1
// interrupts it.
const idleProgram = `
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
static volatile sig_atomic_t got;
static void on(int sig) { got++; }
__attribute__((noinline)) int handle(int n) { __asm__ volatile(""); return n * 2; }
int main(int argc, char **argv) {
	struct sigaction a;
	memset(&a, 0, sizeof a);
	a.sa_handler = on;
	sigaction(SIGUSR1, &a, 0);
	int e = epoll_create1(0);
	struct epoll_event ev = {EPOLLIN, {0}};
	epoll_ctl(e, EPOLL_CTL_ADD, 0, &ev);
	puts("ready");
	fflush(stdout);
	for (;;) {
		int n = epoll_wait(e, &ev, 1, -1);
		if (n < 0) { printf("interrupted %d\n", (int)got); fflush(stdout); continue; }
		char b[64];
		ssize_t k = read(0, b, sizeof b);
		if (k <= 0) break;
		printf("%d\n", handle((int)k));
		fflush(stdout);
	}
	return 0;
}
`

// A program that only waits is traced from the first pattern on, and does not notice.
func TestIdleProgramIsTraced(t *testing.T) {
	prog := build(t, "idle.c", idleProgram, "gcc", "-g", "-O2")
	for range 5 {
		sink := newSink(t)
		s := startProgram(t, testRuntime(t), sink, filepath.Dir(prog), nil, prog)
		waitFor(t, "epoll_wait", func() bool { nr, _, running := blockedPC(s.PID(), s.PID()); return !running && nr == 232 })
		if _, err := s.SetTracing(context.Background(),
			collector.Tracing{Probes: []collector.Probe{{Pattern: "handle", Depth: 3}}}); err != nil {
			t.Fatal(err)
		}
		s.stdin.WriteString("ab\n")
		waitFor(t, "a call", func() bool {
			s.Flush(context.Background())
			sink.mu.Lock()
			defer sink.mu.Unlock()
			return sink.exits["handle"] == 1
		})
		if err := s.Stop(context.Background(), false); err != nil {
			t.Errorf("let go: %v", err)
		}
		s.stdin.WriteString("abcd\n")
		s.stdin.Close()
		select {
		case <-s.read:
		case <-time.After(20 * time.Second):
			t.Fatal("the program does not end")
		}
		if out := s.stdout.String(); out != "ready\n6\n10\n" && out != "ready\n6\n12\n" ||
			strings.Contains(out, "interrupted") {
			t.Errorf("output %q", out)
		}
	}
}
