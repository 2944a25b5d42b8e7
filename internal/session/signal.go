package session

import (
	"context"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/fault"
)

// Signal sends the program a signal as its terminal would: to the process group in the foreground there, or that of its
// first process. Threads that are paused go on, so that a handler can run. stopped: it was one that stops programs, and
// they have.
func (s *Session) Signal(ctx context.Context, name string) (stopped bool, err error) {
	_, use, release, err := s.Use(ctx)
	if err != nil {
		return false, err
	}
	defer release()
	return s.signal(use, collector.SignalRequest{Name: name})
}

func (s *Session) signal(ctx context.Context, r collector.SignalRequest) (stopped bool, err error) {
	to, ok := s.col.(collector.Signaler)
	switch {
	case s.col == nil:
		return false, s.unobserved("debug_query still reads its events.")
	case !ok:
		return false, fault.New(fault.Unsupported, "Send it with kill.", "the %s runtime sends no signals", s.meta.Runtime)
	}
	if s.conn != nil && s.Live() {
		r.Group = s.conn.Foreground()
	}
	if stopped, err = to.Signal(ctx, r); err != nil {
		return stopped, err
	}
	if d, ok := s.col.(collector.Debugger); ok { // also where threads are still to pause
		s.drives(ctx, 0)
		if err := d.Resume(ctx, collector.Resume{}); err != nil && fault.CodeOf(err) != fault.NotPaused &&
			fault.CodeOf(err) != fault.ProcessExited {
			return stopped, err
		}
	}
	return stopped, nil
}

// Resize sets the size of the program's terminal, if it has one.
func (s *Session) Resize(columns, rows int) error {
	if s.conn == nil || !s.Live() {
		return fault.New(fault.ProcessExited, "Launch it again with debug_launch.",
			"the program of session %s has ended, or was attached to", s.ID)
	}
	if err := s.conn.Resize(columns, rows); err != nil {
		return fault.New(fault.ValidationError, "Launch with terminal true.", "session %s has no terminal of ours: %w", s.ID,
			err)
	}
	return nil
}

// askPoll is how often an asked program is looked at: its other processes may outlive the first.
const askPoll = 5 * time.Millisecond

// ask sends the program a signal and waits until all its processes have ended, at most grace. Breakpoints are taken
// away first: a handler must be able to run to its end. It reports whether they have, and whether anybody was there to
// be asked.
func (s *Session) ask(name string, grace time.Duration, hurry <-chan struct{}) (asked, ended bool) {
	if s.col == nil || len(s.col.PIDs()) == 0 {
		return false, true
	}
	ctx, cancel := context.WithTimeout(context.Background(), grace+time.Second)
	defer cancel()
	d, pauses := s.col.(collector.Debugger)
	if pauses && s.Live() {
		if _, err := d.SetPoints(ctx, nil); err != nil {
			s.log.Warn("take breakpoints away before the end", "err", err)
		}
	}
	if _, err := s.signal(ctx, collector.SignalRequest{Name: name, All: true}); err != nil {
		s.log.Warn("ask the program to end", "signal", name, "err", err)
		return false, len(s.col.PIDs()) == 0
	}
	tick := time.NewTicker(askPoll)
	defer tick.Stop()
	end := time.NewTimer(grace)
	defer end.Stop()
	for {
		if len(s.col.PIDs()) == 0 {
			return true, true
		}
		select {
		case <-tick.C:
			if pauses && len(d.Paused()) > 0 { // one had come to its breakpoint before that was taken away
				if err := d.Resume(ctx, collector.Resume{}); err != nil {
					s.log.Debug("let threads go on before the end", "err", err) // they have, or are asked again
				}
			}
		case <-hurry:
			return true, false
		case <-end.C:
			return true, false
		}
	}
}
