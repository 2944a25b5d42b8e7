package store

import (
	"context"
	"database/sql"
	"sync/atomic"
	"time"

	"github.com/strobe-debug/strobe/internal/event"
)

const (
	// fastInterval is how long events wait under load: what a kill -9 may lose.
	fastInterval = 5 * time.Millisecond
	// slowInterval is the same with little traffic, where each commit costs more than its events.
	slowInterval = 50 * time.Millisecond
	// fastEvents pending events in one interval make the next one fast.
	fastEvents = 128
	// sealEvents open events are sealed at a commit; fewer go to a tail row.
	sealEvents = blockEvents / 2
	// retryInterval is how often a full disk is tried again.
	retryInterval = time.Second
	// statsChunk events are placed under one hold of statsMu: 0.3 ms.
	statsChunk = 2048
)

// writer is the one goroutine that turns queued events into rows and blocks. Fields below "owned"
// belong to that goroutine.
type writer struct {
	s         *Store
	queue     queue
	maxEvents atomic.Int64
	maxBytes  atomic.Int64
	interval  time.Duration // 0: adaptive
	done      chan struct{} // closed when the goroutine has ended
	closeErr  error         // valid after done
	ckpt      *checkpointer

	room func() error // nil: there always is

	// failCommit, when set by a test, fails commits.
	failCommit func() error

	// owned
	db       *sql.DB
	conn     *sql.Conn
	stmt     statements
	enc      *scratch
	encoders chan *scratch // for blocks that are full
	open     *columns
	nextID   event.ID
	tailed   int // events of open that are in tail rows
	tailRows bool
	sealed   []*sealedBlock // not yet committed
	outs     []outRow       // not yet committed, by id
	retired  []*columns     // sealed, but perhaps still published
	free     []*columns
	old      *columns
	written  written
	row      Row
}

// sealedBlock is a block that waits for its commit.
type sealedBlock struct {
	b         *block
	hot, cold []byte
	encoded   chan struct{} // closed when the others are set
}

// encoders is how many blocks are encoded at one time.
const encoders = 2

// outRow is a row of table outputs that waits for its commit.
type outRow struct {
	r    Row
	data []byte
}

// written says how much of the session's names is in the file.
type written struct {
	functions, threads, streams int
	files                       map[string]int
	layouts                     map[string]int
}

func newWriter(s *Store, o Options) *writer {
	w := &writer{
		s: s, interval: o.FlushInterval, room: o.Room, done: make(chan struct{}), enc: newScratch(), nextID: 1,
		open:    newColumns(1, blockPayload/4),
		old:     newColumns(0, 0),
		written: written{files: map[string]int{}, layouts: map[string]int{}},
	}
	w.old.ids = make([]event.ID, 0, blockEvents)
	w.encoders = make(chan *scratch, encoders)
	for range encoders {
		w.encoders <- newScratch()
	}
	w.queue.init()
	if o.MaxEvents <= 0 {
		o.MaxEvents = DefaultMaxEvents
	}
	w.maxEvents.Store(o.MaxEvents)
	if o.MaxBytes <= 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	w.maxBytes.Store(o.MaxBytes)
	return w
}

// publishOpen makes the empty state visible.
func (w *writer) publishOpen() {
	w.s.pub.openOwner, w.s.pub.open = w.open, *w.open
	w.s.pub.oldOwner, w.s.pub.old = w.old, *w.old
}

func (w *writer) start() {
	w.ckpt.start()
	go w.run()
}

// run takes batches until close. It waits an interval after the first event, so that a commit
// has more than one, and less when there is much or somebody asks.
func (w *writer) run() {
	defer close(w.done)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	interval := slowInterval
	var deadline time.Time
	for {
		pending, urgent, closing, wait := w.state()
		now := time.Now()
		if pending && deadline.IsZero() {
			deadline = now.Add(w.pick(interval))
		}
		if urgent && !wait || pending && !now.Before(deadline) {
			n := w.cycle()
			interval = slowInterval
			if n >= fastEvents {
				interval = fastInterval
			}
			deadline = time.Time{}
			if w.failed() {
				deadline = time.Now().Add(retryInterval)
			}
			if !closing {
				continue
			}
		}
		if closing {
			w.closeErr = w.finish()
			return
		}
		sleep := time.Hour
		if !deadline.IsZero() {
			sleep = time.Until(deadline)
		}
		timer.Reset(sleep)
		select {
		case <-w.queue.wake:
		case <-timer.C:
		}
	}
}

func (w *writer) pick(adaptive time.Duration) time.Duration {
	if w.interval > 0 {
		return w.interval
	}
	return adaptive
}

// state reports whether something waits for a commit, whether at once, whether to end, and whether to wait all the same
// because the last commit failed.
func (w *writer) state() (pending, urgent, closing, wait bool) {
	q := &w.queue
	q.queueMu.Lock()
	defer q.queueMu.Unlock()
	pending = q.enqueued > q.settled || q.flushReq > q.flushed || q.touched
	return pending, q.urgentLocked(), q.closing, q.fail != nil && !q.closing && q.forceReq == 0
}

func (w *writer) failed() bool {
	w.queue.queueMu.Lock()
	defer w.queue.queueMu.Unlock()
	return w.queue.fail != nil
}

