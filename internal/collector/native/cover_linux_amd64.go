package native

import (
	"slices"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/ptrace"
	"github.com/strobe-debug/strobe/internal/sorting"
	"github.com/strobe-debug/strobe/internal/symbol"
)

// With the pattern @coverage an int3 stands at the entry of every function of the user's. The first thread that meets
// one takes it away, so that a function costs a stop of some microseconds once, and nothing ever after. Everybody else
// sees the bytes that the program has there: ptrace.Mask.

// coverUntil is why a function is not watched any more when something else of ours stands at its entry.
const coverUntil = "hooked"

// coverWanted reports whether a pattern asks which functions run. probeMu is held.
func (t *target) coverWanted() bool {
	return slices.ContainsFunc(t.probes, func(pr probe) bool { return pr.pat.Coverage() })
}

// cover brings a process's traps at functions' entries in line with what is wanted. probeMu is held.
func (t *target) cover(p *process) {
	sink, ok := t.sink.(collector.CoverSink)
	if !ok || p.shares != nil || p.dead.Load() {
		return
	}
	if !t.coverWanted() || t.stopping.Load() || t.leaving.Load() || t.drives(p) {
		p.mem.Disarm()
		return
	}
	user, err := symbol.ParsePattern("@usercode")
	if err != nil {
		return
	}
	stands := p.standingAt()
	for _, m := range p.modules {
		if m.path == p.loader.path {
			continue
		}
		mod, err := p.open(m)
		if err != nil {
			continue
		}
		ids := t.coverIDs(sink, mod, m.path, user)
		arm := map[uint64]int{}
		mask := p.mem.Mask()
		for low, id := range ids {
			at := uint64(low) + m.bias
			switch {
			case mask != nil && mask.Has(at):
			case stands(at):
				sink.CoveredGone(id, coverUntil)
			default:
				arm[at] = id
			}
		}
		for _, id := range p.mem.Arm(arm) {
			sink.CoveredGone(id, "its code cannot be written")
		}
	}
}

// coverIDs are the numbers of the user's functions of a file, by their entries. A session has each once.
func (t *target) coverIDs(sink collector.CoverSink, mod *symbol.Module, path string,
	user *symbol.Pattern) map[symbol.Addr]int {
	if ids, ok := t.covered[mod]; ok {
		return ids
	}
	match, fns := user.Matcher(t.cmd.ProjectRoot), mod.Functions()
	ids := map[symbol.Addr]int{}
	var all []collector.Covered
	for i := range fns {
		f := &fns[i]
		if _, twice := ids[f.Low]; f.HasDWARF && f.Low != 0 && !twice && match(f) {
			ids[f.Low] = len(all)
			all = append(all, collector.Covered{Name: publicName(f), File: f.File, Line: f.Line, Module: path})
		}
	}
	first := sink.Cover(all)
	if first < 0 {
		t.warn("@coverage: too many functions to watch")
		clear(ids)
	}
	for low := range ids {
		ids[low] += first
	}
	if t.covered == nil {
		t.covered = map[*symbol.Module]map[symbol.Addr]int{}
	}
	t.covered[mod] = ids
	return ids
}

// standingAt tells where something of ours is in a process's code.
func (p *process) standingAt() func(at uint64) bool {
	type span struct{ lo, hi uint64 }
	var all []span
	for _, h := range *p.hooks.Load() {
		if h == nil {
			continue
		}
		for _, s := range h.sites {
			if s.active {
				all = append(all, span{s.addr, s.addr + uint64(len(s.patch))})
			}
		}
	}
	sorting.By(all, func(a, b span) int { return int(a.lo>>1) - int(b.lo>>1) })
	return func(at uint64) bool {
		p.trapMu.RLock()
		tr := p.traps[at]
		p.trapMu.RUnlock()
		if tr != nil && tr.active {
			return true
		}
		i, _ := slices.BinarySearchFunc(all, at, func(s span, a uint64) int {
			if s.hi <= a {
				return -1
			}
			return 1
		})
		return i < len(all) && all[i].lo <= at
	}
}

// coverGone tells of functions at whose entry something else stands now. probeMu is held.
func (t *target) coverGone(p *process) {
	sink, ok := t.sink.(collector.CoverSink)
	if mask := p.mem.Mask(); ok && mask != nil {
		for _, id := range mask.TakeGone() {
			sink.CoveredGone(id, coverUntil)
		}
	}
}

// coverStop lets a thread that met a function's first call go on. False: no such trap is meant. Tracer thread only.
func (t *target) coverStop(th *thread, p *process, regs *ptrace.Regs) bool {
	at := regs.Rip - 1
	id, first, known := p.mem.Met(at)
	if !known {
		return false
	}
	if sink, ok := t.sink.(collector.CoverSink); ok && first {
		if th.covers == nil { // its name is a file to read
			id := t.sink.Thread(event.Thread{PID: int32(th.p.pid), TID: int32(th.tid), Name: threadName(th.p.pid, th.tid)})
			th.covers = &id
		}
		sink.CoveredRan(id, t.sink.Now(), *th.covers)
	}
	regs.Rip = at
	ptrace.SetRegs(th.tid, regs)
	t.resume(th, 0)
	return true
}

// countCover is what the pattern selects: functions that are watched, and those that still wait for their first call.
func (t *target) countCover() (watched, waiting int) {
	for _, ids := range t.covered {
		watched += len(ids)
	}
	for _, p := range t.processes() {
		if mask := p.mem.Mask(); mask != nil {
			waiting = max(waiting, mask.Armed())
		}
	}
	return watched, waiting
}
