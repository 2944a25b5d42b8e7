package native

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/ptrace"
	"github.com/strobe-debug/strobe/internal/snapshot"
	"github.com/strobe-debug/strobe/internal/step"
	"github.com/strobe-debug/strobe/internal/value"
)

// stepper is one thread's step on its way. The thread runs an instruction at a time, and runs freely to code breaks of
// its own: debug registers, which no other thread sees. What is quick is decided on the tracer's thread; for what wants
// symbols or the stack the thread waits, and decide runs on a goroutine of its own. One of the two has the stepper at
// any time.
type stepper struct {
	t    *target
	th   *thread
	p    *process // whose code it runs
	id   string   // "step-N"
	kind step.Kind
	view *snapshot.Process

	state  *step.State // nil: the step ends at the next break
	lo, hi uint64      // code in which nothing but calls and returns is looked at
	code   []byte      // of it, as the program's file has it
	cfa    uint64      // of the physical frame that the step began in

	single   bool         // running one instruction; else running to breaks
	runs     uint64       // where that one is
	held     *ptrace.Regs // of a thread that waits behind an instruction
	pushed   bool         // of one that saves the flags
	called   bool         // of a call, from stack pointer sp
	returned bool         // of a return
	sp       uint64
	copied   uint64   // the place of the program that a copy stands for which runs now, or where the jump behind one leads
	with     []*pause // that were let go on with it
	system   bool     // functions of the standard library are entered, too
	left     *leaving // nil: its result is not wanted, or was read
	result   *value.Value
	resultOf string
	tries    int // instructions run in code that may lead on to a function with source
	breaks   []codeBreak
	rest     []codeBreak // those that it did not come to
	creeping bool        // to breaks by single steps: data breakpoints have the registers
	goes     *goStep     // nil: it is a thread's own
	only     uint64      // the one function that is entered; 0: any
	instr    bool        // it ends behind one instruction
	ran      bool        // and that has run
}

// codeBreak is a place that a stepping thread runs to.
type codeBreak struct {
	at  uint64
	sp  uint64 // with this stack pointer only; 0: any
	rel bool   // that is counted from the end of a goroutine's stack
	why breakKind
}

// breakKind says what follows when a stepping thread came to a code break.
type breakKind int

const (
	breakOn     breakKind = iota // the step goes on
	breakDone                    // the step is done
	breakLeft                    // the function that is stepped out of has returned
	breakResume                  // a signal's handler has returned to the instruction that was to run
	// the step is done, if the frame that it began in goes on there: an exception's handler, or where longjmp leads
	breakHandler
	breakDeferred    // a function that was deferred is about to be called, for a panic
	breakDeferreturn // or at the end of the function that deferred it
)

// stepFrom lets one paused thread go on by a step.
func (t *target) stepFrom(ctx context.Context, c *pause, all []*pause, r collector.Resume) error {
	view, err := c.p.view()
	if err != nil {
		return fmt.Errorf("read the code of process %d: %w", c.p.pid, err)
	}
	s := &stepper{t: t, th: c.th, p: c.p, view: view, single: true, system: r.System, instr: r.Instruction, only: r.Into}
	if c.p.shares != nil {
		s.p = c.p.shares
	}
	switch r.Step {
	case collector.StepOver:
		s.kind = step.Over
	case collector.StepInto:
		s.kind = step.Into
	case collector.StepOut:
		s.kind = step.Out
	default:
		return fault.New(fault.ValidationError, "Use step-over, step-into or step-out.", "there is no step %q", r.Step)
	}
	s.goes = s.p.goStepOf(c.seen.FS, c.TID)
	act, err := s.begin(c)
	if err != nil {
		return err
	}
	if act == nil { // into an inlined call that begins here: nothing has to run
		t.stepInPlace(c)
		return nil
	}
	s.p.prepareStepSites(ctx)
	return t.tracer.Do(ctx, func() error {
		if t.threads[c.th.tid] != c.th || !t.dropPause(c.th, r.Step) {
			return fault.New(fault.NotPaused, "debug_session status lists pausedThreads.", "thread %d is not paused any more",
				c.TID)
		}
		t.endStep(c.th)
		s.id = t.numbers.Step()
		c.th.step, c.th.stepped = s, true
		t.steps++
		if r.All {
			s.take(all)
		}
		return s.do(act)
	})
}

// take lets the other paused threads go on until the step ends. Tracer thread only.
func (s *stepper) take(all []*pause) {
	for _, o := range all {
		if o.th != s.th && s.t.dropPause(o.th, collector.StepNone) && !o.stale(s.t) {
			s.with = append(s.with, o)
			s.t.resume(o.th, 0) //nolint:errcheck // it has ended
		}
	}
}

// HasThread implements collector.Debugger.
func (t *target) HasThread(tid int) (has bool) {
	t.tracer.Do(context.Background(), func() error {
		has = t.threads[tid] != nil || slices.ContainsFunc(t.loose, func(s *stepper) bool { return s.goes.from == tid })
		return nil
	})
	return has
}

