package query

import (
	"context"
	"fmt"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/store"
)

// whole is a session's picture from beginning to end, finer than screens are: those are made from it, without a walk
// over all events for each width and each choice of lanes. One of a session that goes on becomes the next by a walk
// over what has come since.
type whole struct {
	lastID  event.ID // it is of the events up to there
	first   event.ID // the oldest call then: what the session's limit drops is in no picture
	width   float64  // of its buckets; 0: there are too many rows
	cells   []cell   // of each row the newest first
	marks   []kindMark
	deepest []int   // by lane
	hidden  []int64 // by lane: calls below MaxLevels
}

// Bounds of what is kept for each store.
const (
	wholeBuckets = 2048    // pages ask for one of two pixels
	leastBuckets = 512     // with fewer a screen has wider pixels
	maxWhole     = 400_000 // cells and marks: 30 MB
)

// wholly draws a picture of all that there is.
func (p *painter) wholly(ctx context.Context, st *store.Store, sn *store.Snapshot) error {
	w, err := wholeOf(ctx, st, sn)
	if err != nil {
		return err
	}
	if w.width == 0 || w.width > p.width {
		return p.paint(ctx, sn)
	}
	p.from(w)
	return nil
}

// wholeOf returns the picture of all, from memory, from the file, or by a walk over the events.
func wholeOf(ctx context.Context, st *store.Store, sn *store.Snapshot) (*whole, error) {
	kept := caches.Of(st)
	w, painted, err := kept.turn(ctx, sn.LastID())
	if err != nil || w != nil {
		return w, err
	}
	kept.mu.Lock()
	had := kept.whole
	kept.mu.Unlock()
	if had == nil {
		had = readWhole(ctx, st, sn)
	}
	w, err = newWhole(ctx, sn, had, maxWhole)
	painted(w)
	return w, err
}

// newWhole walks over all events, or those that are newer than the picture that there was. It has at most so many cells
// and marks.
func newWhole(ctx context.Context, sn *store.Snapshot, had *whole, most int) (*whole, error) {
	if had != nil && (had.width == 0 || had.first != sn.FirstCallID() || had.lastID > sn.LastID()) {
		had = nil
	}
	w := &whole{lastID: sn.LastID(), first: sn.FirstCallID()}
	if had != nil && had.lastID == w.lastID {
		return had, nil
	}
	fine := newPainter(PictureRequest{To: sn.LastTS(), Buckets: wholeBuckets, Levels: MaxLevels}, sn)
	fine.most, fine.widest = most, fine.width*wholeBuckets/leastBuckets
	if had != nil {
		fine.since, fine.width = had.lastID, max(fine.width, had.width)
	}
	if err := fine.paint(ctx, sn); err != nil {
		return nil, err
	}
	if had != nil {
		fine.from(had)
	}
	if fine.lostMarks > 0 || fine.overfull() {
		return w, nil // not tried again before there is more
	}
	fine.flushAll()
	w.width, w.cells, w.marks = fine.width, fine.cells, fine.marks
	for _, lane := range fine.lanes {
		w.deepest, w.hidden = append(w.deepest, lane.deepest), append(w.hidden, lane.hidden)
	}
	return w, nil
}

// overfull makes room where there are too many cells: with buckets twice as wide, while they may be. It reports whether
// that was not enough.
func (p *painter) overfull() bool {
	for p.most > 0 && len(p.cells)+len(p.marks) > p.most {
		if p.width*2 > p.widest {
			return true
		}
		p.flushAll()
		had := &whole{cells: p.cells, marks: p.marks}
		p.width, p.cells, p.marks = p.width*2, nil, nil
		clear(p.last)
		for i := range had.cells {
			c := &had.cells[i]
			p.add(&p.lanes[c.lane].rows[c.depth], c)
		}
		for i := range had.marks {
			p.addMark(&had.marks[i])
		}
	}
	return false
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
		case lane == nil || p.since > 0 && c.count == 0: // what was open then has ended, or is open now
		case int(c.depth) >= p.req.Levels:
			lane.hidden += int64(max(1, c.count))
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
			p.lanes[id].deepest = max(p.lanes[id].deepest, depth)
			p.lanes[id].hidden += w.hidden[id]
		}
	}
}
