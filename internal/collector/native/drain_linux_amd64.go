package native

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/ring"
	"golang.org/x/sys/unix"
)

// drainState is the drain goroutine's view of one process.
type drainState struct {
	rings map[int]*ringState
	err   error // reported already
	heats
	names map[uint64]string // of code addresses in values
}

// ringState is one thread's ring being read.
type ringState struct {
	p     *process
	index int
	rd    *ring.Reader
	lanes lanes
	next  ring.Rec // read and not yet merged
	has   bool
	tid   int32

	comm  string // the thread's name as last seen, and in which round
	named int64
}

// How often rings are looked at: often while records come, else seldom. A query flushes anyway.
const (
	drainBusy = time.Millisecond
	drainIdle = 10 * time.Millisecond
	// batchEvents bounds one delivery to the sink, and so how long ring space stays taken.
	batchEvents = 8192
)

// drainLoop moves records from all rings to the sink until the target is gone.
func (t *target) drainLoop() {
	d := &drainer{t: t, events: make([]event.Event, 0, batchEvents+64)}
	wait := drainBusy
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		var reply chan struct{}
		select {
		case reply = <-t.drainKick:
		case <-timer.C:
		}
		n := d.pass()
		if n > 0 {
			wait = drainBusy
		} else {
			wait = min(wait+wait/8+time.Microsecond, drainIdle)
		}
		gone := d.reap()
		if t.released.Load() {
			d.letAllGo()
			gone = true
		}
		if reply != nil {
			close(reply)
		}
		if gone {
			close(t.allGone)
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
	reply := make(chan struct{})
	select {
	case t.drainKick <- reply:
	case <-t.allGone:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-reply:
		return nil
	case <-t.allGone:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// drainer is the drain goroutine's state.
type drainer struct {
	t      *target
	events []event.Event
	active []*ringState
	fit    ring.Fit
	start  int64
	words  [][8]byte // copies of results that closed frames repeat

	finished []byte // payloads of records that the agent left something open in
	rounds   int64
}

// pass reads everything published when it began, and returns the number of records.
func (d *drainer) pass() int {
	d.start = d.t.sink.StartMono()
	total := 0
	defer d.heatUp()
	for range 64 { // a thread that writes faster than we read must not keep reap away
		n := d.round()
		total += n
		if n < batchEvents {
			break
		}
	}
	return total
}

// round merges up to batchEvents records of all rings by time and delivers them.
func (d *drainer) round() int {
	d.fit = d.t.rt.clock.Fit()
	d.active = d.active[:0]
	for _, p := range d.t.processes() {
		if p.region != nil {
			d.look(p)
		}
	}
	d.events = d.events[:0]
	n := 0
	for len(d.active) > 0 && len(d.events) < batchEvents {
		first := 0
		for i := 1; i < len(d.active); i++ {
			if d.active[i].next.TSC < d.active[first].next.TSC {
				first = i
			}
		}
		rs := d.active[first]
		d.decode(rs)
		n++
		if rs.has = rs.rd.Next(&rs.next); !rs.has {
			d.active = slices.Delete(d.active, first, first+1)
		}
	}
	if len(d.events) > 0 {
		d.t.sink.Events(d.events)
	}
	d.commit()
	return n
}

// look beats the heart, answers the loader's announcements, and finds rings with something to read.
func (d *drainer) look(p *process) {
	p.region.Beat(d.t.rt.clock.Now())
	if seq := p.region.SyncSeq(); seq != p.syncSeen {
		p.syncSeen = seq
		d.t.spawn(func() { d.t.modulesChanged(p, seq) })
	}
	if seq := p.region.LeaveSeq(); seq != p.leaveSeen {
		p.leaveSeen = seq
		d.t.spawn(func() { d.t.letGo(p, seq) })
	}
	if p.detached.Load() && p.pid != d.t.pid && !p.dead.Load() && hasEnded(p.pid) {
		p.endTS = d.t.sink.Now()
		p.dead.Store(true)
		d.t.tracer.Do(context.Background(), func() error { delete(d.t.letGone, p.pid); return nil })
	}
	if p.drain.rings == nil {
		p.drain.rings = map[int]*ringState{}
	}
	for i := range p.region.Rings() {
		if atomic.LoadUint32(p.region.State(i)) == ring.RingFree {
			continue
		}
		rs := p.drain.rings[i]
		if rs == nil {
			if atomic.LoadUint32(&p.region.Header(i).TID) == 0 {
				continue // its thread is just taking it
			}
			rs = d.open(p, i)
		}
		if !rs.has && rs.rd.Refresh() {
			rs.has = rs.rd.Next(&rs.next)
		}
		if rs.has {
			d.active = append(d.active, rs)
		}
		if err := rs.rd.Err(); err != nil && p.drain.err == nil {
			p.drain.err = err
			d.t.log.Warn("read ring", "pid", p.pid, "err", err)
			d.drop(rs, 0, 0, 0, fmt.Sprintf("the target overwrote its event ring: %v", err))
		}
	}
}

func (d *drainer) open(p *process, i int) *ringState {
	rs := &ringState{p: p, index: i, rd: p.region.Reader(i)}
	rs.tid = int32(rs.rd.TID())
	name := threadName(p.pid, int(rs.tid))
	rs.comm = name
	rs.lanes.name = func(n int) event.ThreadID {
		if n > 0 {
			p.stacks.Store(true)
		}
		return d.t.sink.Thread(event.Thread{PID: int32(p.pid), TID: rs.tid, Name: laneName(name, n)})
	}
	p.drain.rings[i] = rs
	p.drain.used = max(p.drain.used, i+1)
	return rs
}

// commit gives read space back and wakes threads that wait for it.
func (d *drainer) commit() {
	for _, p := range d.t.processes() {
		for _, rs := range p.drain.rings {
			// The record that was read ahead stays where it is until it is delivered.
			if rs.has {
				rs.rd.CommitBefore(&rs.next)
			} else {
				rs.rd.Commit()
			}
			if rs.rd.Waiting() {
				futexWake(rs.rd.TailWord())
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
	if rec.Kind == ring.RecDropped {
		if len(rec.Payload) >= 24 {
			le := binary.LittleEndian
			d.drop(rs, le.Uint64(rec.Payload), le.Uint64(rec.Payload[8:]), le.Uint64(rec.Payload[16:]), "")
		}
		return
	}
	hooks := *rs.p.hooks.Load()
	if int(rec.Hook) >= len(hooks) || hooks[rec.Hook] == nil || hooks[rec.Hook].fn == nil {
		return
	}
	fn := hooks[rec.Hook].fn
	rs.p.drain.bytes += int64(len(rec.Payload))
	if fn.plan.Finish != nil {
		d.complete(rs, fn, rec)
	}
	ts := d.ts(rec.TSC)
	closing := func(l *lane, f frame, flags event.Flags) {
		d.events = append(d.events, event.Event{TS: ts, Kind: event.FunctionExit, Flags: flags, Thread: l.id, Func: f.fn.register(d.t.sink)})
	}
	switch rec.Kind {
	case ring.RecEnter:
		tail := rec.Flags&ring.RecTail != 0
		l := rs.lanes.enter(rec.SP, rec.Hook, fn, tail, closing)
		e := event.Event{TS: ts, Kind: event.FunctionEnter, Thread: l.id, Func: fn.register(d.t.sink), Payload: rec.Payload}
		if fn.codePtrs {
			e.Payload = fn.plan.Layout.AnnotateEnter(rec.Payload, rs.p.symbolize)
		}
		if tail {
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
		d.result(&e, fn, rec)
		if fn.codePtrs {
			e.Payload = fn.plan.Layout.AnnotateExit(rec.Payload, rs.p.symbolize)
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
		l, ok := rs.lanes.exit(rec.SP, rec.Hook, closing, tailed)
		if !ok {
			if rs.lanes.lost { // its enter was dropped
				d.t.sink.Dropped(1)
			}
			return
		}
		e.Thread, e.Func = l.id, fn.register(d.t.sink)
		d.events = append(d.events, e)
	}
}

// result fills in what the function returned.
func (d *drainer) result(e *event.Event, fn *function, rec *ring.Rec) {
	if rec.Flags&ring.RecTruncated != 0 {
		e.Flags |= event.Truncated
	}
	e.Payload = rec.Payload
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

// drop puts lost records on the timeline.
func (d *drainer) drop(rs *ringState, count, first, last uint64, why string) {
	rs.lanes.lost = true
	note := map[string]any{"count": count, "threadId": rs.tid}
	ts := d.t.sink.Now()
	if count > 0 {
		note["fromNs"], note["toNs"] = d.ts(first), d.ts(last)
		ts = d.ts(last)
	}
	if why != "" {
		note["reason"] = why
	}
	b, err := json.Marshal(note)
	if err != nil {
		return
	}
	d.events = append(d.events, event.Event{TS: ts, Kind: event.Dropped, Thread: rs.lanes.name(0), Payload: b})
	d.t.sink.Dropped(int64(count))
}

// reap frees the rings of ended threads and finishes ended processes. True when the last process is gone.
func (d *drainer) reap() bool {
	left, behind := 0, 0
	procs := d.t.processes()
	slices.Reverse(procs) // children first: with the first process the session ends for those who wait for it
	for _, p := range procs {
		dead := p.dead.Load() // before the last look at its rings
		read := d.readToEnd(p, dead)
		switch {
		case !dead:
			left++
		case !read:
			left++
			behind++
		case p.pid == d.t.pid && p.ended && behind > 0:
			left++
		default:
			d.finish(p)
		}
	}
	return left == 0 && d.t.live.Load() == 0 && len(d.t.processes()) == 0
}

// readToEnd frees the rings of ended threads, and reports whether nothing is left to read.
func (d *drainer) readToEnd(p *process, dead bool) bool {
	if p.region == nil {
		return true
	}
	empty := true
	for i, rs := range p.drain.rings {
		if rs.has || rs.rd.Refresh() {
			empty = false
			continue
		}
		if dead || atomic.LoadUint32(p.region.State(i)) == ring.RingDead {
			d.closeRing(p, i, rs)
		}
	}
	return empty && !d.unseen(p)
}

// letAllGo ends the reading of processes that live on untraced.
func (d *drainer) letAllGo() {
	for _, p := range d.t.processes() {
		for i, rs := range p.drain.rings {
			d.closeRing(p, i, rs)
		}
		d.t.mu.Lock()
		d.t.procs = slices.DeleteFunc(d.t.procs, func(q *process) bool { return q == p })
		d.t.mu.Unlock()
		d.t.spawn(p.release)
	}
}

// unseen reports whether a ring was taken and never looked at.
func (d *drainer) unseen(p *process) bool {
	for i := range p.region.Rings() {
		if atomic.LoadUint32(p.region.State(i)) != ring.RingFree && p.drain.rings[i] == nil && atomic.LoadUint32(&p.region.Header(i).TID) != 0 {
			return true
		}
	}
	return false
}

// closeRing ends what an ended thread left open.
func (d *drainer) closeRing(p *process, i int, rs *ringState) {
	d.events = d.events[:0]
	if n, first, last := rs.rd.TakeLost(); n > 0 {
		d.drop(rs, n, first, last, "")
	}
	ts := d.t.sink.Now()
	if p.endTS != 0 && p.dead.Load() {
		ts = p.endTS
	}
	rs.lanes.closeAll(func(l *lane, f frame, flags event.Flags) {
		d.events = append(d.events, event.Event{TS: ts, Kind: event.FunctionExit, Flags: flags, Thread: l.id, Func: f.fn.register(d.t.sink)})
	})
	if len(d.events) > 0 {
		d.t.sink.Events(d.events)
	}
	delete(p.drain.rings, i)
	p.region.Free(i)
}

// finish forgets a process image whose records are all delivered.
func (d *drainer) finish(p *process) {
	t := d.t
	if p.region != nil {
		if n := atomic.LoadUint64(&p.region.Control().NoRingLost); n > 0 {
			d.events = d.events[:0]
			rs := &ringState{p: p, lanes: lanes{name: func(int) event.ThreadID { return event.NoThread }}}
			d.drop(rs, n, 0, 0, "more threads than rings")
			t.sink.Events(d.events)
		}
	}
	t.mu.Lock()
	t.procs = slices.DeleteFunc(t.procs, func(q *process) bool { return q == p })
	t.mu.Unlock()
	if p.ended {
		t.note(p.pid, p.exitNote)
		if p.pid == t.pid {
			t.finish(p.exit)
		}
	}
	t.spawn(p.release) // it waits for who changes hooks
}

func futexWake(word *uint32) {
	syscall.Syscall6(unix.SYS_FUTEX, uintptr(ptrOf(word)), 1 /* FUTEX_WAKE */, 1<<30, 0, 0, 0)
}

// spawn runs fn in a goroutine of the target's.
func (t *target) spawn(fn func()) { go fn() }
