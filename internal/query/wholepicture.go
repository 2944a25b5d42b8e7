package query

import (
	"context"

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
	kept.mu.Lock()
	w := kept.whole
	kept.mu.Unlock()
	if w == nil || w.lastID != sn.LastID() {
		fine := newPainter(PictureRequest{To: sn.LastTS(), Buckets: wholeBuckets, Levels: MaxLevels}, sn)
		if err := fine.paint(ctx, sn); err != nil {
			return err
		}
		w = &whole{lastID: sn.LastID(), width: fine.width, cells: fine.cells, marks: fine.marks}
		for _, lane := range fine.lanes {
			w.deepest = append(w.deepest, lane.deepest)
		}
		full := fine.hidden > 0 || len(w.cells)+len(w.marks) > maxWhole
		if full {
			w = &whole{lastID: sn.LastID()} // too many rows: that is not tried again
		}
		kept.mu.Lock()
		kept.whole = w
		kept.mu.Unlock()
	}
	if w.width == 0 || w.width > p.width {
		return p.paint(ctx, sn)
	}
	p.from(w)
	return nil
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
