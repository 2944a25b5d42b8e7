package native

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"syscall"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/crash"
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/ptrace"
	"github.com/strobe-debug/strobe/internal/snapshot"
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/unwind"
	"github.com/strobe-debug/strobe/internal/value"
)

// pause is one paused thread.
type pause struct {
	collector.Pause
	th     *thread
	stop   int64 // which of its stops it stands in
	p      *process
	seen   *snapshot.Thread // its registers, with rip at the place in the program's own code
	skip   int              // inlined calls that begin there and are not yet entered
	enters int              // of them, still not behind a step into one in place
	by     *point           // the breakpoint, if that is why

	flags uint64 // at a data breakpoint: the register
	alone bool   // and: the process had no other thread then
}

// stale reports that the thread is not there any more, because it was let go on meanwhile or has ended. Tracer thread
// only.
func (c *pause) stale(t *target) bool {
	return t.threads[c.th.tid] != c.th || c.th.stops.Load() != c.stop || !c.th.stopped
}

// pauseLook reads the innermost frame of a waiting thread, when somebody needs it.
type pauseLook struct {
	t    *target
	c    *pause
	pic  *snapshot.Picture
	view *snapshot.FrameView
	err  error
}

func (g *pauseLook) picture() (*snapshot.Picture, error) {
	if g.pic == nil && g.err == nil {
		v, err := g.c.p.view()
		if err != nil {
			g.err = err
			return nil, err
		}
		g.pic = snapshot.New(v)
	}
	return g.pic, g.err
}

// of is the look that a point takes: without inlined calls that it is in front of.
func (g *pauseLook) of(pt *point, ps *pointSite) *pauseLook {
	m := g.c.p.memory().moduleAt(ps.at)
	if m == nil || m.mod == nil || pt.forces() {
		return g
	}
	skip := pt.skips(m.mod, symbol.Addr(ps.at-m.bias))
	if skip == g.c.skip {
		return g
	}
	c := *g.c
	c.skip = skip
	return &pauseLook{t: g.t, c: &c, pic: g.pic}
}

// messageDepth is how many pointers logpoints and paused threads' values follow.
const messageDepth = 3

func (g *pauseLook) frame() (*snapshot.FrameView, error) {
	pic, err := g.picture()
	if err != nil || g.view != nil {
		return g.view, err
	}
	stack, u := pic.Innermost(g.c.shownThread())
	g.c.shown(pic, &stack)
	if len(stack.Frames) == 0 {
		return nil, errors.New("its stack cannot be read")
	}
	top := &stack.Frames[0]
	g.c.Function, g.c.File, g.c.Line = top.Function, top.File, top.Line
	g.view = pic.View(g.c.seen, u, top, messageDepth)
	return g.view, nil
}

func (g *pauseLook) truth(src string) (bool, error) {
	f, err := g.frame()
	if err != nil {
		return false, err
	}
	return f.Truth(src)
}

// atCall shows a thread that met a breakpoint at the call of an inlined function there, if the breakpoint is in the
// caller.
func (c *pause) atCall(pic *snapshot.Picture) {
	if c.by == nil || c.by.pat == nil && c.by.line == 0 {
		return
	}
	pc := c.seen.Regs.Val[regRip]
	for _, m := range pic.Modules {
		if pc < m.Lo || pc >= m.Hi {
			continue
		}
		c.skip = c.by.skips(m.Mod, symbol.Addr(pc-m.Bias))
	}
}

// shownThread is the paused thread as a person sees it: without inlined calls that are not yet entered.
func (c *pause) shownThread() *snapshot.Thread {
	th := *c.seen
	th.Skip = c.skip
	return &th
}

// shown puts the innermost function of a stack at the statement that begins there, of several lines that the compiler
// has for one address.
func (c *pause) shown(pic *snapshot.Picture, stack *unwind.Stack) {
	if c.skip > 0 || len(stack.Frames) == 0 || c.seen.Behind {
		return
	}
	f := &stack.Frames[0]
	for _, m := range pic.Modules {
		if f.PC < m.Lo || f.PC >= m.Hi {
			continue
		}
		if row, ok := m.Mod.Row(symbol.Addr(f.PC - m.Bias)); ok && row.Line > 0 {
			f.File, f.Line = row.File, row.Line
		}
	}
}

// where describes the thread's place: its innermost frame, with values if they are asked for, and a line for each of
// some frames.
func (c *pause) where(pic *snapshot.Picture, frames int, values bool) (top crash.Frame, lines []string) {
	walk := pic.Stack
	if frames == 0 {
		walk = pic.Innermost
	}
	stack, u := walk(c.shownThread())
	c.shown(pic, &stack)
	for i := range stack.Frames[:min(len(stack.Frames), max(frames, 1))] {
		f := pic.Frame(&stack.Frames[i])
		if i == 0 {
			if values {
				pic.Values(u, &stack.Frames[0], &f, messageDepth, maxPauseValues)
			}
			top = f
		}
		if i < frames {
			lines = append(lines, f.Text())
		}
	}
	if n := len(stack.Frames) + stack.Elided; n > frames && frames > 0 {
		lines = append(lines, fmt.Sprintf("… %d more", n-frames))
	}
	return top, lines
}

