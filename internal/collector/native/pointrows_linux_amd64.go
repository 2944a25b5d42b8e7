package native

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/strobe-debug/strobe/internal/capture"
	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/ptrace"
	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/symbol"
)

// Points that the agent decides about: their rows in the hook table, their counts, and what comes back of them.

// planKey names a place in a file.
type planKey struct {
	mod *symbol.Module
	a   symbol.Addr
}

// pointPlan is what the agent does for a point at a place; or why it cannot.
type pointPlan struct {
	plan *capture.Point
	why  string
}

// pointRow is a point at one place of a process as the agent knows it.
type pointRow struct {
	pt    *point
	ps    *pointSite
	plan  *capture.Point
	where collector.Location
}

// rows gives the points of a place their entries in the hook table, chained in order. p.mu is held.
func (w *stubWriter) rows(ps *pointSite, m *loaded, plans []*capture.Point) error {
	p := w.p
	p.installWalks()
	first := uint32(len(*p.hooks.Load()))
	if first+uint32(len(plans)) >= ring.MaxHooks {
		return fmt.Errorf("all %d hooks of the process are in use", ring.MaxHooks)
	}
	for i, plan := range plans {
		id, pt := first+uint32(i), ps.points[i]
		if err := p.writePlan(id, &plan.Plan, [2]int{}); err != nil {
			return err
		}
		h := p.region.Hook(id)
		h.Flags, h.Hot, h.ExitOps, h.MaxExit = ring.HookPoint, uint16(pt.index), 0, 0
		if pt.Message == "" {
			h.Flags |= ring.HookPause
		}
		if plan.Condition != nil {
			ops := p.relocate(plan.Condition)
			if p.nextOp+uint32(len(ops)) > ring.MaxOps {
				return fmt.Errorf("all %d capture operations of the process are in use", ring.MaxOps)
			}
			h.ExitOps = p.nextOp
			for _, op := range ops {
				*p.region.Op(p.nextOp) = op
				p.nextOp++
			}
		}
		if i+1 < len(plans) {
			h.MaxExit = id + 1
		}
		ps.rows = append(ps.rows, id)
		w.hooks = append(w.hooks, &hooked{id: id,
			row: &pointRow{pt: pt, ps: ps, plan: plan, where: pt.placeOf(m.mod, m.bias, symbol.Addr(ps.at-m.bias))}})
	}
	return nil
}

// count gives a point its counts in the process's region. p.mu is held.
func (p *process) count(pt *point) {
	if p.slots[pt.index] != pt {
		p.slots[pt.index] = pt
		*p.region.Point(pt.index) = ring.Point{HitCount: uint64(pt.HitCount), Thread: uint32(pt.Thread)}
	}
}

// copyPoints gives a forked child its points, with nothing counted.
func (p *process) copyPoints() {
	for _, pt := range p.slots {
		if pt != nil {
			*p.region.Point(pt.index) = ring.Point{HitCount: uint64(pt.HitCount), Thread: uint32(pt.Thread)}
		}
	}
}

// pass counts that a thread came to a point and its condition held, and returns which time it is in this process.
func (p *process) pass(pt *point) int64 {
	p.regionMu.RLock()
	defer p.regionMu.RUnlock()
	if p.released {
		return 0
	}
	return int64(atomic.AddUint64(&p.region.Point(pt.index).Passes, 1))
}

// passed reads a point's counts in a process. p.mu is held.
func (p *process) passed(pt *point) (hits, failed int64) {
	p.regionMu.RLock()
	defer p.regionMu.RUnlock()
	if p.released || p.slots[pt.index] != pt {
		return 0, 0
	}
	c := p.region.Point(pt.index)
	n := int64(atomic.LoadUint64(&c.Passes))
	if pt.HitCount > 0 {
		n = min(n/pt.HitCount, 1)
	}
	return n, int64(atomic.LoadUint64(&c.Failed))
}

// counts sums a point's hits and failures over all processes.
func (t *target) counts(pt *point) (hits, failed int64) {
	hits, failed = pt.hits.Load(), pt.failed.Load()
	for _, p := range t.processes() {
		if p.shares != nil {
			continue
		}
		p.mu.Lock()
		h, f := p.passed(pt)
		p.mu.Unlock()
		hits, failed = hits+h, failed+f
	}
	return hits, failed
}

// keepCounts adds a process's counts to those of the ended ones.
func (p *process) keepCounts() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, pt := range p.slots {
		if pt != nil && p.injected.Load() {
			h, f := p.passed(pt)
			pt.hits.Add(h)
			pt.failed.Add(f)
			p.slots[i] = nil
		}
	}
}

// decides reports whether the agent decides about a point at all of its places, and else why not. probeMu is held.
func (t *target) decides(pt *point) (inTarget bool, why string) {
	for _, p := range t.processes() {
		for _, ps := range p.points {
			for _, have := range ps.points {
				switch {
				case have != pt:
				case ps.rows == nil:
					return false, pt.why()
				default:
					inTarget = true
				}
			}
		}
	}
	return inTarget, ""
}

