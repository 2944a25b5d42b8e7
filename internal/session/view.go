package session

import (
	"context"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/fault"
)

// View has f look into paused threads, and keeps the session open meanwhile. What f changes by the Evaluator is told to
// those who listen; nil: the runtime has none.
func (s *Session) View(ctx context.Context,
	f func(ctx context.Context, v collector.Viewer, e collector.Evaluator) error) error {
	_, use, release, err := s.Use(ctx)
	if err != nil {
		return err
	}
	defer release()
	if s.meta.Core != nil {
		return s.viewCore(use, f)
	}
	d, err := s.debugger()
	if err != nil {
		return err
	}
	v, ok := d.(collector.Viewer)
	switch {
	case !ok:
		return fault.New(fault.Unsupported, "debug_memory reads values.", "the %s runtime does not show frames by themselves",
			s.meta.Runtime)
	case !s.Live():
		return fault.New(fault.ProcessExited, "debug_query reads its events.", "the program of session %s has ended", s.ID)
	}
	e, ok := d.(collector.Evaluator)
	if !ok {
		return f(use, v, nil)
	}
	return f(use, v, tellingEvaluator{e, s})
}

// viewCore has f look into the threads of a core file, which all stand.
func (s *Session) viewCore(ctx context.Context,
	f func(ctx context.Context, v collector.Viewer, e collector.Evaluator) error) error {
	c, err := s.openCore(ctx)
	if err != nil {
		return err
	}
	v, ok := c.(collector.Viewer)
	if !ok {
		return fault.New(fault.Unsupported, "debug_memory reads values.", "cores of a %s program do not show frames",
			s.meta.Runtime)
	}
	e, _ := c.(collector.Evaluator)
	return f(ctx, v, e)
}

// tellingEvaluator is an Evaluator whose changes those hear who listen.
type tellingEvaluator struct {
	collector.Evaluator
	s *Session
}

func (e tellingEvaluator) SetVariable(ctx context.Context, of collector.Ref, name, text string) (collector.Variable,
	error) {
	v, err := e.Evaluator.SetVariable(ctx, of, name, text)
	return v, e.told(ctx, v, err)
}

func (e tellingEvaluator) SetExpression(ctx context.Context, frame collector.Ref, src, text string) (collector.Variable,
	error) {
	v, err := e.Evaluator.SetExpression(ctx, frame, src, text)
	return v, e.told(ctx, v, err)
}

func (e tellingEvaluator) told(ctx context.Context, v collector.Variable, err error) error {
	if err == nil {
		e.s.change(ctx, Change{Change: collector.Change{Kind: ValueChanged}, What: []string{v.Eval}})
	}
	return err
}

// Goto has a paused thread go on at an address of its function, without running it.
func (s *Session) Goto(ctx context.Context, thread int, at uint64) error {
	return s.View(ctx, func(ctx context.Context, v collector.Viewer, _ collector.Evaluator) error {
		j, ok := v.(collector.Jumper)
		if !ok {
			return fault.New(fault.Unsupported, "debug_continue steps.", "nothing moves a thread of a %s program or a core file",
				s.meta.Runtime)
		}
		err := j.Goto(ctx, thread, at)
		if err == nil {
			s.change(ctx, Change{Change: collector.Change{Kind: ValueChanged}, What: []string{"$rip"}})
		}
		return err
	})
}
