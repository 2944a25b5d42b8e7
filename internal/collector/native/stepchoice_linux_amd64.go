package native

import (
	"context"
	"encoding/binary"
	"strings"

	"github.com/strobe-debug/strobe/internal/hook"
	"github.com/strobe-debug/strobe/internal/ptrace"
	"github.com/strobe-debug/strobe/internal/step"
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/unwind"
)

// decide finds out how a waiting thread's step goes on, and does it.
func (s *stepper) decide(regs ptrace.Regs, why breakKind) {
	act := s.choose(&regs, why)
	s.t.tracer.Do(context.Background(), func() error {
		switch {
		case s.t.threads[s.th.tid] != s.th:
			return nil
		case s.th.step != s: // given up meanwhile
			return s.t.resume(s.th, 0)
		}
		return s.do(act)
	})
}

// choose says what comes next for a thread that has these registers.
func (s *stepper) choose(regs *ptrace.Regs, why breakKind) func() error {
	if s.goes != nil {
		s.goes.on(s.p, regs.Fs_base)
		if why == breakDeferred || why == breakDeferreturn {
			return s.deferred(regs, why)
		}
	}
	pc, kind := s.p.logical(regs.Rip)
	switch kind {
	case codeMiddle:
		return s.one
	case codeAhead: // of what the stub has displaced
		b := codeBreak{at: pc}
		return func() error { return s.run(b) }
	case codeOwn: // a hooked function returned to its stub, whose frame rbp points to
		if s.goes != nil { // the agent has no frame on its stack
			return s.one
		}
		var ret [8]byte
		if s.p.mem.Read(regs.Rbp+8, ret[:]) != nil {
			return s.giveUp
		}
		b := codeBreak{at: binary.LittleEndian.Uint64(ret[:]), sp: regs.Rbp + 16}
		return func() error { return s.run(b) }
	}
	ur := regsOf(regs)
	ur.Set(regRip, pc)
	called, passed := s.called && regs.Rsp == s.sp-8, s.copied != 0 && s.copied == pc && regs.Rip == pc
	s.called, s.returned, s.copied = false, false, 0
	if s.instr {
		return s.instructed(regs, &ur, called, passed, why)
	}
	if passed { // only the jump behind a copy has run
		return s.proceed(regs, pc)
	}
	if why == breakLeft {
		if s.readResult(regs); s.outside(pc) {
			why = breakDone
		}
	}
	if called {
		s.tries = 0
		return s.entered(regs, pc)
	}
	at, ok := s.place(pc, &ur)
	ok = ok && !s.passes(&at)
	switch {
	case why == breakHandler && s.inlinedBelow(&at): // a call that is run through catches its own
	case why == breakDone || why == breakHandler && s.goesOn(&at, &ur):
		return s.finish(regs, pc, at.Starts)
	case why == breakHandler: // in a function that was called
		return func() error { return s.run(s.rest...) }
	case !ok && s.kind == step.Into && s.leadsOn(pc):
		return s.through(pc)
	case !ok:
		b, ok := s.callerWithSource(&ur)
		if !ok {
			return s.giveUp
		}
		if s.state == nil { // out of it
			b.why = breakDone
		}
		return func() error { return s.run(b) }
	}
	if s.tries > 0 { // by way of a stub of the linker's, or a thunk
		switch f, off, ok := s.function(pc); {
		case ok && isThunk(f) && s.tries < maxTries:
			return s.through(pc)
		case ok && off == 0:
			s.tries = 0
			return s.entered(regs, pc)
		}
		s.tries = 0
	}
	v, skip := s.state.At(&at)
	if v == step.Stop {
		return s.finish(regs, pc, skip)
	}
	s.settle()
	return s.proceed(regs, pc)
}

