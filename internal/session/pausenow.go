package session

import (
	"context"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/fault"
)

// PauseNow pauses a thread wherever it is, or all with 0, and returns how the program stands then, every paused thread,
// and those that pause later.
func (s *Session) PauseNow(ctx context.Context, thread int) (Status, []collector.Pause, []collector.LaterPause, error) {
	_, use, release, err := s.Use(ctx)
	if err != nil {
		return "", nil, nil, err
	}
	defer release()
	d, err := s.debugger()
	if err != nil {
		return "", nil, nil, err
	}
	p, ok := d.(collector.Pauser)
	switch {
	case !ok:
		return "", nil, nil, fault.New(fault.Unsupported, "Set a breakpoint with debug_breakpoint.",
			"the %s runtime pauses threads at breakpoints only", s.meta.Runtime)
	case !s.Live():
		return "", nil, nil, fault.New(fault.ProcessExited, "debug_query reads its events.",
			"the program of session %s has ended", s.ID)
	}
	s.drives(ctx, thread)
	later, err := p.PauseNow(use, thread)
	if err != nil {
		return "", nil, nil, err
	}
	pauses := s.told(d.Paused())
	if len(pauses) > 0 {
		return Paused, pauses, later, nil
	}
	return s.Standing(), nil, later, nil
}
