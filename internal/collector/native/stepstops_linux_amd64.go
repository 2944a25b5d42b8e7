package native

import (
	"bytes"
	"context"
	"encoding/binary"
	"math/bits"
	"slices"
	"syscall"

	"github.com/strobe-debug/strobe/internal/ptrace"
	"github.com/strobe-debug/strobe/internal/step"
)

// stepTrap handles the SIGTRAP of a thread that is stepping, or was. False: it is not of a step. Tracer thread only.
func (t *target) stepTrap(th *thread) bool {
	if !th.stepped {
		return false
	}
	info, err := ptrace.GetSiginfo(th.tid)
	if err != nil {
		return false
	}
	regs, err := ptrace.GetRegs(th.tid)
	if err != nil {
		return false
	}
	ran, hardware := th.singled && info.OfStep(), th.byHardware(&info, &regs)
	if !ran && !hardware {
		return false
	}
	if !ran {
		t.takesStepAt(th, &regs)
	}
	s, hits, mem := th.step, uint64(0), th.p.memory()
	if mem.data.Load() != nil && ran {
		hits = th.met(&info, &regs)
	}
	if ran {
		th.singled = false
	}
	switch {
	case s == nil && ran: // of a step that was given up
		if !t.dataMet(th, mem, &regs, hits) {
			t.resume(th, 0)
		}
		return true
	case s == nil && t.breaksAt(th, regs.Rip): // another goroutine
		t.resume(th, 0)
		return true
	case s == nil:
		return t.dataStop(th, mem, &regs)
	case ran:
		s.held = &regs
		if !t.dataMet(th, mem, &regs, hits) { // else letGoOn goes on
			s.goOn()
		}
		return true
	}
	at := slices.ContainsFunc(s.breaks, func(b codeBreak) bool { return b.at == regs.Rip })
	if at && !s.arrived(&regs) { // another call of the same function
		t.resume(th, 0)
	}
	return at
}

// arrived has it decided what follows, if the thread came to one of its breaks. Tracer thread only.
func (s *stepper) arrived(regs *ptrace.Regs) bool {
	for i, b := range s.breaks {
		sp := regs.Rsp
		if b.rel {
			sp = s.rel(sp)
		}
		if b.at != regs.Rip || b.sp != 0 && b.sp != sp {
			continue
		}
		if b.why == breakResume { // at once: signals that come often would leave no time for a decision
			s.single, s.breaks, s.creeping = true, nil, false
			s.pushed = s.p.pushesFlags(regs.Rip)
			s.t.resume(s.th, 0)
			return true
		}
		r := *regs
		s.breaks, s.rest, s.creeping = nil, slices.Delete(s.breaks, i, i+1), false
		s.t.spawn(func() { s.decide(r, b.why) })
		return true
	}
	return false
}

// goOn: the thread ran one instruction, and then has the registers held. Tracer thread only.
func (s *stepper) goOn() {
	regs := s.held
	s.held = nil
	if s.pushed {
		s.pushed = false
		s.p.clearPushedTrap(regs.Rsp)
	}
	if s.creeping && s.arrived(regs) {
		return
	}
	if !s.single { // on its way to a break
		s.pushed = s.creeping && s.p.pushesFlags(regs.Rip)
		s.t.resume(s.th, 0)
		return
	}
	if s.called || s.returned || !s.quick(regs) {
		r := *regs
		s.t.spawn(func() { s.decide(r, breakOn) })
	}
}

// quick lets a thread run on that is still in its line. Tracer thread only.
func (s *stepper) quick(regs *ptrace.Regs) bool {
	if regs.Rip < s.lo || regs.Rip >= s.hi || uint64(len(s.code)) <= regs.Rip-s.lo {
		return false
	}
	class, n := step.Classify(s.code[regs.Rip-s.lo:])
	if n == 0 || class == step.Repeats {
		return false
	}
	if _, ok := s.p.trapAt(regs.Rip); ok {
		return false
	}
	switch class {
	case step.Call:
		s.called, s.sp = true, regs.Rsp
	case step.Return:
		s.returned = true
	case step.Pushes:
		s.pushed = true
	}
	s.runs = regs.Rip
	return s.one() == nil
}

