//go:build unix

package service

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/fault"
)

// A session that went to make room is told of in the list, and to who asks for it; so is what is wrong in the settings.
func TestDeletedForSpaceIsSaid(t *testing.T) {
	s := newService(t)
	root := t.TempDir()
	run := func() string {
		t.Helper()
		l := must[LaunchResult](t, s, "debug_launch",
			map[string]any{"command": "sh", "args": []string{"-c", "head -c 1500000 /dev/zero"}, "projectRoot": root})
		must[answer](t, s, "debug_query", map[string]any{"sessionId": l.SessionID,
			"text": map[string]any{"contains": "no such"}, "waitMs": 5000})
		must[StopResult](t, s, "debug_session", map[string]any{"action": "stop", "sessionId": l.SessionID, "retain": true})
		return l.SessionID
	}
	first := run()
	if r := must[ListResult](t, s, "debug_session", map[string]any{"action": "list"}); len(r.Deleted)+
		len(r.Warnings) > 0 || len(r.Sessions) != 1 {
		t.Errorf("list = %+v", r)
	}
	err := os.WriteFile(filepath.Join(s.cfg.Home, "settings.json"),
		[]byte(`{"storage.maxBytes": 1048576, "storage.maxbytes": 5}`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	// what is too much goes before
	second := must[LaunchResult](t, s, "debug_launch", map[string]any{"command": "true", "projectRoot": root})
	r := must[ListResult](t, s, "debug_session", map[string]any{"action": "list"})
	if len(r.Sessions) != 1 || r.Sessions[0].SessionID != second.SessionID {
		t.Errorf("left: %+v", r.Sessions)
	}
	if len(r.Deleted) != 1 || r.Deleted[0].SessionID != first || r.Deleted[0].SizeBytes < 1_500_000 ||
		!strings.Contains(r.Deleted[0].Reason, "storage.maxBytes is 1048576") {
		t.Errorf("deleted: %+v", r.Deleted)
	}
	if at, err := time.Parse(time.RFC3339, r.Deleted[0].DeletedAt); err != nil || time.Since(at) > time.Minute {
		t.Errorf("deletedAt %q, %v", r.Deleted[0].DeletedAt, err)
	}
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], `did you mean "storage.maxBytes"`) {
		t.Errorf("warnings: %q", r.Warnings)
	}
	refused(t, s, fault.SessionNotFound, "was deleted on", "debug_session",
		map[string]any{"action": "status", "sessionId": first})
	refused(t, s, fault.SessionNotFound, "storage.maxBytes", "debug_query", map[string]any{"sessionId": first})
}
