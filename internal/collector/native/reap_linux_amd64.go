package native

import (
	"slices"
	"sync/atomic"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/ring"
	"golang.org/x/sys/unix"
)

// reap frees the rings of ended threads and finishes ended processes. True when the last process is gone.
func (d *drainer) reap() bool {
	left, behind := 0, 0
	procs := d.t.processes()
	slices.Reverse(procs) // children first: with the first process the session ends for those who wait for it
	for _, p := range procs {
		dead := p.dead.Load() && !p.hosting.Load() // before the last look at its rings
		read := d.readToEnd(p, dead)
		dead = dead && p.telling.Load() == 0 // its crash comes before its end
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
	d.ended = behind
	return left == 0 && d.t.live.Load() == 0 && len(d.t.processes()) == 0
}

// readToEnd frees the rings of ended threads, and reports whether nothing is left to read.
func (d *drainer) readToEnd(p *process, dead bool) bool {
	if !p.injected.Load() {
		return true
	}
	empty := true
	for i, rs := range p.drain.rings {
		gone := dead || atomic.LoadUint32(p.region.State(i)) == ring.RingDead
		if rs.has || rs.rd.Refresh() || gone && !d.dry(rs) {
			empty = false
			continue
		}
		if gone {
			d.closeRing(p, i, rs)
		}
	}
	return empty && !d.unseen(p)
}

// dry reports whether all that a ring's thread has published is decoded, and moves it to the spool if it was not there.
func (d *drainer) dry(rs *ringState) bool {
	m := d.t.mover
	m.mu.Lock()
	defer m.mu.Unlock()
	if rs.feed.mv.Look() {
		m.moved(rs.feed.move())
	}
	return !rs.has && !rs.rd.Refresh() && len(rs.feed.mv.Bytes()) == 0
}

// unseen reports whether a ring was taken and never looked at.
func (d *drainer) unseen(p *process) bool {
	for i := range p.region.Rings() {
		free := atomic.LoadUint32(p.region.State(i)) == ring.RingFree
		if free && i >= p.drain.used {
			break
		}
		if !free && p.drain.rings[i] == nil && atomic.LoadUint32(&p.region.Header(i).TID) != 0 {
			return true
		}
	}
	return false
}

// closeRing ends what an ended thread left open.
func (d *drainer) closeRing(p *process, i int, rs *ringState) {
	d.events = d.events[:0]
	total, first, last := rs.feed.mv.Lost()
	d.lost(rs, total, first, last)
	p.drain.freed += total
	rs.lanes.closeAll(d.closing(p))
	if len(d.events) > 0 {
		d.t.sink.Events(d.events)
	}
	p.guests.Delete(int(rs.tid))
	delete(p.drain.rings, i)
	m := d.t.mover
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(p.feeds, i)
	m.waits.add(rs.feed.mv)
	rs.feed.st.Restart(rs.feed.mv.Pos())
	p.region.Free(i)
}

// closing ends calls that are open when their thread or process has ended.
func (d *drainer) closing(p *process) emit {
	ts := d.t.sink.Now()
	if p.dead.Load() && p.endTS != 0 {
		ts = p.endTS
	}
	// What others end it with is no error of its calls.
	crashed := p.dead.Load() && isCoreSignal(unix.SignalNum(p.exit.Signal))
	return func(l *lane, f frame, flags event.Flags) {
		if !crashed {
			flags |= event.AtEnd
		}
		d.events = append(d.events, event.Event{TS: ts, Kind: event.FunctionExit, Flags: flags, Thread: l.id,
			Func: f.fn.register(d.t.sink)})
	}
}

// closeGoroutines ends what goroutines left open: they are on no thread, and end with their process.
func (d *drainer) closeGoroutines(p *process) {
	d.events = d.events[:0]
	for _, ls := range p.drain.goroutines {
		closing := d.closing(p)
		ls.closeAll(func(l *lane, f frame, flags event.Flags) {
			closing(l, f, flags)
			if e := &d.events[len(d.events)-1]; ls.thrown != nil {
				e.Flags, e.Payload = e.Flags&^event.AtEnd, ls.thrown
			}
		})
	}
	p.drain.goroutines = nil
	if len(d.events) > 0 {
		d.t.sink.Events(d.events)
	}
}

// finish forgets a process image whose records are all delivered.
func (d *drainer) finish(p *process) {
	t := d.t
	d.lastPending()
	d.closeGoroutines(p)
	d.closeSockets(p)
	if p.injected.Load() {
		if n := atomic.LoadUint64(&p.region.Control().NoRingLost); n > 0 {
			d.events = d.events[:0]
			rs := &ringState{p: p, lanes: lanes{name: func(int) event.ThreadID { return event.NoThread }}}
			d.drop(rs, n, 0, 0, "more threads than rings")
			t.sink.Events(d.events)
		}
	}
	d.settle(p) // now nobody counts any more
	for _, h := range p.drain.hot {
		h.goOff()
	}
	p.keepCounts()
	t.keepLocks(p)
	t.mu.Lock()
	t.procs = slices.DeleteFunc(t.procs, func(q *process) bool { return q == p })
	t.mu.Unlock()
	if p.ended {
		how := p.exit
		if len(p.panics) > 0 {
			how.Panics = &collector.Panics{List: p.panics}
		}
		t.flushSwitches()
		t.sink.Ended(p.pid, how)
		t.note(p.pid, p.exitNote)
		if p.pid == t.pid {
			t.finish(p.exit)
		}
	}
	t.spawn(p.release) // it waits for who changes hooks
}