// instructed is choose for a step of one instruction.
func (s *stepper) instructed(regs *ptrace.Regs, ur *unwind.Regs, called, passed bool, why breakKind) func() error {
	pc := ur.Val[regRip]
	var ret [8]byte
	switch {
	case passed || !s.ran:
		return s.proceed(regs, pc)
	case why == breakHandler && s.frameOf(ur) < s.cfa: // in a function that was called
		return func() error { return s.run(s.rest...) }
	case called && s.kind == step.Over && s.p.mem.Read(regs.Rsp, ret[:]) == nil:
		b := codeBreak{at: binary.LittleEndian.Uint64(ret[:]), sp: regs.Rsp + 8, why: breakDone}
		return func() error { return s.run(b) }
	}
	return s.finish(regs, pc, 0)
}

// goesOn reports whether a handler's frame is the one that the step began in, or a caller of it.
func (s *stepper) goesOn(at *step.Place, regs *unwind.Regs) bool {
	cfa := at.Frame.CFA
	if cfa == 0 {
		cfa = s.frameOf(regs)
	}
	if s.kind == step.Out && s.state == nil {
		return cfa > s.cfa
	}
	return cfa >= s.cfa
}

// inlinedBelow reports whether a place is in a call inlined into the function that the step goes on in.
func (s *stepper) inlinedBelow(at *step.Place) bool {
	if s.state == nil {
		return false
	}
	cur, _ := at.Shown(at.Starts)
	return cur.Within(s.state.Frame) && !cur.Equal(s.state.Frame)
}

// proceed lets the thread run the instruction at pc, which the program may have at another place now.
func (s *stepper) proceed(regs *ptrace.Regs, pc uint64) func() error {
	if tr, ok := s.p.trapAt(regs.Rip); ok { // through what stands there
		b := codeBreak{at: tr.behind}
		return func() error { return s.run(b) }
	}
	if s.instr && regs.Rip == pc {
		if at := s.p.whereRuns(pc); at != pc { // by a patch to the copy
			return func() error { return s.run(codeBreak{at: at}) }
		}
	}
	s.ran = true
	class, n := step.Classify(s.codeAt(pc))
	switch class {
	case step.Call:
		s.called, s.sp = true, regs.Rsp
	case step.Return:
		s.returned = true
	case step.Pushes:
		s.pushed = s.p.pushesFlags(regs.Rip) // not the jump behind a copy, which leads there
	case step.Repeats:
		if regs.Rip == pc {
			b := codeBreak{at: pc + uint64(n), sp: regs.Rsp}
			return func() error { return s.run(b) }
		}
	}
	if regs.Rip != pc {
		s.copied = pc
	}
	s.runs = regs.Rip
	return s.one
}

// maxInst is the length of the longest instruction.
const maxInst = 15

// codeAt reads the program's code as its file has it.
func (s *stepper) codeAt(pc uint64) []byte {
	if m := s.module(pc); m != nil {
		for n := maxInst; n > 0; n-- {
			if b, err := m.Mod.BytesAt(addrIn(m, pc), n); err == nil {
				return b
			}
		}
	}
	b := make([]byte, maxInst)
	if s.p.mem.Read(pc, b) != nil {
		return nil
	}
	return b
}

// entered decides about a function that was just called.
func (s *stepper) entered(regs *ptrace.Regs, pc uint64) func() error {
	var ret [8]byte
	if s.p.mem.Read(regs.Rsp, ret[:]) != nil {
		return s.one
	}
	back := codeBreak{at: binary.LittleEndian.Uint64(ret[:]), sp: regs.Rsp + 8}
	if s.kind != step.Into || s.only != 0 && s.only != pc {
		return func() error { return s.run(back) }
	}
	m := s.module(pc)
	if s.goes != nil && m != nil {
		f, _, ok := m.Mod.Lookup(addrIn(m, pc))
		s.goes.defers = ok && f.Name == "runtime.deferreturn"
	}
	if m != nil && hasSource(m.Mod) {
		if f, off, ok := m.Mod.Lookup(addrIn(m, pc)); ok && off == 0 && !isThunk(f) {
			if row, ok := m.Mod.Row(f.Low); ok && row.Line > 0 && (s.only != 0 || s.enters(row.File)) {
				body, why := uint64(m.Mod.BodyStart(f))+m.Bias, breakDone
				if at, ok := m.Mod.Row(addrIn(m, body)); !ok || at.Line == 0 {
					why = breakOn // to the first that has a line
				}
				if body == pc {
					return s.choose(regs, why)
				}
				into := codeBreak{at: s.p.whereRuns(body), why: why}
				return func() error { return s.run(into, back) }
			}
		}
	}
	if s.leadsOn(pc) {
		return s.through(pc)
	}
	return func() error { return s.run(back) }
}

