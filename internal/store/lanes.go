package store

import (
	"context"

	"github.com/strobe-debug/strobe/internal/event"
)

// Lane says how much a thread has in a snapshot.
type Lane struct {
	Thread event.ThreadID
	Events int64
	Calls  int64 // of them: enters
	// From and To hold all that it did, and may be wider by as much as a block of events spans.
	From, To int64
}

// Lanes returns the threads that have events, by their ids. It reads headers, and what is not in a block yet.
func (sn *Snapshot) Lanes(ctx context.Context) ([]Lane, error) {
	all := make([]Lane, len(sn.threads))
	add := func(id uint32, calls, events, from, to int64) {
		if int(id) >= len(all) || events == 0 {
			return
		}
		l := &all[id]
		if l.Events == 0 {
			l.From, l.To = from, to
		}
		l.From, l.To = min(l.From, from), max(l.To, to)
		l.Calls, l.Events = l.Calls+calls, l.Events+events
	}
	for i := range sn.segs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if b := sn.segs[i].b; b != nil {
			for k, id := range b.h.threads {
				enter, exit, other := int64(b.h.tEnter[k]), int64(b.h.tExit[k]), int64(b.h.tOther[k])
				add(id, enter, enter+exit+other, b.h.tsMin, b.h.tsMax)
			}
			continue
		}
		c := sn.segs[i].cols
		for k := range c.n {
			enter := int64(0)
			if event.Kind(c.kind[k]) == event.FunctionEnter {
				enter = 1
			}
			add(c.thread[k], enter, 1, c.ts[k], c.ts[k])
		}
	}
	lanes := all[:0]
	for i := range all {
		if all[i].Events > 0 {
			all[i].Thread = event.ThreadID(i)
			lanes = append(lanes, all[i])
		}
	}
	return lanes, nil
}
