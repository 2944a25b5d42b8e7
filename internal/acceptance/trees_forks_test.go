//go:build linux

package acceptance

import (
	"testing"

	"github.com/strobe-debug/strobe/internal/daemon"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// Programs that fork and end in all orders, also while patterns change and the session is stopped: a parent's memory
// once went while its child was taken over, and the daemon with it.
func TestForkStorms(t *testing.T) {
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	dir := t.TempDir()
	storm := `i=0; while [ $i -lt 20 ]; do (exit 0) & (true; sleep 0.001) & i=$((i+1)); done; wait; (sleep 0.005; echo late) & echo done`
	serves(t, s, daemon.HolderPID(s.Home))
	pid := daemon.HolderPID(s.Home)
	for i := range 6 {
		l := s.Launch(t, "sh", dir, []string{"-c", storm}, args{"trace": []string{"malloc", "_exit"}})
		switch i % 3 {
		case 0:
			st := s.WaitEnd(t, l.SessionID, endLimit)
			if out := s.Output(t, l.SessionID, "stdout"); st.ExitCode == nil || *st.ExitCode != 0 || out != "done\nlate\n" &&
				out != "done\n" {
				t.Errorf("storm %d wrote %q and ended as %+v", i, out, st)
			}
		case 1:
			for k := range 5 {
				in := args{"sessionId": l.SessionID, "add": []string{"free"}}
				if k%2 == 1 {
					in = args{"sessionId": l.SessionID, "remove": []string{"free", "malloc"}}
				}
				if err := s.Try("debug_trace", in, nil); err != nil && !isCode(err, "PROCESS_EXITED") {
					t.Errorf("storm %d: %v", i, err)
				}
			}
		}
		s.Stop(t, l.SessionID)
		if now := daemon.HolderPID(s.Home); now != pid {
			t.Fatalf("storm %d: daemon %d was replaced by %d", i, pid, now)
		}
	}
	strobetest.Eventually(t, endLimit, "no child but the worker that was started ahead",
		func() bool { return len(usageOf(t, pid).children) <= 1 })
}
