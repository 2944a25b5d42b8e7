package session

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/fault"
)

// Limits on the points of a session.
const (
	MaxBreakpoints = 50
	MaxLogpoints   = 100
)

// PointState is the breakpoints and logpoints of a session after a change.
type PointState struct {
	Points  []collector.Point // in the order in which they were set
	Status  []collector.PointStatus
	Added   []string // ids
	Removed []string
	Pauses  []collector.Pause
}

// ChangePoints adds and removes breakpoints and logpoints in one step. All are checked before any takes effect.
func (s *Session) ChangePoints(ctx context.Context, add []collector.Point, remove []string) (*PointState, error) {
	_, use, release, err := s.Use(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	d, err := s.debugger()
	if err != nil {
		return nil, err
	}
	select {
	case s.tracing <- struct{}{}:
		defer func() { <-s.tracing }()
	case <-use.Done():
		return nil, context.Cause(use)
	}
	s.mu.Lock()
	next := slices.Clone(s.points)
	s.mu.Unlock()
	st := &PointState{}
	for _, id := range remove {
		i := slices.IndexFunc(next, func(p collector.Point) bool { return p.ID == id })
		if i < 0 && id != "all" {
			return nil, fault.New(fault.ValidationError, "Without add and remove debug_breakpoint lists them.",
				"there is no breakpoint %q; there are %s", id, pointIDs(next))
		}
		if i >= 0 {
			next = slices.Delete(next, i, i+1)
			st.Removed = append(st.Removed, id)
			continue
		}
		for _, p := range next {
			st.Removed = append(st.Removed, p.ID)
		}
		next = nil
	}
	for _, p := range add {
		s.mu.Lock()
		s.lastPoint++
		p.ID = fmt.Sprintf("bp-%d", s.lastPoint)
		if p.Message != "" {
			p.ID = fmt.Sprintf("lp-%d", s.lastPoint)
		}
		s.mu.Unlock()
		st.Added = append(st.Added, p.ID)
		next = append(next, p)
	}
	breaks, logs := countPoints(next)
	if breaks > MaxBreakpoints || logs > MaxLogpoints {
		return nil, fault.New(fault.ValidationError, "Remove some.",
			"%d breakpoints and %d logpoints; a session has at most %d and %d", breaks, logs, MaxBreakpoints, MaxLogpoints)
	}
	if len(add)+len(remove) > 0 {
		if !s.Live() {
			return nil, s.unobserved("debug_launch it again.")
		}
		if st.Status, err = d.SetPoints(use, next); err != nil {
			return nil, s.traceError(err)
		}
		s.mu.Lock()
		s.points = next
		s.mu.Unlock()
		s.pointsChanged(ctx, st)
	} else {
		st.Status = d.Points()
	}
	st.Points, st.Pauses = next, s.told(d.Paused())
	return st, nil
}

func countPoints(points []collector.Point) (breaks, logs int) {
	for _, p := range points {
		if p.Message != "" {
			logs++
		} else {
			breaks++
		}
	}
	return breaks, logs
}

func pointIDs(points []collector.Point) string {
	ids := make([]string, len(points))
	for i, p := range points {
		ids[i] = p.ID
	}
	if len(ids) == 0 {
		return "none"
	}
	return strings.Join(ids, ", ")
}

// debugger returns what pauses the session's program, or why nothing does.
func (s *Session) debugger() (collector.Debugger, error) {
	if d, ok := s.col.(collector.Debugger); ok {
		return d, nil
	}
	if s.col == nil {
		return nil, s.unobserved("debug_query still reads its events.")
	}
	return nil, fault.New(fault.Unsupported, "Trace functions with debug_trace instead.",
		"the %s runtime has no breakpoints", s.meta.Runtime)
}

// Pauses lists the threads that are paused now.
func (s *Session) Pauses() []collector.Pause {
	if d, ok := s.col.(collector.Debugger); ok && s.Live() {
		return d.Paused()
	}
	return nil
}

// told notes that an answer tells of pauses.
func (s *Session) told(pauses []collector.Pause) []collector.Pause {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range pauses {
		s.toldPause = max(s.toldPause, pauses[i].Number)
	}
	return pauses
}

// known returns which of the threads that are paused a client means that does not name one: those that it was told of,
// if there are any. Another thread may have met a breakpoint since then, and would go on with nobody having seen it.
func (s *Session) known(pauses []collector.Pause) (list []collector.Pause, last int64) {
	s.mu.Lock()
	last = s.toldPause
	s.mu.Unlock()
	list = slices.DeleteFunc(slices.Clone(pauses), func(p collector.Pause) bool { return p.By() > last })
	if len(list) == 0 {
		return pauses, 0
	}
	return list, last
}

// Continue lets paused threads go on, waits at most wait for one to pause again, and returns how the program stands
// then.
func (s *Session) Continue(ctx context.Context, r collector.Resume, wait time.Duration) (Status, []collector.Pause,
	error) {
	_, use, release, err := s.Use(ctx)
	if err != nil {
		return "", nil, err
	}
	defer release()
	d, err := s.debugger()
	if err != nil {
		return "", nil, err
	}
	if !s.Live() {
		return "", nil, fault.New(fault.ProcessExited, "debug_query reads its events.", "the program of session %s has ended",
			s.ID)
	}
	before := d.Paused()
	if r.Thread == 0 {
		list, last := s.known(before)
		if r.Told = last; r.Step == collector.StepNone || r.Step == "" {
			before = list
		}
	}
	s.drives(ctx, steppingOr(r, before))
	if err := d.Resume(use, r); err != nil {
		return "", nil, err
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	stepping := steppingThread(r, before)
	for {
		changed := d.PauseChanged()
		now := d.Paused()
		if newPause(before, now) {
			return Paused, s.told(now), nil
		}
		if stepping != 0 && !d.HasThread(stepping) { // perhaps with the program, which is noted a moment later
			stepping = 0
			timer.Reset(min(wait, endedWait))
		}
		// went on: may pause anew
		before = slices.DeleteFunc(before, func(p collector.Pause) bool { return !slices.ContainsFunc(now, p.Same) })
		select {
		case <-changed:
		case <-s.col.Exited():
			select { // the session's own goroutine notes it at once
			case <-s.noted:
			case <-timer.C:
			}
			return s.Standing(), nil, nil
		case <-timer.C:
			if len(now) > 0 {
				return Paused, s.told(now), nil
			}
			return s.Standing(), nil, nil
		case <-use.Done():
			return "", nil, context.Cause(use)
		}
	}
}

// endedWait is how long a program may take to end behind its thread.
const endedWait = 300 * time.Millisecond

// steppingThread is the thread that a step moves; 0: it is no step.
func steppingThread(r collector.Resume, paused []collector.Pause) int {
	switch {
	case r.Step == collector.StepNone || r.Step == "" || len(paused) == 0:
		return 0
	case r.Thread != 0:
		return r.Thread
	}
	return paused[len(paused)-1].TID
}

// newPause reports whether a thread is paused now that was not before, or elsewhere.
func newPause(before, now []collector.Pause) bool {
	return slices.ContainsFunc(now, func(p collector.Pause) bool { return !slices.ContainsFunc(before, p.Same) })
}

// Standing is the session's status at this moment.
func (s *Session) Standing() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status
}
