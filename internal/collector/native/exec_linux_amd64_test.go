package native

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/ptrace"
	"github.com/strobe-debug/strobe/internal/strobetest"
	"golang.org/x/sys/unix"
)

const execProgram = `
#include <unistd.h>
static void other(void *path) {
	char c;
	if (read(0, &c, 1) == 1) execl(path, path, (char *)0);
}
int main(int argc, char **argv) {
	other(argv[1]);
	return 1;
}
`

// A process that has a new image by the time that a system call was to be made in its old one is left alone: the call
// was tried again for ever, at an address where nothing was, and the registers of the old image were put into the new
// one.
func TestCallAcrossExec(t *testing.T) {
	strobetest.NeedPtrace(t)
	prog := build(t, "exec.c", execProgram, "gcc", "-g")
	next := build(t, "next.c", `int main(void) { return 9; }`, "gcc")
	s := startProgram(t, testRuntime(t), newSink(t), filepath.Dir(prog), []string{"other"}, prog, next)
	p := s.processes()[0]
	strobetest.Eventually(t, 20*time.Second, "the call", func() bool {
		s.sink.mu.Lock()
		defer s.sink.mu.Unlock()
		return s.sink.enters["other"] == 1
	})
	var err error
	s.tracer.Do(context.Background(), func() error { // which alone would go on with it
		s.stdin.WriteString("x")
		exe := ""
		for until := time.Now().Add(20 * time.Second); exe != next && time.Now().Before(until); {
			exe, _ = os.Readlink(fmt.Sprintf("/proc/%d/exe", s.pid))
		}
		err = p.inOne(func(r *remote) error {
			_, err := r.call(unix.SYS_GETPID)
			return err
		})
		return nil
	})
	if !errors.Is(err, errAllBlocked) && !errors.Is(err, ptrace.ErrGone) {
		t.Errorf("a call in the old image: %v", err)
	}
	s.wait(t)
	if e := s.Exit(); e.Code != 9 {
		t.Errorf("it ended with %+v, want 9", e)
	}
}
