package session

import (
	"log/slog"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/iochan"
	"github.com/strobe-debug/strobe/internal/store"
)

const (
	// holdFor is how long output waits for calls of the same time. Output arrives within a millisecond,
	// calls when their ring is drained; without it a line would stand before the calls that led to it.
	holdFor = 30 * time.Millisecond
	// holdBytes bounds the output that waits: a program that writes much is not kept in memory.
	holdBytes = 16 << 20
	// eventBytes is what an event that waits takes beside its bytes.
	eventBytes = 128
	// recordLate is how much later than its bytes the record of a write may be: by then its thread had its turn, also
	// on a busy machine.
	recordLate = int64(200 * time.Millisecond)
	// recordMost is how long bytes wait for records at the most, where these come late: a burst is decoded behind the
	// program.
	recordMost = int64(20 * time.Second)
	// awaitBytes bounds how long calls wait for output of their time that is on its way through the pipe, and
	// awaitRecords how long a question waits for the records of what was read: on a busy machine the thread that reads,
	// or the one that wrote, wants a CPU first.
	awaitBytes   = 500 * time.Millisecond
	awaitRecords = 200 * time.Millisecond
	// impatience is for how long nobody waits so after it was in vain: somebody else reads from the pipe, or writes to
	// it unseen.
	impatience = 10 * time.Second
	// retryAfter is the pause after a write error, so that a full disk costs nothing while it lasts.
	retryAfter = time.Second
)

// sink puts calls and output into one order and into the store. It implements collector.Sink.
//
// mu is what makes the order: it is held while a batch is put, so producers wait for each other and,
// when the writer is behind, for it. Nothing else takes it but flushHeld.
type sink struct {
	st        *store.Store
	names     *threadNames
	terminal  bool // standard error is the same stream as standard output
	tap       func(stream iochan.Stream, data []byte)
	log       *slog.Logger
	startMono int64
	redacted  atomic.Int64
	dropped   atomic.Int64
	failure   atomic.Pointer[error] // of the last Put; nil when it worked
	crashes   *crashes
	changes   *changes

	mu        sync.Mutex
	came      sync.Cond     // on mu: output was read
	lays      [2]*laying    // standard output and standard error
	recorded  bool          // writes are: who wrote what is known of some
	known     int64         // the records of all writes that were made until then have come
	due       bool          // the calls that belong among what is held are about to come
	impatient time.Time     // until then nobody waits for bytes that were written
	unseen    time.Time     // until then nobody waits for records of bytes that were read
	held      []event.Event // output, by time
	heldBytes int
	merged    []event.Event // scratch
	timer     *time.Timer   // runs while output waits
	ticking   bool
	retryAt   time.Time
	closed    bool
}

// CallCounts are the calls of all functions, recorded and not.
type CallCounts = store.CallCounts

func newSink(startMono int64, log *slog.Logger) *sink {
	k := &sink{startMono: startMono, log: log, lays: [2]*laying{{kind: event.Stdout}, {kind: event.Stderr}}}
	k.came.L = &k.mu
	k.changes = newChanges(k.Now)
	k.crashes = &crashes{log: log, emit: k.crashed(k.behindOutput), last: k.crashed(k.behindAll), now: k.Now,
		main: k.mainThread, known: k.knows}
	return k
}

// Crash implements collector.Sink.
func (k *sink) Crash(c collector.Crash) { k.crashes.died(c) }

// Dying implements collector.DeathWatcher.
func (k *sink) Dying(pid int) { k.crashes.dies(pid) }

// Ended implements collector.Sink.
func (k *sink) Ended(pid int, how collector.ExitInfo) {
	k.crashes.ended(pid, how)
	k.changes.seen(collector.Change{Kind: collector.ProcessEnded, PID: pid})
}

// behindOutput puts one event behind all output that waits.
func (k *sink) behindOutput(e event.Event) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.closed {
		k.flushLocked()
		k.putLocked([]event.Event{e})
	}
}

// knows reports whether a process was seen in the session.
func (k *sink) knows(pid int) bool {
	k.names.mu.Lock()
	defer k.names.mu.Unlock()
	for key := range k.names.known {
		if int(key.pid) == pid {
			return true
		}
	}
	return false
}

// behindAll puts what is the last of a process behind all output that waits. The process stood still since, so what was
// read later was written before.
func (k *sink) behindAll(e event.Event) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return
	}
	for _, l := range k.lays {
		l.lay(math.MaxInt64, k.holdLocked)
	}
	for i := range k.held {
		k.held[i].TS = min(k.held[i].TS, e.TS)
	}
	k.flushLocked()
	k.putLocked([]event.Event{e})
}

func (k *sink) mainThread(pid int) event.ThreadID {
	return k.Thread(event.Thread{PID: int32(pid), TID: int32(pid)})
}