// begin makes the step's state at the pause, and says what comes first. No action: the step only enters an inlined
// call.
func (s *stepper) begin(c *pause) (func() error, error) {
	regs, err := s.regs()
	if err != nil {
		return nil, fault.New(fault.ProcessExited, "debug_query reads its events.", "thread %d has ended", c.TID)
	}
	pc := c.seen.Regs.Val[regRip]
	switch {
	case s.instr && s.kind != step.Out:
		s.cfa = s.frameOf(&c.seen.Regs)
		return s.proceed(&regs, pc), nil
	case c.Reason == reasonEntry:
		return s.toMain(c)
	}
	s.instr = false
	at, ok := s.place(pc, &c.seen.Regs)
	if !ok { // code without source: as if the function were stepped out of
		return s.leave(c, "the place has no source, and no caller has")
	}
	s.cfa = at.Frame.CFA
	if s.goes != nil {
		s.goes.mine = true
		s.goes.mine = !s.passes(&at)
	}
	skip := c.skip
	inner := s.inlinedHere(&at, skip)
	if s.only != 0 {
		inner = skip
	}
	switch {
	case inner < skip:
		c.enters = inner
		return nil, nil
	case s.kind == step.Out && len(at.Frame.Chain)-skip > 1:
		s.state = step.BeginOut(&at, skip)
	case s.kind == step.Out:
		return s.leave(c, "no caller has source")
	default:
		s.state = step.Begin(s.kind, &at, skip)
		if s.only != 0 {
			s.state.Own = func(string) bool { return false } // inlined calls are not it
		} else if !s.system && s.own(s.state.Line.File) {
			s.state.Own = s.own
		}
	}
	s.settle()
	return s.proceed(&regs, pc), nil
}

// leave is a step out of the function that the thread stands in, to the nearest caller with source.
func (s *stepper) leave(c *pause, why string) (func() error, error) {
	b, ok := s.callerWithSource(&c.seen.Regs)
	if !ok {
		return nil, fault.New(fault.ValidationError,
			"debug_continue with action continue runs on; a breakpoint pauses it again.",
			"thread %d stands in its outermost function: %s", c.TID, why)
	}
	b.why = breakDone
	if s.kind == step.Out {
		if s.left = s.leaves(&c.seen.Regs); s.left != nil {
			b = s.left.codeBreak
		}
	}
	return func() error { return s.run(b) }, nil
}

// regs reads the registers of the waiting thread.
func (s *stepper) regs() (regs ptrace.Regs, err error) {
	err = s.t.tracer.Do(context.Background(), func() error {
		if s.t.threads[s.th.tid] != s.th {
			return ptrace.ErrGone
		}
		regs, err = ptrace.GetRegs(s.th.tid)
		return err
	})
	return regs, err
}

// settle takes over the range that the state goes on in without decisions.
func (s *stepper) settle() {
	if s.state == nil {
		return
	}
	lo, hi := s.state.Range()
	if lo == s.lo && hi == s.hi {
		return
	}
	s.lo, s.hi, s.code = lo, hi, nil
	if m := s.module(lo); m != nil && hi > lo && hi-lo < maxLineCode {
		s.code, _ = m.Mod.BytesAt(addrIn(m, lo), int(hi-lo))
	}
}

// maxLineCode bounds the code of a line that is kept.
const maxLineCode = 1 << 16

// do carries out what was decided. Tracer thread only.
func (s *stepper) do(act func() error) error {
	err := act()
	if errors.Is(err, ptrace.ErrGone) {
		return nil // its end is reported
	}
	if err != nil {
		s.t.log.Warn("step a thread", "thread", s.th.tid, "err", err)
		s.t.endStep(s.th)
		return s.t.resume(s.th, 0)
	}
	return nil
}

// one lets the thread run one instruction. Tracer thread only.
func (s *stepper) one() error {
	s.single = true
	return s.t.resume(s.th, 0)
}

// run lets the thread run to breaks. Tracer thread only.
func (s *stepper) run(breaks ...codeBreak) error {
	s.single, s.breaks = false, breaks
	s.armSites()
	s.fit()
	s.loosen()
	return s.t.resume(s.th, 0)
}

// fit decides how the thread gets to its breaks: in case of need an instruction at a time.
func (s *stepper) fit() {
	free := ptrace.DebugSlots
	if d := s.th.p.memory().data.Load(); d != nil {
		for _, w := range d.watches {
			if w.Size > 0 {
				free--
			}
		}
	}
	for _, o := range s.t.loose {
		if o.p == s.p && o != s {
			free -= len(o.breaks)
		}
	}
	s.creeping = len(s.breaks) > free
}

// arm adds the breaks of a thread that runs to what its debug registers hold, where there is room.
func (s *stepper) arm(to *[ptrace.DebugSlots]ptrace.DebugWatch) {
	if s.single || s.creeping {
		return
	}
	n := len(to) - 1
	for _, b := range s.breaks {
		for n >= 0 && to[n].Size != 0 {
			n--
		}
		if n >= 0 {
			to[n] = ptrace.DebugWatch{Addr: b.at, Size: 1, Runs: true}
		}
	}
}