// cycle takes one batch, places its events and commits. It returns the number of events taken.
func (w *writer) cycle() int {
	q := &w.queue
	q.queueMu.Lock()
	b, ticket := q.fill, q.flushReq
	all := ticket > q.flushed || q.closing
	forced := q.forceReq
	last := q.closing || forced > 0
	q.fill, q.spare = q.spare, nil
	q.touched = false // what is registered from here on asks for the next commit
	q.room.Broadcast()
	q.queueMu.Unlock()

	sortByTime(b.ev)
	w.placeAll(b)
	n := len(b.ev)
	b.reset()
	left, err := 0, error(nil)
	if w.room != nil && !last && w.pendingEvents() {
		err = w.room()
	}
	if err == nil {
		left, err = w.commit(all)
	}

	q.queueMu.Lock()
	defer q.queueMu.Unlock()
	failed := q.fail != nil
	if q.forceReq == forced {
		q.forceReq = 0
	}
	q.spare = b
	q.fail = err
	if err != nil {
		q.touched = true
		if !failed { // the rest says the same, once a second
			w.s.log.Warn("cannot write events", "err", err)
		}
	} else {
		q.settled = w.nextID - 1 - int64(left)
		q.flushed = max(q.flushed, ticket)
	}
	close(q.flushCh)
	q.flushCh = make(chan struct{})
	q.room.Broadcast()
	return n
}

// pendingEvents reports whether there are events that no commit has written.
func (w *writer) pendingEvents() bool { return len(w.sealed) > 0 || w.open.n > w.tailed }

// placeAll appends a batch to the open block, sealing it as often as it fills up.
func (w *writer) placeAll(b *batch) {
	for from := 0; from < len(b.ev); from += statsChunk {
		w.placeChunk(b, b.ev[from:min(from+statsChunk, len(b.ev))])
	}
}

func (w *writer) placeChunk(b *batch, ev []queued) {
	s := w.s
	s.statsMu.Lock()
	defer s.statsMu.Unlock()
	r := &w.row
	for i := range ev {
		e := &ev[i]
		if e.kind == event.OnLane {
			s.nest.onLane(e.under, e.thread)
			continue
		}
		if e.kind == event.Spawned {
			s.nest.spawn(e.under, e.thread, e.ret)
			continue
		}
		*r = Row{
			ID: w.nextID, TS: e.ts, Ret: e.ret, Kind: e.kind, Flags: e.flags,
			Thread: event.ThreadID(e.thread), Func: event.FuncID(e.fn), Stream: e.stream,
			Payload: b.pay[e.off : e.off+int(e.size)],
		}
		s.nest.placeUnder(r, e.under)
		w.nextID++
		if !e.kind.IsCall() {
			data := append([]byte(nil), r.Payload...)
			r.Payload, r.Func = nil, 0
			w.outs = append(w.outs, outRow{r: *r, data: data})
		}
		w.open.add(r)
		if w.open.n >= blockEvents || len(w.open.pay) >= blockPayload {
			w.seal()
		}
	}
}

// seal begins to encode the open block, and begins a new one. The next commit writes it.
func (w *writer) seal() {
	sb, c, enc := &sealedBlock{encoded: make(chan struct{})}, w.open, <-w.encoders
	go func() {
		h, hot, cold := encodeBlock(c, 0, c.n, true, enc)
		sb.b, sb.hot, sb.cold = &block{h: h, bytes: int64(len(hot) + len(cold))}, hot, cold
		w.encoders <- enc
		close(sb.encoded)
	}()
	w.sealed = append(w.sealed, sb)
	w.retired = append(w.retired, c)
	w.tailed = 0
	if n := len(w.free); n > 0 {
		w.open, w.free = w.free[n-1], w.free[:n-1]
		w.open.reset(w.nextID)
	} else {
		w.open = newColumns(w.nextID, blockPayload/4)
	}
}

// finish commits the rest and the counters.
func (w *writer) finish() error {
	w.ckpt.stop()
	q := &w.queue
	q.queueMu.Lock()
	fail := q.fail
	q.closed = true
	q.room.Broadcast()
	q.queueMu.Unlock()
	if fail != nil {
		return fail
	}
	return w.writeFuncStats()
}

// close ends the goroutine after everything was written.
func (w *writer) close() error {
	q := &w.queue
	q.queueMu.Lock()
	q.closing = true
	q.room.Broadcast()
	q.signal()
	q.queueMu.Unlock()
	<-w.done
	w.s.commitMu.Lock()
	close(w.s.changed)
	w.s.changed = make(chan struct{})
	w.s.commitMu.Unlock()
	return w.closeErr
}

// closeFile turns the file into one without a log and closes it. Readers must be closed. What cannot
// be done now (a full disk, a reader in another process) leaves a log beside the file.
func (w *writer) closeFile() {
	if w.ckpt != nil {
		w.ckpt.close()
	}
	if w.conn != nil {
		for _, stmt := range []string{"PRAGMA busy_timeout=200", "PRAGMA wal_checkpoint(TRUNCATE)",
			"PRAGMA journal_mode=DELETE"} {
			if _, err := w.conn.ExecContext(context.Background(), stmt); err != nil {
				w.s.log.Debug("fold log into event store", "err", err)
				break
			}
		}
		w.stmt.conn = w.conn
		w.stmt.close()
	}
	if w.db != nil {
		_ = w.db.Close()
	}
}
