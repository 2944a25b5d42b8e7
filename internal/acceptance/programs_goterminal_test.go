package acceptance

import (
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// TestSoakGoTerminal: a program that draws on a terminal and is typed into, of bubbletea, shows what is waited for and
// gives the same answer with its own functions traced, and with all. Its pictures are not compared: how many it draws
// depends on the clock.
func TestSoakGoTerminal(t *testing.T) {
	strobetest.Soak(t)
	strobetest.NeedPtrace(t)
	strobetest.NeedNetwork(t)
	bin := strobetest.GoCommand(t, "github.com/charmbracelet/gum@v0.16.2")
	s := strobetest.Start(t, nil)
	dir := t.TempDir()
	for _, c := range []struct {
		name string
		args []string
		keys [][2]string // what is on the terminal before a key is pressed
		said string
	}{
		{"choose", []string{"choose", "first", "second", "third"},
			[][2]string{{"third", "\x1b[B"}, {"> second", "\r"}}, "second"},
		{"input", []string{"input", "--placeholder", "name"}, [][2]string{{"name", "Ann"}, {"Ann", "\r"}}, "Ann"},
	} {
		for _, pattern := range []string{"", "github.com/charmbracelet/**", "**"} {
			t.Run(c.name+" "+pattern, func(t *testing.T) {
				more := args{"terminal": true, "env": args{"TERM": "xterm-256color", "NO_COLOR": "1"}}
				if pattern != "" {
					more["trace"] = []string{pattern}
				}
				began := time.Now()
				l := s.Launch(t, bin, dir, c.args, more)
				for _, key := range c.keys {
					strobetest.Eventually(t, 2*time.Minute, "the terminal shows "+key[0], func() bool {
						return strings.Contains(s.Output(t, l.SessionID, "stdout"), key[0])
					})
					s.Call(t, "debug_session", args{"action": "input", "sessionId": l.SessionID, "text": key[1]}, nil)
				}
				st := s.WaitEnd(t, l.SessionID, 2*time.Minute)
				out := strings.TrimSpace(s.Output(t, l.SessionID, "stdout"))
				if !strings.HasSuffix(out, c.said) || st.ExitCode == nil || *st.ExitCode != 0 || st.Calls.Dropped > 0 {
					t.Errorf("%v, %+v, said %q", st.ExitCode, st.Calls, out)
				}
				t.Logf("%d functions, %d calls, %v", st.HookedFunctions, st.Calls.Made, time.Since(began).Round(time.Millisecond))
			})
		}
	}
}
