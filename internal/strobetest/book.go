package strobetest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/iochan"
)

// Book is a collector.Sink that keeps what it gets. Its fields are for when nobody writes any more; its methods are
// safe for concurrent use.
type Book struct {
	mu        sync.Mutex
	Start     int64 // of the session, on CLOCK_MONOTONIC
	Functions []event.Function
	Threads   []event.Thread
	Told      []event.Event
	LostCalls map[event.FuncID][2]int64 // enters and exits
	Crashes   []collector.Crash
}

// NewBook is an empty one.
func NewBook() *Book { return &Book{LostCalls: map[event.FuncID][2]int64{}} }

// Function implements collector.Sink.
func (b *Book) Function(f event.Function) event.FuncID {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.Functions = append(b.Functions, f)
	return event.FuncID(len(b.Functions) - 1)
}

// Thread implements collector.Sink.
func (b *Book) Thread(t event.Thread) event.ThreadID {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := slices.Index(b.Threads, t); i >= 0 {
		return event.ThreadID(i)
	}
	b.Threads = append(b.Threads, t)
	return event.ThreadID(len(b.Threads) - 1)
}

// Events implements collector.Sink.
func (b *Book) Events(batch []event.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range batch {
		e.Payload = bytes.Clone(e.Payload)
		b.Told = append(b.Told, e)
	}
}

// Lost implements collector.Sink.
func (b *Book) Lost(fn event.FuncID, enters, exits int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := b.LostCalls[fn]
	b.LostCalls[fn] = [2]int64{n[0] + enters, n[1] + exits}
}

// Crash implements collector.Sink.
func (b *Book) Crash(c collector.Crash) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.Crashes = append(b.Crashes, c)
}

// Dropped implements collector.Sink.
func (b *Book) Dropped(int64) {}

// Sampled implements collector.Sink.
func (b *Book) Sampled(event.FuncID, int64) {}

// CodeName implements collector.Sink.
func (b *Book) CodeName(int32, uint64, int64, string) {}

// Ended implements collector.Sink.
func (b *Book) Ended(int, collector.ExitInfo) {}

// Now implements collector.Sink.
func (b *Book) Now() int64 { return iochan.Monotonic() - b.Start }

// StartMono implements collector.Sink.
func (b *Book) StartMono() int64 { return b.Start }

// All is the events so far.
func (b *Book) All() []event.Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.Told)
}

// Text is the events in short, a line each.
func (b *Book) Text() string { return b.text(func(event.Event) bool { return true }) }

// Calls is the calls among them, and what generators gave.
func (b *Book) Calls() string {
	return b.text(func(e event.Event) bool { return e.Kind.IsCall() || e.Kind == event.Yield })
}

func (b *Book) text(of func(event.Event) bool) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []string
	for _, e := range b.Told {
		if !of(e) {
			continue
		}
		s := fmt.Sprintf("%s %s", e.Kind, b.Threads[e.Thread].Name)
		if e.Kind.IsCall() {
			s += " " + b.Functions[e.Func].Name
		}
		if e.Under != 0 && e.Under != e.Thread+1 { // the latter: on none of its lanes
			s += " under " + b.Threads[e.Under-1].Name
		}
		if e.Flags != 0 {
			s += fmt.Sprintf(" flags %d", e.Flags)
		}
		if len(e.Payload) > 0 {
			s += " " + string(e.Payload)
		}
		out = append(out, s)
	}
	return strings.Join(out, "\n")
}

// Count is how many events of a kind there are of a function, by its name.
func (b *Book) Count(kind event.Kind, function string) (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.Told {
		if e.Kind == kind && b.Functions[e.Func].Name == function {
			n++
		}
	}
	return n
}

// LostOf is how many enters and exits of a function were lost.
func (b *Book) LostOf(function string) (lost [2]int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for fn, n := range b.LostCalls {
		if b.Functions[fn].Name == function {
			lost = [2]int64{lost[0] + n[0], lost[1] + n[1]}
		}
	}
	return lost
}
