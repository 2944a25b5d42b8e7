package native

import (
	"bytes"
	"context"
	"encoding/binary"

	"github.com/strobe-debug/strobe/internal/ptrace"
	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/symbol"
	"golang.org/x/sys/unix"
)

// loader is what is known of a process's dynamic linker.
//
// While a program starts, and for as long as it has no agent, an int3 stands at brk and the tracer's thread hears of
// changes; with the agent, a hook of Strobe's own stands there.
type loader struct {
	brk    uint64 // the function that it calls when its list of modules changes
	rdebug uint64 // its r_debug, 0 unknown
	path   string
	byte0  byte // the original first byte at brk
	ret    bool // the function only returns, so that the tracer can do that for it
	stands bool // the int3 is there; tracer thread, or before the process runs
}

// setUp prepares an image that stands before its first instruction: symbols, loader, hooks.
func (t *target) setUp(ctx context.Context, p *process) (err error) {
	t.probeMu.Lock()
	defer t.probeMu.Unlock()
	defer func() {
		if err != nil {
			p.setReady()
		}
	}()
	if t.leaving.Load() { // what would be set now nobody would take out again
		p.setReady()
		return nil
	}
	mods, err := p.scan()
	if err != nil {
		return err
	}
	if m := linker(mods); m != nil && p.watchLoader(m) {
		return nil // the rest when the libraries are there
	}
	return t.ready(ctx, p, mods)
}

// linker finds the dynamic linker among a starting image's modules.
func linker(mods []*loaded) *loaded {
	for _, m := range mods {
		if isLoader(m.path) {
			return m
		}
	}
	return nil
}

// setUpAtOnce is setUp on the tracer's thread, for an image all of whose files are known and that needs no agent yet.
// False: it has to be done by setUp. The image's thread does not run yet.
func (t *target) setUpAtOnce(p *process) bool {
	if !t.probeMu.TryLock() {
		return false
	}
	defer t.probeMu.Unlock()
	if t.leaving.Load() {
		p.setReady()
		return true
	}
	mods, err := p.scan()
	if err != nil {
		return false
	}
	if m := linker(mods); m != nil {
		return p.known(m) && p.watchLoader(m)
	}
	return t.readyAtOnce(p, mods)
}

// knowsAll reports whether all that ready does for an image was done before for another of the same
// program: then it takes a millisecond or two. probeMu is held.
func (t *target) knowsAll(p *process, mods []*loaded) bool {
	if len(mods) == 0 || len(t.points) > 0 || t.exceptionsWanted() || t.drives(p) {
		return false
	}
	if rust, known := mentioned(mods[0].path, panicMark); rust || !known {
		return false
	}
	for _, m := range mods {
		if carries, known := mentioned(m.path, leakMark); carries || !known || !p.known(m) {
			return false
		}
		if m.path == p.loader.path {
			continue
		}
		mod, err := p.open(m)
		if err != nil {
			continue
		}
		if res, known := t.matched(mod); !known || !t.compiled(mod, res.wanted) {
			return false
		}
	}
	return true
}

// readyHere is ready on the tracer's thread. Handed from one goroutine to another and back at each
// step, on two busy CPUs, it takes several times as long, and a program that a script starts a hundred
// times waits for it each time. probeMu is held, and given back.
func (t *target) readyHere(th *thread, p *process, mods []*loaded) {
	ctx := context.Background()
	err := t.ready(ctx, p, mods)
	p.passLoader(ctx, th)
	t.probeMu.Unlock()
	t.setUpDone(th, p, err)
}

// readyAtOnce is ready where nothing has to be read, hooked or asked of the process's threads. probeMu is held.
func (t *target) readyAtOnce(p *process, mods []*loaded) bool {
	if p.injected.Load() || len(mods) == 0 || len(t.probes) == 0 || len(t.points) > 0 || p.loader.brk != 0 &&
		!p.loader.ret || t.wantsWrites(p) || t.coverWanted() || t.socketsAsked() {
		return false
	}
	if rust, known := mentioned(mods[0].path, panicMark); rust || !known {
		return false
	}
	for _, m := range mods {
		if !p.known(m) {
			return false
		}
		if carries, known := mentioned(m.path, leakMark); carries || !known {
			return false
		}
		if m.path == p.loader.path {
			continue
		}
		if mod, err := p.open(m); err == nil {
			if res, known := t.matched(mod); !known || len(res.wanted) > 0 {
				return false
			}
			if t.exceptionsSeen() && !t.throwsNothing(mod) {
				return false
			}
		}
	}
	if t.cmd.PID == 0 {
		p.lineBuffer(mods)
	}
	t.statusOld.Store(true)
	p.setReady()
	return true
}

