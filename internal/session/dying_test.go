package session

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/crash"
	"github.com/strobe-debug/strobe/internal/event"
)

// A checker's report is told with the end of its process, however long the picture of that takes: it was told as
// something that the program had survived.
func TestReportWaitsForTheDying(t *testing.T) {
	var told []string
	put := func(e event.Event) { told = append(told, string(e.Payload)) }
	now := int64(0)
	c := &crashes{log: slog.New(slog.DiscardHandler), emit: put, last: put,
		read: func(context.Context) error { return nil }, now: func() int64 { return now },
		known: func(pid int) bool { return pid == 5 }, main: func(int) event.ThreadID { return 0 }}
	c.root.Store(5)
	c.write([]byte("a.c:4:7: runtime error: shift exponent 42 is too large for 32-bit type 'int'\nSUMMARY: "+
		"UndefinedBehaviorSanitizer: undefined-behavior a.c:4:7\n"), now)
	c.dies(5)
	now = int64(2 * reportWait)
	if c.expire(); len(told) != 0 {
		t.Fatalf("told before the end: %s", told[0])
	}
	c.died(collector.Crash{PID: 5, Crash: crash.Crash{Fatal: true}})
	c.ended(5, collector.ExitInfo{Code: 1})
	if len(told) != 1 || !json.Valid([]byte(told[0])) || !strings.Contains(told[0], `"fatal":true`) ||
		!strings.Contains(told[0], `"class":"shift-out-of-bounds"`) {
		t.Errorf("told %d crashes: %s", len(told), told)
	}

	c.write([]byte("a.c:9:7: runtime error: shift exponent 43 is too large for 32-bit type 'int'\nSUMMARY: "+
		"UndefinedBehaviorSanitizer: undefined-behavior a.c:9:7\n"), now)
	now *= 2
	if c.expire(); len(told) != 2 || strings.Contains(told[1], `"fatal":true`) {
		t.Errorf("told %d crashes, want another one that ended nothing: %s", len(told), told)
	}
	c.close()
}
