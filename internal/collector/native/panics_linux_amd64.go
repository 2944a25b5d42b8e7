package native

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/crash"
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/exception"
	"github.com/strobe-debug/strobe/internal/ptrace"
	"github.com/strobe-debug/strobe/internal/snapshot"
)

// A Rust panic that nobody catches ends the program with an exit code, when the stack that it came from is unwound. So
// an int3 stands at the function that every panic goes through, in each Rust program that was launched: the picture of
// its thread is kept until it is known whether the panic was the end.

// panicMark is in the names of that function, in all versions of Rust and both manglings.
const panicMark = "panic_with_hook"

// Bounds of the pictures of one session's panics. A program that panics all the time, and catches that, is not to be
// held up by it.
const (
	maxPanicPictures = 16                     // the last of a process
	panicTime        = 200 * time.Millisecond // that pictures may take together
	panicShare       = 20                     // and this part of the time since the start more
	maxPanicsPassed  = 1000                   // panics that come too often for a picture, until no more are looked at
)

// watchesPanics reports whether a process's own program is one of Rust that was launched. probeMu is held.
func (t *target) watchesPanics(p *process) bool {
	return t.cmd.PID == 0 && !t.panicsOff && !t.stopping.Load() && len(p.modules) > 0 &&
		mentions(p.modules[0].path, panicMark) && !t.drives(p)
}

// panicStop is a thread at the function that panics go through, which goes on at to. True: it is held until its picture
// was taken. Tracer thread only.
func (t *target) panicStop(th *thread, p *process, regs *ptrace.Regs, to uint64) bool {
	st := p.throws.Load()
	if st == nil {
		return false
	}
	wanted := t.cmd.PID == 0 && !t.stopping.Load() && th.step == nil &&
		t.panicSpent <= panicTime+time.Duration(t.sink.Now())/panicShare
	if st.silent && !wanted && len(t.throwPoints(th, throwPanic)) == 0 {
		if t.panicsPassed++; t.panicsPassed == maxPanicsPassed {
			t.spawn(t.leavePanics)
		}
		return false
	}
	e := t.exceptionStop(th, p, regs, throwPanic)
	if !wanted {
		return t.throwHit(th, p, regs, throwPanic, e, to)
	}
	if e == nil {
		return false
	}
	there := *regs
	if regs.Rip = to; ptrace.SetRegs(th.tid, regs) != nil {
		return false
	}
	t.panicPicture(th, p, &there, e, to)
	return true
}

// leavePanics lets a program alone that panics all the time.
func (t *target) leavePanics() {
	t.probeMu.Lock()
	defer t.probeMu.Unlock()
	t.panicsOff = true
	t.warn("the program panics and goes on very often: panics are no longer looked at, and one that ends it is told " +
		"without values")
	if err := t.applyToAll(context.Background()); err != nil {
		t.log.Warn("let panics alone", "err", err)
	}
}

// panicPicture holds a thread that begins to panic until its picture was taken; then points may have it pause, or it
// goes on at to. Tracer thread only.
func (t *target) panicPicture(th *thread, p *process, regs *ptrace.Regs, e *thrown, to uint64) {
	d := &snapshot.Death{Thread: p.pictured(th, regs, true), Panics: true}
	id := t.sink.Thread(event.Thread{PID: int32(p.pid), TID: int32(th.tid), Name: d.Thread.Name})
	begin := time.Now()
	th.stopped = true
	t.spawn(func() {
		c, message := p.describePanic(d)
		message = cmp.Or(e.Message, message)
		t.tracer.Do(context.Background(), func() error {
			t.panicSpent += time.Since(begin)
			if c != nil && !p.dead.Load() {
				if len(p.panics) == maxPanicPictures {
					p.panics = slices.Delete(p.panics, 0, 1)
				}
				p.panics = append(p.panics,
					collector.Panic{TID: th.tid, Thread: id, File: e.File, Line: e.Line, Message: message, Crash: c})
			}
			if t.threads[th.tid] == th && !t.throwHit(th, p, regs, throwPanic, e, to) {
				t.resume(th, 0)
			}
			return nil
		})
	})
}

// lastPanic is what a thread's last panic said, "" if it had none. Tracer thread only.
func (p *process) lastPanic(tid int) string {
	for i := len(p.panics) - 1; i >= 0; i-- {
		if p.panics[i].TID == tid {
			return cmp.Or(p.panics[i].Message, "of no text")
		}
	}
	return ""
}

// describePanic is the crash of a thread that begins to panic, and what the panic says; nil if there is none.
func (p *process) describePanic(d *snapshot.Death) (c *crash.Crash, message string) {
	view, err := p.view()
	if err != nil {
		return nil, ""
	}
	c = snapshot.New(view).Crash(d)
	data, _ := d.Thread.Regs.Get(5) // rdi and rsi: a &mut dyn PanicPayload
	vtable, _ := d.Thread.Regs.Get(4)
	return c, exception.NewModules(view.Modules).Reader(p.mem).PanicMessage(data, vtable, d.Thread.FS)
}