// throwsNothing reports whether it is known that a file has no functions of @exceptions.
func (t *target) throwsNothing(mod *symbol.Module) bool {
	t.fnMu.Lock()
	defer t.fnMu.Unlock()
	found, known := t.throwFns[mod]
	return known && len(found) == 0
}

// ready does what can be done once all modules of a starting process are there. probeMu is held.
func (t *target) ready(ctx context.Context, p *process, mods []*loaded) error {
	defer p.setReady()
	if t.leaving.Load() {
		return t.tracer.Do(ctx, p.dropBreak)
	}
	if p.loader.brk != 0 && p.injected.Load() {
		p.setFlags(ring.FlagFS0)
	}
	if t.cmd.PID == 0 { // else its output is not ours to change
		p.lineBuffer(mods)
	}
	if err := p.watchLeaks(ctx, mods); err != nil {
		return err
	}
	err := t.applyProbes(ctx, p)
	if p.pid == t.pid { // now: it may end before anybody asks
		t.currentStatus()
	}
	return err
}

func (p *process) setReady() { p.readyOnce.Do(func() { close(p.ready) }) }

func (p *process) isReady() bool {
	select {
	case <-p.ready:
		return true
	default:
		return false
	}
}

// watchLoader puts an int3 where the dynamic linker reports changes of its list. The image's thread does not run yet.
func (p *process) watchLoader(m *loaded) bool {
	mod, err := p.open(m)
	if err != nil {
		return false
	}
	brk, _, ok := mod.Symbol("_dl_debug_state")
	if !ok {
		return false
	}
	l := loader{brk: uint64(brk) + m.bias, path: m.path, stands: true}
	if rd, _, ok := mod.Symbol("_r_debug"); ok {
		l.rdebug = uint64(rd) + m.bias
	}
	if !p.readBreak(&l, mod, brk) {
		return false
	}
	p.loader = l
	return p.setBreak() == nil
}

// readBreak reads what stands at the loader's notification. An int3 is ours, or another debugger's that was there
// before and is gone: the file has what belongs there.
func (p *process) readBreak(l *loader, mod *symbol.Module, brk symbol.Addr) bool {
	code := make([]byte, 5)
	if p.mem.Read(l.brk, code) != nil {
		return false
	}
	if code[0] == int3 {
		var err error
		if code, err = mod.BytesAt(brk, len(code)); err != nil || code[0] == int3 {
			return false
		}
	}
	l.byte0, l.ret = code[0], onlyReturns(code)
	return true
}

// onlyReturns reports whether a function's code is ret, with or without an endbr64.
func onlyReturns(code []byte) bool {
	return bytes.TrimPrefix(code, []byte{0xf3, 0x0f, 0x1e, 0xfa})[0] == 0xc3
}

// setBreak puts the loader's int3 in place, and dropBreak takes it away. Tracer thread, or before the process runs.
func (p *process) setBreak() error {
	p.setTrap(p.loader.brk, &trap{loader: true, active: true})
	p.loader.stands = true
	return p.mem.Write(p.loader.brk, []byte{int3})
}

// The trap's entry stays: a thread may have met the int3 just before.
func (p *process) dropBreak() error {
	if !p.loader.stands {
		return nil
	}
	p.loader.stands = false
	p.setTrap(p.loader.brk, &trap{to: p.loader.brk})
	return p.mem.Write(p.loader.brk, []byte{p.loader.byte0})
}

// clearBreak takes the loader's int3 away that is met where none is to be: the thread would meet it for ever. Tracer
// thread only.
func (p *process) clearBreak(at uint64) {
	if at != p.loader.brk || p.loader.stands {
		return
	}
	var b [1]byte
	if p.mem.Read(at, b[:]) != nil || b[0] != int3 {
		return
	}
	err := p.mem.Write(at, []byte{p.loader.byte0})
	p.t.log.Warn("an int3 in the dynamic loader was left behind", "pid", p.pid, "err", err)
}

func (p *process) setTrap(at uint64, tr *trap) {
	p.changing()
	p.trapMu.Lock()
	defer p.trapMu.Unlock()
	p.traps[at] = tr
}

// loaderStop: the dynamic linker of a process without an agent reports. Its thread stands at brk. Tracer thread only.
func (t *target) loaderStop(th *thread, p *process) {
	if p.loader.ret && ptrace.ShadowStack(th.tid) { // which would have to return as well
		p.loader.ret = false
	}
	if !p.consistent() || t.stopping.Load() {
		t.passBreak(th, p)
		return
	}
	if !p.isReady() && p.loader.ret && !t.awaitsEntry(p) && t.probeMu.TryLock() {
		mods, err := p.scan()
		done := err == nil && t.readyAtOnce(p, mods)
		if !done && err == nil && t.knowsAll(p, mods) {
			t.readyHere(th, p, mods)
			return
		}
		t.probeMu.Unlock()
		if done {
			t.passBreak(th, p)
			return
		}
	}
	t.holdFor(th, p, func(ctx context.Context) error {
		t.probeMu.Lock()
		defer t.probeMu.Unlock()
		mods, err := p.scan()
		switch {
		case err != nil:
		case p.isReady():
			err = t.applyProbes(ctx, p)
		default:
			err = t.ready(ctx, p, mods)
		}
		p.passLoader(ctx, th)
		return err
	})
}

