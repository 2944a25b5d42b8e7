package session

import (
	"log/slog"
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
	holdBytes = 4 << 20
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
	dropped   atomic.Int64
	failure   atomic.Pointer[error] // of the last Put; nil when it worked
	crashes   *crashes

	mu        sync.Mutex
	held      []event.Event // output, by time
	heldBytes int
	merged    []event.Event // scratch
	timer     *time.Timer   // runs while held is not empty
	retryAt   time.Time
	closed    bool
}

func newSink(startMono int64, log *slog.Logger) *sink {
	k := &sink{startMono: startMono, log: log}
	k.crashes = &crashes{log: log, emit: k.behindOutput, last: k.behindAll, now: k.Now, main: k.mainThread, known: k.knows}
	return k
}

// Crash implements collector.Sink.
func (k *sink) Crash(c collector.Crash) { k.crashes.died(c) }

// Dying implements collector.DeathWatcher.
func (k *sink) Dying(pid int) { k.crashes.dies(pid) }

// Ended implements collector.Sink.
func (k *sink) Ended(pid int, how collector.ExitInfo) { k.crashes.ended(pid, how) }

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

// behindAll puts what is the last of a process behind all output that waits. The process stood still since, so what was read
// later was written before.
func (k *sink) behindAll(e event.Event) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return
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

// Dropped implements collector.Sink.
func (k *sink) Dropped(n int64) { k.dropped.Add(n) }

// Sampled implements collector.Sink.
func (k *sink) Sampled(fn event.FuncID, skipped int64) { k.st.AddCalls(fn, skipped) }

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
	last := batch[len(batch)-1].TS
	n := 0
	for n < len(k.held) && k.held[n].TS <= last {
		n++
	}
	if n == 0 {
		k.putLocked(batch)
		return
	}
	k.merged = merge(k.merged[:0], k.held[:n], batch)
	k.putLocked(k.merged)
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
	kind := event.Stdout
	if stream == iochan.Stderr {
		kind = event.Stderr
	}
	e := event.Event{TS: max(0, ts-k.startMono), Kind: kind, Thread: event.NoThread, Payload: slices.Clone(data)}
	if stream == iochan.Stderr || k.terminal {
		defer k.crashes.write(data, e.TS)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return
	}
	i := len(k.held)
	for i > 0 && k.held[i-1].TS > e.TS {
		i--
	}
	k.held = slices.Insert(k.held, i, e)
	k.heldBytes += len(data)
	switch {
	case k.heldBytes >= holdBytes:
		k.flushLocked()
	case k.timer == nil:
		k.timer = time.AfterFunc(holdFor, k.expire)
	case len(k.held) == 1:
		k.timer.Reset(holdFor)
	}
}

// expire puts what has waited long enough.
func (k *sink) expire() {
	k.mu.Lock()
	defer k.mu.Unlock()
	limit := k.Now() - int64(holdFor)
	n := 0
	for n < len(k.held) && k.held[n].TS <= limit {
		n++
	}
	if n > 0 {
		k.putLocked(k.held[:n])
		k.releaseLocked(n)
	}
	if len(k.held) > 0 && !k.closed {
		k.timer.Reset(max(time.Duration(k.held[0].TS-limit), time.Millisecond))
	}
}

// flushHeld puts all output that waits.
func (k *sink) flushHeld() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.flushLocked()
}

func (k *sink) flushLocked() {
	if len(k.held) > 0 {
		k.putLocked(k.held)
		k.releaseLocked(len(k.held))
	}
}

func (k *sink) releaseLocked(n int) {
	for i := range k.held[:n] {
		k.heldBytes -= len(k.held[i].Payload)
	}
	k.held = slices.Delete(k.held, 0, n)
}

// putLocked stores a batch. When the store does not take it, the target runs on and the loss is counted.
func (k *sink) putLocked(batch []event.Event) {
	if k.failure.Load() != nil && time.Now().Before(k.retryAt) {
		k.dropped.Add(int64(len(batch)))
		return
	}
	if err := k.st.Put(batch); err != nil {
		if k.failure.Swap(&err) == nil {
			k.log.Warn("recording stopped", "err", err)
		}
		k.retryAt = time.Now().Add(retryAfter)
		k.dropped.Add(int64(len(batch)))
		return
	}
	if k.failure.Swap(nil) != nil {
		k.log.Info("recording goes on")
	}
}

// close puts the rest; what comes later is thrown away.
func (k *sink) close() {
	k.crashes.close()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
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
