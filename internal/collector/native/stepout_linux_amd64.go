package native

import (
	"context"
	"strings"

	"github.com/strobe-debug/strobe/internal/capture"
	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/ptrace"
	"github.com/strobe-debug/strobe/internal/step"
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/unwind"
)

// leaving is a function that is stepped out of, and where it returns to.
type leaving struct {
	codeBreak
	mod *symbol.Module
	fn  *symbol.Function
}

// leaves describes the function that a thread with these registers is in; nil where its result cannot be read.
func (s *stepper) leaves(regs *unwind.Regs) *leaving {
	m := s.module(regs.Val[regRip])
	if m == nil {
		return nil
	}
	f, _, ok := m.Mod.Lookup(addrIn(m, regs.Val[regRip]))
	if !ok || !f.HasDWARF || f.Fragment {
		return nil
	}
	st := unwind.Walk(s.p.mem, *regs, s.view.Modules,
		unwind.Options{Stub: s.view.Stub, Nearest: stepFrames, MaxFrames: 4 * stepFrames})
	for i := 1; i < len(st.Frames); i++ {
		if caller := &st.Frames[i]; !st.Frames[i-1].Inlined {
			return &leaving{codeBreak{at: caller.PC, sp: caller.Regs.Val[regRsp], why: breakLeft}, m.Mod, f}
		}
	}
	return nil
}

// readResult reads what the function that was left has returned.
func (s *stepper) readResult(regs *ptrace.Regs) {
	l := s.left
	if s.left = nil; l == nil {
		return
	}
	r := capture.ReturnRegs{RAX: regs.Rax, RDX: regs.Rdx, SP: regs.Rsp, Go: [9]uint64{regs.Rax, regs.Rbx, regs.Rcx,
		regs.Rdi, regs.Rsi, regs.R8, regs.R9, regs.R10, regs.R11}}
	err := s.t.tracer.Do(context.Background(), func() error {
		if s.t.threads[s.th.tid] != s.th {
			return ptrace.ErrGone
		}
		v, err := ptrace.GetVectors(s.th.tid)
		if err == nil {
			r.XMM = v
			r.ST, err = ptrace.GetX87(s.th.tid)
		}
		return err
	})
	if err != nil {
		return
	}
	reader := capture.NewReader(s.view.Mem, messageDepth, nil, s.view.Described, s.view.Secrets)
	if v, ok := reader.Result(l.mod, l.fn, &r); ok {
		s.result, s.resultOf = &v, l.fn.Name
	}
}

// outside reports whether a step out ends at a place: it has source.
func (s *stepper) outside(pc uint64) bool {
	m := s.module(pc)
	if m == nil || !hasSource(m.Mod) {
		return false
	}
	row, ok := m.Mod.Row(addrIn(m, pc))
	return ok && row.Line > 0 && (s.goes == nil || !s.goes.mine || s.own(row.File))
}

// inlinedHere returns how many of the skip inlined calls that begin at a place are still not entered after a step into
// the outermost one that it may enter: skip where there is none, or the step is of another kind.
func (s *stepper) inlinedHere(at *step.Place, skip int) int {
	if s.kind != step.Into {
		return skip
	}
	_, from := at.Shown(skip)
	for inner := skip - 1; inner >= 0; inner-- {
		if _, line := at.Shown(inner); s.system || !s.own(from.File) || s.own(line.File) {
			return inner
		}
	}
	return skip
}

// stepInPlace enters an inlined call that begins where a thread is paused. Nothing runs.
func (t *target) stepInPlace(c *pause) {
	n := &pause{th: c.th, stop: c.stop, p: c.p, seen: c.seen, skip: c.enters}
	t.tracer.Do(context.Background(), func() error {
		if t.threads[c.th.tid] == c.th && t.dropPause(c.th, collector.StepInto) {
			t.stepDone(n, t.numbers.Step())
		}
		return nil
	})
}

// own reports whether a source file is not the standard library's or the system's.
func (s *stepper) own(file string) bool {
	root := strings.TrimSuffix(s.t.cmd.ProjectRoot, "/") + "/"
	if s.goes != nil {
		return !s.goes.library(file)
	}
	return len(root) > 1 && strings.HasPrefix(file, root) || !step.SystemSource(file)
}

// enters reports whether the step enters functions of a source file.
func (s *stepper) enters(file string) bool {
	return s.state == nil || s.state.Enters(file)
}
