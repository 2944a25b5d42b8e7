package native

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/expr"
	"github.com/strobe-debug/strobe/internal/ptrace"
	"github.com/strobe-debug/strobe/internal/snapshot"
	"github.com/strobe-debug/strobe/internal/sorting"
)

// pointHit: a thread met the int3 of points. It waits at the copy of the instruction while it is decided, on another
// goroutine, what the points want. Tracer thread only.
func (t *target) pointHit(th *thread, p *process, ps *pointSite, regs *ptrace.Regs) {
	seen := p.pictured(th, regs, true)
	seen.Regs.Set(regRip, ps.at)
	regs.Rip = ps.site.behind
	if ptrace.SetRegs(th.tid, regs) != nil {
		return
	}
	c := &pause{th: th, stop: th.stops.Load(), p: p, seen: seen}
	if t.passes(c, ps) {
		t.resume(th, 0)
		return
	}
	th.stopped = true
	t.spawn(func() { t.decide(c, ps); ps.known.Store(true) })
}

// passes reports that nobody wants anything of a thread that came to a place: the conditions do not hold. It is asked
// before decide, and only where what conditions need was read before, since other stops wait meanwhile; in doubt it
// says no. Tracer thread only.
func (t *target) passes(c *pause, ps *pointSite) bool {
	if !ps.known.Load() || c.th.step != nil || slices.ContainsFunc(ps.points, func(pt *point) bool {
		return pt.Condition == "" || pt.guards != nil || pt.forces()
	}) {
		return false
	}
	v := c.p.seenView()
	if v == nil {
		return false
	}
	look := &pauseLook{t: t, c: c, pic: snapshot.New(v)}
	return !slices.ContainsFunc(ps.points, func(pt *point) bool {
		if pt.Thread != 0 && pt.Thread != c.th.tid {
			return false
		}
		holds, err := look.of(pt, ps).truth(pt.Condition)
		return holds || err != nil
	})
}

// regRip is the number of rip among unwind.Regs.
const regRip = 16

// decide finds out what the points at a place want of a thread that came there, and does it.
func (t *target) decide(c *pause, ps *pointSite) {
	var stopAt *point
	var hit int64
	look := &pauseLook{t: t, c: c}
	points := ps.points
	if slices.ContainsFunc(points, (*point).forces) { // first: a call that returns at once comes to nothing else here
		points = slices.Clone(points)
		sorting.By(points, func(a, b *point) int { return a.forceRank() - b.forceRank() })
	}
	for _, pt := range points {
		if pt.Thread != 0 && pt.Thread != c.th.tid {
			continue
		}
		if pt.guards != nil {
			t.frameEnded(c, pt.guards)
			continue
		}
		look := look.of(pt, ps)
		if pt.Condition != "" {
			ok, err := t.holds(c, look, pt, ps)
			if err != nil {
				t.conditionFailed(look.c, look, pt, err)
			}
			if !ok {
				continue
			}
		}
		n := c.p.pass(pt)
		if pt.HitCount > 0 && n != pt.HitCount {
			continue
		}
		if pt.forces() {
			if t.force(c, look, pt, ps) {
				stopAt = nil
				break
			}
		} else if pt.Message != "" {
			t.logpoint(look.c, look, pt)
		} else if stopAt == nil {
			stopAt, hit = pt, n
		}
	}
	if stopAt == nil || t.stopping.Load() {
		t.letGoOn(c)
		return
	}
	c.PointID, c.Reason, c.Hit, c.by = stopAt.ID, "breakpoint", hit, stopAt
	t.paused(c, look, stopAt.AllThreads)
}

// letGoOn resumes a thread that waited for a decision.
func (t *target) letGoOn(c *pause) {
	t.tracer.Do(context.Background(), func() error {
		if c.stale(t) {
			return nil
		}
		if s := c.th.step; s != nil && s.held != nil {
			s.goOn()
			return nil
		}
		return t.resume(c.th, 0)
	})
}

// logpoint puts a logpoint's message on the timeline, behind what led there.
func (t *target) logpoint(c *pause, look *pauseLook, pt *point) {
	text := ""
	f, err := look.frame()
	if err == nil {
		text, err = f.Message(pt.Message)
	}
	if err != nil {
		text = fmt.Sprintf("<%v>", err)
	}
	c.located(look)
	t.Flush(context.Background())
	t.pointEvent(event.Logpoint, c, map[string]any{"breakpointId": pt.ID, "message": text})
}

// maxConditionErrors bounds the events of one point's condition; more are counted.
const maxConditionErrors = 100

// conditionFailed says that a point's condition could not be evaluated. It does not hold then.
func (t *target) conditionFailed(c *pause, look *pauseLook, pt *point, err error) {
	if pt.failed.Add(1) > maxConditionErrors {
		return
	}
	why := err.Error()
	var ee *expr.EvalError
	if errors.As(err, &ee) {
		why = ee.Msg
	}
	c.located(look)
	t.Flush(context.Background())
	t.pointEvent(event.ConditionError, c, map[string]any{"breakpointId": pt.ID, "condition": pt.Condition, "error": why})
}