// Function implements collector.Sink.
func (k *sink) Function(f event.Function) event.FuncID { return k.st.Function(f) }

// Thread implements collector.Sink.
func (k *sink) Thread(t event.Thread) event.ThreadID {
	return k.names.thread(t, time.Duration(k.Now()))
}

// Stream implements collector.StreamSink.
func (k *sink) Stream(s event.Stream) (event.StreamID, error) { return k.st.Stream(s) }

// NamedThread implements collector.ThreadNamer.
func (k *sink) NamedThread(t event.Thread) event.ThreadID {
	return k.names.named(t, time.Duration(k.Now()))
}

// Dropped implements collector.Sink.
func (k *sink) Dropped(n int64) { k.dropped.Add(n) }

// Redacted implements collector.SecretSink.
func (k *sink) Redacted(n int64) { k.redacted.Add(n) }

// Lost implements collector.Sink.
func (k *sink) Lost(fn event.FuncID, enters, exits int64) {
	k.st.AddDropped(fn, enters, exits)
	k.dropped.Add(enters + exits)
}

// Sampled implements collector.Sink.
func (k *sink) Sampled(fn event.FuncID, skipped int64) { k.st.AddCalls(fn, skipped) }

// CodeName implements collector.Sink.
func (k *sink) CodeName(pid int32, addr uint64, ts int64, name string) {
	k.st.CodeName(pid, addr, ts, name)
}

// Now implements collector.Sink.
func (k *sink) Now() int64 { return iochan.Monotonic() - k.startMono }

// StartMono implements collector.Sink.
func (k *sink) StartMono() int64 { return k.startMono }

// Events implements collector.Sink: the batch goes to the store, with the output that belongs between.
func (k *sink) Events(batch []event.Event) {
	if len(batch) == 0 {
		return
	}
	k.names.look(time.Duration(k.Now()), false)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return
	}
	k.due = false
	last := batch[len(batch)-1].TS
	for _, l := range k.lays {
		l.lay(last-recordLate, k.holdLocked)
	}
	n := 0
	for n < len(k.held) && k.held[n].TS <= last {
		n++
	}
	if n == 0 {
		k.putLocked(batch)
		return
	}
	k.merged = merge(k.merged[:0], k.held[:n], batch)
	k.putLocked(joinOutput(k.merged))
	clear(k.merged) // the payloads are the caller's
	k.releaseLocked(n)
}

// merge appends a and b, both by time, to out; a comes first where the times are equal.
func merge(out, a, b []event.Event) []event.Event {
	for len(a) > 0 && len(b) > 0 {
		if a[0].TS <= b[0].TS {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// output takes what the target wrote; ts is on CLOCK_MONOTONIC.
func (k *sink) output(stream iochan.Stream, ts int64, data []byte) {
	if k.tap != nil {
		k.tap(stream, data)
	}
	ts = max(0, ts-k.startMono)
	if stream == iochan.Stderr || k.terminal {
		defer k.crashes.write(data, ts)
	} else {
		defer k.crashes.writeOut(data, ts)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return
	}
	l := k.lays[stream]
	l.terminal = k.terminal
	l.add(ts, data)
	k.came.Broadcast()
	if len(l.data) >= holdBytes {
		l.lay(l.marks[0].ts, k.holdLocked)
	}
	if k.recorded {
		l.lay(-1, k.holdLocked)
	} else {
		l.lay(math.MaxInt64, k.holdLocked)
	}
	if k.heldBytes >= holdBytes {
		k.putHeldLocked(len(k.held))
	}
	k.alarmLocked()
}

// Wrote implements collector.WriteSink.
func (k *sink) Wrote(writes []collector.Write) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return
	}
	k.recorded = true
	for _, w := range writes {
		k.lays[w.Stream-event.Stdout].expect(w)
	}
	if len(writes) == 0 {
		return
	}
	k.due = true
	for _, l := range k.lays {
		l.lay(-1, k.holdLocked)
	}
	k.awaitLocked()
	k.alarmLocked()
}

// WroteAll implements collector.WriteSink.
func (k *sink) WroteAll(until int64) {
	k.mu.Lock()
	k.known, k.due = max(k.known, until), false
	k.mu.Unlock()
}

// awaitLocked waits until what was written is read: it is in the pipe, and calls of the same time must not be put
// before it.
func (k *sink) awaitLocked() {
	lacking := func() bool { return k.lays[0].lacks() || k.lays[1].lacks() }
	if !lacking() || time.Now().Before(k.impatient) {
		return
	}
	over := false
	timer := time.AfterFunc(awaitBytes, func() {
		k.mu.Lock()
		over = true
		k.mu.Unlock()
		k.came.Broadcast()
	})
	defer timer.Stop()
	for lacking() && !over && !k.closed {
		k.came.Wait()
	}
	if over {
		k.impatient = time.Now().Add(impatience)
	}
}

// holdLocked puts a piece of output among those that wait, by time.
func (k *sink) holdLocked(e event.Event) {
	i := len(k.held)
	for i > 0 && k.held[i-1].TS > e.TS {
		i--
	}
	k.held = slices.Insert(k.held, i, e)
	k.heldBytes += len(e.Payload) + eventBytes
}

// alarmLocked makes expire be called while something waits.
func (k *sink) alarmLocked() {
	if len(k.held) == 0 && len(k.lays[0].data)+len(k.lays[1].data) == 0 || k.ticking {
		return
	}
	k.ticking = true
	if k.timer == nil {
		k.timer = time.AfterFunc(holdFor, k.expire)
	} else {
		k.timer.Reset(holdFor)
	}
}

// expire puts what has waited long enough.
func (k *sink) expire() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ticking = false
	if k.closed {
		return
	}
	if k.due {
		k.alarmLocked()
		return
	}
	now := k.Now()
	for _, l := range k.lays {
		l.lay(max(min(now, k.known)-recordLate, now-recordMost), k.holdLocked)
	}
	limit := now - int64(holdFor)
	n := 0
	for n < len(k.held) && k.held[n].TS <= limit {
		n++
	}
	k.putHeldLocked(n)
	k.alarmLocked()
}

