package native

import "maps"

// heritage is what a forked child inherits of its parent's hooks. It is not changed any more: the children of a process
// whose hooks stay as they are use the same one, and a child whose hooks are about to change makes a copy of its own.
type heritage struct {
	modules  []*loaded
	arenas   []*arena
	byAddr   map[hookKey]*hooked
	hooks    []*hooked
	unwindID map[uint64]bool
	traps    map[uint64]*trap
}

// copyHooks is the process's state as a heritage. mu is held.
func (p *process) copyHooks() *heritage {
	list := *p.hooks.Load()
	s := &heritage{modules: p.modules, byAddr: make(map[hookKey]*hooked, len(p.byAddr)), hooks: make([]*hooked, len(list)),
		unwindID: maps.Clone(p.unwindID)}
	for _, a := range p.arenas {
		c := *a
		s.arenas = append(s.arenas, &c)
	}
	for i, h := range list {
		if h == nil {
			continue
		}
		c := &hooked{id: h.id, fn: h.fn, own: h.own, row: h.row}
		for _, st := range h.sites {
			sc := *st
			c.sites = append(c.sites, &sc)
		}
		s.hooks[i] = c
	}
	for k, h := range p.byAddr {
		s.byAddr[k] = s.hooks[h.id]
	}
	p.trapMu.RLock()
	defer p.trapMu.RUnlock()
	s.traps = make(map[uint64]*trap, len(p.traps))
	for a, tr := range p.traps {
		s.traps[a] = tr.clone()
	}
	return s
}

// use makes a heritage the process's state. mu is held.
func (p *process) use(s *heritage) {
	p.modules, p.arenas, p.byAddr, p.unwindID = s.modules, s.arenas, s.byAddr, s.unwindID
	p.hooks.Store(&s.hooks)
	p.trapMu.Lock()
	p.traps = s.traps
	p.trapMu.Unlock()
}

// inherit takes over what a forked child inherits of its parent's hooks. Tracer thread only.
func (p *process) inherit(from *process) {
	from.mu.Lock()
	defer from.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	s := from.snap
	if s == nil {
		s = from.copyHooks()
		from.snap = s
	}
	p.use(s)
	p.snap, p.borrowed = s, true
	p.nextOp, p.walks = from.nextOp, from.walks
	// what is about to come or go in the parent it has as it is
	p.points, p.standing = map[uint64]*pointSite{}, map[uint64]*pointSite{}
	for at, ps := range from.standing {
		c := ps.forked()
		p.points[at], p.standing[at] = c, c
	}
	p.mem.SetMask(from.mem.Mask().Clone())
	p.moved = from.moved[:len(from.moved):len(from.moved)]
	p.slots = from.slots
	for _, st := range from.stepSites { // a step may be on its way: they are taken out when it is done
		c := *st
		p.stepSites = append(p.stepSites, &c)
	}
	p.data.Store(from.data.Load().clone())
	p.throws.Store(from.throws.Load().forked())
	p.islands.Store(from.islands.Load())
}

// changing is called by whoever is about to change the process's hooks, before it takes pointers to any: what is shared
// becomes the process's own.
func (p *process) changing() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changingLocked()
}

// changingLocked is called within each change: children forked from now on do not get what was.
func (p *process) changingLocked() {
	p.snap = nil
	p.changes.Add(1)
	if p.borrowed {
		p.borrowed = false
		p.use(p.copyHooks())
	}
}
