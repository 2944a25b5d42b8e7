package session

import (
	"context"
	"fmt"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/fault"
)

// TraceState is what is traced, and what became of each pattern.
type TraceState struct {
	collector.Status
	Tracing    Tracing // in force
	EventLimit int64
	Warnings   []string // beside those of Status
}

// Patterns returns the patterns of probes.
func Patterns(probes []collector.Probe) []string {
	out := make([]string, len(probes))
	for i, p := range probes {
		out[i] = p.Pattern
	}
	return out
}

// Trace changes what is recorded in one step and returns the state after it. With nothing to change
// it only returns the state. Changes wait for each other.
func (s *Session) Trace(ctx context.Context, c TraceChange) (*TraceState, error) {
	_, use, release, err := s.Use(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	set, warnings := s.m.cfg.Settings.Load(s.ProjectRoot())
	select {
	case s.tracing <- struct{}{}:
		defer func() { <-s.tracing }()
	case <-use.Done():
		return nil, context.Cause(use)
	}
	t := &TraceState{EventLimit: set.EventsMaxPerSession, Warnings: warnings}
	s.mu.Lock()
	have := s.traced
	s.mu.Unlock()
	if c.changes(have) {
		if s.meta.Core != nil {
			return nil, fault.New(fault.Unsupported,
				"Read its values with debug_memory and its crash with debug_query (eventType crash); debug_launch the program "+
					"without core to trace it.",
				"session %s is a core file: nothing runs that could be traced", s.ID)
		}
		if !s.Live() && (s.col == nil || len(s.col.PIDs()) == 0) { // children may outlive the first process
			return nil, s.unobserved("Query its events with debug_query, or debug_launch it again with trace to record more.")
		}
		next, missing, err := have.Change(c, set.SerializationDepth)
		if err != nil {
			return nil, err
		}
		t.Warnings = append(t.Warnings, missing...)
		if t.Status, err = s.col.SetTracing(use, next.forCollector(set, s.onFull)); err != nil {
			return nil, s.traceError(err)
		}
		s.mu.Lock()
		s.traced = next
		s.mu.Unlock()
		s.traceChanged(ctx, next)
		have = next
	} else {
		t.Status = s.traceStatus()
	}
	t.Tracing = have.clone()
	return t, nil
}

// traceError names the program's end as the cause where it is.
func (s *Session) traceError(err error) error {
	if !s.Live() && fault.CodeOf(err) == fault.InternalError {
		return fault.New(fault.ProcessExited, "Query its events with debug_query, or debug_launch it again with trace to "+
			"record more.",
			"the program of session %s ended while patterns were changed: %w", s.ID, err)
	}
	return fmt.Errorf("set patterns: %w", err)
}

// unobserved is the error of what needs a program that is observed. next is what to do where it has ended.
func (s *Session) unobserved(next string) error {
	s.mu.Lock()
	released := s.meta.Released
	s.mu.Unlock()
	if released {
		return fault.New(fault.ProcessExited, "Attach to it again: debug_launch with its pid.",
			"session %s is over: its program was let go, and runs on unobserved", s.ID)
	}
	return fault.New(fault.ProcessExited, next, "the program of session %s has ended", s.ID)
}