func (pt *point) why() string {
	for _, pl := range pt.plans {
		if pl.why != "" {
			return pl.why
		}
	}
	return "another point at the same place needs the tracer"
}

// rowOf returns the point that a hook ID stands for, nil where it is not in force, and where a thread goes on that came
// to it. The place may have another stub by now than the one that the thread is in, since other points came or went
// there: it goes on in that one.
func (p *process) rowOf(id uint32) (row *pointRow, behind uint64) {
	list := *p.hooks.Load()
	if int(id) >= len(list) || list[id] == nil || list[id].row == nil || list[id].row.pt.off.Load() {
		return nil, 0
	}
	row = list[id].row
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, ps := range p.points {
		if ps.at == row.ps.at {
			return row, ps.site.behind
		}
	}
	return row, row.ps.site.behind
}

// probeStop: a thread met the agent's own int3, as a breakpoint's condition holds. It gets the registers that it had at
// the place, and waits where the agent would have let it go on. False: it is elsewhere. Tracer thread only.
func (t *target) probeStop(th *thread, p *process, regs *ptrace.Regs) bool {
	if p.region == nil || regs.Rip-1 != p.regionAddr+p.blob.ProbeTrap {
		return false
	}
	var b [17 * 8]byte
	row, behind := p.rowOf(uint32(regs.Rax))
	if row == nil || p.mem.Read(regs.Rdi, b[:]) != nil { // taken away just now: it goes on behind the int3
		t.resume(th, 0)
		return true
	}
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	r := *regs
	for i, to := range [16]*uint64{&r.Rax, &r.Rdx, &r.Rcx, &r.Rbx, &r.Rsi, &r.Rdi, &r.Rbp, &r.Rsp, &r.R8, &r.R9, &r.R10,
		&r.R11, &r.R12, &r.R13, &r.R14, &r.R15} {
		*to = word(i)
	}
	r.Eflags, r.Rip = word(16)&^trapFlag, behind
	if ptrace.SetRegs(th.tid, &r) != nil {
		return true
	}
	seen := p.pictured(th, &r, true)
	seen.Regs.Set(regRip, row.ps.at)
	c := &pause{th: th, stop: th.stops.Load(), p: p, seen: seen}
	c.PointID, c.Reason, c.by = row.pt.ID, "breakpoint", row.pt
	c.Hit = int64(atomic.LoadUint64(&p.region.Point(row.pt.index).Passes))
	th.stopped = true
	t.spawn(func() {
		if t.stopping.Load() {
			t.letGoOn(c)
			return
		}
		t.paused(c, &pauseLook{t: t, c: c}, row.pt.AllThreads)
	})
	return true
}

// pointNote is the payload of a point's event, as pointEvent makes it.
type pointNote struct {
	ID        string `json:"breakpointId"`
	Message   string `json:"message,omitempty"`
	Condition string `json:"condition,omitempty"`
	Error     string `json:"error,omitempty"`
	Times     uint64 `json:"times,omitempty"` // that the condition failed by now
	Function  string `json:"function,omitempty"`
	File      string `json:"file,omitempty"`
	Line      int    `json:"line,omitempty"`
}

// mayFail lists why a condition can have failed where the agent told no address, which is also that of a null pointer's
// first member.
func mayFail(condition string) string {
	var why []string
	for _, c := range []struct{ has, why string }{
		{"/%", "division by zero"}, {">*[(.", "a null pointer was followed"}, {"[", "an index is out of range"},
		{"(", "a text is too long"}, {".", "an enum is another variant"},
	} {
		if strings.ContainsAny(condition, c.has) {
			why = append(why, c.why)
		}
	}
	return strings.Join(why, ", or ")
}

// point makes an event of what the agent recorded of a point.
func (d *drainer) point(rs *ringState, row *pointRow, rec *ring.Rec) {
	n := pointNote{ID: row.pt.ID, Function: row.where.Function, File: row.where.File, Line: row.where.Line}
	kind := event.Logpoint
	switch {
	case rec.Kind == ring.RecPoint:
		n.Message = row.plan.Text(rec.Payload, func() (string, bool) { return rs.nameIn(d.rounds) }, rs.p.symbolize)
		if rec.Flags&ring.RecTruncated != 0 {
			n.Message += " (its values did not fit)"
		}
	case rec.Kind == ring.RecFailed && len(rec.Payload) >= 16:
		kind, n.Condition = event.ConditionError, row.pt.Condition
		n.Error = mayFail(row.pt.Condition)
		if at := binary.LittleEndian.Uint64(rec.Payload[8:]); at != 0 {
			n.Error = fmt.Sprintf("memory at 0x%x cannot be read", at)
		}
		if n.Times = binary.LittleEndian.Uint64(rec.Payload); n.Times == 1 {
			n.Times = 0
		}
	default:
		return
	}
	b, err := json.Marshal(n)
	if err != nil {
		return
	}
	d.events = append(d.events, event.Event{TS: d.ts(rec.TSC), Kind: kind, Thread: rs.lanes.at(rec.SP).id, Payload: b})
}
