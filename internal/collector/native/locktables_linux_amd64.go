package native

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/locks"
	"github.com/strobe-debug/strobe/internal/ptrace"
	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/snapshot"
	"github.com/strobe-debug/strobe/internal/sorting"
	"github.com/strobe-debug/strobe/internal/unwind"
	"github.com/strobe-debug/strobe/internal/waits"
)

// lockTable is a copy of what the agent has found in one process; of one that has ended it is kept.
type lockTable struct {
	p      *process
	head   *ring.Locks
	edges  []*ring.LockEdge
	stacks map[*ring.LockEdge]*ring.LockStack
	waits  []*ring.LockWait
	now    []waitsNow
	at     uint64 // clock when it was copied
	look   *look
	dead   bool

	notSeen []string
	// calls of threads that got no ring
	noRing uint64
}

// waitsNow is a wait that has not ended.
type waitsNow struct {
	lock, since uint64
	tid         uint32
}

// maxKept bounds the tables that are kept of processes that have ended.
const maxKept = 16

// lockTable copies the tables of a process; nil where nothing was recorded. The region is there.
func (p *process) lockTable(dead bool) *lockTable {
	if !p.injected.Load() || p.region == nil || p.shares != nil || !slices.ContainsFunc(*p.hooks.Load(),
		func(h *hooked) bool { return h != nil && h.own != nil && h.own.flags == hookLocks }) {
		return nil
	}
	head := *p.region.Locks()
	t := &lockTable{p: p, head: &head, stacks: map[*ring.LockEdge]*ring.LockStack{},
		dead: dead, at: p.t.rt.clock.Now(), noRing: atomic.LoadUint64(&p.region.Control().NoRingLost)}
	for i := range min(int(head.Edges), ring.MaxLockEdges) {
		if e := *p.region.LockEdge(i); e.Ready != 0 && e.Dead == 0 {
			t.edges = append(t.edges, &e)
			if e.Stack > 0 && e.Stack <= ring.MaxLockStacks {
				stack := *p.region.LockStack(int(e.Stack - 1))
				t.stacks[&e] = &stack
			}
		}
	}
	for i := range min(int(head.Waits), ring.MaxLockWaits) {
		if w := *p.region.LockWait(i); w.Ready != 0 && w.Dead == 0 && w.Count > 0 {
			t.waits = append(t.waits, &w)
		}
	}
	for i := range p.region.Rings() {
		state := atomic.LoadUint32(p.region.State(i))
		if state == ring.RingFree {
			break
		}
		h := p.region.Header(i)
		if on := atomic.LoadUint64(&h.Locks.WaitOn); on != 0 && state == ring.RingUsed && !dead {
			t.now = append(t.now, waitsNow{on, atomic.LoadUint64(&h.Locks.WaitTSC), h.TID})
		}
	}
	view := &snapshot.Process{PID: p.pid, Mem: p.mem, Project: p.t.cmd.ProjectRoot, Stub: p.stubs()}
	p.mu.Lock()
	mods := slices.Clone(p.modules)
	t.notSeen = slices.Clone(p.noLocks)
	p.mu.Unlock()
	for _, m := range mods {
		if mod, err := p.open(m); err == nil {
			view.Modules = append(view.Modules, unwind.Module{Mod: mod, Bias: m.bias, Lo: m.lo, Hi: m.hi})
		}
	}
	t.look = &look{p: p, view: view}
	return t
}

// keepLocks keeps the tables of a process that has ended.
func (t *target) keepLocks(p *process) {
	kept := p.lockTable(true)
	if kept == nil || len(kept.edges)+len(kept.waits) == 0 && p.pid != t.pid {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.lockTables) < maxKept {
		t.lockTables = append(t.lockTables, kept)
	} else {
		t.lockTablesLost++
	}
}

