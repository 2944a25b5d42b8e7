package native

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/ptrace"
	"github.com/strobe-debug/strobe/internal/snapshot"
	"github.com/strobe-debug/strobe/internal/symbol"
)

// reasonEntry is the reason of the pause before anything of the program itself has run.
const reasonEntry = "entry"

// awaitsEntry reports whether a process is to be paused when its libraries are loaded.
func (t *target) awaitsEntry(p *process) bool {
	return t.cmd.StopOnEntry && p.pid == t.pid && !t.entered.Load()
}

// stopsAtEntry pauses the program's first thread before anything of its own has run. False: nobody asked for it. Tracer
// thread only.
func (t *target) stopsAtEntry(th *thread) bool {
	if th == nil || !t.awaitsEntry(th.p) || t.stopping.Load() {
		return false
	}
	regs, err := ptrace.GetRegs(th.tid)
	if err != nil {
		return false
	}
	t.entered.Store(true)
	c := &pause{th: th, stop: th.stops.Load(), p: th.p, seen: th.p.pictured(th, &regs, false)}
	c.PID, c.TID, c.ThreadName, c.Reason = th.p.pid, th.tid, c.seen.Name, reasonEntry
	if t.cmd.QuietEntry {
		t.addPause(c)
		return true
	}
	t.spawn(func() { t.pausedAtEntry(c) })
	return true
}

// pausedAtEntry makes the thread a paused one. The place that is shown is main, which comes next of what a person
// knows; the stack is where it stands.
func (t *target) pausedAtEntry(c *pause) {
	if v, err := c.p.view(); err == nil {
		top, lines := c.where(snapshot.New(v), pauseFrames, false)
		c.Location = collector.Location{Function: top.Function, File: top.File, Line: top.Line,
			Address: fmt.Sprintf("0x%x", c.seen.Regs.Val[regRip])}
		c.Backtrace = lines
	}
	c.Note = "in the dynamic loader: libraries are loaded, nothing of the program has run"
	if c.p.loader.path == "" {
		c.Note = "at the program's first instruction"
	}
	if mod, f := t.mainFunction(); f != nil {
		c.Function, c.File, c.Line = f.Name, "", 0
		if row, ok := mod.Row(f.Low); ok && row.Line > 0 {
			c.File, c.Line = row.File, row.Line
		}
		c.Note = "main has not begun, a step leads into it; " + c.Note
	}
	t.announce(1)
	defer t.announce(-1)
	t.pointEvent(event.Pause, c, map[string]any{"reason": c.Reason, "note": c.Note})
	t.tracer.Do(context.Background(), func() error {
		switch {
		case c.stale(t):
		case t.stopping.Load() || t.released.Load():
			return t.resume(c.th, 0)
		default:
			t.addPause(c)
		}
		return nil
	})
}

// toMain is a step from the entry: main's first statement.
func (s *stepper) toMain(c *pause) (func() error, error) {
	mod, f := s.t.mainFunction()
	if f == nil {
		name := "the program"
		if m := s.t.mainModule(); m != nil {
			name = filepath.Base(m.Path)
		}
		return nil, fault.New(fault.NoDebugSymbols,
			"debug_continue with action continue runs on; debug_breakpoint with an address pauses it; or build it with -g and "+
				"do not strip it.",
			"%s does not say where its main is, so there is no step from its entry", name)
	}
	for i := range s.view.Modules {
		if m := &s.view.Modules[i]; m.Mod == mod {
			s.cfa = math.MaxUint64 // no handler of an exception before main ends the step
			b := codeBreak{at: s.p.whereRuns(uint64(mod.BodyStart(f)) + m.Bias), why: breakDone}
			return func() error { return s.run(b) }, nil
		}
	}
	return nil, fault.New(fault.ProcessExited, "debug_query reads its events.", "process %d has another program by now",
		c.p.pid)
}

// mainFunction is the function that a person calls the program's main, nil where it cannot be told. A symbol without
// debug information is better than none.
func (t *target) mainFunction() (*symbol.Module, *symbol.Function) {
	mod := t.mainModule()
	if mod == nil {
		return nil, nil
	}
	var c *symbol.Function
	var rust []*symbol.Function
	funcs := mod.Functions()
	for i := range funcs {
		switch f := &funcs[i]; {
		case f.Raw == "main":
			c = f
		case f.Language == symbol.LangGo && f.Name == "main.main":
			return mod, f
		case f.Language == symbol.LangRust && f.HasDWARF && strings.HasSuffix(f.Name, "::main") &&
			strings.Count(f.Name, "::") == 1:
			rust = append(rust, f)
		}
	}
	if c == nil || c.HasDWARF && c.Line > 0 && c.Language != symbol.LangRust {
		return mod, c
	}
	code, _ := mod.Code(c)
	for _, f := range rust { // whose address main hands to the runtime
		if refersTo(code, c.Low, f.Low) {
			return mod, f
		}
	}
	if len(rust) == 1 {
		return mod, rust[0]
	}
	return mod, c
}

// refersTo reports whether code that begins at an address has a reference relative to its place that leads to another.
func refersTo(code []byte, begin, to symbol.Addr) bool {
	for i := 0; i+4 <= len(code); i++ {
		if begin+symbol.Addr(i)+4+symbol.Addr(int64(int32(binary.LittleEndian.Uint32(code[i:])))) == to {
			return true
		}
	}
	var abs [8]byte
	binary.LittleEndian.PutUint64(abs[:], uint64(to))
	return bytes.Contains(code, abs[:])
}