// unlaid reports whether output was read by then of which it is not known who wrote it, and might be in a moment.
func (k *sink) unlaid(by int64) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.recorded && slices.ContainsFunc(k.lays[:],
		func(l *laying) bool { return len(l.marks) > 0 && l.marks[0].ts <= by })
}

// awaitsRecords reports whether a question that came at began had better look once more for who wrote what was read by
// then.
func (k *sink) awaitsRecords(began int64, tries int) bool {
	if !k.unlaid(began) {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	waited := k.Now() - began
	switch {
	case tries < laidTries:
		return waited < laidWithin
	case time.Now().Before(k.unseen):
		return false
	case waited < int64(awaitRecords):
		return true
	}
	k.unseen = time.Now().Add(impatience)
	return false
}

// flushUntil puts all output that waits, but what was read since and is still to be laid at its writes.
func (k *sink) flushUntil(by int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return
	}
	for _, l := range k.lays {
		l.settleCR()
		l.lay(by, k.holdLocked)
	}
	k.putHeldLocked(len(k.held))
	k.alarmLocked()
}

// flushHeld puts all output that waits.
func (k *sink) flushHeld() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.flushLocked()
}

func (k *sink) flushLocked() {
	for _, l := range k.lays {
		l.lay(math.MaxInt64, k.holdLocked)
	}
	k.putHeldLocked(len(k.held))
}

// putHeldLocked puts the first n pieces of output that wait.
func (k *sink) putHeldLocked(n int) {
	if n > 0 {
		k.merged = append(k.merged[:0], k.held[:n]...)
		k.putLocked(joinOutput(k.merged))
		clear(k.merged)
		k.releaseLocked(n)
	}
}

func (k *sink) releaseLocked(n int) {
	for i := range k.held[:n] {
		k.heldBytes -= len(k.held[i].Payload) + eventBytes
	}
	k.held = slices.Delete(k.held, 0, n)
}

// putLocked stores a batch. When the store does not take it, the target runs on and the loss is counted.
func (k *sink) putLocked(batch []event.Event) {
	if k.failure.Load() != nil && time.Now().Before(k.retryAt) {
		k.lose(batch)
		return
	}
	if err := k.st.Put(batch); err != nil {
		if k.failure.Swap(&err) == nil {
			k.log.Warn("recording stopped", "err", err)
		}
		k.retryAt = time.Now().Add(retryAfter)
		k.lose(batch)
		return
	}
	if k.failure.Swap(nil) != nil {
		k.log.Info("recording goes on")
	}
}

// lose counts a batch that is not stored.
func (k *sink) lose(batch []event.Event) {
	calls := map[event.FuncID]*[2]int64{}
	for i := range batch {
		e := &batch[i]
		if !e.Kind.IsCall() {
			if e.Kind.Stored() { // else it says where others belong
				k.dropped.Add(1)
			}
			continue
		}
		if calls[e.Func] == nil {
			calls[e.Func] = new([2]int64)
		}
		calls[e.Func][e.Kind-event.FunctionEnter]++
	}
	for fn, n := range calls {
		k.Lost(fn, n[0], n[1])
	}
}

// close puts the rest; what comes later is thrown away.
func (k *sink) close() {
	k.crashes.close()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
	k.came.Broadcast()
	if k.timer != nil {
		k.timer.Stop()
	}
	k.flushLocked()
}

// err returns why events are not stored at present, or nil.
func (k *sink) err() error {
	if p := k.failure.Load(); p != nil {
		return *p
	}
	return nil
}