// Locks implements collector.LockReporter.
func (t *target) Locks(context.Context) (*locks.Report, error) {
	t.mu.Lock()
	tables, lost := slices.Clone(t.lockTables), t.lockTablesLost
	t.mu.Unlock()
	for _, p := range t.processes() {
		p.regionMu.Lock()
		if !p.released {
			if lt := p.lockTable(false); lt != nil {
				tables = append(tables, lt)
			}
		}
		p.regionMu.Unlock()
	}
	if len(tables) == 0 {
		return nil, fault.New(fault.ValidationError, `debug_trace {"add":["@locks"]}, or launch it with trace ["@locks"].`,
			"locks are not recorded in this session")
	}
	var b lockReport
	for _, lt := range tables {
		b.several = len(tables) > 1
		b.add(lt)
	}
	if lost > 0 {
		b.missing("%d processes that have ended", lost)
	}
	return b.report(), nil
}

// Bounds of what is shown.
const (
	maxInversions = 4
	maxContended  = 5
	lockPlaces    = 2
	maxLockFrames = 4
)

// lockReport puts the tables of a program's processes together.
type lockReport struct {
	r        locks.Report
	several  bool
	contends []contended
}

// contended is one lock's waits.
type contended struct {
	t     *lockTable
	lock  uint64
	kind  uint32
	waits []*ring.LockWait
	now   []waitsNow
	count uint64
	ticks uint64
}

func (b *lockReport) missing(format string, args ...any) {
	b.r.NotSeen = append(b.r.NotSeen, fmt.Sprintf(format, args...))
}

func (b *lockReport) add(t *lockTable) {
	table := t.table()
	b.r.Orders += len(table.Edges)
	found, all := table.Inversions()
	if !all {
		b.missing("some circles of three among very many orders")
	}
	for _, inv := range found {
		if len(b.r.Inversions) == maxInversions {
			b.r.MoreInversions++
			continue
		}
		b.r.Inversions = append(b.r.Inversions, b.circle(t, table, inv))
	}
	by := map[uint64]int{}
	of := func(lock uint64, kind uint32) *contended {
		i, ok := by[lock]
		if !ok {
			i = len(b.contends)
			by[lock] = i
			b.contends = append(b.contends, contended{t: t, lock: lock, kind: kind})
		}
		return &b.contends[i]
	}
	for _, w := range t.waits {
		c := of(w.Lock, w.Kind)
		c.waits = append(c.waits, w)
		c.count += w.Count
		c.ticks += w.Ticks
	}
	for _, w := range t.now {
		c := of(w.lock, ring.LockWaits)
		c.now = append(c.now, w)
		c.count++
		c.ticks += t.at - min(w.since, t.at)
	}
	for _, n := range t.notSeen {
		if !slices.Contains(b.r.NotSeen, n) && (!strings.HasPrefix(n, "pthread_rwlock") || t.usesRW()) {
			b.r.NotSeen = append(b.r.NotSeen, n)
		}
	}
	for _, l := range []struct {
		n    uint64
		what string
	}{{t.head.EdgesLost, "orders of locks: the table is full"}, {t.head.WaitsLost, "waits: the table is full"},
		{t.head.ThreadsLost, "orders of later threads: the table of threads is full"},
		{t.head.LinksLost, "threads made and joined: the table is full"},
		{t.head.HeldLost, "locks that were taken while 32 were held"},
		{t.head.MoreThreads, "threads at an order that six others made"}} {
		if l.n > 0 {
			b.missing("%d %s", l.n, l.what)
		}
	}
	if n := t.noRing; n > 0 {
		b.missing("%d calls of threads beyond the rings", n)
	}
}

// usesRW reports whether rwlocks were seen.
func (t *lockTable) usesRW() bool {
	const rw = ring.LockModeRW<<16 | ring.LockModeRW
	return slices.ContainsFunc(t.edges, func(e *ring.LockEdge) bool { return e.Mode&rw != 0 }) ||
		slices.ContainsFunc(t.waits, func(w *ring.LockWait) bool { return lockKind(w.Kind) == "rwlock" })
}

