package native

import (
	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/ring"
)

// planned counts a call of a function that is only looked at.
func (d *drainer) planned(rs *ringState, h *hooked, rec *ring.Rec) {
	if rec.Kind != ring.RecEnter {
		return
	}
	h.fn.planned.Add(1)
	if rec.Flags&ring.RecSampled == 0 {
		rs.p.drain.called(h)
	}
}

// Planned implements collector.Planner.
func (t *target) Planned() (out []collector.PlannedFunction) {
	t.probeMu.Lock()
	defer t.probeMu.Unlock()
	seen := map[*function]bool{}
	for _, p := range t.processes() {
		for _, h := range *p.hooks.Load() {
			if h == nil || h.fn == nil || !h.fn.want.planned || seen[h.fn] || !h.active() && !p.dead.Load() {
				continue
			}
			seen[h.fn] = true
			out = append(out, collector.PlannedFunction{Function: publicName(h.fn.sym), Calls: h.fn.planned.Swap(0)})
		}
	}
	return out
}
