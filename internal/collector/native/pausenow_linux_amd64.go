package native

import (
	"context"
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/ptrace"
	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/snapshot"
	"github.com/strobe-debug/strobe/internal/sorting"
	"golang.org/x/sys/unix"
)

// Threads that are paused because somebody wants it now stand wherever they were: in a system call, too, which goes on
// with the thread as if nothing had been (hide). What a thread has stopped for just then comes first: it is marked as
// asked, and pauses instead of going on.

var _ collector.Pauser = (*target)(nil)

// reasonAsked is the reason of such a pause.
const reasonAsked = "pause"

const (
	// standMost bounds how long the tracer waits for all threads together: those that come later pause when they do.
	standMost = time.Second
	// lateMost is how long a call waits for threads that take a moment.
	lateMost     = 500 * time.Millisecond
	connectEvery = 10 * time.Millisecond // a thread that connects a socket is looked at
	askAgain     = 2 * time.Millisecond  // for those that were in the agent
	maxTriesOut  = 100                   // of those that wait there: then they stand there
	restBytes    = 64                    // of the agent's rest
	placedFirst  = 32                    // threads of one call whose stacks are shown
	placedMost   = 256                   // and whose innermost functions are
	asideFrames  = 8                     // of all but the first
)

// PauseNow implements collector.Pauser.
func (t *target) PauseNow(ctx context.Context, tid int) ([]collector.LaterPause, error) {
	if t.released.Load() || t.leaving.Load() {
		return nil, fault.New(fault.ProcessExited, "Attach to it with debug_launch pid.", "process %d was let go", t.pid)
	}
	t.awaitAnnounced()
	var now []*pause
	var late []*thread
	found := false
	t.announce(1) // who looks meanwhile waits for what comes of this
	defer t.announce(-1)
	err := t.tracer.Do(ctx, func() error {
		t.asksNew = t.asksNew || tid == 0
		var waits []*thread
		for _, th := range t.byNumber() {
			if tid != 0 && th.tid != tid {
				continue
			}
			if found = true; t.pauseOf(th) != nil {
				continue
			}
			th.asked = true
			if !th.stopped && !th.vforks && !connects(th) {
				ptrace.Interrupt(th.tid) //nolint:errcheck // it has ended, which is reported
			}
			waits = append(waits, th)
		}
		by := time.Now().Add(standMost)
		for _, th := range waits {
			if c := t.standNow(th, by); c != nil {
				now = append(now, c)
			} else if t.threads[th.tid] == th {
				late = append(late, th)
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case !found && tid != 0:
		return nil, fault.New(fault.ValidationError, "debug_session status with threads lists them.",
			"the program has no thread %d", tid)
	case !found:
		return nil, fault.New(fault.ProcessExited, "debug_query shows what was recorded.", "process %d has ended", t.pid)
	}
	t.pausedNow(now)
	return t.awaitLate(ctx, late)
}

// awaitLate waits a moment for threads that had something else to do first, and says what keeps those that still do not
// stand.
func (t *target) awaitLate(ctx context.Context, late []*thread) (later []collector.LaterPause, err error) {
	if len(late) == 0 {
		return nil, nil
	}
	limit := time.NewTimer(lateMost)
	defer limit.Stop()
	again := time.NewTicker(askAgain)
	defer again.Stop()
	for over := false; ; {
		t.mu.Lock()
		changed := t.pauseChange
		t.mu.Unlock()
		soon := false
		later = later[:0]
		err = t.tracer.Do(ctx, func() error {
			for _, th := range late {
				if t.threads[th.tid] != th || t.pauseOf(th) != nil {
					continue
				}
				if !th.asked { // it stands, and is about to be among those that are paused
					soon = true
					continue
				}
				why, never := t.whyLater(th)
				soon = soon || !never
				if !never && !th.stopped && th.out == nil {
					ptrace.Interrupt(th.tid) //nolint:errcheck // it has ended, which is reported
				}
				later = append(later, collector.LaterPause{TID: th.tid, Why: why})
			}
			return nil
		})
		if err != nil || !soon || over {
			t.spawn(func() { t.awaitConnected(late) })
			t.awaitAnnounced()
			return slices.DeleteFunc(later, func(l collector.LaterPause) bool { return t.pausedThread(l.TID) }), err
		}
		select {
		case <-changed:
		case <-again.C:
		case <-limit.C:
			over = true
		case <-ctx.Done():
			t.unask(context.WithoutCancel(ctx), collector.Resume{})
			return nil, ctx.Err()
		}
	}
}

// byNumber lists the threads, process by process, their first threads first. Tracer thread only.
func (t *target) byNumber() []*thread {
	var all []*thread
	for _, p := range t.processes() {
		from := len(all)
		for _, th := range p.threads {
			all = append(all, th)
		}
		sorting.By(all[from:], func(a, b *thread) int { return event.CompareThreads(p.pid, a.tid, b.tid) })
	}
	return all
}

// standNow takes a thread over that was interrupted. Nil: it pauses later, or has ended. Tracer thread only.
func (t *target) standNow(th *thread, by time.Time) *pause {
	if th.stopped || th.vforks || connects(th) { // for something that comes first
		return nil
	}
	s, err := ptrace.WaitStopFor(th.tid, min(haltWait, max(time.Until(by), 0)))
	// it waits for a CPU
	for n := 1; err == ptrace.ErrBusy && n < haltWaits && time.Now().Before(by) &&
		taskState(th.p.pid, th.tid) != 'D'; n++ {
		s, err = ptrace.WaitStopFor(th.tid, haltWait)
	}
	if err == nil {
		s, err = ptrace.FaultFirst(s)
	}
	if err != nil {
		if s.Ended {
			t.tracer.Defer(s)
		}
		return nil
	}
	if _, ok := th.p.halted(th, s); !ok || th.deferred || !t.outside(th) {
		return nil
	}
	return t.stand(th)
}

// pausedThread reports whether a thread is paused.
func (t *target) pausedThread(tid int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.ContainsFunc(t.pauses, func(c *pause) bool { return c.TID == tid })
}

// connects reports a thread that waits in a call of connect: with a time limit that would not be made again.
func connects(th *thread) bool {
	nr, _, running := blockedPC(th.p.pid, th.tid)
	return !running && nr == unix.SYS_CONNECT
}

// awaitConnected has threads that connect sockets stand when they have.
func (t *target) awaitConnected(late []*thread) {
	tick := time.NewTicker(connectEvery)
	defer tick.Stop()
	for left := true; left; <-tick.C {
		left = false
		err := t.tracer.Do(context.Background(), func() error {
			for _, th := range late {
				switch {
				case t.threads[th.tid] != th || !th.asked || th.vforks || th.stopped:
				case connects(th):
					left = true
				default:
					ptrace.Interrupt(th.tid) //nolint:errcheck // it has ended, which is reported
				}
			}
			return nil
		})
		if err != nil {
			return
		}
	}
}

// unask has threads not pause any more that were asked to and do not stand yet, and new ones, since what they would
// stand with goes on. It reports whether there are such threads.
func (t *target) unask(ctx context.Context, r collector.Resume) (any bool) {
	t.tracer.Do(ctx, func() error { //nolint:errcheck // the target is gone
		t.asksNew = false
		for _, th := range t.threads {
			if th.asked && (r.Thread == 0 && (r.Step == "" || r.Step == collector.StepNone) || r.Thread == th.tid) {
				th.asked, any = false, true
			}
		}
		return nil
	})
	return any
}

// whyLater says what keeps a thread from standing, and whether that may take long. Tracer thread only.
func (t *target) whyLater(th *thread) (why string, long bool) {
	switch state := taskState(th.p.pid, th.tid); {
	case th.vforks:
		return "it waits for the child that it made with vfork, and nothing stops it there", true
	case connects(th):
		return "it connects a socket, which a stop could end with EINTR; it pauses behind that", true
	case state == 'D':
		return "it waits in the kernel where nothing wakes it", true
	case th.listens:
		return "a signal has stopped it; it pauses when SIGCONT lets it go on", true
	case th.stopped:
		return "it has stopped for something else, which comes first", false
	}
	return "it waits for a CPU, or is about to leave the recording of a call", false
}

// askedToStand pauses a thread that is about to go on and was asked to stand. Tracer thread only.
func (t *target) askedToStand(th *thread, sig syscall.Signal) bool {
	switch {
	case !th.asked:
		return false
	case t.stopping.Load() || t.leaving.Load() || t.released.Load():
		th.asked = false
		return false
	case th.out != nil: // on its way out of the agent, with its signals held
		return false
	case sig != 0: // it takes that first
		ptrace.Interrupt(th.tid) //nolint:errcheck // it has ended
		return false
	}
	if !t.outside(th) { // it comes here again
		return true
	}
	c := t.stand(th)
	if c == nil {
		return false
	}
	t.spawn(func() {
		t.announce(1)
		defer t.announce(-1)
		t.pausedNow([]*pause{c})
	})
	return true
}

// outside has a thread that is to be paused leave the stub or the agent first: it would hold what others wait for, and
// a step could not go on from there. False: it is on its way. Tracer thread only.
func (t *target) outside(th *thread) bool {
	p := th.p.memory()
	regs, err := ptrace.GetRegs(th.tid)
	if err == nil && p.waitsForRoom(regs.Rip) && th.tries < maxTriesOut {
		th.tries++
		th.stopped = false
		ptrace.Cont(th.tid, 0) //nolint:errcheck // it has ended
		return false
	}
	if err != nil || !p.inStub(regs.Rip) {
		return true
	}
	mask, err := ptrace.HoldSignals(th.tid)
	if err != nil {
		return true
	}
	if !t.stepOutside(th, p, mask, nil) {
		return false
	}
	ptrace.SetSigMask(th.tid, mask) //nolint:errcheck // it has ended
	return true
}

// waitsForRoom reports whether pc is where the agent waits for room for a record: code that may be interrupted. Not its
// rest of a system call, which is the program's.
func (p *process) waitsForRoom(pc uint64) bool {
	off := pc - p.regionAddr
	return p.region != nil && off >= p.blob.CriticalHi && off < ring.CodeBytes &&
		(off < p.blob.Rest || off >= p.blob.Rest+restBytes)
}

// stand makes what a thread's pause is to be, of one that stands. Tracer thread only.
func (t *target) stand(th *thread) *pause {
	th.asked, th.tries = false, 0
	regs, err := ptrace.GetRegs(th.tid)
	if err != nil {
		return nil
	}
	th.joins, th.stopped = nil, true
	t.dropLoose(th.p)
	t.endStep(th)
	c := &pause{th: th, stop: th.stops.Load(), p: th.p, seen: th.p.pictured(th, &regs, true)}
	th.p.memory().hide(th)
	c.PID, c.TID, c.ThreadName, c.Reason = th.p.pid, th.tid, c.seen.Name, reasonAsked
	return c
}

// pausedNow makes threads that stand paused ones, and says so on the timeline: one event for all.
func (t *target) pausedNow(list []*pause) {
	if len(list) == 0 {
		return
	}
	pics := map[*process]*snapshot.Picture{}
	for i, c := range list[:min(len(list), placedMost)] {
		t.placed(c, pics, i)
	}
	first := list[0]
	members := map[string]any{"reason": first.Reason, "backtrace": first.Backtrace, "arguments": first.Arguments,
		"locals": first.Locals}
	if len(list) > 1 {
		members["threads"] = len(list)
	}
	e := event.Event{Kind: event.Pause, Thread: t.idOf(first)}
	var err error
	if e.Payload, err = first.payload(members); err != nil {
		t.log.Warn("tell of a pause", "thread", first.TID, "err", err)
	}
	t.tracer.Do(context.Background(), func() error { //nolint:errcheck // the target is gone
		told := err != nil
		for _, c := range list {
			switch {
			case c.stale(t):
			case t.stopping.Load() || t.leaving.Load() || t.released.Load():
				t.resume(c.th, 0) //nolint:errcheck // it has ended
			default:
				if !told { // among the calls, which may take a while to be decoded
					t.pend(t.rt.clock.Now(), e)
					told = true
				}
				t.addPause(c)
			}
		}
		return nil
	})
}

// placed finds out where a thread stands: of the first of a call all, of the others less.
func (t *target) placed(c *pause, pics map[*process]*snapshot.Picture, i int) {
	pic := pics[c.p]
	if pic == nil {
		v, err := c.p.view()
		if err != nil {
			return
		}
		pic = snapshot.New(v)
		pics[c.p] = pic
	}
	frames := asideFrames
	switch {
	case i == 0:
		frames = pauseFrames
	case i >= placedFirst:
		frames = 0
	}
	top, lines := c.where(pic, frames, i == 0)
	c.Location = collector.Location{Function: top.Function, File: top.File, Line: top.Line,
		Address: fmt.Sprintf("0x%x", c.seen.Regs.Val[regRip])}
	c.Backtrace, c.Arguments, c.Locals = lines, top.Arguments, top.Locals
}
