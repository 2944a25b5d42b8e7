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
	pid   int // the process's, or that of a guest

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
		t.seekStrays()
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

	pending  []pendingEvent // exceptions and writes that are still to be put among the calls
	finished []byte         // payloads of records that the agent left something open in
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
	more, lost := d.t.takePending()
	d.pending = append(d.pending, more...)
	for _, p := range d.t.processes() {
		if p.injected.Load() {
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
		if len(d.pending) > 0 {
			n += d.putPending(rs.next.TSC)
		}
		d.decode(rs)
		n++
		if rs.has = rs.rd.Next(&rs.next); !rs.has {
			d.active = slices.Delete(d.active, first, first+1)
		}
	}
	n += d.restPending(lost)
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
			if i >= p.drain.used { // they are given out in order
				break
			}
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
	rs.tid, rs.pid = int32(rs.rd.TID()), p.pid
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
	if rec.Kind == ring.RecOutput {
		d.output(rs, rec)
		return
	}
	if rec.Kind == ring.RecDropped {
		if len(rec.Payload) >= 24 {
			le := binary.LittleEndian
			d.drop(rs, le.Uint64(rec.Payload), le.Uint64(rec.Payload[8:]), le.Uint64(rec.Payload[16:]), "")
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

func futexWake(word *uint32) {
	syscall.Syscall6(unix.SYS_FUTEX, uintptr(ptrOf(word)), 1 /* FUTEX_WAKE */, 1<<30, 0, 0, 0)
}

// spawn runs fn in a goroutine of the target's.
func (t *target) spawn(fn func()) { go fn() }
