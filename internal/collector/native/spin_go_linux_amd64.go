package native

import (
	"encoding/binary"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/emulate"
	"github.com/strobe-debug/strobe/internal/goroutine"
	"github.com/strobe-debug/strobe/internal/ptrace"
	"github.com/strobe-debug/strobe/internal/snapshot"
	"github.com/strobe-debug/strobe/internal/spin"
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/unwind"
	"github.com/strobe-debug/strobe/internal/waits"
)

// Programs of Go have no symbols where they are tests: their functions are named by the table that the runtime has.
// Beside the threads that run goroutines there are some that look for work, and one that watches the others
// (runtime.sysmon): it sleeps, looks, and has a goroutine that runs for long stand back, which changes nothing that the
// goroutine sees. They stand while the others are looked at, and say nothing of the program: what they may be about to
// run is a goroutine, which says so itself.

// schedules reports whether the stopped thread is in Go's runtime, and runs no goroutine.
func (s *spinning) schedules() bool {
	if s.code == nil || s.rest != nil {
		return false
	}
	regs, err := ptrace.GetRegs(s.tid)
	if err != nil || !s.code.Has(regs.Rip) {
		return false
	}
	return !slices.ContainsFunc(s.code.Calls(regs.Rip, regs.Rsp), func(c goroutine.Call) bool {
		return slices.ContainsFunc(c.Frames, func(f goroutine.Frame) bool { return f.Shown() })
	})
}

// firstLine is the first that a function may stand on: what the compiler adds is on line 1.
const firstLine = 2

// goScopes is scopes of Go code.
func (s *spinning) goScopes(pc uint64) (scopes []symbol.Scope, low uint64, ok bool) {
	if s.code == nil {
		return nil, 0, false
	}
	c, ok := s.code.Code(pc)
	for _, f := range c.Frames {
		if f.Line < firstLine {
			return nil, c.Entry, ok
		}
		if f.Shown() {
			scopes = append(scopes, symbol.Scope{Function: goName(f.Function), Inlined: f.Inlined, File: f.File, Line: f.Line})
		}
	}
	return scopes, c.Entry, ok
}

// goStack is where the thread of a goroutine was met.
func (s *spinning) goStack(l *collector.Loop) (calls []uint64) {
	l.Task = s.regs.R14 // in all of Go's code
	t := &waits.Thread{PID: s.p.pid, TID: s.tid}
	pc := s.regs.Rip
	if s.rest != nil {
		pc-- // of the call that it comes back from
	}
	for _, c := range s.code.Calls(pc, s.regs.Rsp) {
		calls = append(calls, c.Entry)
		for _, f := range c.Frames {
			if f.Line < firstLine {
				f.Line = s.lineIn(goName(f.Function))
			}
			if f.Shown() {
				t.Frames = append(t.Frames, waits.Frame{Function: goName(f.Function), File: f.File, Line: f.Line})
			}
		}
	}
	l.Backtrace = t.Backtrace(s.view.Project)
	return calls
}

// goName leaves out that a function is generic.
func goName(name string) string { return strings.ReplaceAll(name, "[...]", "") }

// lineIn is a line of the loop in a function.
func (s *spinning) lineIn(function string) int {
	for _, pc := range s.res.Places {
		scopes, _, _ := s.goScopes(pc)
		for _, sc := range scopes {
			if sc.Function == function {
				return sc.Line
			}
		}
	}
	return 0
}

func isGo(view *snapshot.Process) bool {
	return slices.ContainsFunc(view.Modules, func(m unwind.Module) bool { return m.Mod.Go })
}

// Functions by which a goroutine stands aside for others. To itself they do nothing but take time.
const (
	goSleep = "time.Sleep"
	goYield = "runtime.Gosched"
)

// goOuter are those functions, which a copy does not run: they lead to the scheduler, and from there to who knows whom.
func (s *spinning) goOuter() map[uint64]emulate.Outer {
	out := map[uint64]emulate.Outer{}
	if s.code == nil {
		return out
	}
	at := s.code.Entries(goSleep, goYield, "runtime.mcall", "runtime.gosched_m")
	for _, name := range []string{goSleep, goYield} {
		if at[name] != 0 {
			out[at[name]] = emulate.Outer{}
		}
	}
	// Where Gosched is inlined, this is what calls the scheduler with it.
	if mcall := at["runtime.mcall"]; mcall != 0 {
		out[mcall] = emulate.Outer{When: func(regs [16]uint64) bool {
			var b [8]byte
			return s.p.mem.Read(regs[emulate.RAX], b[:]) == nil && binary.LittleEndian.Uint64(b[:]) == at["runtime.gosched_m"]
		}}
	}
	return out
}

// goroutines are those of the program that stand aside.
func (s *spinning) goroutines() (all []*spinning) {
	rests, err := s.code.Rests(goSleep, goYield)
	if err != nil {
		return nil
	}
	for i := range rests {
		if len(all) < maxSpinning {
			all = append(all, &spinning{p: s.p, view: s.view, tid: -int(rests[i].ID), code: s.code, rest: &rests[i]})
		}
	}
	return all
}

// waitingThreads are those of Go's scheduler that wait, and are not stopped for another reason: they would wake a
// goroutine while it is looked at.
func (s *spinning) waitingThreads(list []int) (tids []int) {
	for _, tid := range list {
		nr, pc, running := blockedPC(s.p.pid, tid)
		if !running && s.code.Has(pc) && (nr == unix.SYS_FUTEX || nr == unix.SYS_EPOLL_WAIT || nr == unix.SYS_EPOLL_PWAIT) {
			tids = append(tids, tid)
		}
	}
	return tids
}

// doubt takes back what was found of code that is the runtime's alone: its scheduler goes round until there is work.
func (s *spinning) doubt() {
	if s.code == nil || !s.res.Endless {
		return
	}
	for _, pc := range s.res.Places {
		c, ok := s.code.Code(pc)
		if !ok || slices.ContainsFunc(c.Frames, func(f goroutine.Frame) bool { return f.Shown() }) {
			s.res.Sleeps = s.res.Sleeps || s.rest != nil && s.rest.Function == goSleep
			return
		}
	}
	s.res = spin.Result{Why: "it is in the runtime"}
}