// maxTries bounds the instructions that are run on the way to a function with source.
const maxTries = 24

// isThunk reports whether a function only corrects this, or what comes back, of another.
func isThunk(f *symbol.Function) bool {
	return f.File == "<autogenerated>" || strings.HasPrefix(f.Raw, "_ZTh") || strings.HasPrefix(f.Raw, "_ZTv") ||
		strings.HasPrefix(f.Raw, "_ZTc")
}

// leadsOn reports whether code without source may only lead on to a function: the linker's stubs, thunks, the resolver.
func (s *stepper) leadsOn(pc uint64) bool {
	if s.tries >= maxTries {
		return false
	}
	m := s.module(pc)
	if m == nil {
		return false
	}
	if m.Mod.Path == s.p.loader.path {
		return true
	}
	f, _, ok := m.Mod.Lookup(addrIn(m, pc))
	return !ok || isThunk(f)
}

// through lets the thread go on in such code.
func (s *stepper) through(pc uint64) func() error {
	s.tries++
	m := s.module(pc)
	if m != nil && m.Mod.Path == s.p.loader.path {
		if at, ok := s.resolverEnd(pc); ok && at != pc {
			b := codeBreak{at: at}
			return func() error { return s.run(b) }
		}
	}
	return s.one
}

// maxResolver bounds the code of _dl_runtime_resolve.
const maxResolver = 1024

// resolverEnd finds where the dynamic linker's resolver, which begins at or before pc, jumps to the function that it
// found: jmp *%r11.
func (s *stepper) resolverEnd(pc uint64) (uint64, bool) {
	b := make([]byte, maxResolver)
	if s.p.mem.Read(pc, b) != nil {
		return 0, false
	}
	for off := 0; off+3 <= len(b); {
		in, err := hook.Decode(b[off:])
		if err != nil {
			return 0, false
		}
		if in.Flow == hook.FlowJumpIndirect && string(b[off+in.Len-3:off+in.Len]) == "\x41\xff\xe3" {
			return pc + uint64(off), true
		}
		if in.Flow == hook.FlowRet {
			return 0, false
		}
		off += in.Len
	}
	return 0, false
}

// finish pauses the thread where it is, unless a point there wants to decide first.
func (s *stepper) finish(regs *ptrace.Regs, pc uint64, skip int) func() error {
	r := *regs
	return func() error {
		s.single, s.breaks = false, nil
		if tr, ok := s.p.trapAt(r.Rip); ok && s.p.isPoint(r.Rip) {
			return s.run(codeBreak{at: tr.behind, why: breakDone})
		}
		c := &pause{th: s.th, stop: s.th.stops.Load(), p: s.th.p, seen: s.p.pictured(s.th, &r, true), skip: skip}
		c.seen.Regs.Set(regRip, pc)
		c.Result, c.ResultOf = s.result, s.resultOf
		s.t.stepDone(c, s.id)
		return nil
	}
}

// stepDone makes a thread that has done its step a paused one.
func (t *target) stepDone(c *pause, id string) {
	c.PointID, c.Reason = id, "step"
	t.spawn(func() { t.paused(c, &pauseLook{t: t, c: c}, false) })
}

// giveUp lets the thread run freely: nothing with source is left to step to.
func (s *stepper) giveUp() error {
	s.t.endStep(s.th)
	return s.t.resume(s.th, 0)
}

// isPoint reports whether points stand at an address.
func (p *process) isPoint(at uint64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, ps := range p.points {
		if ps.site.addr == at {
			return true
		}
	}
	return false
}

// trapAt returns the patch of ours that stands at an address.
func (p *process) trapAt(at uint64) (trap, bool) {
	p.trapMu.RLock()
	defer p.trapMu.RUnlock()
	if tr := p.traps[at]; tr != nil && tr.active && !tr.loader {
		return *tr, true
	}
	return trap{}, false
}

