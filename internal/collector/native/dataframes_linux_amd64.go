package native

import (
	"context"
	"slices"

	"github.com/strobe-debug/strobe/internal/event"
)

const dataFrames = 8

// frameEnded drops the data breakpoint on a local whose function returns, when that is the frame that was meant.
func (t *target) frameEnded(c *pause, pt *point) {
	if sp, ok := c.seen.Regs.Get(7); ok && sp >= pt.data.cfa {
		t.frameGone(c, pt)
	}
}

// frameGone drops a data breakpoint on a local.
func (t *target) frameGone(c *pause, pt *point) {
	if pt.gone.Swap(true) {
		return
	}
	t.Flush(context.Background())
	t.pointEvent(event.VariableWrite, c, map[string]any{"breakpointId": pt.ID, "variable": pt.Variable, "access": "none",
		"note": "its function has returned, or was left: it is watched no more"})
	t.spawn(func() {
		t.probeMu.Lock()
		defer t.probeMu.Unlock()
		t.usePoints(slices.DeleteFunc(slices.Clone(t.points), func(have *point) bool { return have.guards == pt }))
		if err := t.applyToAll(context.Background()); err != nil {
			t.log.Warn("drop a data breakpoint", "err", err)
		}
	})
}
