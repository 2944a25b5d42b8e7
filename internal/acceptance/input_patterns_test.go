//go:build linux

package acceptance

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// TestTooManyPatterns: they are refused at once, with the limit, and the session answers on. 16,000 took 40 s, in which
// it did not.
func TestTooManyPatterns(t *testing.T) {
	strobetest.NeedPtrace(t)
	t.Parallel()
	s := strobetest.Start(t, nil)
	l := s.Launch(t, "sleep", "/", []string{"60"}, nil)
	many := make([]string, 1001)
	for i := range many {
		many[i] = fmt.Sprintf("ns::f%d", i)
	}
	for _, call := range []args{{"sessionId": l.SessionID, "add": many}, {"sessionId": l.SessionID, "remove": many},
		{"projectRoot": "/", "add": many}} {
		var te *strobetest.ToolError
		if err := s.Try("debug_trace", call, nil); !errors.As(err, &te) || te.Code != "VALIDATION_ERROR" ||
			!strings.Contains(te.Hint, "up to 1000") {
			t.Errorf("1001 patterns: %v", err)
		}
	}
	s.Call(t, "debug_trace", args{"sessionId": l.SessionID, "add": many[:600]}, nil)
	var te *strobetest.ToolError
	if err := s.Try("debug_trace", args{"sessionId": l.SessionID, "add": many[500:]}, nil); !errors.As(err, &te) ||
		te.Code != "VALIDATION_ERROR" {
		t.Errorf("1001 patterns in two calls: %v", err)
	}
	s.Stop(t, l.SessionID)
}

// TestRunOnAFullDisk: strobe run says what is not recorded. It said "exit code 7, kept in …" alone.
func TestRunOnAFullDisk(t *testing.T) {
	strobetest.NeedPtrace(t)
	home := mounted(t, "6m")
	s := strobetest.Connect(t, home)
	t.Cleanup(func() { s.StopDaemon(t) })
	code, out := strobe(t, home, "", "run", "--", "sh", "-c", "head -c 30000000 /dev/urandom >&2; exit 7")
	if end := out[max(0, len(out)-1000):]; code != 7 || !strings.Contains(end, "STORAGE_FULL") ||
		!strings.Contains(end, "events are not in it") {
		t.Errorf("code %d: %q", code, end)
	}
}