// passBreak lets a thread that stands at the loader's int3 run on behind it.
func (t *target) passBreak(th *thread, p *process) {
	if p.loader.ret {
		p.returnFrom(th)
		t.resume(th, 0)
		return
	}
	if err := p.mem.Write(p.loader.brk, []byte{p.loader.byte0}); err != nil {
		t.log.Warn("take back loader trap", "pid", p.pid, "err", err)
	}
	if ptrace.Step(th.tid, 0) == nil {
		s, err := ptrace.WaitStop(th.tid)
		if err != nil {
			t.notStopped(th, s, err, func() { p.mem.Write(p.loader.brk, []byte{int3}) })
			return
		}
		p.mem.Write(p.loader.brk, []byte{int3})
		if s.Event != 0 || s.Signal != unix.SIGTRAP || th.raisedHere() { // a signal that came first, or the end
			t.tracer.Defer(s)
			return
		}
	}
	t.resume(th, 0)
}

// returnFrom does what a ret at the thread's place would.
func (p *process) returnFrom(th *thread) {
	regs, err := ptrace.GetRegs(th.tid)
	if err != nil || regs.Rip != p.loader.brk {
		return
	}
	var b [8]byte
	if p.mem.Read(regs.Rsp, b[:]) != nil {
		return
	}
	regs.Rip = binary.LittleEndian.Uint64(b[:])
	regs.Rsp += 8
	ptrace.SetRegs(th.tid, &regs)
}

// passLoader lets the thread that stands at the loader's notification run on behind the int3 or the hook that is there:
// there is nothing to tell. On its way it registers the stubs' frames.
func (p *process) passLoader(ctx context.Context, th *thread) {
	to, once := p.registerFrames(ctx)
	for _, h := range *p.hooks.Load() {
		if h == nil || h.own == nil || !h.active() || h.own.addr != p.loader.brk {
			continue
		}
		if !once {
			to = h.sites[0].behind
		}
		p.t.tracer.Do(ctx, func() error {
			regs, err := ptrace.GetRegs(th.tid)
			if err != nil || regs.Rip != p.loader.brk {
				return err
			}
			regs.Rip = to
			return ptrace.SetRegs(th.tid, &regs)
		})
		return
	}
	p.t.tracer.Do(ctx, func() error {
		if p.loader.stands {
			p.returnFrom(th)
		}
		return nil
	})
}

// setUpLater is setUp for an image made by exec. Tracer thread only.
func (t *target) setUpLater(p *process) {
	t.holdFor(p.threads[p.pid], p, func(ctx context.Context) error { return t.setUp(ctx, p) })
}

// consistent reports whether the linker's list can be read: true where its state is not known.
func (p *process) consistent() bool {
	if p.loader.rdebug == 0 {
		return true
	}
	var b [4]byte
	if p.mem.Read(p.loader.rdebug+24, b[:]) != nil {
		return true
	}
	return binary.LittleEndian.Uint32(b[:]) == 0
}

// watchLoads makes a process that has no agent tell of modules that come later. False: that takes an agent. probeMu is
// held.
func (p *process) watchLoads(ctx context.Context) (bool, error) {
	switch {
	case p.loader.brk == 0:
		return true, nil
	case !p.loader.ret:
		return false, nil
	}
	return true, p.t.tracer.Do(ctx, func() error {
		if p.loader.stands {
			return nil
		}
		return p.setBreak()
	})
}

// equip gives a process the agent, if it has none: the first time that something is to be hooked in it. What the loader
// does is the agent's to tell then. probeMu is held.
func (p *process) equip(ctx context.Context) error {
	p.plain = false
	if err := p.give(ctx); err != nil {
		return err
	}
	return p.t.tracer.Do(ctx, p.dropBreak)
}

// give is equip that leaves the loader's notification as it is. probeMu is held.
func (p *process) give(ctx context.Context) error {
	if err := p.unfit.Load(); err != nil {
		return *err
	}
	if !p.injected.Load() {
		if err := p.findTools(); err != nil {
			return err
		}
		if why := p.sealed(); why != nil {
			p.unfit.Store(&why)
			return why
		}
		if err := p.withStopped(ctx, p.inject); err != nil {
			if !p.endedBefore(err) {
				p.unfit.Store(&err)
			}
			return err
		}
		if p.loader.brk != 0 {
			p.setFlags(ring.FlagFS0)
		}
	}
	return nil
}