// resumeStep is resume for a thread that is stepping. Tracer thread only.
func (s *stepper) resumeStep(sig syscall.Signal) error {
	if !s.single && !s.creeping {
		return ptrace.Cont(s.th.tid, sig)
	}
	if s.creeping {
		s.th.singled = true
		return ptrace.Step(s.th.tid, sig)
	}
	if sig == 0 {
		s.th.singled = true
		return ptrace.Step(s.th.tid, 0)
	}
	// A handler runs through: the step goes on where it returns to.
	if regs, err := ptrace.GetRegs(s.th.tid); err == nil {
		// of a stop at a break: with it the processor would pass the one where the handler returns to
		if regs.Eflags&resumeFlag != 0 {
			regs.Eflags &^= resumeFlag
			ptrace.SetRegs(s.th.tid, &regs)
		}
		why := breakResume
		if regs.Rip != s.runs { // a stub was left first
			why = breakOn
		}
		s.single, s.pushed, s.breaks = false, false, []codeBreak{{at: regs.Rip, sp: regs.Rsp, why: why}}
		if int64(regs.Orig_rax) >= 0 { // a system call, which begins again
			s.breaks = append(s.breaks, codeBreak{at: regs.Rip - 2, sp: regs.Rsp, why: breakResume})
		}
		s.armSites()
		s.fit()
		s.th.arm(s.p)
		if s.creeping {
			s.th.singled = true
			return ptrace.Step(s.th.tid, sig)
		}
		s.th.singled = false // the instruction has not run
		if s.goes != nil {   // a preempted goroutine may go on elsewhere
			th := s.th
			s.loosen()
			return ptrace.Cont(th.tid, sig)
		}
	}
	return ptrace.Cont(s.th.tid, sig)
}

// resumeFlag has the processor pass a code break at the next instruction.
const resumeFlag = 1 << 16

// endStep ends a thread's step. The thread is stopped, or gone. Tracer thread only.
func (t *target) endStep(th *thread) {
	if th.step == nil {
		return
	}
	th.step = nil
	th.arm(th.p.memory())
	t.stepEnded()
}

// stepEnded takes out what stands only while a step runs, if that was the last. Tracer thread only.
func (t *target) stepEnded() {
	if t.steps--; t.steps > 0 {
		return
	}
	for _, p := range t.processes() {
		p.disarmStepSites(stepNone)
	}
}

// cancelSteps ends all steps; their threads run on.
func (t *target) cancelSteps(ctx context.Context) error {
	return t.tracer.Do(ctx, func() error {
		for _, p := range t.processes() {
			t.dropLoose(p)
		}
		for _, th := range t.threads {
			if th.step == nil {
				continue
			}
			if th.stopped { // its decision is on the way, and resumes it
				t.endStep(th)
				continue
			}
			resume, ok := th.p.halt(th)
			t.endStep(th)
			if ok {
				resume()
			}
		}
		return nil
	})
}

// stepSite says what a stepping thread means that comes to a function of a runtime.
type stepSite uint32

const (
	stepNone     stepSite = iota
	stepHandler           // _Unwind_SetIP(context, handler): an exception is about to be caught, or a cleanup to run
	stepLongjmp           // longjmp(env, value)
	stepRecovery          // of goStepFunctions
	stepGogo
	stepDeferred
	stepDeferreturn
)

// stepFunctions are those functions by their names.
var stepFunctions = map[string]stepSite{"_Unwind_SetIP": stepHandler, "longjmp": stepLongjmp, "_longjmp": stepLongjmp,
	"siglongjmp":    stepLongjmp,
	"__longjmp_chk": stepLongjmp, "__libc_siglongjmp": stepLongjmp, "__libc_longjmp": stepLongjmp}

