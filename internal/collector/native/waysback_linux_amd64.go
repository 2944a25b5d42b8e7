package native

import (
	"slices"

	"github.com/strobe-debug/strobe/internal/ptrace"
)

// wayBack is a jump out of a stub, to a place that a new patch overwrites: whoever is still in that stub, or returns
// into it, would go on amid the patch's bytes.
type wayBack struct {
	lo, at   uint64 // where the stub begins, and the jump
	original uint64 // where it leads
	site     *site  // whose patch lies over that
}

// stubReach is how far before its jump back a point's stub may begin.
const stubReach = 1 << 10

// waysBack finds them: of the stubs of points, also of those taken out again, and of hooks. probeMu is held, or nothing
// changes hooks.
func (p *process) waysBack(ws windows) (ways []wayBack) {
	if !slices.ContainsFunc(ws, func(s *site) bool { return len(s.patch) > 1 }) {
		return nil
	}
	for _, c := range p.moved {
		if c.size != 0 {
			continue
		}
		if s := ws.find(c.original); s != nil {
			ways = append(ways, wayBack{c.at - stubReach, c.at, c.original, s})
		}
	}
	for _, h := range *p.hooks.Load() {
		if h == nil || h.fn == nil || h.fn.golang != nil {
			continue
		}
		s := ws.find(h.sites[0].addr + uint64(h.fn.analysis.Displaced))
		if s == nil {
			continue
		}
		if stub, err := p.stubOf(h); err == nil && len(stub.Map) > 0 {
			last := stub.Map[len(stub.Map)-1]
			ways = append(ways, wayBack{uint64(stub.Entry), uint64(last.Copy), uint64(last.Orig), s})
		}
	}
	return ways
}

// turnBack sends stopped threads that stand at such a jump to the copy that the new patch has of what it leads to. For
// those that are on their way there the patch stays one byte long. Tracer thread only.
func (p *process) turnBack(ways []wayBack) {
	if len(ways) == 0 {
		return
	}
	for _, th := range p.allThreads() {
		if !th.stopped {
			continue
		}
		regs, err := ptrace.GetRegs(th.tid)
		if err != nil {
			continue
		}
		for _, w := range ways {
			to := w.site.moves[w.original]
			switch {
			case regs.Rip == w.at && to != 0:
				regs.Rip = to
				ptrace.SetRegs(th.tid, &regs) //nolint:errcheck // it has ended
			case regs.Rip >= w.lo && regs.Rip <= w.at: // on its way there
				w.site.oneByte()
			}
		}
	}
}
