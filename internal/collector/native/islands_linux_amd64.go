package native

import (
	"maps"

	"github.com/strobe-debug/strobe/internal/ptrace"
)

// A function with no room for a jump of five bytes may have one of two (hook.PatchShort): it leads to its island, a
// longer one in padding. Between the two a thread stands in the program's code at a place that is none of the
// function's.

// addIslands makes islands known to who looks at where threads are. mu is held.
func (p *process) addIslands(sites []*site) {
	if len(sites) == 0 {
		return
	}
	all := map[uint64]uint64{}
	if was := p.islands.Load(); was != nil {
		all = maps.Clone(*was)
	}
	for _, s := range sites {
		all[s.addr] = s.entry
	}
	p.islands.Store(&all)
}

// onIsland returns the function's entry, for a thread that is on its way from there to the stub.
func (p *process) onIsland(pc uint64) (entry uint64, is bool) {
	if all := p.islands.Load(); all != nil {
		entry, is = (*all)[pc]
	}
	return entry, is
}

// leaveIsland sends stopped threads that stand on an island on to the stub, so that it can become padding again. False:
// not all threads that run are stopped, and it has to stay.
func (p *process) leaveIsland(s *site, all bool) bool {
	for _, th := range p.allThreads() {
		if !th.stopped {
			continue
		}
		regs, err := ptrace.GetRegs(th.tid)
		if err != nil || regs.Rip != s.addr {
			continue
		}
		regs.Rip = s.to
		if ptrace.SetRegs(th.tid, &regs) != nil {
			return false
		}
	}
	return all
}
