package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/strobe-debug/strobe/internal/event"
)

// queueEvents and queueBytes bound what was put and not yet taken by the writer: 65 ms of work
// at 1,000,000 events/s. When full, Put waits.
const (
	queueEvents = 1 << 16
	queueBytes  = 16 << 20
)

// maxOutput cuts the payload of one event that is not a call: what SQLite stores in one value is
// bounded (1 GB), and so is our memory.
const maxOutput = 256 << 20

// queued is an event on its way to the writer, without pointers. 48 bytes.
type queued struct {
	ts, ret    int64
	off        int
	size       uint32
	fn, thread uint32
	under      uint32
	kind       event.Kind
	flags      event.Flags
	stream     event.StreamID
}

// batch is a queue's contents.
type batch struct {
	ev  []queued
	pay []byte
}

// queue is the bounded queue between producers and the writer: one batch that is being filled
// while the writer empties the other.
type queue struct {
	queueMu  sync.Mutex
	room     sync.Cond // the writer took the batch, failed, or ended
	fill     *batch
	spare    *batch
	fail     error // sticky while the disk is full
	closing  bool
	closed   bool
	enqueued int64 // events ever
	settled  int64 // of them, committed
	touched  bool  // names or counts changed, which a commit without events writes
	flushReq int64 // tickets of flush
	flushed  int64
	forceReq int64         // the newest of them that is written whether there is room or not; 0: none waits
	flushCh  chan struct{} // closed and replaced when flushed or fail changes
	wake     chan struct{} // capacity 1
}

func (q *queue) init() {
	q.room.L = &q.queueMu
	q.fill, q.spare = &batch{}, &batch{}
	q.flushCh = make(chan struct{})
	q.wake = make(chan struct{}, 1)
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// urgentLocked reports whether the writer should not wait for its interval.
func (q *queue) urgentLocked() bool {
	return len(q.fill.ev) >= blockEvents || len(q.fill.pay) >= blockPayload || q.flushReq > q.flushed || q.closing
}

// put appends a batch, waiting for room. what is known is read after the caller
// registered what it names.
func (w *writer) put(events []event.Event) error {
	nFuncs, nThreads, nStreams := w.s.nFuncs.Load(), w.s.nThreads.Load(), w.s.nStreams.Load()
	for i := range events {
		e := &events[i]
		switch {
		case e.Kind == event.KindNone || e.Kind >= event.NumKinds && e.Kind.Stored():
			return fmt.Errorf("put event of unknown kind %d", e.Kind)
		case e.Kind.IsCall() && uint32(e.Func) >= nFuncs:
			return fmt.Errorf("put event of unknown function %d", e.Func)
		case e.Thread != event.NoThread && uint32(e.Thread) >= nThreads:
			return fmt.Errorf("put event of unknown thread %d", e.Thread)
		case e.Kind.IsStreamed() && uint32(e.Stream) >= nStreams:
			return fmt.Errorf("put event of unknown stream %d", e.Stream)
		case e.Under > event.ThreadID(nThreads):
			return fmt.Errorf("put event under unknown thread %d", e.Under-1)
		}
	}
	q := &w.queue
	q.queueMu.Lock()
	defer q.queueMu.Unlock()
	for len(events) > 0 {
		for q.fail == nil && !q.closing && (len(q.fill.ev) >= queueEvents || len(q.fill.pay) >= queueBytes) {
			q.room.Wait()
		}
		if q.closing {
			return ErrClosed
		}
		if q.fail != nil {
			return q.fail
		}
		before := q.urgentLocked()
		first := len(q.fill.ev) == 0
		n, rows := q.fill.add(events)
		q.enqueued += int64(rows)
		events = events[n:]
		if first || !before && q.urgentLocked() {
			q.signal()
		}
	}
	return nil
}

// add copies as many events as there is room for, at least one. rows of them get one.
func (b *batch) add(events []event.Event) (n, rows int) {
	for i := range events {
		if i > 0 && (len(b.ev) >= queueEvents || len(b.pay) >= queueBytes) {
			break
		}
		e := &events[i]
		limit := maxOutput
		if e.Kind.IsCall() {
			limit = blockPayload
		}
		data := e.Payload
		flags := e.Flags
		if len(data) > limit {
			data, flags = data[:limit], flags|event.Truncated
		}
		b.ev = append(b.ev, queued{
			ts: e.TS, ret: e.Ret, off: len(b.pay), size: uint32(len(data)), fn: uint32(e.Func),
			thread: uint32(e.Thread), under: uint32(e.Under), kind: e.Kind, flags: flags, stream: e.Stream,
		})
		b.pay = append(b.pay, data...)
		n++
		if e.Kind.Stored() {
			rows++
		}
	}
	return n, rows
}

// sortByTime sorts events by time: calls and output come from different goroutines. It keeps the
// order of each thread's calls, whose clock may step back between processors: such a call takes
// the time of the one before it.
func sortByTime(ev []queued) {
	if slices.IsSortedFunc(ev, byTime) {
		return
	}
	last := map[uint32]int64{}
	for i := range ev {
		if !ev[i].kind.IsCall() {
			continue
		}
		if t, ok := last[ev[i].thread]; ok && ev[i].ts < t {
			ev[i].ts = t
		}
		last[ev[i].thread] = ev[i].ts
	}
	slices.SortStableFunc(ev, byTime)
}

func byTime(a, b queued) int { return cmp.Compare(a.ts, b.ts) }

// reset empties b. A burst of large outputs must not hold its memory for ever.
func (b *batch) reset() {
	b.ev, b.pay = b.ev[:0], b.pay[:0]
	if cap(b.pay) > 2*queueBytes {
		b.pay = nil
	}
}

// touch makes a commit follow even if no event comes.
func (w *writer) touch() {
	q := &w.queue
	q.queueMu.Lock()
	first := !q.touched && !q.closing
	q.touched = true
	q.queueMu.Unlock()
	if first {
		q.signal()
	}
}

// flush waits until what was put before is committed. With force it commits also if nothing was.
func (w *writer) flush(ctx context.Context, force bool) error {
	q := &w.queue
	q.queueMu.Lock()
	if q.fail == nil && !force && !q.touched && q.settled == q.enqueued {
		q.queueMu.Unlock()
		return nil
	}
	if q.closing {
		q.queueMu.Unlock()
		<-w.done
		return w.closeErr
	}
	q.flushReq++
	ticket := q.flushReq
	if force {
		q.forceReq = ticket
	}
	q.signal()
	for {
		fail, done, ch := q.fail, q.flushed >= ticket, q.flushCh
		if force && q.forceReq >= ticket {
			fail = nil // of an attempt before
		}
		q.queueMu.Unlock()
		if done {
			return nil
		}
		if fail != nil {
			return fail
		}
		select {
		case <-ch:
		case <-w.done:
			return w.closeErr
		case <-ctx.Done():
			return fmt.Errorf("flush event store: %w", ctx.Err())
		}
		q.queueMu.Lock()
	}
}
