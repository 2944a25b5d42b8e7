package session

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/fault"
)

// TraceState is what is traced, and what became of each pattern.
type TraceState struct {
	collector.Status
	Patterns   []collector.Probe // in force, in the order in which they were added
	EventLimit int64
	Warnings   []string // beside those of Status
}

// ChangeProbes removes and adds patterns of a list. Adding one that is there changes its depth if
// depth is not 0. It returns a warning for each removal that found nothing.
func ChangeProbes(list []collector.Probe, add, remove []string, depth, defaultDepth int) ([]collector.Probe, []string) {
	out := slices.Clone(list)
	var missing []string
	for _, p := range remove {
		before := len(out)
		out = slices.DeleteFunc(out, func(have collector.Probe) bool { return have.Pattern == p })
		if len(out) == before && !slices.Contains(missing, p) {
			missing = append(missing, p)
		}
	}
	for _, p := range add {
		i := slices.IndexFunc(out, func(have collector.Probe) bool { return have.Pattern == p })
		switch {
		case i < 0 && depth == 0:
			out = append(out, collector.Probe{Pattern: p, Depth: defaultDepth})
		case i < 0:
			out = append(out, collector.Probe{Pattern: p, Depth: depth})
		case depth != 0:
			out[i].Depth = depth
		}
	}
	var warnings []string
	if len(missing) > 0 {
		active := "nothing is traced"
		if len(list) > 0 {
			active = "active were " + strings.Join(Patterns(list), ", ")
		}
		warnings = append(warnings, fmt.Sprintf("not active, so not removed: %s (%s)", strings.Join(missing, ", "), active))
	}
	return out, warnings
}

// Patterns returns the patterns of probes.
func Patterns(probes []collector.Probe) []string {
	out := make([]string, len(probes))
	for i, p := range probes {
		out[i] = p.Pattern
	}
	return out
}

// Trace removes and adds patterns in one step and returns the state after it. With nothing to change
// it only returns the state. depth 0 is the project's setting. Changes wait for each other.
func (s *Session) Trace(ctx context.Context, add, remove []string, depth int) (*TraceState, error) {
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
	probes := s.probes
	s.mu.Unlock()
	if len(add)+len(remove) > 0 || depth != 0 && len(probes) > 0 {
		if !s.Live() {
			return nil, fault.New(fault.ProcessExited, "Query its events with debug_query, or debug_launch it again with trace to record more.",
				"the program of session %s has ended", s.ID)
		}
		if len(add)+len(remove) == 0 {
			add = Patterns(probes)
		}
		next, missing := ChangeProbes(probes, add, remove, depth, set.SerializationDepth)
		t.Warnings = append(t.Warnings, missing...)
		if t.Status, err = s.col.SetProbes(use, next); err != nil {
			return nil, s.traceError(err)
		}
		s.mu.Lock()
		s.probes = next
		s.mu.Unlock()
		probes = next
	} else if s.col != nil {
		t.Status = s.col.Status()
	}
	t.Patterns = slices.Clone(probes)
	return t, nil
}

// traceError names the program's end as the cause where it is.
func (s *Session) traceError(err error) error {
	if !s.Live() && fault.CodeOf(err) == fault.InternalError {
		return fault.New(fault.ProcessExited, "Query its events with debug_query, or debug_launch it again with trace to record more.",
			"the program of session %s ended while patterns were changed: %w", s.ID, err)
	}
	return fmt.Errorf("set patterns: %w", err)
}
