package service

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/session"
)

// stagePoints keeps breakpoints for the client's next launch in the project.
func (s *Service) stagePoints(ctx context.Context, p *BreakpointParams, add []collector.Point) (*BreakpointResult,
	error) {
	if !filepath.IsAbs(p.ProjectRoot) {
		return nil, invalid("Give sessionId for a program that runs, or the absolute projectRoot of the next launch.",
			"sessionId is absent, and projectRoot %q is not an absolute path", p.ProjectRoot)
	}
	r := &BreakpointResult{Breakpoints: []PointRow{}, Logpoints: []PointRow{}}
	var err error
	next := s.pending.change(keyOf(clientOf(ctx), p.ProjectRoot), func(have staged) staged {
		points := slices.Clone(have.points)
		for _, id := range p.Remove {
			was := len(points)
			points = slices.DeleteFunc(points, func(pt collector.Point) bool { return id == "all" || pt.ID == id })
			if len(points) == was && id != "all" {
				err = invalid("Without add and remove debug_breakpoint lists what is staged.", "no breakpoint %q is staged", id)
				return have
			}
			r.Removed = append(r.Removed, id)
		}
		points = append(points, add...)
		breaks := 0
		for i := range points {
			points[i].ID = fmt.Sprintf("lp-%d", i+1)
			if points[i].Message == "" {
				points[i].ID = fmt.Sprintf("bp-%d", i+1)
				breaks++
			}
		}
		if logs := len(points) - breaks; breaks > session.MaxBreakpoints || logs > session.MaxLogpoints {
			err = invalid("Remove some.", "%d breakpoints and %d logpoints; a session has at most %d and %d", breaks, logs,
				session.MaxBreakpoints, session.MaxLogpoints)
			return have
		}
		have.points = points
		return have
	}).points
	if err != nil {
		return nil, err
	}
	for i := range next {
		row := pointRow(&next[i], collector.PointStatus{ID: next[i].ID, Note: "staged"})
		if next[i].Message != "" {
			r.Logpoints = append(r.Logpoints, row)
		} else {
			r.Breakpoints = append(r.Breakpoints, row)
		}
		if i >= len(next)-len(add) {
			r.Added = append(r.Added, next[i].ID)
		}
	}
	r.Hint = "Nothing is staged."
	if len(next) > 0 {
		r.Hint = "Staged: set before main runs in the next debug_launch in this projectRoot by this client, for 1 hour; " +
			"checked only then."
	}
	return r, nil
}

// setStaged sets what was staged in a program that stands before main, or was attached to, and lets it go on unless it
// was to stop there. What cannot be set is a warning: the others hold.
func (p *LaunchParams) setStaged(ctx context.Context, sess *session.Session, points []collector.Point,
	res *LaunchResult) error {
	for i := range points {
		one := points[i : i+1]
		st, err := sess.ChangePoints(ctx, one, nil)
		if err != nil && !one[0].Pending && (one[0].File != "" || one[0].Function != "") {
			one[0].Pending = true
			nowhere := err
			if st, err = sess.ChangePoints(ctx, one, nil); err == nil {
				res.Warnings = append(res.Warnings, fmt.Sprintf("the staged breakpoint %s at %s is nowhere yet: %v", st.Added[0],
					pointPlace(&one[0]), fault.From(nowhere)))
			}
		}
		if err != nil {
			res.Warnings = append(res.Warnings, fmt.Sprintf("the staged breakpoint %s at %s is not set: %v", points[i].ID,
				pointPlace(&points[i]), fault.From(err)))
			continue
		}
		res.Breakpoints = append(res.Breakpoints, st.Added...)
	}
	res.NextSteps = "debug_query with eventType pause or logpoint and waitMs waits for a breakpoint; debug_session " +
		"status shows where threads are paused."
	if p.StopOnEntry || p.PID != 0 {
		return nil
	}
	if _, _, err := sess.Continue(ctx, collector.Resume{}, 0); err != nil && fault.CodeOf(err) != fault.ProcessExited {
		return err
	}
	return nil
}
