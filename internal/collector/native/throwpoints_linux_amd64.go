package native

import (
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/ptrace"
	"github.com/strobe-debug/strobe/internal/snapshot"
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/unwind"
)

// A point at exceptions has no place of its own: it takes effect where exceptions are seen, at the functions of the C++
// and Rust runtimes that throw, and for those that nobody catches that end the program. In Go it is a point at the
// runtime's function.

// throwsKind says which exceptions a point is of.
type throwsKind uint8

const (
	throwsNone throwsKind = iota
	throwsEvery
	throwsUncaught
)

// goThrows are the functions of Go's runtime that stand for a point's pattern.
var goThrows = map[string]string{collector.PointExceptions: goPanic, collector.PointUncaught: "runtime.fatalpanic"}

// newThrowPoint makes a point of @exceptions or @uncaught. probeMu is held.
func (t *target) newThrowPoint(pt *point) error {
	if main := t.mainModule(); main != nil && main.Go {
		var err error
		if pt.pat, err = symbol.ParsePattern(goThrows[pt.Function]); err != nil {
			return err
		}
	} else if pt.throws = throwsEvery; pt.Function == collector.PointUncaught {
		pt.throws = throwsUncaught
	}
	for _, p := range t.processes() {
		if p.shares != nil || p.dead.Load() || p.detached.Load() {
			continue
		}
		for _, m := range p.modules {
			mod, err := p.open(m)
			if err != nil {
				continue
			}
			for _, a := range pt.addresses(mod, m.bias) {
				pt.place(mod, m.bias, a)
			}
			for _, f := range t.throwFunctionsOf(mod) {
				if pt.throws.at(f.kind) {
					pt.place(mod, m.bias, f.addr)
				}
			}
		}
	}
	if pt.throws == throwsUncaught {
		pt.places = append(pt.places, collector.Location{Function: "a signal that ends the program"})
	}
	if len(pt.places) == 0 && !pt.Pending {
		return fault.New(fault.Unsupported, "With pending it may be of a library that is loaded later.",
			"no module of the program has the runtime of C++, Rust or Go by its symbols: nothing throws exceptions")
	}
	return nil
}

// at reports whether a point is looked for at a function of a kind. What is thrown again was thrown before.
func (k throwsKind) at(kind throwKind) bool {
	switch kind {
	case throwCxx:
		return k == throwsEvery
	case throwPanic:
		return k != throwsNone
	case throwCatch: // the runtime itself calls it before it ends the program
		return k == throwsUncaught
	}
	return false
}

// exceptionsSeen reports whether the functions that throw and catch are to be hooked, for a pattern or for a point.
// probeMu is held.
func (t *target) exceptionsSeen() bool {
	return t.exceptionsWanted() || slices.ContainsFunc(t.points, func(pt *point) bool { return pt.throws != throwsNone })
}

// throwPoints are the points that an exception at a function of that kind may concern. Tracer thread only.
func (t *target) throwPoints(th *thread, kind throwKind) (out []*point) {
	all := t.thrownAt.Load()
	if all == nil || t.stopping.Load() {
		return nil
	}
	for _, pt := range *all {
		if pt.throws.at(kind) && !pt.off.Load() && (pt.Thread == 0 || pt.Thread == th.tid) {
			out = append(out, pt)
		}
	}
	return out
}

// throwHit has the points decide about a thread that throws, which goes on at to. False: none is concerned. Tracer
// thread only.
func (t *target) throwHit(th *thread, p *process, regs *ptrace.Regs, kind throwKind, e *thrown, to uint64) bool {
	points, st := t.throwPoints(th, kind), p.throws.Load()
	if len(points) == 0 || st == nil || e == nil || kind == throwCatch && e.What != "uncaught" {
		return false
	}
	if kind == throwPanic {
		caught := (&throwStop{p: p, st: st, regs: regs, tid: th.tid}).isCaught()
		points = slices.DeleteFunc(points, func(pt *point) bool { return pt.throws == throwsUncaught && caught })
		if len(points) == 0 {
			return false
		}
	}
	at := regs.Rip
	seen := p.pictured(th, regs, true)
	if regs.Rip = to; ptrace.SetRegs(th.tid, regs) != nil {
		return false
	}
	c := &pause{th: th, stop: th.stops.Load(), p: p, seen: seen}
	c.Note = e.text()
	th.stopped = true
	ps := &pointSite{at: at, points: points}
	t.spawn(func() { t.decide(c, ps) })
	return true
}

