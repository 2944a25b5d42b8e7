package native

import (
	"sync/atomic"

	"github.com/strobe-debug/strobe/internal/ring"
)

// Values that lead far fill rings and disk: of a program that makes more of them than can be stored at ease, each call's are
// cut shorter, until it makes fewer. A record says that it was cut, and the status says to what.
const (
	// captureHigh is how many bytes of values a process may make in a heatTick: 10 MB/s.
	captureHigh = 1 << 20
	captureLow  = captureHigh / 4
	leastBudget = 512
)

// spend looks at what a process's values took during the last tick.
func (d *drainer) spend(p *process) {
	n := p.drain.bytes
	p.drain.bytes = 0
	was := p.budget.Load()
	budget := was
	switch {
	case n > 4*captureHigh:
		budget /= 4
	case n > captureHigh:
		budget /= 2
	case n < captureLow:
		budget *= 2
	}
	if budget = min(max(budget, leastBudget), ring.MaxPayload); budget == was {
		return
	}
	p.budget.Store(budget)
	for _, h := range *p.hooks.Load() {
		if h != nil && h.fn != nil && h.fn.plan != nil {
			p.limit(h.id, &h.fn.plan.Plan, budget)
		}
	}
	least := uint32(ring.MaxPayload)
	for _, q := range d.t.processes() {
		least = min(least, q.budget.Load())
	}
	d.t.mu.Lock()
	d.t.status.ValueBytes = 0
	if least < ring.MaxPayload {
		d.t.status.ValueBytes = int(least)
	}
	d.t.mu.Unlock()
}

// limit tells the agent how long a record's payload may be.
func (p *process) limit(id uint32, plan *ring.Plan, budget uint32) {
	h := p.region.Hook(id)
	for end, at := range []*uint32{&h.MaxEnter, &h.MaxExit} {
		if plan.Walks[end] >= 0 {
			atomic.StoreUint32(at, min(uint32(plan.Walks[end]+7)&^7+budget, ring.MaxPayload))
		}
	}
}
