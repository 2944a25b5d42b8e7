package native

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"syscall"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/ring"
	"golang.org/x/sys/unix"
)

// drainState is the drain goroutine's view of one process.
type drainState struct {
	rings map[int]*ringState
	err   error // reported already
	heats
	losses
	code codeSeen

	sockets socketTable
	goDrain
}

// ringState is one thread's ring being read.
type ringState struct {
	p      *process
	index  int
	feed   *feed
	rd     *ring.Reader // of the feed's stream
	lanes  lanes
	next   ring.Rec // read and not yet merged
	has    bool
	goal   uint64 // how far a pass has to read
	told   uint64 // of its dropped records, those that the timeline has
	mends  int    // how often the program had overwritten it
	peeked uint64 // blocks below this one were looked into
	tid    int32
	pid    int // the process's, or that of a guest

	socketFD int   // that the thread sent or received by last
	socketTS int64 // and when

	comm  string // the thread's name as last seen, and in which round
	named int64
}

// How often rings are looked at: often while records come, else seldom. A query flushes anyway.
const (
	drainBusy = time.Millisecond
	drainIdle = 10 * time.Millisecond
	// drainAside is how often it is seen whether it has to wait on: each look takes a CPU that others want.
	drainAside = 4 * time.Millisecond
	// batchEvents bounds one delivery to the sink, and so how long ring space stays taken.
	batchEvents = 8192
)

// drainLoop moves records from all rings to the sink until the target is gone.
func (t *target) drainLoop() {
	d := &drainer{t: t, cut: map[*function]int64{}, events: make([]event.Event, 0, batchEvents+64)}
	wait := drainBusy
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		var reply chan struct{}
		select {
		case reply = <-t.drainKick:
		case <-timer.C:
		}
		d.take(reply)
		n := d.pass()
		t.seekStrays()
		switch {
		case d.aside:
			wait = drainAside
		case n > 0:
			wait = drainBusy
		default:
			wait = min(wait+wait/8+time.Microsecond, drainIdle)
		}
		gone := d.reap()
		if t.released.Load() {
			d.letAllGo()
			gone = true
		}
		for _, reply := range d.replies {
			close(reply)
		}
		d.replies = d.replies[:0]
		if gone {
			d.toldWrites(math.MaxInt64)
			d.tellCut(true, time.Now())
			t.endSwitches()
			close(t.allGone)
			t.mover.close()
			t.refuseKicks()
			return
		}
		timer.Reset(wait)
	}
}

// refuseKicks answers flushes that came after the end.
func (t *target) refuseKicks() {
	for {
		select {
		case reply := <-t.drainKick:
			if reply != nil {
				close(reply)
			}
		default:
			return
		}
	}
}

// Flush delivers every record written before the call.
func (t *target) Flush(ctx context.Context) error {
	t.flushSwitches()
	reply := make(chan struct{})
	select {
	case t.drainKick <- reply:
	case <-t.allGone:
		return nil
	case <-ctx.Done():
		return t.mover.behind(ctx.Err())
	}
	select {
	case <-reply:
		return nil
	case <-t.allGone:
		return nil
	case <-ctx.Done():
		return t.mover.behind(ctx.Err())
	}
}

// drainer is the drain goroutine's state.
type drainer struct {
	t      *target
	events []event.Event
	active []*ringState
	fit    ring.Fit
	start  int64
	writes []collector.Write
	words  [][8]byte // copies of results that closed frames repeat

	cut     map[*function]int64 // calls of which not all was recorded
	cutTold int64               // of all
	cutAt   time.Time           // when that was looked at

	pending  []pendingEvent // exceptions and writes that are still to be put among the calls
	stuck    bool           // not all that the rings hold is in the spool
	bytes    int64          // of records, in one round
	ended    int            // processes that have, and are not read to their ends
	aside    bool           // the last pass stood back
	behind   time.Time      // since when it stands back; zero when all was decoded since
	peekedAt time.Time
	finished []byte          // payloads of records that the agent left something open in
	replies  []chan struct{} // closed at the end of the pass: who asked for it
	rounds   int64
}

