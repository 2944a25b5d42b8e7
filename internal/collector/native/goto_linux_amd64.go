package native

import (
	"context"
	"fmt"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/ptrace"
	"github.com/strobe-debug/strobe/internal/snapshot"
	"github.com/strobe-debug/strobe/internal/symbol"
)

var _ collector.Jumper = (*target)(nil)

// Goto implements collector.Jumper. What the code that is left out would have done is missing; that the stack is as it
// is, which is all that the engine needs, holds within the body of one function.
func (t *target) Goto(ctx context.Context, tid int, at uint64) error {
	t.awaitAnnounced()
	var c *pause
	for _, p := range t.processes() {
		if c = t.pauseFor(p, tid); c != nil {
			break
		}
	}
	if c == nil || tid == 0 {
		return fault.New(fault.NotPaused, "Pause it with debug_continue action pause.", "thread %d is not paused", tid)
	}
	view, err := c.p.view()
	if err != nil {
		return err
	}
	pc := c.seen.Regs.Val[regRip]
	s := &stepper{t: t, p: c.p, view: view}
	f, off, ok := s.function(pc)
	m := s.module(at)
	const hint = "Step, or let it run to a breakpoint there."
	switch {
	case !ok || !f.HasDWARF:
		return fault.New(fault.Unsupported, hint, "thread %d stands in code without source", tid)
	case f.Language == symbol.LangGo: // its stacks move and are described by place
		return fault.New(fault.Unsupported, hint, "goroutines cannot be moved: Go's runtime relies on where they come from")
	case c.Reason == reasonEntry || m == nil || addrIn(m, at) < m.Mod.BodyStart(f) || addrIn(m, at) >= f.High ||
		f.Low+symbol.Addr(off) < m.Mod.BodyStart(f):
		return fault.New(fault.ValidationError, hint, "0x%x is not in the body of %s, in which thread %d stands", at,
			f.Name, tid)
	}
	if row, ok := m.Mod.Row(addrIn(m, at)); !ok || !row.Stmt || uint64(row.Lo)+m.Bias != at {
		return fault.New(fault.ValidationError, hint, "no statement begins at 0x%x", at)
	}
	runs := c.p.whereRuns(at)
	err = t.tracer.Do(ctx, func() error {
		if t.pauseOf(c.th) != c || c.stale(t) {
			return fault.New(fault.NotPaused, "debug_session status lists pausedThreads.", "thread %d is not paused any more",
				tid)
		}
		regs, err := ptrace.GetRegs(c.th.tid)
		if err != nil {
			return err
		}
		regs.Rip, regs.Orig_rax = runs, ^uint64(0) // no system call begins again there
		if err := ptrace.SetRegs(c.th.tid, &regs); err != nil {
			return err
		}
		moved := *c.seen
		moved.Regs.Set(regRip, at)
		moved.Behind = false
		c.seen, c.skip, c.enters = &moved, 0, 0
		return nil
	})
	if err != nil {
		return err
	}
	t.dropRefs(c)
	top, lines := c.where(snapshot.New(view), pauseFrames, true)
	t.mu.Lock()
	defer t.mu.Unlock()
	c.Location = collector.Location{Function: top.Function, File: top.File, Line: top.Line,
		Address: fmt.Sprintf("0x%x", at)}
	c.Backtrace, c.Arguments, c.Locals = lines, top.Arguments, top.Locals
	return nil
}