// table is what internal/locks takes.
func (t *lockTable) table() *locks.Table {
	table := &locks.Table{}
	for i := range min(int(t.head.Threads), ring.MaxLockThreads) {
		th := &t.head.Thread[i]
		table.Threads = append(table.Threads, locks.Thread{FS: th.FS, At: th.TSC, TID: int(th.TID)})
	}
	for i := range min(int(t.head.Links), ring.MaxLockLinks) {
		if l := &t.head.Link[i]; l.Ready != 0 {
			table.Links = append(table.Links, locks.Link{Thread: int(l.Thread), Segment: int(l.Segment), FS: l.FS, At: l.TSC,
				Join: l.Join != 0})
		}
	}
	for _, e := range t.edges {
		edge := locks.Edge{From: e.From, To: e.To, FromRead: e.Mode&ring.LockModeRead != 0,
			ToRead: e.Mode>>16&ring.LockModeRead != 0}
		for _, g := range e.Gates {
			if g != 0 {
				edge.Gates = append(edge.Gates, g)
			}
		}
		for _, by := range e.Threads {
			if by.Thread != 0 && int(by.Thread) <= len(table.Threads) {
				edge.By = append(edge.By, locks.Taker{Thread: int(by.Thread), First: int(by.First), Last: int(by.Last)})
			}
		}
		table.Edges = append(table.Edges, edge)
	}
	return table
}

func (b *lockReport) circle(t *lockTable, table *locks.Table, inv locks.Inversion) locks.Circle {
	c := locks.Circle{}
	if b.several {
		c.PID = t.p.pid
	}
	names := map[uint64]string{}
	stacks := make([]*seen, len(inv.Edges))
	for k, i := range inv.Edges {
		e := t.edges[i]
		stacks[k] = t.walk(e.RIP, 0, 0, nil)
		if kept := t.stacks[e]; kept != nil {
			stacks[k] = t.walk(e.RIP, kept.RSP, kept.RBP, kept.Stack[:min(int(kept.Bytes), len(kept.Stack))])
		}
		for _, lock := range []uint64{e.From, e.To} {
			if names[lock] == "" {
				names[lock] = t.look.nameOf(stacks[k], lock)
			}
		}
	}
	for k, i := range inv.Edges {
		e := t.edges[i]
		c.Locks = append(c.Locks, t.named(e.From, names[e.From]))
		take := locks.Take{ThreadID: table.Threads[inv.By[k]-1].TID, Holds: t.named(e.From, names[e.From]),
			Takes: t.named(e.To, names[e.To]), Stack: t.frames(stacks[k])}
		since := t.walk(e.FromPlace, 0, 0, nil)
		if f := since.thread.Frames; len(f) > 0 && !f[0].Library(t.look.view.Project) {
			take.Since = t.frames(since)[0]
		}
		c.Takes = append(c.Takes, take)
	}
	return c
}

func (b *lockReport) report() *locks.Report {
	sorting.By(b.contends, func(x, y contended) int { return cmp.Compare(y.ticks, x.ticks) })
	b.r.MoreContended = max(len(b.contends)-maxContended, 0)
	for i := range b.contends[:min(len(b.contends), maxContended)] {
		b.r.Contention = append(b.r.Contention, b.waiting(&b.contends[i]))
	}
	b.missing("locks of Rust, parking_lot, Go or the program's own making while nobody waits for them")
	if r := &b.r; len(r.Inversions) > 0 {
		r.NextSteps = "Take these locks in one order at all places, or hold one lock more around both, and look again."
	} else if len(r.Contention) > 0 {
		r.NextSteps = "Do less while the first lock is held, or split it; debug_session status with threads shows who " +
			"waits now."
	} else {
		r.NextSteps = "An input with which threads share more shows more."
	}
	if b.r.Inversions == nil {
		b.r.Inversions = []locks.Circle{}
	}
	if b.r.Contention == nil {
		b.r.Contention = []locks.Waiting{}
	}
	return &b.r
}

