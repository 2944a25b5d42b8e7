package fleet

import (
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/bucket"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// TestTicket: it lets one session of its service and its days in, under its own name, and no second one.
func TestTicket(t *testing.T) {
	s := strobetest.StartS3(t, "traces", false)
	b, err := bucket.Open("s3://traces/ci", s.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	shop, other, till := newRun(t, "shop", 0), newRun(t, "shop", 1), newRun(t, "till", 0)
	day := time.Unix(0, shop.Meta().StartedAt)
	text, err := NewTicket(b, "shop", "ticket-1", day, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	nobody := func(string) string { return "" }
	place, err := OpenPlace(text+"\n", nobody)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := place.Push(t.Context(), till, t.TempDir()); err == nil || !strings.Contains(err.Error(), "service") {
		t.Errorf("a session of another service: %v", err)
	}
	p, err := place.Push(t.Context(), shop, t.TempDir())
	if err != nil || p.Made != 4 || p.Session != "ticket-1" {
		t.Fatalf("push by the ticket: %+v, %v", p, err)
	}
	if _, err := place.Push(t.Context(), other, t.TempDir()); err == nil || !strings.Contains(err.Error(), "used") {
		t.Errorf("a second session: %v", err)
	}
	dir := t.TempDir()
	if n, err := Mirror(t.Context(), b, dir, "shop", []string{"sessions", "calls", "events"}); err != nil || n != 3 {
		t.Errorf("%d tables brought, %v", n, err)
	}
	if n, err := Mirror(t.Context(), b, dir, "", []string{"sessions"}); err != nil || n != 0 {
		t.Errorf("%d tables brought again, %v", n, err)
	}
	rows := ask(t, duckDB(t), &Dialects[0], dir, "SELECT s.id, s.session, count(*) AS n FROM calls c JOIN sessions s "+
		"USING (session) GROUP BY ALL")
	if line(rows, 1) != `"shop-0" "ticket-1" 900 ` {
		t.Errorf("questions see %s", rows)
	}
	if full, err := Pull(t.Context(), b, "ticket-1", dir+"/back.db"); err != nil || full != "ticket-1" {
		t.Errorf("pull: %s, %v", full, err)
	}
	late, err := NewTicket(b, "shop", "ticket-2", day.AddDate(0, 0, 3), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{late, text[:len(text)/2], ticketHead} {
		place, err := OpenPlace(text, nobody)
		if err == nil {
			_, err = place.Push(t.Context(), other, t.TempDir())
		}
		if f, ok := err.(*fault.Error); !ok || f.Code != fault.ValidationError {
			t.Errorf("a ticket that does not fit: %v", err)
		}
	}
}