// deathHit has a thread pause in front of the signal that ends its program, where a point of @uncaught asks for it and
// has not paused it for the exception that comes to that signal. Tracer thread only.
func (t *target) deathHit(th *thread, regs *ptrace.Regs, info *ptrace.Siginfo) bool {
	p := th.p
	points := t.throwPoints(th, throwCatch)
	st := p.throws.Load()
	if len(points) == 0 || p.picture != nil || th.dies != nil || st != nil && st.ended[th.tid] ||
		info.Signal() == unix.SIGABRT && p.lastPanic(th.tid) != "" {
		return false
	}
	c := &pause{th: th, stop: th.stops.Load(), p: p, seen: p.pictured(th, regs, true)}
	th.stopped, th.dies = true, info
	sig := signalOf(info, p.pid)
	t.spawn(func() {
		c.Note = sig.Name()
		if view, err := p.view(); err == nil {
			if k := snapshot.New(view).Crash(&snapshot.Death{Thread: c.seen, Signal: &sig}); k != nil && k.Reason != "" {
				c.Note += ": " + k.Reason
			}
		}
		t.decide(c, &pointSite{at: regs.Rip, points: points})
	})
	return true
}

// dieNow has a thread take the signal that it was paused in front of. Tracer thread only.
func (t *target) dieNow(th *thread) error {
	info := th.dies
	th.dies = nil
	if regs, err := ptrace.GetRegs(th.tid); err == nil && t.takePicture(th, &regs, info) {
		return nil
	}
	return t.resume(th, info.Signal())
}

// text is what a person is told of an exception.
func (e *thrown) text() string {
	text := e.Type
	if e.Message != "" {
		text += ": " + e.Message
	}
	if e.Nested != "" {
		text += "; caused by " + e.Nested
	}
	if e.Note != "" {
		text += " (" + e.Note + ")"
	}
	return text
}

// noteGoPanic tells what a Go program panics with, where a point of exceptions paused it.
func (c *pause) noteGoPanic() {
	if c.by == nil || goThrows[c.by.Function] == "" || c.by.throws != throwsNone {
		return
	}
	for _, path := range []string{"e", "msgs.arg"} {
		if v, ok := c.Arguments.Path(path); ok {
			c.Note = "panic: " + v.Short(maxPanicNote)
		}
	}
}

// maxPanicNote bounds the text of what a Go program panics with.
const maxPanicNote = 500

// maxCatchFrames bounds how far out a catch_unwind is looked for.
const maxCatchFrames = 400

// isCaught reports whether a Rust panic unwinds to a catch_unwind that is not the runtime's own, around main and
// threads.
func (s *throwStop) isCaught() bool {
	return catches(s.frames(maxCatchFrames))
}

// catches reports whether a catch_unwind of the program's own is among frames.
func catches(frames []unwind.Frame) bool {
	within := false // of catch_unwind's own frames
	for i := range frames {
		name := frames[i].Function
		switch {
		case strings.HasPrefix(name, "std::panicking::") || strings.HasPrefix(name, "std::panic::") || name == "__rust_try":
			within = within || strings.Contains(name, "do_call") || name == "__rust_try"
		case within:
			within = false
			if !strings.HasPrefix(name, "std::rt::") && !strings.HasPrefix(name, "std::thread::") {
				return true
			}
		}
	}
	return false
}