// round merges up to batchEvents records of all rings by time and delivers them. It reports whether some were left.
func (d *drainer) round() (n int, more bool) {
	d.fit = d.t.rt.clock.Fit()
	d.active = d.active[:0]
	fresh, lost := d.t.takePending()
	d.pending = append(d.pending, fresh...)
	d.events = d.events[:0]
	d.lookAll()
	for len(d.active) > 0 && len(d.events) < batchEvents {
		first := 0
		for i := 1; i < len(d.active); i++ {
			if d.active[i].next.TSC < d.active[first].next.TSC {
				first = i
			}
		}
		rs := d.active[first]
		if len(d.pending) > 0 {
			n += d.putPending(rs.next.TSC)
		}
		d.bytes += int64(ring.RecordBytes + len(rs.next.Payload))
		d.decode(rs)
		n++
		if rs.has = rs.rd.Next(&rs.next); !rs.has {
			d.active = slices.Delete(d.active, first, first+1)
			if d.stuck { // what is still in its ring may come before what the others have
				break
			}
		}
	}
	n += d.restPending(lost)
	d.tellWrites()
	if len(d.events) > 0 {
		d.t.sink.Events(d.events)
	}
	d.commit()
	return n, len(d.active) > 0
}

// look beats the heart and answers the loader's announcements.
func (d *drainer) look(p *process) {
	p.region.Beat(d.t.rt.clock.Now())
	if seq := p.region.SyncSeq(); seq != p.syncSeen {
		p.syncSeen = seq
		d.t.spawn(func() { d.t.modulesChanged(p, seq) })
	}
	if seq := p.region.LeaveSeq(); seq != p.leaveSeen && p.leaves() { // else somebody wrote there who should not
		p.leaveSeen = seq
		d.t.spawn(func() { d.t.letGo(p, seq) })
	}
	if p.detached.Load() && p.pid != d.t.pid && !p.dead.Load() && hasEnded(p.pid) {
		p.endTS = d.t.sink.Now()
		p.dead.Store(true)
		d.t.tracer.Do(context.Background(), func() error { delete(d.t.letGone, p.pid); return nil })
	}
}

// lookAtAll is look for all processes.
func (d *drainer) lookAtAll() []*process {
	procs := d.t.processes()
	for _, p := range procs {
		if p.injected.Load() {
			d.look(p)
		}
	}
	return procs
}

// lookAll looks at every process, and finds rings of which something is there to be decoded. It sees what one sweep has
// moved, or none of it: the records of all rings are merged by time.
func (d *drainer) lookAll() {
	procs := d.lookAtAll()
	m := d.t.mover
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stuck || len(d.pending) > 0 { // what was recorded before those comes before them
		m.sweepLocked()
	}
	d.stuck = m.stuck
	for _, p := range procs {
		for i, f := range p.feeds {
			rs := p.drain.rings[i]
			if rs == nil {
				rs = d.open(p, i, f)
			}
			if d.t.discard.Load() {
				rs.skip()
			}
			if rs.rd.Refresh(); !rs.has { // also where a record was read ahead: all rings are read up to one sweep
				rs.has = rs.rd.Next(&rs.next)
			}
			if rs.has {
				d.active = append(d.active, rs)
			}
			if err := cmp.Or(rs.rd.Err(), f.mv.Err()); err != nil {
				d.mend(rs, err)
			}
		}
	}
}

// maxMends bounds how often a ring is read again that the program overwrites.
const maxMends = 100

// mend goes on with a ring that the program has overwritten. A thread that waits for room there must not wait for ever:
// it gets it, and in the end nobody waits in that process any more.
func (d *drainer) mend(rs *ringState, err error) {
	p := rs.p
	if p.drain.err == nil {
		p.drain.err = err
		d.t.log.Warn("read ring", "pid", p.pid, "err", err)
		d.t.warn(fmt.Sprintf("process %d wrote into the memory in which its calls are recorded, so that some are lost, and "+
			"what is said of others may be wrong: %v", p.pid, err))
	}
	if rs.mends++; rs.mends > maxMends {
		p.clearFlags(ring.FlagBlock)
		return
	}
	d.drop(rs, 0, 0, 0, fmt.Sprintf("the target overwrote its event ring: %v", err))
	rs.feed.mend()
	rs.rd.Mend()
}

