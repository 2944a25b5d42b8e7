package session

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/store"
)

// Note puts a state on the timeline that nobody but us knows of, behind everything that has happened before the call,
// and returns its event's id. It stands with the program's main thread.
func (s *Session) Note(ctx context.Context, stream event.Stream, what any) (event.ID, error) {
	if s.sink == nil || !s.Live() {
		return 0, fault.New(fault.ProcessExited, "Launch it again with debug_launch.", "the program of session %s has ended",
			s.ID)
	}
	payload, err := json.Marshal(what)
	if err != nil {
		return 0, fmt.Errorf("encode a note: %w", err)
	}
	st, use, release, err := s.Use(ctx)
	if err != nil {
		return 0, err
	}
	defer release()
	id, err := st.Stream(stream)
	if err != nil {
		return 0, fmt.Errorf("register stream %s %s: %w", stream.Channel, stream.Name, err)
	}
	s.FlushWithin(use, 0) //nolint:errcheck // where that takes too long, what comes late stands behind
	at := s.sink.Now()
	s.sink.behindOutput(event.Event{TS: at, Kind: event.State, Stream: id, Thread: s.sink.mainThread(s.meta.PID),
		Payload: payload})
	if err := st.Flush(use); err != nil {
		return 0, err
	}
	sn, err := st.Snapshot(use)
	if err != nil {
		return 0, err
	}
	defer sn.Close()
	found := event.ID(0)
	err = sn.Scan(use, store.Filter{Kinds: 1 << event.State, FromTS: at, ToTS: at},
		store.ScanOptions{Reverse: true, Cold: true}, func(r *store.Row) bool {
			if r.Stream == id {
				found = r.ID
			}
			return found == 0
		})
	return found, err
}
