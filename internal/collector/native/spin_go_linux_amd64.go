package native

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/goroutine"
	"github.com/strobe-debug/strobe/internal/ptrace"
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/waits"
)

// Programs of Go have no symbols where they are tests: their functions are named by the table that the runtime has. Beside the threads that
// run goroutines there are some that look for work, and one that watches the others (runtime.sysmon): it sleeps, looks, and has a goroutine
// that runs for long stand back, which changes nothing that the goroutine sees. They stand while the others are looked at, and say nothing
// of the program: what they may be about to run is a goroutine, which says so itself.

// goCode opens a process's program, if it is one of Go that is known. The file is to be closed.
func (p *process) goCode() (*goroutine.Program, *os.File) {
	exe, err := os.Open(fmt.Sprintf("/proc/%d/exe", p.pid))
	if err != nil {
		return nil, nil
	}
	auxv, err := os.ReadFile(fmt.Sprintf("/proc/%d/auxv", p.pid))
	if err == nil {
		var bias uint64
		if bias, err = goroutine.Bias(exe, auxv); err == nil {
			var code *goroutine.Program
			if code, err = goroutine.Open(exe, p.mem, bias, nil); err == nil {
				return code, exe
			}
		}
	}
	exe.Close()
	return nil, nil
}

// schedules reports whether the stopped thread is in Go's runtime, and runs no goroutine.
func (s *spinning) schedules() bool {
	if s.code == nil {
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
	for _, c := range s.code.Calls(s.regs.Rip, s.regs.Rsp) {
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