func (b *lockReport) waiting(c *contended) locks.Waiting {
	clock := c.t.p.t.rt.clock
	w := locks.Waiting{Kind: lockKind(c.kind), Waits: int64(c.count), TotalNs: int64(clock.Duration(c.ticks))}
	if b.several {
		w.PID = c.t.p.pid
	}
	sorting.By(c.waits, func(x, y *ring.LockWait) int { return cmp.Compare(y.Ticks, x.Ticks) })
	name, most := "", uint64(0)
	for i, at := range c.waits {
		s := c.t.walk(at.RIP, at.RSP, at.RBP, at.Stack[:min(int(at.Bytes), len(at.Stack))])
		if name == "" {
			name = c.t.look.nameOf(s, c.lock)
		}
		if at.Most > most {
			most, w.Waiter, w.Owner = at.Most, int(at.TID), int(at.Owner)
		}
		if i < lockPlaces {
			w.Places = append(w.Places, locks.Place{Waits: int64(at.Count), TotalNs: int64(clock.Duration(at.Ticks)),
				Stack: c.t.frames(s)})
		}
	}
	for _, n := range c.now {
		if so := c.t.at - min(n.since, c.t.at); so > most {
			most, w.Waiter, w.Owner = so, int(n.tid), 0
		}
	}
	w.LongestNs = int64(clock.Duration(most))
	if name == "" { // of a wait that has no end yet there is no place
		name = c.t.look.nameOf(nil, c.lock)
	}
	w.Lock = c.t.named(c.lock, name)
	return w
}

func lockKind(kind uint32) string {
	switch kind {
	case ring.LockRead, ring.LockWrite:
		return "rwlock"
	case ring.LockPrivate:
		return "the C library's own"
	case ring.LockSlow:
		return "Rust"
	case ring.LockSpin:
		return "spinlock"
	}
	return "mutex"
}

// named is a lock's name; one that is not a variable of its own has its address, too.
func (t *lockTable) named(lock uint64, name string) string {
	if name == "" {
		return fmt.Sprintf("%#x", lock)
	}
	if t.look.module(lock) != nil {
		return name
	}
	return fmt.Sprintf("%s (%#x)", name, lock)
}

// walk unwinds a stack of which the part from below sp on was kept.
func (t *lockTable) walk(pc, sp, bp uint64, kept []byte) *seen {
	mem := &keptStack{lo: sp - 8, copy: kept}
	if !t.dead {
		mem.mem = t.p.mem
	}
	o := unwind.Options{Stub: t.look.view.Stub, MaxFrames: maxThreadFrames, Nearest: 24}
	if sp == 0 {
		o.Nearest = 1
	}
	u := unwind.New(mem, t.look.view.Modules, o)
	var regs unwind.Regs
	regs.Set(regPC, pc-1) // in the call
	regs.Set(regSP, sp)
	regs.Set(regBP, bp)
	s := &seen{p: t.p, thread: &waits.Thread{PID: t.p.pid}}
	s.take(u.Walk(regs), u)
	return s
}

// frames are the functions of a stack that say where it is.
func (t *lockTable) frames(s *seen) []string {
	all := s.thread.Backtrace(t.look.view.Project)
	if len(all) == 0 || strings.HasPrefix(all[0], "? ") { // nothing names the program's functions: its addresses do
		all = nil
		for i := range s.stack.Frames {
			f := &s.stack.Frames[i]
			base := filepath.Base(f.Module)
			if name := cmp.Or(f.Function, base); name != "." && !strings.HasPrefix(base, "libc.") &&
				!strings.HasPrefix(base, "libpthread") {
				all = append(all, fmt.Sprintf("%s+%#x", name, f.Offset))
			}
		}
	}
	return all[:min(len(all), maxLockFrames)]
}

// keptStack is a stack of which a part was copied, and the rest of the memory, which may have changed since.
type keptStack struct {
	lo   uint64
	copy []byte
	mem  *ptrace.Mem
}

// stackReach is how far above the kept part the same stack may go on.
const stackReach = 8 << 20

func (k *keptStack) Read(addr uint64, b []byte) error {
	end, hi := addr+uint64(len(b)), k.lo+uint64(len(k.copy))
	switch {
	case addr >= k.lo && end <= hi:
		copy(b, k.copy[addr-k.lo:])
		return nil
	case end > k.lo && addr < hi+stackReach && len(k.copy) > 0:
		return errors.New("of the stack, it was not kept")
	case k.mem == nil:
		return errors.New("the process has ended")
	}
	return k.mem.Read(addr, b)
}
