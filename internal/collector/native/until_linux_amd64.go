package native

import (
	"context"
	"slices"

	"github.com/strobe-debug/strobe/internal/collector"
)

// setUntil sets a point at which threads that are about to go on pause next. It goes with the first pause that follows.
func (t *target) setUntil(ctx context.Context, r collector.Resume) error {
	id := t.numbers.Until()
	t.probeMu.Lock()
	defer t.probeMu.Unlock()
	pt, err := t.newPoint(collector.Point{ID: id, File: r.File, Line: r.Line, Thread: r.Thread})
	if err != nil {
		return err
	}
	pt.until = true
	t.awaited.Store(true)
	before := t.points
	t.usePoints(append(slices.DeleteFunc(slices.Clone(before),
		func(have *point) bool { return have.until && have.Thread == r.Thread }), pt))
	if err := t.applyToAll(ctx); err != nil {
		t.usePoints(before)
		if undo := t.applyToAll(ctx); undo != nil {
			t.log.Warn("put points back", "err", undo)
		}
		return err
	}
	return nil
}

// untils are the points that SetPoints does not know of. probeMu is held.
func (t *target) untils() (out []*point) {
	for _, pt := range t.points {
		if pt.until {
			out = append(out, pt)
		}
	}
	return out
}

// dropUntil takes out the points that a thread was to run to; 0: all.
func (t *target) dropUntil(tid int) {
	if !t.awaited.Load() {
		return
	}
	t.probeMu.Lock()
	defer t.probeMu.Unlock()
	n := len(t.points)
	t.usePoints(slices.DeleteFunc(slices.Clone(t.points), func(pt *point) bool {
		return pt.until && (tid == 0 || pt.Thread == 0 || pt.Thread == tid)
	}))
	t.awaited.Store(len(t.untils()) > 0)
	if len(t.points) == n || t.stopping.Load() || t.released.Load() {
		return
	}
	if err := t.applyToAll(context.Background()); err != nil {
		t.log.Warn("take out a point", "err", err)
	}
}