const (
	maxPauseValues = 8 << 10 // bytes of JSON
	pauseFrames    = 20
)

// paused makes a thread that waits a paused one, and says so on the timeline.
func (t *target) paused(c *pause, look *pauseLook, all bool) {
	c.PID, c.TID, c.ThreadName = c.p.pid, c.th.tid, c.seen.Name
	if o := c.p.goStepOf(c.seen.FS, c.th.tid); o != nil {
		c.ThreadName = fmt.Sprintf("goroutine %d", o.id)
	}
	if c.by != nil && c.by.until {
		c.Reason, c.Hit = "until", 0
	}
	t.dropUntil(c.TID)
	if pic, err := look.picture(); err == nil {
		c.atCall(pic)
		top, lines := c.where(pic, pauseFrames, true)
		c.Location = collector.Location{Function: top.Function, File: top.File, Line: top.Line,
			Address: fmt.Sprintf("0x%x", c.seen.Regs.Val[regRip])}
		c.Backtrace, c.Arguments, c.Locals = lines, top.Arguments, top.Locals
		c.noteGoPanic()
	}
	ctx := context.Background()
	t.Flush(ctx) // what led there comes first
	t.announce(1)
	defer t.announce(-1)
	ev := map[string]any{"breakpointId": c.PointID, "reason": c.Reason, "backtrace": c.Backtrace,
		"arguments": c.Arguments, "locals": c.Locals}
	if c.Note != "" {
		ev["note"] = c.Note
	}
	t.pointEvent(event.Pause, c, ev)
	t.tracer.Do(ctx, func() error {
		if c.stale(t) {
			return nil
		}
		var with []*pause
		t.takesStep(c.th, c.seen.FS)
		if c.th.step != nil {
			with = c.th.step.with
		}
		t.endStep(c.th)
		if t.stopping.Load() || t.released.Load() {
			return t.resume(c.th, 0)
		}
		t.addPause(c)
		if all {
			t.pauseOthers(c, nil)
		} else if len(with) > 0 {
			t.pauseOthers(c, with)
		}
		return nil
	})
}

// announce counts pauses that a client may know of by their events before they can be continued.
func (t *target) announce(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.announced += n
	t.pausesChangedLocked()
}

// announceWait bounds the wait for a pause whose event is there already.
const announceWait = 1500 * time.Millisecond

// awaitAnnounced waits until the pauses whose events are on the timeline are among those of the target.
func (t *target) awaitAnnounced() {
	limit := time.NewTimer(announceWait)
	defer limit.Stop()
	for {
		t.mu.Lock()
		n, changed := t.announced, t.pauseChange
		t.mu.Unlock()
		if n == 0 {
			return
		}
		select {
		case <-changed:
		case <-limit.C:
			return
		}
	}
}

// pauseOthers stops the other threads of a paused thread's process as well. What a thread has stopped for just now, or
// stops for before it hears of this, comes first: then it joins (resume). only: those that were paused like that
// before; nil: all. Tracer thread only.
func (t *target) pauseOthers(c *pause, only []*pause) {
	others := slices.Collect(maps.Values(c.p.threads))
	if only != nil {
		others = others[:0]
		for _, o := range only {
			if t.threads[o.th.tid] == o.th {
				others = append(others, o.th)
			}
		}
	}
	for _, th := range others {
		if th == c.th || t.pauseOf(th) != nil {
			continue
		}
		if stood := th.stopped; stood {
			th.joins = c
		} else if _, ok := th.p.haltSoon(th); ok && !th.deferred {
			t.pauseWith(c, th)
		} else {
			th.joins = c
		}
	}
}

// pauseWith pauses a thread that stands, for another one's sake. Tracer thread only.
func (t *target) pauseWith(c *pause, th *thread) {
	th.joins, th.stopped = nil, true
	regs, err := ptrace.GetRegs(th.tid)
	if err != nil {
		return
	}
	t.takesStep(th, regs.Fs_base)
	t.endStep(th)
	th.p.memory().hide(th)
	o := &pause{th: th, stop: th.stops.Load(), p: th.p, seen: th.p.pictured(th, &regs, false)}
	o.PID, o.TID, o.ThreadName, o.PointID, o.Reason = th.p.pid, th.tid, o.seen.Name, c.PointID,
		fmt.Sprintf("with thread %d", c.TID)
	o.With = c.Number
	t.addPause(o)
}

// joined pauses a thread that is about to go on and was to be paused with another one that still is. Tracer thread
// only.
func (t *target) joined(th *thread, sig syscall.Signal) bool {
	c := th.joins
	if c == nil || t.stopping.Load() || t.pauseOf(c.th) != c {
		th.joins = nil
		return false
	}
	if sig != 0 { // it takes that first
		ptrace.Interrupt(th.tid) //nolint:errcheck // it has ended
		return false
	}
	t.pauseWith(c, th)
	return true
}

