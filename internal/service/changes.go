package service

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/session"
)

// ChangesResult is the answer of action changes: what has changed in the session, in order.
type ChangesResult struct {
	Changes []ChangeRow `json:"changes"`
	Last    int64       `json:"last"`           // of them: give it as after in the next call
	More    bool        `json:"more,omitempty"` // there are more already
	Over    bool        `json:"over,omitempty"` // the session has ended: nothing follows
}

// ChangeRow is one change.
type ChangeRow struct {
	Seq         int64                `json:"seq"`
	TimestampNs int64                `json:"timestampNs"`
	Kind        collector.ChangeKind `json:"kind"`
	By          string               `json:"by"` // a client, program, strobe
	PID         int                  `json:"pid,omitempty"`
	ThreadID    int                  `json:"threadId,omitempty"`
	Command     string               `json:"command,omitempty"`
	// Of paused.
	Reason       string `json:"reason,omitempty"` // of crashed, too
	BreakpointID string `json:"breakpointId,omitempty"`
	Function     string `json:"function,omitempty"`
	File         string `json:"file,omitempty"`
	Line         int    `json:"line,omitempty"`
	With         int64  `json:"with,omitempty"`  // the pause of another thread that it belongs to
	Pause        int64  `json:"pause,omitempty"` // its number

	Step     collector.Step `json:"step,omitempty"`
	Added    []string       `json:"added,omitempty"`
	Removed  []string       `json:"removed,omitempty"`
	Patterns []string       `json:"tracePatterns,omitempty"`
	Watches  []string       `json:"watches,omitempty"`
	Written  []string       `json:"written,omitempty"`
	ExitCode *int           `json:"exitCode,omitempty"`
	Signal   string         `json:"signal,omitempty"`
	Status   session.Status `json:"status,omitempty"`
	// this many changes are missing here: they came faster than they were asked for
	Lost int64 `json:"lost,omitempty"`
}

const (
	// changesAtOnce is how many changes an answer has.
	changesAtOnce = 100
	// changesWith is how long those are waited for that come with the first: a pause of many threads is one answer. Each
	// pause and step is told so much later.
	changesWith = time.Millisecond
)

// sessionChanges waits for changes behind one.
func sessionChanges(ctx context.Context, s *Service, p *ViewParams) (*ChangesResult, error) {
	sess, err := s.sessions.Get(ctx, p.SessionID)
	if err != nil {
		return nil, err
	}
	_, use, release, err := sess.Use(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	r := &ChangesResult{Changes: []ChangeRow{}, Last: p.After}
	l := sess.Listen(p.After)
	add := func(within time.Duration) error {
		next, cancel := context.WithTimeout(use, within)
		defer cancel()
		c, err := l.Next(next)
		if err == nil {
			r.Changes, r.Last = append(r.Changes, changeRow(&c)), c.Seq
		}
		return err
	}
	for err = add(time.Duration(p.WaitMs) * time.Millisecond); err == nil && len(r.Changes) < changesAtOnce; {
		err = add(changesWith)
	}
	r.More, r.Over = err == nil, errors.Is(err, io.EOF)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return r, nil
}

func changeRow(c *session.Change) ChangeRow {
	r := ChangeRow{Seq: c.Seq, TimestampNs: c.TS, Kind: c.Kind, By: c.By, PID: c.PID, ThreadID: c.TID, Command: c.Name,
		Reason: c.Reason, Step: c.Step, Added: c.Added,
		Removed: c.Removed, Patterns: c.Patterns, Watches: c.Watches, Written: c.What, ExitCode: c.ExitCode, Signal: c.Signal,
		Status: c.Status, Lost: c.Lost}
	if p := c.Pause; p != nil {
		r.Reason, r.BreakpointID, r.Function, r.File, r.Line, r.With, r.Pause = p.Reason, p.PointID, p.Function, p.File,
			p.Line, p.With, p.Number
	}
	return r
}
