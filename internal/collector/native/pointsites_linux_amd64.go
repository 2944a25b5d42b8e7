package native

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/strobe-debug/strobe/internal/capture"
	"github.com/strobe-debug/strobe/internal/hook"
	"github.com/strobe-debug/strobe/internal/ptrace"
	"github.com/strobe-debug/strobe/internal/symbol"
)

// jumpBytes is what a jump overwrites.
const jumpBytes = 5

// crowded reports whether a jump at an address would lie over another of the places.
func crowded(places map[uint64][]*point, at uint64) bool {
	for other := at + 1; other < at+jumpBytes; other++ {
		if len(places[other]) > 0 {
			return true
		}
	}
	return false
}

type placeTargetsKey struct{}

// placeTargets is jumpTargets with the places that the cold parts of functions jump back to.
func placeTargets(mod *symbol.Module) []hook.Addr {
	return mod.Memo(placeTargetsKey{}, func() any { return findPlaceTargets(mod) }).([]hook.Addr)
}

func findPlaceTargets(mod *symbol.Module) []hook.Addr {
	list := slices.Clone(jumpTargets(mod))
	frags := mod.Fragments()
	for i := range frags {
		if code, err := mod.Code(&frags[i]); err == nil && len(code) > 0 {
			a := hook.Analyze(code, hook.Addr(frags[i].Low), 0, hook.Options{})
			list = append(list, a.Jumps...)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

var errOwnHook = errors.New("Strobe itself needs a hook there")

// newPointSite prepares a place for points. Where the agent can decide about all of them, it gets a stub that asks the
// agent; else a copy of its instruction, by which threads pass the trap while the tracer decides. crowded: another
// place is too near for a jump. probeMu is held.
func (p *process) newPointSite(ctx context.Context, at uint64, pts []*point, crowded bool) (*pointSite, error) {
	m := p.moduleAt(at)
	if m == nil || m.mod == nil {
		return nil, errors.New("it is in no module")
	}
	a := symbol.Addr(at - m.bias)
	f, off, ok := m.mod.Lookup(a)
	if !ok {
		return nil, errors.New("it is in no function")
	}
	code, err := m.mod.Code(f)
	if err != nil {
		return nil, err
	}
	an := hook.AnalyzeAt(code, hook.Addr(f.Low), int(off), 0, analysisOptions(m.mod, placeTargets(m.mod)))
	if an.Patch == hook.PatchNone {
		return nil, fmt.Errorf("its instruction cannot be moved: %s", an.Reason)
	}
	an.Addr += hook.Addr(m.bias)
	ps := &pointSite{at: uint64(an.Site()), points: pts}
	plans := p.plansAt(m, a, pts)
	if onGoroutine(m.mod, f) {
		plans = nil
	}
	runs, moved, err := p.runsAt(ps.at)
	if err != nil {
		return nil, err
	}
	one, err := an.OneByte(code, "the tracer decides, or another patch is near")
	if err != nil {
		return nil, err
	}
	ps.size = uint64(one.Displaced)
	if plans == nil || crowded || f.Fragment || runs != ps.at || p.patched(ps.at, ps.at+jumpBytes) {
		an = one
	}
	room, err := p.arenaFor(ctx, nil, m.lo, m.hi, 512)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changingLocked()
	w := &stubWriter{p: p, a: room, at: room.next}
	return ps, w.pointSite(ps, m, hook.Spec{Code: code, Analysis: &an, Moved: moved}, plans, runs)
}

// pointSite writes a place's stub and what the agent has to know. p.mu is held.
func (w *stubWriter) pointSite(ps *pointSite, m *loaded, spec hook.Spec, plans []*capture.Point, runs uint64) error {
	for _, pt := range ps.points {
		if pt.guards == nil {
			w.p.count(pt)
		}
	}
	spec.Kind = hook.CopyOnly
	if plans != nil {
		if err := w.rows(ps, m, plans); err != nil {
			return err
		}
		spec.Kind, spec.ID, spec.EnterSlot = hook.Probe, ps.rows[0], w.a.slot(slotProbe)
		if slices.ContainsFunc(plans, func(c *capture.Point) bool { return c.Plan.EnterVec }) {
			spec.EnterSlot = w.a.slot(slotProbeVec)
		}
	}
	stub, err := w.add(spec)
	if err != nil {
		return err
	}
	if ps.site, err = entrySite(spec.Analysis, stub); err != nil {
		return err
	}
	ps.site.addr, ps.stub, ps.copies = runs, uint64(stub.Entry), stub.Map
	if plans == nil {
		ps.site.point = ps
	}
	for i := len(stub.Map) - 1; i >= 0; i-- { // the last first: each is followed by the next, or by the way back
		pair := stub.Map[i]
		size := uint64(0) // of the jump back, which is no copy
		if pair.Orig < spec.Analysis.Site()+hook.Addr(spec.Analysis.Displaced) {
			size = ps.size
			if i+1 < len(stub.Map) {
				size = uint64(stub.Map[i+1].Orig - pair.Orig)
			}
		}
		w.p.moved = append(w.p.moved, copied{uint64(pair.Copy), uint64(pair.Orig), size})
	}
	return w.flush()
}

// plansAt compiles points for a place, in the order of pts; nil where the tracer must decide about one of them.
func (p *process) plansAt(m *loaded, a symbol.Addr, pts []*point) []*capture.Point {
	if len(pts) == 0 { // for a step
		return nil
	}
	plans := make([]*capture.Point, 0, len(pts))
	for _, pt := range pts {
		if pt.guards != nil || pt.forces() {
			return nil
		}
		key := planKey{m.mod, a}
		pl, ok := pt.plans[key]
		if !ok {
			pl.plan, pl.why = capture.CompilePoint(m.mod, a, pt.skips(m.mod, a), pt.Condition, pt.Message,
				capture.Options{Depth: messageDepth, Walks: p.t.walks, Modules: p.watchable(m.mod)})
			pt.plans[key] = pl
		}
		if pl.plan == nil {
			return nil
		}
		plans = append(plans, pl.plan)
	}
	return plans
}

// moduleAt returns the module whose code is at an address.
func (p *process) moduleAt(at uint64) *loaded {
	for _, m := range p.modules {
		if at >= m.lo && at < m.hi {
			return m
		}
	}
	return nil
}

// runsAt returns where the instruction at an address is run: there, or in the stub of a hook or of a point that the
// agent decides about, whose patch has its place. moved are then the other instructions that run in that stub. probeMu
// is held.
func (p *process) runsAt(at uint64) (runs uint64, moved []hook.Pair, err error) {
	for _, ps := range p.points {
		if end := ps.at + uint64(len(ps.site.patch)); ps.rows == nil || at < ps.at || at >= end {
			continue
		}
		runs = at
		for _, pair := range ps.copies {
			if uint64(pair.Orig) == at {
				runs = uint64(pair.Copy)
			}
			if o := uint64(pair.Orig); o > ps.at && o < ps.at+uint64(len(ps.site.patch)) {
				moved = append(moved, pair)
			}
		}
		return runs, moved, nil
	}
	for _, h := range *p.hooks.Load() {
		if h == nil || !h.active() {
			continue
		}
		if h.fn == nil {
			if s := h.sites[0]; at >= s.addr && at < s.addr+uint64(len(s.patch)) {
				return 0, nil, errOwnHook
			}
			continue
		}
		if !h.covers(at) {
			continue
		}
		stub, first := hook.Stub{}, h.sites[0]
		if i := slices.IndexFunc(h.sites, func(s *site) bool { return s.golang != nil && s.covers(at) }); i >= 0 {
			first = h.sites[i]
			stub = first.golang.stub
		} else if stub, err = p.stubOf(h); err != nil {
			return 0, nil, err
		}
		runs = at
		for _, pair := range stub.Map {
			if uint64(pair.Orig) == at {
				runs = uint64(pair.Copy)
			}
			if uint64(pair.Orig) > first.addr && h.covers(uint64(pair.Orig)) {
				moved = append(moved, pair)
			}
		}
		return runs, moved, nil
	}
	return at, nil, nil
}

// covers reports whether an instruction of the function runs in the hook's stub.
func (h *hooked) covers(at uint64) bool {
	s := h.sites[0]
	if s.golang != nil {
		return slices.ContainsFunc(h.sites, func(s *site) bool { return s.covers(at) })
	}
	return at >= s.addr && at < s.addr+uint64(max(h.fn.analysis.Displaced, len(s.patch)))
}

// overwrites reports whether the hook's patches lie over anything in [lo, hi).
func (h *hooked) overwrites(lo, hi uint64) bool {
	return slices.ContainsFunc(h.sites, func(s *site) bool { return s.addr < hi && lo < s.addr+uint64(len(s.patch)) })
}

// patched reports whether an active hook has overwritten anything in [lo, hi).
func (p *process) patched(lo, hi uint64) bool {
	return slices.ContainsFunc(*p.hooks.Load(),
		func(h *hooked) bool { return h != nil && h.active() && h.overwrites(lo, hi) })
}

// liftPoints takes out the points in the places of hooks that are about to come or go: applyPoints puts them where
// their instruction runs then. probeMu is held.
func (p *process) liftPoints(ctx context.Context, hooks []*hooked) error {
	var remove []*pointSite
	for key, ps := range p.points {
		lo, hi := ps.at, ps.at+uint64(len(ps.site.patch))
		if slices.ContainsFunc(hooks, func(h *hooked) bool {
			return h.fn != nil && h.covers(ps.at) || h.overwrites(lo, hi)
		}) {
			remove = append(remove, ps)
			p.setPoint(key, nil)
		}
	}
	if len(remove) == 0 {
		return nil
	}
	ctx = context.WithoutCancel(ctx) // as in applyPoints
	return p.t.tracer.Do(ctx, func() error { return p.exchangePoints(nil, remove) })
}

// passCopies sends stopped threads that wait at the copy of an instruction, as paused ones do, to the copy that a new
// patch has of it: their own goes on into bytes that the patch overwrites. Tracer thread only.
func (p *process) passCopies(add []*site) {
	for _, th := range p.allThreads() {
		if !th.stopped {
			continue
		}
		regs, err := ptrace.GetRegs(th.tid)
		if err != nil || !p.inStub(regs.Rip) {
			continue
		}
		if to := p.copyFor(th, regs.Rip, add); to != 0 {
			regs.Rip = to
			ptrace.SetRegs(th.tid, &regs)
		}
	}
}

// copyFor returns where a thread that is at rip in a stub goes on when sites are added, 0 for there.
func (p *process) copyFor(th *thread, rip uint64, add []*site) uint64 {
	original := uint64(0)
	for _, c := range p.moved {
		if c.at == rip && c.size > 0 {
			original = c.original
		}
	}
	for _, s := range add {
		switch {
		case s.addr == rip && p.t.pauseOf(th) != nil: // it has met the point that comes back here
			return s.behind
		case original == 0:
		case s.addr == original:
			return s.behind
		case s.moves[original] != 0:
			return s.moves[original]
		}
	}
	return 0
}

// exchangePoints takes points out of their places and puts others there. Tracer thread only.
func (p *process) exchangePoints(add, remove []*pointSite) error {
	err := p.exchange(sitesOf(add), sitesOf(remove))
	if p.standing == nil {
		p.standing = map[uint64]*pointSite{}
	}
	for _, ps := range remove {
		if !ps.site.active {
			delete(p.standing, ps.at)
		}
	}
	for _, ps := range add {
		if ps.site.active {
			p.standing[ps.at] = ps
		}
	}
	return err
}

func sitesOf(points []*pointSite) []*site {
	sites := make([]*site, len(points))
	for i, ps := range points {
		sites[i] = ps.site
	}
	return sites
}

// copied is an instruction that runs at another place.
type copied struct{ at, original, size uint64 }

// setPoint notes what stands at an address, nil for nothing.
func (p *process) setPoint(at uint64, ps *pointSite) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case ps == nil:
		delete(p.points, at)
	case p.points == nil:
		p.points = map[uint64]*pointSite{at: ps}
	default:
		p.points[at] = ps
	}
}