// addPause makes a thread a paused one. Tracer thread only.
func (t *target) addPause(c *pause) {
	t.mu.Lock()
	c.Number = t.numbers.Pause()
	t.pauses = append(t.pauses, c)
	t.pausesChangedLocked()
	t.mu.Unlock()
	t.tellPaused(c)
}

// dropPause forgets the pause of a thread that goes on, by a step or freely, and reports whether it had one. Tracer
// thread only.
func (t *target) dropPause(th *thread, how collector.Step) bool {
	c := t.takePause(th)
	if c != nil {
		t.tellResumed(c, how)
	}
	return c != nil
}

// takePause forgets a thread's pause, and returns it; nil: it had none.
func (t *target) takePause(th *thread) *pause {
	t.mu.Lock()
	i := slices.IndexFunc(t.pauses, func(c *pause) bool { return c.th == th })
	if i < 0 {
		t.mu.Unlock()
		return nil
	}
	c := t.pauses[i]
	t.pauses = slices.Delete(t.pauses, i, i+1)
	t.pausesChangedLocked()
	t.mu.Unlock()
	t.dropRefs(c)
	return c
}

func (t *target) pausesChangedLocked() {
	close(t.pauseChange)
	t.pauseChange = make(chan struct{})
}

func (t *target) pauseOf(th *thread) *pause {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.pauses {
		if c.th == th {
			return c
		}
	}
	return nil
}

// PauseChanged implements collector.Debugger.
func (t *target) PauseChanged() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.pauseChange
}

// Paused implements collector.Debugger.
func (t *target) Paused() []collector.Pause {
	t.awaitAnnounced()
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make([]collector.Pause, 0, len(t.pauses))
	for _, c := range t.pauses {
		out = append(out, c.Pause)
	}
	return out
}

// Resume implements collector.Debugger.
func (t *target) Resume(ctx context.Context, r collector.Resume) error {
	t.awaitAnnounced()
	t.mu.Lock()
	all := slices.Clone(t.pauses)
	t.mu.Unlock()
	if asked := t.unask(ctx, r); len(all) == 0 && asked {
		return nil
	} else if len(all) == 0 {
		return fault.New(fault.NotPaused, "debug_session status lists pausedThreads; set a breakpoint with debug_breakpoint.",
			"no thread is paused")
	}
	picked := slices.DeleteFunc(slices.Clone(all), func(c *pause) bool { return r.Told > 0 && c.By() > r.Told })
	if len(picked) == 0 {
		picked = all
	}
	known := picked
	if r.Thread != 0 {
		picked = slices.DeleteFunc(slices.Clone(all), func(c *pause) bool { return c.TID != r.Thread })
		if len(picked) == 0 {
			return fault.New(fault.NotPaused, "debug_session status lists pausedThreads.", "thread %d is not paused", r.Thread)
		}
	}
	if r.Step != collector.StepNone && r.Step != "" {
		return t.stepFrom(ctx, picked[len(picked)-1], known, r)
	}
	if r.Line != 0 {
		if err := t.setUntil(ctx, r); err != nil {
			return err
		}
	}
	return t.tracer.Do(ctx, func() error {
		for _, c := range picked {
			if t.dropPause(c.th, collector.StepNone) && !c.stale(t) {
				t.resume(c.th, 0)
			}
		}
		return nil
	})
}

// pointEvent puts an event of a waiting thread on the timeline.
func (t *target) pointEvent(kind event.Kind, c *pause, members map[string]any) {
	b, err := c.payload(members)
	if err != nil {
		return
	}
	t.sink.Events([]event.Event{{TS: t.sink.Now(), Kind: kind, Thread: t.idOf(c), Payload: b}})
}

// idOf is the waiting thread's number on the timeline.
func (t *target) idOf(c *pause) event.ThreadID {
	return t.sink.Thread(event.Thread{PID: int32(c.p.pid), TID: int32(c.th.tid), Name: c.seen.Name})
}

// payload is an event's, with the place.
func (c *pause) payload(members map[string]any) ([]byte, error) {
	for k, v := range map[string]string{"function": c.Function, "file": c.File} {
		if v != "" {
			members[k] = v
		}
	}
	if c.Line > 0 {
		members["line"] = c.Line
	}
	for k, v := range members {
		if o, ok := v.(value.Object); ok && len(o) == 0 {
			delete(members, k)
		}
	}
	return json.Marshal(members)
}

// located fills in the place of a waiting thread.
func (c *pause) located(look *pauseLook) {
	if c.Line != 0 || c.Function != "" {
		return
	}
	if pic, err := look.picture(); err == nil {
		top, _ := c.where(pic, 0, false)
		c.Function, c.File, c.Line = top.Function, top.File, top.Line
	}
}

// releasePaused lets every paused thread go on: its points are gone.
func (t *target) releasePaused(ctx context.Context) {
	if err := t.cancelSteps(ctx); err != nil {
		t.log.Warn("end steps", "err", err)
	}
	if err := t.Resume(ctx, collector.Resume{}); err != nil && fault.CodeOf(err) != fault.NotPaused {
		t.log.Warn("let paused threads go on", "err", err)
	}
}