// prepareStepSites makes what is needed to see exceptions and longjmp pass; nothing is patched before a stepping thread
// runs freely.
func (p *process) prepareStepSites(ctx context.Context) {
	p.t.probeMu.Lock()
	defer p.t.probeMu.Unlock()
	if !p.injected.Load() {
		return
	}
	for _, m := range p.modules {
		mod, err := p.open(m)
		if err != nil || m.path == p.loader.path || slices.Contains(p.stepKnown, m) {
			continue
		}
		p.stepKnown = append(p.stepKnown, m)
		of := stepFunctions
		if mod.Go {
			of = goStepFunctions
		}
		for name, kind := range of {
			a, size, ok := mod.Symbol(name)
			if !ok {
				continue
			}
			offs := []uint64{0}
			if b, err := mod.BytesAt(a, 4); err == nil && string(b) == "\xf3\x0f\x1e\xfa" { // endbr64
				offs[0] = 4
			}
			if code, err := mod.BytesAt(a, int(size)); err == nil && mod.Go {
				offs = goSites(code, kind)
			}
			for _, off := range offs {
				p.prepareStepSite(ctx, uint64(a)+m.bias+off, name, kind)
			}
		}
	}
}

func (p *process) prepareStepSite(ctx context.Context, at uint64, name string, kind stepSite) {
	if slices.ContainsFunc(p.stepSites, func(s *site) bool { return s.addr == at }) {
		return
	}
	ps, err := p.newPointSite(ctx, at, nil, true)
	if err != nil {
		p.t.log.Debug("watch for a step", "function", name, "err", err)
		return
	}
	ps.site.point, ps.site.step = nil, kind
	p.t.tracer.Do(ctx, func() error { p.stepSites = append(p.stepSites, ps.site); return nil })
}

// armSites puts the traps of step sites in place. Tracer thread only.
func (s *stepper) armSites() {
	p := s.p
	for _, site := range p.stepSites {
		if site.active || !s.waits(site.step) {
			continue
		}
		if _, ok := p.trapAt(site.addr); ok { // something else of ours stands there
			continue
		}
		if p.mem.Read(site.addr, site.orig) != nil || site.orig[0] == int3 {
			continue
		}
		p.armSite(site)
	}
}

// armSite puts the trap of one in place. Tracer thread only.
func (p *process) armSite(s *site) {
	p.setTraps([]*site{s}, nil)
	if p.mem.Write(s.addr, s.patch) == nil {
		s.active = true
	}
}

// disarmStepSites takes them out again: those of a kind, or with stepNone all. Tracer thread only.
func (p *process) disarmStepSites(kind stepSite) {
	for _, s := range p.stepSites {
		if !s.active || kind != stepNone && s.step != kind {
			continue
		}
		p.setTraps(nil, []*site{s})
		s.active = false
		var now [1]byte
		if p.mem.Read(s.addr, now[:]) == nil && bytes.Equal(now[:], s.patch) {
			p.mem.Write(s.addr, s.orig)
		}
	}
}

// stepSiteMet: a thread came to a step site. True: its step decides how it goes on. Tracer thread only.
func (t *target) stepSiteMet(th *thread, p *process, kind stepSite, regs *ptrace.Regs) bool {
	if kind >= stepRecovery {
		return t.goSiteMet(th, p, kind, regs)
	}
	s := th.step
	if s == nil || s.single {
		return false
	}
	at := regs.Rsi
	if kind == stepLongjmp {
		at = p.longjmpTarget(regs)
	}
	if at == 0 || p.t.moduleOf(p, at) == nil {
		return false
	}
	s.breaks = slices.DeleteFunc(s.breaks, func(b codeBreak) bool { return b.why == breakHandler })
	// Before the others: what a call that does not return would return to may be its handler.
	s.breaks = slices.Insert(s.breaks, 0, codeBreak{at: at, why: breakHandler})
	s.fit()
	return false
}

// moduleOf returns the module whose code is at an address.
func (t *target) moduleOf(p *process, at uint64) *loaded {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.moduleAt(at)
}

// longjmpTarget reads where a longjmp leads. glibc hides it: rotated, and mixed with a number at fs:0x30.
func (p *process) longjmpTarget(regs *ptrace.Regs) uint64 {
	const pcAt = 7 * 8 // in jmp_buf, with glibc and musl
	var b, guard [8]byte
	if p.mem.Read(regs.Rdi+pcAt, b[:]) != nil || p.mem.Read(regs.Fs_base+0x30, guard[:]) != nil {
		return 0
	}
	v := binary.LittleEndian.Uint64(b[:])
	if p.t.moduleOf(p, v) != nil {
		return v
	}
	return bits.RotateLeft64(v, -17) ^ binary.LittleEndian.Uint64(guard[:])
}
