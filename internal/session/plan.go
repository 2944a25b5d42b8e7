package session

import (
	"context"
	"fmt"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/fault"
)

// planRate is the share of calls that reaches us of functions that are called very often, while they are only counted.
const planRate = 0.001

// Plan is Trace that leaves everything as it was: what the change would trace stands for a while, its calls are counted
// and not recorded, and it is taken out again. It returns the state as it was meanwhile, and how often functions were
// called in took.
func (s *Session) Plan(ctx context.Context, c TraceChange, sample time.Duration) (t *TraceState,
	calls []collector.PlannedFunction, took time.Duration, err error) {
	_, use, release, err := s.Use(ctx)
	if err != nil {
		return nil, nil, 0, err
	}
	defer release()
	set, warnings := s.m.cfg.Settings.Load(s.ProjectRoot())
	select {
	case s.tracing <- struct{}{}:
		defer func() { <-s.tracing }()
	case <-use.Done():
		return nil, nil, 0, context.Cause(use)
	}
	if s.meta.Core != nil || !s.Live() {
		return nil, nil, 0, fault.New(fault.ProcessExited, "debug_launch it again, with stopOnEntry to plan before main.",
			"no program of session %s runs in which something could be traced", s.ID)
	}
	s.mu.Lock()
	have := s.traced
	s.mu.Unlock()
	next, missing, err := have.Change(c, set.SerializationDepth)
	if err != nil {
		return nil, nil, 0, err
	}
	t = &TraceState{EventLimit: set.EventsMaxPerSession, Warnings: append(warnings, missing...)}
	wanted := next.forCollector(set, s.onFull)
	wanted.Probes = append([]collector.Probe{}, wanted.Probes...)
	for i := range wanted.Probes {
		wanted.Probes[i].Planned = !active(have, wanted.Probes[i].Pattern)
	}
	if len(have.Probes) == 0 {
		wanted.Sampling = collector.Sampling{Threshold: set.SamplingThreshold, Rate: planRate}
	}
	defer func() { // whatever happened
		back, cancel := context.WithTimeout(context.WithoutCancel(ctx), planBack)
		defer cancel()
		if _, undo := s.col.SetTracing(back, have.forCollector(set, s.onFull)); undo != nil && err == nil && s.Live() {
			err = fmt.Errorf("take out what was planned: %w", s.traceError(undo))
		}
	}()
	if t.Status, err = s.col.SetTracing(use, wanted); err != nil {
		return nil, nil, 0, s.traceError(err)
	}
	t.Tracing = next.clone()
	planner, ok := s.col.(collector.Planner)
	if !ok {
		return t, nil, 0, nil
	}
	planner.Planned() // from now on
	start := time.Now()
	select {
	case <-time.After(sample):
	case <-s.col.Exited():
	case <-use.Done():
		return nil, nil, 0, context.Cause(use)
	}
	took = time.Since(start)
	if err := s.col.Flush(use); err != nil && s.Live() {
		return nil, nil, 0, fmt.Errorf("count calls: %w", err)
	}
	return t, planner.Planned(), took, nil
}

// planBack bounds how long what was planned is taken out.
const planBack = 30 * time.Second

func active(t Tracing, pattern string) bool {
	for _, p := range t.Probes {
		if p.Pattern == pattern {
			return true
		}
	}
	return false
}
