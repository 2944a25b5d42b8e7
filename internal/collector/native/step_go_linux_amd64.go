package native

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/ptrace"
	"github.com/strobe-debug/strobe/internal/step"
)

// A goroutine's step. While its thread runs an instruction at a time, it is the thread's, as any other. When it is to
// run to breaks, Go's runtime may put the goroutine onto another thread, and may move its stack: the step is loose
// then, its breaks are in the debug registers of all threads of the process, and the thread that comes to one of them
// with the goroutine takes it over. Places on the stack are counted from its upper end, which is what does not change.

// goStep is the goroutine that a step is of.
type goStep struct {
	g, id   uint64
	hi      uint64 // the upper end of its stack when its thread last stopped
	goid    uint64 // where in g its number is
	tls     uint64 // where a thread has the g that it runs, from fs
	from    int    // the thread that it began on
	root    string // the folder of the standard library's source, with its slash; "": by the names of its packages
	mine    bool   // it began in code of the program's own
	defers  bool   // its frame runs what it has deferred
	revives bool   // a panic was recovered from, and the goroutine has not gone on yet
}

// goStepOf returns the goroutine that runs on a thread with this fs; nil: none does, or it cannot be told.
func (p *process) goStepOf(fs uint64, tid int) *goStep {
	p.t.probeMu.Lock()
	defer p.t.probeMu.Unlock()
	if len(p.modules) == 0 || p.shares != nil {
		return nil
	}
	mod, err := p.open(p.modules[0])
	if err != nil || !mod.Go {
		return nil
	}
	img := goImageOf(mod)
	if img.err != nil {
		return nil
	}
	o := &goStep{goid: uint64(img.GoID), tls: img.TLS, from: tid}
	o.g = p.word(fs + o.tls)
	if o.id = p.word(o.g + o.goid); o.g == 0 || o.id == 0 || !o.on(p, fs) {
		return nil
	}
	if a, _, ok := mod.Symbol("runtime.main"); ok {
		if row, ok := mod.Row(a); ok {
			o.root = strings.TrimSuffix(row.File, "runtime/proc.go")
		}
	}
	return o
}

// word reads eight bytes, 0 where there are none.
func (p *process) word(at uint64) uint64 {
	var b [8]byte
	if p.mem.Read(at, b[:]) != nil {
		return 0
	}
	return binary.LittleEndian.Uint64(b[:])
}

// on reports whether a thread with this fs runs the goroutine, and takes in where its stack is.
func (o *goStep) on(p *process, fs uint64) bool {
	if p.word(fs+o.tls) != o.g || p.word(o.g+o.goid) != o.id {
		return false
	}
	o.hi = p.word(o.g + 8)
	return true
}

// rel is a place on the stack as it stays when the stack is moved. On the goroutine's stack only.
func (s *stepper) rel(sp uint64) uint64 {
	if s.goes == nil || sp == 0 {
		return sp
	}
	return sp - s.goes.hi
}

// library reports whether a source file is of Go's standard library.
func (o *goStep) library(file string) bool {
	if o.root != "" {
		return strings.HasPrefix(file, o.root)
	}
	return step.GoLibrary(file) // built with -trimpath
}

// passes reports whether a place, to which a goroutine returned that stepped through the program's own code, is in a
// function of the library: of the runtime, which calls what was deferred, or of one that was given a function.
func (s *stepper) passes(at *step.Place) bool {
	if s.goes == nil || !s.goes.mine {
		return false
	}
	file := at.Line.File
	if len(at.Calls) > 0 {
		file = at.Calls[0].File
	}
	return !s.own(file)
}

// loosen lets the goroutine run on whatever thread to the breaks. Its thread is not resumed. Tracer thread only.
func (s *stepper) loosen() {
	if s.goes == nil || s.creeping {
		return
	}
	for i := range s.breaks {
		if b := &s.breaks[i]; !b.rel {
			b.sp, b.rel = s.rel(b.sp), true
		}
	}
	s.th.step = nil
	s.t.loose = append(s.t.loose, s)
	s.rearm()
}

// rearm puts the breaks of loose steps into the debug registers of the process's threads. Tracer thread only.
func (s *stepper) rearm() {
	for _, th := range s.p.allThreads() {
		if th == s.th { // when it is resumed
			continue
		}
		if resume, ok := s.p.haltSoon(th); ok { // else at its next stop
			s.p.hide(th)
			th.arm(s.p)
			resume()
		}
	}
}

// looseHere returns the loose step whose goroutine a stopped thread runs. Tracer thread only.
func (t *target) looseHere(th *thread, fs uint64) *stepper {
	for _, s := range t.loose {
		if s.p == th.p && s.goes.on(s.p, fs) {
			return s
		}
	}
	return nil
}

// takesStep gives a stopped thread the step of the goroutine that it runs, if that has one. Tracer thread only.
func (t *target) takesStep(th *thread, fs uint64) {
	if th.step != nil || len(t.loose) == 0 {
		return
	}
	if s := t.looseHere(th, fs); s != nil {
		t.loose = slices.DeleteFunc(t.loose, func(o *stepper) bool { return o == s })
		th.step, th.stepped, s.th = s, true, th
	}
}

