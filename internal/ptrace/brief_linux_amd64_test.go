package ptrace

import (
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
	"golang.org/x/sys/unix"
)

// flagsAndCalls looks at its own flags, makes system calls and raises traps, until one byte can be read.
const flagsAndCalls = `
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile long taken;
static void take(int sig) { taken++; }

int main(void) {
  unsigned long flags, trapped = 0, rounds = 0, raised = 0;
  char c;
  signal(SIGTRAP, take);
  fcntl(0, F_SETFL, O_NONBLOCK);
  puts("runs");
  fflush(stdout);
  for (;; rounds++) {
    __asm__ volatile("pushfq\n\tpop %0" : "=r"(flags)::"memory");
    trapped += flags >> 8 & 1;
    struct timespec ts = {0, 1000000};
    if (rounds % 64 == 0)
      nanosleep(&ts, 0);
    syscall(SYS_getppid);
    // It steps itself: behind nop, pushfq, andl and the second popfq.
    __asm__ volatile("pushfq\n\torl $0x100, (%%rsp)\n\tpopfq\n\tnop\n\tpushfq\n\tandl $~0x100, (%%rsp)\n\tpopfq" ::: "memory");
    raised += 4;
    if (read(0, &c, 1) == 1)
      break;
  }
  printf("%lu trapped, %ld missed\n", trapped, raised - taken);
  return 3;
}
`

// TestBriefSteps: a program that is stepped anywhere, and let go anywhere, never learns of it.
func TestBriefSteps(t *testing.T) {
	strobetest.NeedPtrace(t)
	cmd := exec.Command(strobetest.BuildSource(t, "c", "gcc-O2", "flags", flagsAndCalls))
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	buf := make([]byte, 64)
	if n, err := out.Read(buf); string(buf[:n]) != "runs\n" {
		t.Fatalf("%q, %v", buf[:n], err)
	}
	stops, steps := 0, 0
	for i := range 300 {
		Brief([]int{cmd.Process.Pid}, 10*time.Second, func(b *Briefly) {
			stops += len(b.Stopped)
			for _, tid := range b.Stopped {
				for range 10 + i%50 {
					if !b.Step(tid, 10*time.Second) {
						break
					}
					steps++
				}
			}
		})
	}
	if stops != 300 || steps == 0 {
		t.Errorf("%d stops, %d steps", stops, steps)
	}
	in.Write([]byte("x"))
	n, _ := out.Read(buf)
	if err := cmd.Wait(); string(buf[:n]) != "0 trapped, 0 missed\n" || cmd.ProcessState.ExitCode() != 3 {
		t.Errorf("%q, %v; %d stops, %d steps", buf[:n], err, stops, steps)
	}
}

// TestBareThread: what ends its kernel thread is not run on one that has started a child.
func TestBareThread(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	on := 0
	onBareThread(func() { on = unix.Gettid() })
	if on == unix.Gettid() || on == unix.Getpid() || on == 0 {
		t.Errorf("on thread %d of process %d, child of thread %d", on, unix.Getpid(), unix.Gettid())
	}
}
