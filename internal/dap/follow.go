package dap

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"

	proto "github.com/google/go-dap"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/service"
	"github.com/strobe-debug/strobe/internal/sorting"
)

const (
	// changesWait is how long one question for changes waits, pendingWait where a breakpoint is nowhere yet: nobody
	// tells when a library with it is loaded.
	changesWait = 20000
	pendingWait = 500
)

// listen begins to tell what happens in the session.
func (s *Server) listen() {
	r := s.run
	if r.core { // nothing follows
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	r.working.Go(func() { r.relay(ctx) })
	r.working.Go(func() { r.follow(ctx) })
}

// changes asks for those behind the last.
func (r *run) changes(ctx context.Context, waitMs int) (c service.ChangesResult, err error) {
	err = r.view(ctx, "changes", map[string]any{"after": r.last, "waitMs": waitMs}, &c)
	if err == nil {
		r.last = c.Last
	}
	return c, err
}

// follow tells changes as they come, until the session is over.
func (r *run) follow(ctx context.Context) {
	if r.borrowed && !r.catchUp(ctx) {
		return
	}
	for {
		wait := changesWait
		if r.s.points.anyPending.Load() {
			wait = pendingWait
		}
		c, err := r.changes(ctx, wait)
		if ctx.Err() != nil || !r.inTurn(ctx, func() {
			switch {
			case err != nil:
				r.s.console("The session is lost: " + said(err))
				r.over(r.s)
			case c.Over:
				r.tell(ctx, c.Changes)
				r.over(r.s)
			default:
				r.tell(ctx, c.Changes)
				if wait == pendingWait {
					r.s.points.refresh(ctx, r)
				}
			}
		}) {
			return
		}
		if err != nil || c.Over || r.ended {
			return
		}
	}
}

// inTurn runs f when it is its turn. False: the run was closed before.
func (r *run) inTurn(ctx context.Context, f func()) bool {
	select {
	case r.s.turn <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	defer func() { <-r.s.turn }()
	f()
	return true
}

// catchUp reads what was before this editor came, of which only what holds still is told.
func (r *run) catchUp(ctx context.Context) bool {
	for {
		c, err := r.changes(ctx, 0)
		if err != nil || ctx.Err() != nil {
			return ctx.Err() == nil // follow finds the error
		}
		for i := range c.Changes {
			r.keep(&c.Changes[i])
		}
		if !c.More {
			break
		}
	}
	return r.inTurn(ctx, func() {
		stops := make([]service.ChangeRow, 0, len(r.paused))
		for _, p := range r.paused {
			stops = append(stops, p)
		}
		r.tellStops(ctx, stops)
		r.s.points.refresh(ctx, r)
	})
}

// keep notes which threads are paused.
func (r *run) keep(c *service.ChangeRow) {
	if c.ThreadID != 0 {
		switch c.Kind {
		case collector.ThreadPaused, collector.Resumed, collector.Stepped, collector.ThreadEnded:
			r.setPast(c.ThreadID, nil)
		}
	}
	switch c.Kind {
	case collector.ThreadPaused:
		r.paused[c.ThreadID] = *c
	case collector.Resumed, collector.Stepped, collector.ThreadEnded:
		delete(r.paused, c.ThreadID)
		r.held, r.toldHeld = false, false
	case collector.ThreadBegan, collector.ProcessBegan:
		r.held, r.toldHeld = false, false
	case collector.ProcessEnded:
		for tid, p := range r.paused {
			if p.PID == c.PID {
				delete(r.paused, tid)
			}
		}
	}
}

// tell says what has changed, in order; pauses last, for those of one moment belong together.
func (r *run) tell(ctx context.Context, list []service.ChangeRow) {
	var stops []service.ChangeRow
	changed := false // points, by others
	for i := range list {
		c := &list[i]
		mine := c.By == r.s.name()
		if c.Kind == collector.ThreadPaused && r.quiet && c.Reason == "entry" && mine {
			r.quiet = false
			continue
		}
		r.keep(c)
		switch c.Kind {
		case collector.ThreadPaused:
			stops = append(stops, *c)
		case collector.Resumed, collector.Stepped:
			if !mine {
				r.s.out.event("continued", proto.ContinuedEventBody{ThreadId: c.ThreadID})
			}
		case "points-changed":
			changed = changed || !mine
		default:
			r.tellOne(ctx, c, mine)
		}
	}
	live := stops[:0]
	for _, p := range stops {
		if now, ok := r.paused[p.ThreadID]; ok && now.Pause == p.Pause {
			live = append(live, p)
		}
	}
	if changed {
		r.s.points.refresh(ctx, r)
	}
	r.tellStops(ctx, live)
}

// tellOne says what is no pause.
func (r *run) tellOne(ctx context.Context, c *service.ChangeRow, mine bool) {
	out := &r.s.out
	switch c.Kind {
	case collector.ThreadBegan:
		out.event("thread", proto.ThreadEventBody{Reason: "started", ThreadId: c.ThreadID})
	case collector.ThreadEnded:
		out.event("thread", proto.ThreadEventBody{Reason: "exited", ThreadId: c.ThreadID})
	case collector.ProcessBegan:
		out.event("thread", proto.ThreadEventBody{Reason: "started", ThreadId: c.PID})
	case collector.ProcessEnded:
		out.event("thread", proto.ThreadEventBody{Reason: "exited", ThreadId: c.PID})
	case collector.ProcessExec:
		r.s.console(fmt.Sprintf("Process %d runs %s", c.PID, c.Command))
	case "trace-changed":
		if !mine {
			r.s.console(fmt.Sprintf("%s traces %s now", c.By, strings.Join(c.Patterns, ", ")))
		}
	case "value-changed":
		if !mine && r.s.client.invalidated {
			out.event("invalidated", proto.InvalidatedEventBody{Areas: []proto.InvalidatedAreas{"variables"}})
		}
	case "lost":
		r.resync(ctx, c.Lost)
	case "exited":
		r.drain(ctx)
		r.halves()
		out.event("exited", proto.ExitedEventBody{ExitCode: r.s.exitCode(c)})
		r.over(r.s)
	case "stopped":
		r.drain(ctx)
		r.over(r.s)
	}
}

// exitCode is what a shell would give.
func (s *Server) exitCode(c *service.ChangeRow) int {
	if c.ExitCode != nil {
		return *c.ExitCode
	}
	return 128 + s.SignalNumber(c.Signal)
}

// resync asks how threads stand where changes were missed.
func (r *run) resync(ctx context.Context, lost int64) {
	r.s.console(fmt.Sprintf("%d changes came faster than they were read: threads are looked at anew", lost))
	var v service.ViewResult
	if r.view(ctx, "threads", nil, &v) != nil {
		return
	}
	for _, t := range v.Threads {
		if p, ok := r.paused[t.TID]; t.Paused && (!ok || p.Pause != t.Pause) {
			r.paused[t.TID] = service.ChangeRow{PID: t.PID, ThreadID: t.TID, Pause: t.Pause, Reason: "pause"}
			r.s.out.event("stopped", proto.StoppedEventBody{Reason: "pause", ThreadId: t.TID})
		} else if !t.Paused && ok {
			delete(r.paused, t.TID)
			r.s.out.event("continued", proto.ContinuedEventBody{ThreadId: t.TID})
		}
	}
}

// tellStops says which threads have paused, those first that others paused with. Where none runs any more, one event
// says so of all that paused together.
func (r *run) tellStops(ctx context.Context, stops []service.ChangeRow) {
	if len(stops) == 0 {
		return
	}
	var v service.ViewResult
	var err error
	var both sync.WaitGroup
	both.Go(func() { err = r.view(ctx, "threads", nil, &v) })
	r.drain(ctx)
	if both.Wait(); err == nil {
		r.held = true
		for _, t := range v.Threads {
			if _, known := r.paused[t.TID]; t.Paused && !known { // of which is told in a moment
				r.paused[t.TID] = service.ChangeRow{PID: t.PID, ThreadID: t.TID, Pause: t.Pause, Reason: "pause"}
			}
			r.held = r.held && t.Paused
		}
	}
	sorting.By(stops, func(a, b service.ChangeRow) int {
		return cmp.Or(cmp.Compare(min(a.With, 1), min(b.With, 1)), cmp.Compare(a.Pause, b.Pause))
	})
	for i := range stops {
		c := &stops[i]
		if r.toldHeld && (c.With != 0 || c.Reason == "pause") {
			continue
		}
		body := r.stopped(c)
		body.AllThreadsStopped = r.held
		body.PreserveFocusHint = i > 0 || c.With != 0
		r.s.out.event("stopped", body)
		r.toldHeld = r.held
	}
}

// stopped is a pause in the protocol's words.
func (r *run) stopped(c *service.ChangeRow) proto.StoppedEventBody {
	body := proto.StoppedEventBody{Reason: c.Reason, ThreadId: c.ThreadID}
	switch c.Reason {
	case "until":
		body.Reason = "step"
	case "data":
		body.Reason = "data breakpoint"
	case "breakpoint", "step", "entry", "pause", "exception":
	default: // with thread N
		body.Reason, body.Description = "pause", "Paused "+c.Reason
	}
	if p := r.s.points.byID(c.BreakpointID); p != nil {
		body.HitBreakpointIds = []int{p.number}
		switch p.key.kind {
		case ofFunction:
			body.Reason = "function breakpoint"
		case ofException:
			body.Reason = "exception"
		case ofInstruction:
			body.Reason = "instruction breakpoint"
		}
	}
	return body
}
