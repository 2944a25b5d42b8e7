package acceptance

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

const seldomRuns = `#include <stdio.h>
#include <unistd.h>
__attribute__((noinline)) int work(int i) { return i + 1; }
int main(void) {
  int n = 0;
  alarm(120);
  for (;;)
    n = work(n);
}
`

// TestAttachWhereBusy: a program that is nice to others on a machine that is merely busy is attached to: it gets a CPU
// later, not never.
func TestAttachWhereBusy(t *testing.T) {
	strobetest.NeedPtrace(t)
	strobetest.NeedCommand(t, "taskset")
	s := strobetest.Start(t, nil)
	path := strobetest.BuildSource(t, "c", "gcc-O1", "seldomruns", seldomRuns)
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(status), "Cpus_allowed_list:\t")
	cpu := list[:strings.IndexFunc(list, func(r rune) bool { return r < '0' || r > '9' })]
	begin := func(argv ...string) int {
		cmd := exec.Command("taskset", append([]string{"-c", cpu}, argv...)...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			cmd.Process.Kill()
			cmd.Wait()
		})
		return cmd.Process.Pid
	}
	pid := begin("nice", "-n", "19", path)
	strobetest.Eventually(t, endLimit, "the program", func() bool {
		exe, _ := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe")
		return exe == path
	})
	for range 6 {
		begin("sh", "-c", "ulimit -t 20; while :; do :; done")
	}
	for range 2 {
		var l struct {
			SessionID       string
			HookedFunctions int
		}
		s.Call(t, "debug_launch", args{"pid": pid, "projectRoot": filepath.Dir(path), "trace": []string{"work"}}, &l)
		if l.HookedFunctions != 1 {
			t.Errorf("hooked %d functions, want 1", l.HookedFunctions)
		}
		s.Call(t, "debug_session", args{"action": "stop", "sessionId": l.SessionID}, &struct{}{})
	}
}