// module returns the module that has an address.
func (s *stepper) module(pc uint64) *unwind.Module {
	for i := range s.view.Modules {
		if m := &s.view.Modules[i]; pc >= m.Lo && pc < m.Hi {
			return m
		}
	}
	return nil
}

func addrIn(m *unwind.Module, pc uint64) symbol.Addr { return symbol.Addr(pc - m.Bias) }

// hasSource reports whether a module's functions are to be stepped through. Not those of system libraries whose debug
// information was installed apart.
func hasSource(m *symbol.Module) bool {
	return m.HasDWARF && !m.InstalledApart()
}

// function returns the function at an address, and how far into it that is.
func (s *stepper) function(pc uint64) (*symbol.Function, uint64, bool) {
	m := s.module(pc)
	if m == nil {
		return nil, 0, false
	}
	return m.Mod.Lookup(addrIn(m, pc))
}

// place describes where a thread stands. False: the code there has no source.
func (s *stepper) place(pc uint64, regs *unwind.Regs) (at step.Place, ok bool) {
	m := s.module(pc)
	if m == nil || !hasSource(m.Mod) {
		return at, false
	}
	a := addrIn(m, pc)
	scopes := m.Mod.InlinedAt(a)
	if len(scopes) == 0 {
		return at, false
	}
	row, _ := m.Mod.Row(a) // none: code of a function without a line
	at = step.Place{PC: pc, Line: step.Line{File: row.File, Line: row.Line}, Lo: uint64(row.Lo) + m.Bias,
		Hi: uint64(row.Hi) + m.Bias, Stmt: row.Stmt,
		Starts: startsAt(m.Mod, a, scopes)}
	for i := len(scopes) - 1; i >= 0; i-- {
		at.Frame.Chain = append(at.Frame.Chain, scopes[i].Block)
		if i > 0 {
			at.Calls = append(at.Calls, step.Line{File: scopes[i].File, Line: scopes[i].Line})
		}
	}
	at.Frame.CFA = s.frameOf(regs)
	return at, true
}

// startsAt returns how many of the innermost inlined calls at an address begin there.
func startsAt(mod *symbol.Module, a symbol.Addr, scopes []symbol.Scope) (n int) {
	if len(scopes) < 2 {
		return 0
	}
	before := map[uint64]bool{}
	for _, b := range mod.InlinedAt(a - 1) {
		before[b.Block] = true
	}
	for n < len(scopes) && scopes[n].Inlined && !before[scopes[n].Block] {
		n++
	}
	return n
}

// frameOf returns the CFA of the frame that has these registers.
func (s *stepper) frameOf(regs *unwind.Regs) uint64 {
	st := unwind.Walk(s.p.mem, *regs, s.view.Modules, unwind.Options{Stub: s.view.Stub, Nearest: 1})
	if len(st.Frames) == 0 {
		return 0
	}
	return s.rel(st.Frames[0].CFA)
}

// stepFrames bounds how far up a caller with source is looked for.
const stepFrames = 256

// callerWithSource returns where the nearest caller with source goes on, when the functions above have returned.
func (s *stepper) callerWithSource(regs *unwind.Regs) (codeBreak, bool) {
	st := unwind.Walk(s.p.mem, *regs, s.view.Modules,
		unwind.Options{Stub: s.view.Stub, Nearest: stepFrames, MaxFrames: 4 * stepFrames})
	for i := 1; i < len(st.Frames) && st.Elided == 0; i++ {
		f := &st.Frames[i]
		if st.Frames[i-1].Inlined || f.Line == 0 {
			continue
		}
		if m := s.module(f.PC); m == nil || !hasSource(m.Mod) {
			continue
		}
		if s.goes != nil && s.goes.mine && !s.own(f.File) {
			continue
		}
		return codeBreak{at: f.PC, sp: f.Regs.Val[regRsp]}, true
	}
	return codeBreak{}, false
}

// regRsp is the number of rsp among unwind.Regs.
const regRsp = 7
