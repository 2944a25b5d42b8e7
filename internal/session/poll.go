package session

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/fault"
)

// maxPolls is how many polls of a session run at once.
const maxPolls = 16

// Poll reads the targets of a question again and again and puts each round on the timeline as a variable_snapshot
// event, whose data has a member for each label. It returns at once; it ends with the time, the program or the session.
func (s *Session) Poll(ctx context.Context, q collector.Inspection, labels []string, every, last time.Duration) error {
	reader, ok := s.col.(collector.Inspector)
	if !ok || !s.Live() {
		return fault.New(fault.ProcessExited, "A running program can be polled.", "the program of session %s does not run",
			s.ID)
	}
	if every <= 0 || last <= 0 {
		return fault.New(fault.ValidationError, "Give poll.intervalMs and poll.durationMs.", "a poll every %v for %v", every,
			last)
	}
	s.mu.Lock()
	if s.polls >= maxPolls {
		s.mu.Unlock()
		return fault.New(fault.ValidationError, "Wait for one to end.", "%d polls run already", maxPolls)
	}
	s.polls++
	s.mu.Unlock()
	s.m.wg.Go(func() {
		defer func() {
			s.mu.Lock()
			s.polls--
			s.mu.Unlock()
		}()
		end := time.NewTimer(last)
		defer end.Stop()
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			s.snapshot(reader, q, labels)
			select {
			case <-tick.C:
			case <-end.C:
				return
			case <-s.stopping:
				return
			case <-s.col.Exited():
				return
			}
		}
	})
	return nil
}

// snapshot puts one reading on the timeline.
func (s *Session) snapshot(reader collector.Inspector, q collector.Inspection, labels []string) {
	ctx, cancel := context.WithTimeout(s.ctx, flushMax)
	defer cancel()
	at := s.sink.Now()
	readings, err := reader.Inspect(ctx, q)
	if err != nil {
		return // it has ended, or its thread goes on
	}
	data := members{}
	for i := range readings {
		if readings[i].Err != nil {
			data.add(labels[i], map[string]string{"error": fault.From(readings[i].Err).Error()})
			continue
		}
		if b := readings[i].Bytes; b != nil {
			data.add(labels[i], hex.EncodeToString(b))
			continue
		}
		data.add(labels[i], readings[i].Value)
	}
	m := members{}
	m.add("data", json.RawMessage(data.json()))
	s.col.Flush(ctx)
	s.sink.behindOutput(event.Event{TS: at, Kind: event.VariableSnapshot, Thread: event.NoThread, Payload: m.json()})
}
