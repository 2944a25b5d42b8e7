package ptrace

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
	"golang.org/x/sys/unix"
)

// trapsItself raises a signal by an instruction, again and again, and counts what its handler takes.
const trapsItself = `
#include <signal.h>
#include <stdio.h>

static volatile sig_atomic_t taken;
static volatile sig_atomic_t ends;
static void trap(int sig) { taken++; }
static void end(int sig) { ends = 1; }

int main(void) {
  long raised = 0;
  signal(SIGTRAP, trap);
  signal(SIGTERM, end);
  puts("runs");
  fflush(stdout);
  for (; !ends; raised++)
    __asm__ volatile("int3");
  printf("%ld missed\n", raised - taken);
  return 3;
}
`

// TestFaultFirst: a thread that is interrupted between an exception and its signal comes to that signal's stop, and not
// to the interrupt's with the signal still to come.
func TestFaultFirst(t *testing.T) {
	strobetest.NeedPtrace(t)
	cmd := exec.Command(strobetest.BuildSource(t, "c", "gcc-O2", "traps", trapsItself))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	buf := make([]byte, 64)
	if n, err := out.Read(buf); string(buf[:n]) != "runs\n" {
		t.Fatalf("%q, %v", buf[:n], err)
	}
	ended := make(chan Stop, 1)
	handle := func(s Stop) {
		if s.Ended {
			ended <- s
			return
		}
		sig := s.Signal
		if s.Event != 0 {
			sig = 0
		}
		Cont(s.TID, sig)
	}
	tr, err := NewTracer(handle)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	t.Cleanup(func() { unix.Kill(pid, unix.SIGKILL) })
	if err := tr.Do(context.Background(), func() error { _, err := tr.Attach(pid); return err }); err != nil {
		t.Fatal(err)
	}
	met := 0
	for began := time.Now(); met < 3 && time.Since(began) < 20*time.Second; {
		err := tr.Do(context.Background(), func() error {
			if err := Interrupt(pid); err != nil {
				return err
			}
			s, err := WaitStop(pid)
			if err != nil {
				return err
			}
			first, err := FaultFirst(s)
			if err != nil {
				return err
			}
			if first.Event != s.Event {
				met++
				if first.Event != 0 || first.Signal != unix.SIGTRAP {
					t.Errorf("%+v behind the interrupt", first)
				}
			}
			if FaultWaits(pid) {
				t.Error("a signal waits behind the stop")
			}
			handle(first)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if met == 0 {
		t.Error("never between an exception and its signal")
	}
	unix.Kill(pid, unix.SIGTERM)
	n, _ := out.Read(buf)
	if s := <-ended; s.Status.ExitStatus() != 3 || !strings.HasPrefix(string(buf[:n]), "0 missed") {
		t.Errorf("%v, %q", s.Status, buf[:n])
	}
}
