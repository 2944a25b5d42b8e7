package collector

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/sorting"
)

// maxMixed bounds the events of members that wait for the host's: more are put as they came, since what they wait for
// is a burst that will be decoded later.
const maxMixed = 1 << 18

// mixer brings the calls of the host and of the members into one order: a function of C that Python calls belongs below
// the call that led to it. The host says how far it has delivered all (WriteSink.WroteAll); what members have beyond
// that waits, and before each batch of the host's they deliver what was written until then.
type mixer struct {
	sink Sink
	pull func() // makes members deliver

	mu      sync.Mutex
	until   int64 // the host has delivered everything up to then
	waiting []event.Event
	merged  []event.Event // scratch
}

func byTime(a, b event.Event) int { return cmp.Compare(a.TS, b.TS) }

// member takes a batch of a member's. Payloads are the caller's.
func (x *mixer) member(batch []event.Event) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.waiting) == 0 && batch[len(batch)-1].TS <= x.until {
		x.sink.Events(batch)
		return
	}
	for _, e := range batch {
		e.Payload = slices.Clone(e.Payload)
		x.waiting = append(x.waiting, e)
	}
	if len(x.waiting) > maxMixed {
		x.releaseLocked(x.waiting[len(x.waiting)-1].TS)
	}
}

// host takes a batch of the host's.
func (x *mixer) host(batch []event.Event) {
	x.pull()
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(batch) == 0 {
		return
	}
	n := x.dueLocked(batch[len(batch)-1].TS)
	if n == 0 {
		x.sink.Events(batch)
		return
	}
	x.merged = append(append(x.merged[:0], x.waiting[:n]...), batch...)
	sorting.By(x.merged, byTime)
	x.sink.Events(x.merged)
	clear(x.merged)
	x.waiting = slices.Delete(x.waiting, 0, n)
}

// reached tells that the host has delivered everything up to then.
func (x *mixer) reached(until int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.until = max(x.until, until)
	x.releaseLocked(x.until)
}

// settle puts what is not later than what the host has delivered. What comes after that waits: the program's output of
// that time is still to be laid at its writes.
func (x *mixer) settle() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.releaseLocked(x.until)
}

// release puts what waits, whatever the host still has.
func (x *mixer) release() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if n := len(x.waiting); n > 0 {
		x.dueLocked(0)
		x.releaseLocked(x.waiting[n-1].TS)
	}
}

func (x *mixer) releaseLocked(until int64) {
	if n := x.dueLocked(until); n > 0 {
		x.sink.Events(x.waiting[:n])
		x.waiting = slices.Delete(x.waiting, 0, n)
	}
}

// dueLocked sorts what waits and returns how much of it is not later than that.
func (x *mixer) dueLocked(until int64) int {
	if !slices.IsSortedFunc(x.waiting, byTime) { // several members
		sorting.By(x.waiting, byTime)
	}
	n, _ := slices.BinarySearchFunc(x.waiting, until, func(e event.Event, t int64) int {
		if e.TS <= t {
			return -1
		}
		return 1
	})
	return n
}

// groupSink is what the host delivers to.
type groupSink struct {
	fullSink
	g *Group
}

// Events implements Sink.
func (s groupSink) Events(batch []event.Event) {
	if len(batch) == 0 || !s.g.joined.Load() {
		s.fullSink.Events(batch)
		return
	}
	s.g.mix.host(batch)
}

// WroteAll implements WriteSink.
func (s groupSink) WroteAll(until int64) {
	s.g.mix.reached(until)
	s.fullSink.WroteAll(until)
}

// Ended implements Sink: what members have of a process is delivered before the host says that it is over.
func (s groupSink) Ended(pid int, how ExitInfo) {
	for _, m := range s.g.list() {
		m.Ended(pid)
	}
	s.g.mix.release()
	s.fullSink.Ended(pid, how)
}

// Crash implements Sink.
func (s groupSink) Crash(c Crash) {
	ctx, cancel := context.WithTimeout(context.Background(), readyWithin)
	defer cancel()
	s.g.flushMembers(ctx)
	s.fullSink.Crash(c)
}

// memberSink is what a member delivers to.
type memberSink struct {
	fullSink
	x *mixer
}

// Crash implements Sink: behind what the members delivered before.
func (s memberSink) Crash(c Crash) {
	s.x.release()
	s.fullSink.Crash(c)
}

// Events implements Sink.
func (s memberSink) Events(batch []event.Event) {
	if len(batch) > 0 {
		s.x.member(batch)
	}
}
