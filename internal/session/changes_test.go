//go:build unix

package session

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/strobe-debug/strobe/internal/collector"
)

// TestSlowListenerHearsWhatItLost: one that is too far behind hears how many changes it missed, and all that follow.
func TestSlowListenerHearsWhatItLost(t *testing.T) {
	now := int64(0)
	c := newChanges(func() int64 { now++; return now })
	c.begin(Launched, "a client", 1)
	s := &Session{sink: &sink{changes: c}}
	slow, late := s.Listen(0), s.Listen(-1)
	for i := range maxChanges + 99 {
		c.seen(collector.Change{Kind: collector.ThreadBegan, TID: i})
	}
	got := slow.Heard(maxChanges + 1000)
	if len(got) != maxChanges+1 || got[0].Kind != ChangesLost || got[0].Lost != 100 || got[0].Seq != 100 ||
		got[0].TS > got[1].TS {
		t.Fatalf("%d changes, the first %+v", len(got), got[0])
	}
	for i, ch := range got[1:] {
		if ch.Seq != int64(101+i) || ch.TID != 99+i {
			t.Fatalf("behind %d comes %+v", 100+i, ch)
		}
	}
	if got := late.Heard(1); len(got) != 1 || got[0].Kind != ChangesLost || got[0].Lost != 99 {
		t.Errorf("one that began behind the launch: %+v", got)
	}
	if _, err := s.Listen(-1).Next(canceled()); !errors.Is(err, context.Canceled) {
		t.Errorf("Next with a context that ended: %v", err)
	}
	c.close()
	c.seen(collector.Change{Kind: collector.ThreadBegan})
	if _, err := slow.Next(context.Background()); !errors.Is(err, io.EOF) {
		t.Errorf("behind the end: %v", err)
	}
}

func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// TestChangesSayWho: pauses that somebody asked for are that client's, with those that pause for their sake; what the
// program comes to is its own.
func TestChangesSayWho(t *testing.T) {
	c := newChanges(func() int64 { return 0 })
	s := &Session{sink: &sink{changes: c}}
	pause := func(tid int, number, with int64, reason string) {
		c.seen(collector.Change{Kind: collector.ThreadPaused, TID: tid,
			Pause: &collector.Pause{TID: tid, Number: number, With: with, Reason: reason}})
	}
	pause(1, 1, 0, "entry")
	c.begin(Launched, "first", 1)
	c.drives(0, "second")
	c.seen(collector.Change{Kind: collector.Resumed, TID: 1, Pause: &collector.Pause{Number: 1}})
	pause(1, 2, 0, "breakpoint")
	pause(2, 3, 2, "with thread 1")
	c.drives(1, "third")
	c.seen(collector.Change{Kind: collector.Stepped, TID: 1, Pause: &collector.Pause{Number: 2}})
	pause(1, 4, 0, "step")
	pause(5, 5, 4, "with thread 1")
	pause(6, 6, 0, "pause")
	c.ends("fourth")
	c.seen(collector.Change{Kind: collector.ProcessEnded})
	var by []string
	for _, ch := range s.Listen(0).Heard(100) {
		by = append(by, ch.By)
	}
	if want := []string{"first", "first", "second", "program", "program", "third", "third", "third", "second",
		"fourth"}; !slices.Equal(by, want) {
		t.Errorf("by %q, want %q", by, want)
	}
}

// TestChangesOfARun: of a runtime that sees nothing but ends there are those, and the session's.
func TestChangesOfARun(t *testing.T) {
	f := newFixture(t)
	s := f.sh("exit 3")
	l := s.Listen(0)
	ended(t, s)
	if _, err := f.Stop(WithCaller(context.Background(), "a client"), s.ID, StopOptions{Retain: true}); err != nil {
		t.Fatal(err)
	}
	var kinds []collector.ChangeKind
	for {
		c, err := l.Next(context.Background())
		if err != nil {
			break
		}
		kinds = append(kinds, c.Kind)
		if c.Kind == HasExited && (*c.ExitCode != 3 || c.By != ByProgram) || c.Kind == HasStopped && c.By != "a client" {
			t.Errorf("%+v", c)
		}
	}
	if want := []collector.ChangeKind{Launched, collector.ProcessEnded, HasExited, HasStopped}; !slices.Equal(kinds,
		want) {
		t.Errorf("heard %q, want %q", kinds, want)
	}
	again, err := f.Get(context.Background(), s.ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := again.Listen(0).Next(context.Background()); !errors.Is(err, io.EOF) {
		t.Errorf("of one that was opened from its file: %v", err)
	}
}