// dropLoose ends the steps of a process's goroutines that are on their way. Tracer thread only.
func (t *target) dropLoose(p *process) {
	was := len(t.loose)
	t.loose = slices.DeleteFunc(t.loose, func(s *stepper) bool { return s.p == p })
	for range was - len(t.loose) {
		t.stepEnded()
	}
}

// breaksAt returns the breaks at an address for which a thread may have stopped: its step's, or those of loose ones.
// Tracer thread only.
func (t *target) breaksAt(th *thread, at uint64) bool {
	is := func(s *stepper) bool {
		return slices.ContainsFunc(s.breaks, func(b codeBreak) bool { return b.at == at })
	}
	return th.step != nil && is(th.step) ||
		slices.ContainsFunc(t.loose, func(s *stepper) bool { return s.p == th.p && is(s) })
}

// goStepFunctions are functions of Go's runtime at which a step is told what a panic, or the end of a function, leads
// to: where they begin, and for deferring ones at their calls of functions that were deferred.
var goStepFunctions = map[string]stepSite{"runtime.recovery": stepRecovery, "runtime.gogo": stepGogo,
	"runtime.gogo.abi0": stepGogo, "runtime.gopanic": stepDeferred, "runtime.deferCallSave": stepDeferred,
	"runtime.Goexit": stepDeferred, "runtime.deferreturn": stepDeferreturn}

// waits reports whether the trap of a site is in place while a step runs freely.
func (s *stepper) waits(kind stepSite) bool {
	switch kind {
	case stepGogo:
		return s.goes != nil && s.goes.revives
	case stepDeferreturn:
		return s.goes != nil && s.goes.defers
	}
	return true
}

// goSiteMet: a thread came to a place of goStepFunctions. True: the goroutine's step decides how it goes on, from
// behind the trap. Tracer thread only.
func (t *target) goSiteMet(th *thread, p *process, kind stepSite, regs *ptrace.Regs) bool {
	switch kind {
	case stepDeferred, stepDeferreturn:
		t.takesStep(th, regs.Fs_base)
		s := th.step
		if s == nil || s.single || s.goes == nil {
			return false
		}
		r := *regs
		s.rest, s.breaks, s.creeping = s.breaks, nil, false
		why := breakDeferred
		if kind == stepDeferreturn {
			why = breakDeferreturn
		}
		t.spawn(func() { s.decide(r, why) })
		return true
	case stepRecovery: // (gp): on the thread's own stack
		for _, s := range t.loose {
			if s.p == p && s.goes.g == regs.Rax {
				s.goes.revives = true
				s.armSites()
			}
		}
	case stepGogo: // (&gobuf): where the goroutine goes on
		buf := p.word(regs.Rsp + 8)
		for _, s := range t.loose {
			if s.p != p || !s.goes.revives || s.goes.g != p.word(buf+16) {
				continue
			}
			s.goes.revives = false
			s.goes.hi = p.word(s.goes.g + 8)
			p.disarmStepSites(stepGogo)
			s.breaks = slices.DeleteFunc(s.breaks, func(b codeBreak) bool { return b.why == breakHandler })
			s.breaks = slices.Insert(s.breaks, 0,
				codeBreak{at: p.word(buf + 8), sp: s.rel(p.word(buf)), rel: true, why: breakHandler})
			s.th = th
			s.rearm()
		}
	}
	return false
}

// Where runtime.g has its panic, and that the end of the frame whose deferred functions it calls.
const (
	gPanic  = 32
	panicFP = 64
)

// deferred lets the goroutine run, which is about to call a function that was deferred: into that, if it is the
// program's own, and, for a panic, of a frame that the step would lead to.
func (s *stepper) deferred(regs *ptrace.Regs, why breakKind) func() error {
	s.goes.defers = false
	breaks := s.rest
	on := func() error { return s.run(breaks...) }
	if why == breakDeferred {
		fp := s.p.word(s.p.word(s.goes.g+gPanic) + panicFP)
		if fp-s.goes.hi < s.cfa && fp <= s.goes.hi && fp > regs.Rsp { // Go 1.21 has no such word
			return on
		}
	}
	target := s.p.word(regs.Rdx) // the closure's code
	m := s.module(target)
	if m == nil {
		return on
	}
	f, off, ok := m.Mod.Lookup(addrIn(m, target))
	if !ok || off != 0 {
		return on
	}
	row, ok := m.Mod.Row(f.Low)
	if !ok || s.goes.mine && !s.own(row.File) {
		return on
	}
	b := codeBreak{at: s.p.whereRuns(uint64(m.Mod.BodyStart(f)) + m.Bias), why: breakDone}
	breaks = append(slices.Clone(breaks), b)
	return on
}

// goSites are the addresses in a function of goStepFunctions where a step is told.
func goSites(code []byte, kind stepSite) (offs []uint64) {
	if kind != stepDeferred && kind != stepDeferreturn {
		return []uint64{0}
	}
	for at := 0; at < len(code); {
		class, n := step.Classify(code[at:])
		if n == 0 {
			break
		}
		if class == step.Call && code[at] != 0xe8 { // through a closure
			offs = append(offs, uint64(at))
		}
		at += n
	}
	return offs
}

// takesStepAt is takesStep for a thread that has come to a break of that step. Tracer thread only.
func (t *target) takesStepAt(th *thread, regs *ptrace.Regs) {
	if len(t.loose) > 0 && t.breaksAt(th, regs.Rip) {
		t.takesStep(th, regs.Fs_base)
	}
}
