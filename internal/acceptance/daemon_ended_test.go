package acceptance

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/strobe-debug/strobe/internal/daemon"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// beats leaves a child behind that goes on until the file is gone.
const beats = `
#include <unistd.h>
__attribute__((noinline)) int beat(int n) { return n + 1; }
int main(int argc, char **argv) {
  if (fork())
    return argc - 2;
  close(0); close(1); close(2);
  for (int n = 0; n < 30000 && access(argv[1], F_OK) == 0; n++, usleep(10000))
    beat(n);
}
`

// TestEndedSessionsAreLetGo leaves fifty programs that have ended as they are: the daemon holds on to a few only, and
// is told the same by the others. A program that left a child behind has not ended.
func TestEndedSessionsAreLetGo(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	dir := t.TempDir()
	lives := filepath.Join(dir, "lives")
	if err := os.WriteFile(lives, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(lives) })
	parent := s.Launch(t, strobetest.BuildSource(t, "c", "gcc-O0", "beats", beats), dir, []string{lives},
		args{"trace": []string{"beat"}})
	s.WaitEnd(t, parent.SessionID, endLimit)
	ending, err := os.ReadFile(strobetest.Build(t, "ending", "gcc-O0"))
	if err != nil {
		t.Fatal(err)
	}
	round := func(i int) string {
		path := filepath.Join(dir, fmt.Sprintf("ending%d", i))
		if err := os.WriteFile(path, ending, 0o700); err != nil {
			t.Fatal(err)
		}
		l := s.Launch(t, path, dir, []string{"exit", "3"}, args{"trace": []string{"end", "deep", "nosuch"}})
		s.WaitEnd(t, l.SessionID, endLimit)
		return l.SessionID
	}
	status := func(id string) string {
		var m map[string]any
		s.Call(t, "debug_session", args{"action": "status", "sessionId": id}, &m)
		b, _ := json.Marshal(m)
		return string(b)
	}
	first := round(0)
	said := status(first)
	for i := range 8 {
		round(1 + i)
	}
	pid := daemon.HolderPID(s.Home)
	before := usageOf(t, pid)
	for i := range 40 {
		round(9 + i)
	}
	var after usage
	strobetest.Eventually(t, endLimit, "the daemon to let go of those that nobody asks for", func() bool {
		after = usageOf(t, pid)
		return after.files <= before.files+20
	})
	t.Logf("before %+v, after 40 launches more %+v", before, after)
	if got := status(first); got != said {
		t.Errorf("status was %s, and is now %s", said, got)
	}
	had := s.Count(t, parent.SessionID, "function_enter", "beat")
	strobetest.Eventually(t, endLimit, "the child to be seen", func() bool {
		return s.Count(t, parent.SessionID, "function_enter", "beat") > had+10
	})
}