// skip throws away what is recorded. mover.mu is held.
func (rs *ringState) skip() {
	rs.feed.mv.Look()
	rs.feed.mend()
	rs.rd.Mend()
	rs.has = false
}

// open begins to read a ring. What a pass does not know of when it begins may wait for the next one. mover.mu is held.
func (d *drainer) open(p *process, i int, f *feed) *ringState {
	if p.drain.rings == nil {
		p.drain.rings = map[int]*ringState{}
	}
	rs := &ringState{p: p, index: i, feed: f, rd: ring.NewReader(f.st, d.t.ringBytes, f.from), goal: f.from}
	rs.tid, rs.pid = int32(f.mv.TID()), p.pid
	if pid, ok := p.guests.Load(int(rs.tid)); ok {
		rs.pid = pid.(int)
	}
	name := p.threadName(rs.pid, int(rs.tid))
	rs.comm = name
	rs.lanes.name = func(n int) event.ThreadID {
		if n > 0 {
			p.stacks.Store(true)
		}
		return d.t.sink.Thread(event.Thread{PID: int32(rs.pid), TID: rs.tid, Name: laneName(name, n)})
	}
	p.drain.rings[i] = rs
	p.drain.used = max(p.drain.used, i+1)
	return rs
}

// commit gives back what was read.
func (d *drainer) commit() {
	for _, p := range d.t.processes() {
		for _, rs := range p.drain.rings {
			// The record that was read ahead stays where it is until it is delivered.
			if rs.has {
				rs.rd.CommitBefore(&rs.next)
			} else {
				rs.rd.Commit()
			}
		}
	}
	d.words = d.words[:0]
	d.forget()
}

func (d *drainer) ts(tsc uint64) int64 { return max(d.fit.NS(tsc)-d.start, 0) }

