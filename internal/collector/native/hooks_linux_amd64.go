package native

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sort"
	"sync/atomic"

	"github.com/strobe-debug/strobe/internal/hook"
	"github.com/strobe-debug/strobe/internal/ring"
)

// hookKey names a hook of one process: the function's address there, and how it is recorded.
type hookKey struct {
	addr uint64
	want want
}

// hooked is one hook of one process. It is made once and patched in and out as patterns come and go, so that its stub,
// in which threads may still be, is never written again.
type hooked struct {
	id    uint32
	fn    *function // nil for Strobe's own hooks
	own   *ownHook  // nil for the program's functions
	sites []*site   // the entry; then, for a short jump, its island, and for enter-only hooks, each ret
	goes  bool      // its records have places on goroutines' stacks
	row   *pointRow // of a point that the agent decides about: then fn and own are nil, and it has no sites
}

func (h *hooked) active() bool { return len(h.sites) > 0 && h.sites[0].active }

// makeHooks writes stubs and hook table entries for functions of one module; nothing is patched yet. Functions that
// cannot be hooked get their reason. probeMu is held.
func (p *process) makeHooks(ctx context.Context, r *remote, m *loaded, fns []*function) ([]*hooked, error) {
	sort.Slice(fns, func(i, j int) bool { return fns[i].sym.Low < fns[j].sym.Low })
	p.changing()
	var made []*hooked
	need := uint64(0)
	for _, fn := range fns {
		if fn.reason == "" && p.byAddr[m.key(fn)] == nil {
			need += fn.stubBytes()
		}
		if fn.golang != nil {
			p.openGo()
		}
	}
	var a *arena
	if need > 0 {
		var err error
		if a, err = p.arenaFor(ctx, r, m.lo, m.hi, need); err != nil {
			return nil, err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changingLocked()
	p.installWalks()
	w := &stubWriter{p: p, a: a, at: 0}
	if a != nil {
		w.at = a.next
	}
	for _, fn := range fns {
		if fn.reason != "" {
			continue
		}
		h := p.byAddr[m.key(fn)]
		if h == nil {
			var err error
			if h, err = w.hook(m, fn); err != nil {
				fn.reason = err.Error()
				continue
			}
		}
		made = append(made, h)
	}
	return made, w.flush()
}

// stubBytes is an upper bound of the arena bytes that the function's stubs take.
func (fn *function) stubBytes() uint64 {
	if fn.golang != nil {
		return fn.goStubBytes()
	}
	n := uint64(hook.MaxStub(hook.Spec{Kind: fn.kind, Code: fn.code, Analysis: &fn.analysis,
		StackBytes: fn.plan.StackBytes})) + 16
	n += uint64(fn.leaving()) * 64
	return n
}

// stubWriter collects stubs that follow each other in an arena, to write them at once.
type stubWriter struct {
	p     *process
	a     *arena
	at    uint64
	buf   []byte
	hooks []*hooked

	islands []*site
}

// add writes one stub to the buffer.
func (w *stubWriter) add(spec hook.Spec) (hook.Stub, error) {
	room := make([]byte, hook.MaxStub(spec))
	stub, err := hook.WriteStub(room, hook.Addr(w.at), spec)
	if err != nil {
		return stub, err
	}
	w.append(room, stub.Len)
	return stub, nil
}

// append adds the first used bytes of room.
func (w *stubWriter) append(room []byte, used int) {
	n := (used + 15) &^ 15
	for len(room) < n {
		room = append(room, 0xcc)
	}
	for i := used; i < n; i++ {
		room[i] = 0xcc
	}
	w.buf = append(w.buf, room[:n]...)
	w.at += uint64(n)
}

// hook makes the hook of one function.
func (w *stubWriter) hook(m *loaded, fn *function) (*hooked, error) {
	p := w.p
	list := *p.hooks.Load()
	id := uint32(len(list) + len(w.hooks))
	if id >= ring.MaxHooks {
		return nil, fmt.Errorf("all %d hooks of the process are in use", ring.MaxHooks)
	}
	mark, at := len(w.buf), w.at
	undo := func(err error) (*hooked, error) {
		w.buf, w.at = w.buf[:mark], at
		return nil, err
	}
	sites := w.sites
	if fn.golang != nil {
		sites = w.goHook
	}
	h := &hooked{id: id, fn: fn}
	islands := len(w.islands)
	var err error
	if h.sites, err = sites(m, fn, id); err != nil {
		w.islands = w.islands[:islands]
		return undo(err)
	}
	if err := p.writePlan(id, &fn.plan.Plan, fn.want.spares()); err != nil {
		return undo(err)
	}
	if fn.golang != nil {
		p.region.Hook(id).Flags = ring.HookGo
		atomic.StoreUint64(&p.region.Control().GoID, uint64(fn.golang.goid))
	}
	p.beginSampled(h)
	p.byAddr[m.key(fn)] = h
	w.hooks = append(w.hooks, h)
	return h, nil
}

// sites writes the stubs of a function that is hooked with a frame of ours, or with traps at its ends.
func (w *stubWriter) sites(m *loaded, fn *function, id uint32) ([]*site, error) {
	an := fn.analysis // at its address in the process
	an.Addr += hook.Addr(m.bias)
	spec := hook.Spec{Kind: fn.kind, ID: id, Code: fn.code, Analysis: &an, StackBytes: fn.plan.StackBytes,
		TailID: tailID(id), EnterSlot: w.a.slot(fn.enterSlot()), ExitSlot: w.a.slot(fn.exitSlot()),
		CopySlot: w.a.slot(slotCopy)}
	if len(fn.parts) > 0 {
		spec.Tails = fn.parts[0].tails
	}
	stub, err := w.add(spec)
	if err != nil {
		return nil, err
	}
	entry, err := entrySite(&an, stub)
	if err != nil {
		return nil, err
	}
	list := []*site{entry}
	if an.Patch == hook.PatchShort {
		island, err := islandSite(&an, entry)
		if err != nil {
			return nil, err
		}
		list = append(list, island)
		w.islands = append(w.islands, island)
	}
	for i := range fn.parts {
		leaves, err := w.leaves(spec, &fn.parts[i], i, m.bias)
		if err != nil {
			return nil, err
		}
		list = append(list, leaves...)
	}
	return list, nil
}

func entrySite(an *hook.Analysis, stub hook.Stub) (*site, error) {
	s := &site{addr: uint64(an.Site()), to: uint64(stub.Entry), behind: uint64(stub.Relocated)}
	switch an.Patch {
	case hook.PatchJump:
		j, err := hook.JumpPatch(an.Site(), stub.Entry)
		if err != nil {
			return nil, err
		}
		s.patch = j[:]
	case hook.PatchShort:
		j, err := hook.ShortPatch(an.Site(), an.Addr+hook.Addr(an.Island))
		if err != nil {
			return nil, err
		}
		s.patch = j[:]
	default:
		s.patch = []byte{int3}
	}
	s.setMoves(stub.Map)
	s.orig = make([]byte, len(s.patch))
	return s, nil
}

// setMoves notes where the instructions run that the patch lies over.
func (s *site) setMoves(pairs []hook.Pair) {
	for _, pair := range pairs {
		if from := uint64(pair.Orig); from > s.addr && from < s.addr+uint64(len(s.patch)) {
			if s.moves == nil {
				s.moves = map[uint64]uint64{}
			}
			s.moves[from] = uint64(pair.Copy)
		}
	}
}

// islandSite is the longer jump of a short one.
func islandSite(an *hook.Analysis, entry *site) (*site, error) {
	s := &site{addr: uint64(an.Addr) + uint64(an.Island), to: entry.to, behind: entry.behind, entry: entry.addr}
	j, err := hook.JumpPatch(hook.Addr(s.addr), hook.Addr(s.to))
	s.patch, s.orig = j[:], make([]byte, len(j))
	return s, err
}

// enterSlot and exitSlot choose the agent's entry points by what the plan reads.
func (fn *function) enterSlot() int {
	switch {
	case fn.kind == hook.EnterOnly:
		return slotEnterOnly
	case fn.plan.Plan.EnterVec:
		return slotEnterVec
	}
	return slotEnter
}

func (fn *function) exitSlot() int {
	st := 0
	for _, op := range fn.plan.Plan.Exit {
		if op.Code == ring.OpST0 {
			st = max(st, int(op.Src)+1)
		}
	}
	switch {
	case fn.kind == hook.EnterOnly:
		return slotExitTrap
	case st == 2:
		return slotExitST01
	case st == 1:
		return slotExitST0
	case fn.plan.Plan.ExitVec:
		return slotExitVec
	}
	return slotExit
}

// relocate returns a program for the process. One that names a module which is not there reads nothing: it ends at
// once.
func (p *process) relocate(program *ring.Program) []ring.Op {
	if program.Relocate == nil {
		return program.Ops
	}
	ops, err := program.Relocate(func(module any) (uint64, bool) {
		for _, m := range p.modules {
			if m.mod == module {
				return m.bias, true
			}
		}
		return 0, false
	})
	if err != nil {
		return []ring.Op{{Code: ring.WalkLoad, Size: 8}}
	}
	return ops
}

// maxWalkOps leaves hooks half of the operations: a program with very many types is recorded, though not all that its
// pointers lead to. A variable for its test.
var maxWalkOps uint32 = ring.MaxOps / 2

// installWalks gives the process the walk programs that it does not have yet: before hooks are active that need them.
// Where one does not fit the agent finds none, and follows its pointers no further.
func (p *process) installWalks() {
	for _, w := range p.t.walks.Programs(p.walks) {
		if p.nextOp+uint32(len(w.Ops)) > maxWalkOps {
			p.walks++
			p.t.warn(fmt.Sprintf("process %d has more types than are read whole: of some, values behind pointers are missing; "+
				"trace fewer functions or at a smaller depth", p.pid))
			continue
		}
		at := p.nextOp
		for _, op := range w.Ops {
			*p.region.Op(p.nextOp) = op
			p.nextOp++
		}
		if w.Ends {
			at |= ring.WalkEnds
		}
		if w.Wipes {
			at |= ring.WalkWipes
		}
		atomic.StoreUint32(p.region.Walk(w.ID), at)
		p.walks++
	}
}

// writePlan fills the hook's table entry and its operations; spares is its want's, zero: nothing is cut but to what
// fits a record.
func (p *process) writePlan(id uint32, plan *ring.Plan, spares [2]int) error {
	need := uint32(len(plan.Enter) + len(plan.Exit) + 2)
	if p.nextOp+need > ring.MaxOps {
		return fmt.Errorf("all %d capture operations of the process are in use", ring.MaxOps)
	}
	if plan.MaxEnter > ring.MaxPayload || plan.MaxExit > ring.MaxPayload {
		return fmt.Errorf("its values take %d and %d bytes, at most %d fit a record", plan.MaxEnter, plan.MaxExit,
			ring.MaxPayload)
	}
	programs := make([][]ring.Op, len(plan.Programs))
	for i := range plan.Programs {
		programs[i] = p.relocate(&plan.Programs[i])
		need += uint32(len(programs[i]))
	}
	if p.nextOp+need > ring.MaxOps {
		return fmt.Errorf("all %d capture operations of the process are in use", ring.MaxOps)
	}
	at := make([]uint32, len(programs))
	for i, ops := range programs {
		at[i] = p.nextOp
		for _, op := range ops {
			*p.region.Op(p.nextOp) = op
			p.nextOp++
		}
	}
	put := func(ops []ring.Op) uint32 {
		if len(ops) == 0 {
			return 0
		}
		first := p.nextOp
		for _, op := range ops {
			if op.Code == ring.OpEval {
				op.SrcOff = at[op.SrcOff]
			}
			*p.region.Op(p.nextOp) = op
			p.nextOp++
		}
		*p.region.Op(p.nextOp) = ring.Op{Code: ring.OpEnd}
		p.nextOp++
		return first
	}
	h := ring.Hook{Depth: uint8(plan.Depth), EnterGPRs: uint8(min(plan.EnterGPRs, ring.GoRegs)),
		ExitGPRs: uint8(min(plan.ExitGPRs, ring.GoRegs)), MaxEnter: uint32(plan.MaxEnter), MaxExit: uint32(plan.MaxExit)}
	h.Allow, h.Least = uint16(spares[0]/ring.AllowBytes), uint8(spares[1]/ring.LeastBytes)
	h.MaxEnter = max(h.MaxEnter, uint32(h.EnterGPRs)*8)
	h.MaxExit = max(h.MaxExit, uint32(h.ExitGPRs)*8)
	h.EnterOps, h.ExitOps = put(plan.Enter), put(plan.Exit)
	*p.region.Hook(id) = h
	return nil
}

// flush writes the stubs to the process and makes the hooks known to the reader of its rings.
func (w *stubWriter) flush() error {
	if len(w.buf) == 0 {
		return nil
	}
	if err := w.p.mem.Write(w.a.next, w.buf); err != nil {
		maps.DeleteFunc(w.p.byAddr, func(_ hookKey, h *hooked) bool { return slices.Contains(w.hooks, h) })
		return err
	}
	w.a.next = w.at
	w.p.changes.Add(1)
	w.buf = nil
	list := append(append([]*hooked{}, *w.p.hooks.Load()...), w.hooks...)
	w.hooks = nil
	w.p.addIslands(w.islands)
	w.islands = nil
	w.p.hooks.Store(&list)
	return nil
}

// own makes a hook of Strobe's own: the agent does flags' work at the function's entry and goes on. slot is its entry
// point.
func (p *process) own(ctx context.Context, r *remote, m *loaded, code []byte, addr uint64, pad int, flags,
	index uint32, slot int) (*hooked, error) {
	an := hook.Analyze(code, hook.Addr(addr), pad, hook.Options{})
	if an.Patch != hook.PatchJump {
		return nil, fmt.Errorf("cannot be patched: %s", an.Reason)
	}
	a, err := p.arenaFor(ctx, r, m.lo, m.hi, 256)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changingLocked()
	id := uint32(len(*p.hooks.Load()))
	w := &stubWriter{p: p, a: a, at: a.next}
	stub, err := w.add(hook.Spec{Kind: hook.EnterOnly, ID: id, Code: code, Analysis: &an,
		EnterSlot: a.slot(slot)})
	if err != nil {
		return nil, err
	}
	s, err := entrySite(&an, stub)
	if err != nil {
		return nil, err
	}
	*p.region.Hook(id) = ring.Hook{Flags: flags, EnterOps: index}
	h := &hooked{id: id, sites: []*site{s}, own: &ownHook{flags, index, addr}}
	w.hooks = append(w.hooks, h)
	return h, w.flush()
}
