package query

import (
	"context"
	"fmt"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/store"
)

// whole is a session's picture from beginning to end, finer than screens are: those are made from it, without a walk
// over all events for each width and each choice of lanes.
type whole struct {
	lastID  event.ID // it is of the events up to there
	width   float64  // of its buckets
	cells   []cell   // of each row the newest first
	marks   []kindMark
	deepest []int // by lane
}

// Bounds of what is kept for each store.
const (
	wholeBuckets = MaxBuckets
	maxWhole     = 250_000 // cells and marks: 18 MB
)

// wholly draws a picture of all that there is.
func (p *painter) wholly(ctx context.Context, st *store.Store, sn *store.Snapshot) error {
	kept := caches.Of(st)
	w, painted, err := kept.turn(ctx, sn.LastID())
	if err == nil && w == nil {
		w, err = newWhole(ctx, sn)
		painted(w)
	}
	if err != nil {
		return err
	}
	if w.width == 0 || w.width > p.width {
		return p.paint(ctx, sn)
	}
	p.from(w)
	return nil
}

// newWhole walks over all events.
func newWhole(ctx context.Context, sn *store.Snapshot) (*whole, error) {
	fine := newPainter(PictureRequest{To: sn.LastTS(), Buckets: wholeBuckets, Levels: MaxLevels}, sn)
	if err := fine.paint(ctx, sn); err != nil {
		return nil, err
	}
	if fine.hidden > 0 || len(fine.cells)+len(fine.marks) > maxWhole {
		return &whole{lastID: sn.LastID()}, nil // too many rows: that is not tried again
	}
	w := &whole{lastID: sn.LastID(), width: fine.width, cells: fine.cells, marks: fine.marks}
	for _, lane := range fine.lanes {
		w.deepest = append(w.deepest, lane.deepest)
	}
	return w, nil
}

// turn returns the whole up to an event, or nil where the asker is the one to make it: it then calls painted, with nil
// where it could not. A page asks ahead for what it may show, and both questions are one walk.
func (c *cache) turn(ctx context.Context, lastID event.ID) (w *whole, painted func(*whole), err error) {
	for {
		c.mu.Lock()
		if c.whole != nil && c.whole.lastID == lastID {
			w = c.whole
		}
		busy, mine := c.painting, make(chan struct{})
		if w == nil && busy == nil {
			c.painting = mine
		}
		c.mu.Unlock()
		if w != nil {
			return w, nil, nil
		}
		if busy == nil {
			break
		}
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, nil, fmt.Errorf("wait for the picture of all: %w", ctx.Err())
		}
	}
	return nil, func(w *whole) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if w != nil {
			c.whole = w
		}
		close(c.painting)
		c.painting = nil
	}, nil
}

// from draws what was drawn finer.
func (p *painter) from(w *whole) {
	for i := range w.cells {
		c := &w.cells[i]
		lane := p.lanes[c.lane]
		switch {
		case lane == nil:
		case int(c.depth) >= p.req.Levels:
			p.hidden += int64(max(1, c.count))
		default:
			p.add(&lane.rows[c.depth], c)
		}
	}
	p.flushAll()
	for i := range w.marks {
		p.addMark(&w.marks[i])
	}
	for id, depth := range w.deepest {
		if p.lanes[id] != nil {
			p.lanes[id].deepest = depth
		}
	}
}