// decode turns one record into events.
func (d *drainer) decode(rs *ringState) {
	rec := &rs.next
	switch rec.Kind {
	case ring.RecOutput:
		d.output(rs, rec)
		return
	case ring.RecWrote:
		d.wrote(rs, rec)
		return
	case ring.RecSocket:
		d.socket(rs, rec)
		return
	}
	if rec.Kind == ring.RecDropped {
		if len(rec.Payload) >= 24 {
			le := binary.LittleEndian
			d.lost(rs, le.Uint64(rec.Payload), le.Uint64(rec.Payload[8:]), le.Uint64(rec.Payload[16:]))
		}
		return
	}
	hooks := *rs.p.hooks.Load()
	if int(rec.Hook) >= len(hooks) || hooks[rec.Hook] == nil {
		return
	}
	if row := hooks[rec.Hook].row; row != nil {
		d.point(rs, row, rec)
		return
	}
	if hooks[rec.Hook].fn == nil {
		return
	}
	fn := hooks[rec.Hook].fn.ready()
	if fn.want.planned {
		d.planned(rs, hooks[rec.Hook], rec)
		return
	}
	if rec.Flags&ring.RecTruncated != 0 {
		d.cut[fn]++
	}
	if fn.plan.Finish != nil && (rec.Kind != ring.RecExit || rec.Flags&ring.RecTail == 0) {
		d.complete(rs, fn, rec)
	}
	ts := d.ts(rec.TSC)
	lanes, sp := &rs.lanes, rec.SP
	if fn.golang != nil {
		lanes, sp = d.goLanes(rs, sp)
		if fn.want.panics != 0 && rec.Kind == ring.RecEnter {
			d.panicked(rs, lanes, sp, fn, rec)
		}
		if d.goEvent(rs, lanes, fn, rec); fn.want.aside() {
			return
		}
		defer lanes.panicOver(sp)
	}
	closing := func(l *lane, f frame, flags event.Flags) {
		e := event.Event{TS: ts, Kind: event.FunctionExit, Flags: rs.p.goSkipped(f, flags), Thread: l.id,
			Func: f.fn.register(d.t.sink)}
		if e.Flags == event.Unwound {
			e.Payload = lanes.thrown
		}
		d.events = append(d.events, e)
	}
	switch rec.Kind {
	case ring.RecEnter:
		tail, left := rec.Flags&ring.RecTail != 0, lanes.left
		lanes.left = 0
		l := lanes.enter(sp, rec.Hook, fn, tail, closing)
		e := event.Event{TS: ts, Kind: event.FunctionEnter, Thread: l.id, Func: fn.register(d.t.sink),
			Payload: d.redact(fn, rec, false)}
		if fn.codeStep != 0 {
			d.seekCode(rs, rec.Payload, int(fn.codeStep), ts)
		}
		if tail || left == sp {
			e.Flags |= event.TailCall
		}
		if rec.Flags&ring.RecTruncated != 0 {
			e.Flags |= event.Truncated
		}
		if rec.Flags&ring.RecSampled != 0 {
			e.Flags |= event.Sampled
		} else {
			rs.p.drain.called(hooks[rec.Hook])
		}
		d.events = append(d.events, e)
	case ring.RecExit:
		e := event.Event{TS: ts, Kind: event.FunctionExit}
		lanes.left = 0
		if rec.Flags&ring.RecTail != 0 {
			e.Flags, lanes.left = event.TailCall, sp
		} else {
			d.result(&e, fn, rec)
		}
		if fn.codeStep != 0 && e.Payload != nil {
			d.seekCode(rs, rec.Payload, int(fn.codeStep), ts)
		}
		tailed := func(l *lane, f frame) {
			x := e
			x.Thread, x.Func = l.id, f.fn.register(d.t.sink)
			x.Flags |= event.TailCall
			if !f.fn.sameResult(fn) {
				x.Flags, x.Ret, x.Payload = event.TailCall, 0, nil
			}
			d.events = append(d.events, x)
		}
		l, ok := lanes.exit(sp, rec.Hook, closing, tailed)
		if !ok {
			if rs.told > 0 { // its enter was dropped
				d.t.sink.Lost(fn.register(d.t.sink), 0, 1)
			}
			return
		}
		e.Thread, e.Func = l.id, fn.register(d.t.sink)
		d.events = append(d.events, e)
	}
}

// redact returns a record's payload without what keys of maps say are secrets, and counts those that it is without.
func (d *drainer) redact(fn *function, rec *ring.Rec, exit bool) []byte {
	payload, n := fn.plan.Layout.RedactKeys(rec.Payload, exit)
	side := 0
	if exit {
		side = 1
	}
	if n += fn.redacted[side]; n > 0 {
		if s, ok := d.t.sink.(collector.SecretSink); ok {
			s.Redacted(int64(n))
		}
	}
	return payload
}

// result fills in what the function returned.
func (d *drainer) result(e *event.Event, fn *function, rec *ring.Rec) {
	if rec.Flags&ring.RecTruncated != 0 {
		e.Flags |= event.Truncated
	}
	e.Payload = d.redact(fn, rec, true)
	if fn.retScalar && len(rec.Payload) >= 8 {
		e.Ret = fn.ret(int64(binary.LittleEndian.Uint64(rec.Payload)))
		e.Flags |= event.HasRet
		if fn.retAlone {
			e.Payload = nil
		}
	}
}

// sameResult reports whether two functions record their results alike, so that one's may be shown as the other's.
func (fn *function) sameResult(o *function) bool {
	return fn == o || fn.retAlone && o.retAlone && fn.retSize == o.retSize && fn.retSigned == o.retSigned ||
		fn.plan.Plan.ExitGPRs == 0 && len(fn.plan.Plan.Exit) == 0
}

func futexWake(word *uint32) {
	syscall.Syscall6(unix.SYS_FUTEX, uintptr(ptrOf(word)), 1 /* FUTEX_WAKE */, 1<<30, 0, 0, 0)
}

// spawn runs fn in a goroutine of the target's.
func (t *target) spawn(fn func()) { go fn() }
