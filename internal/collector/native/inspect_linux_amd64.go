package native

import (
	"context"
	"fmt"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/inspect"
	"github.com/strobe-debug/strobe/internal/ptrace"
	"github.com/strobe-debug/strobe/internal/snapshot"
)

var (
	_ collector.Inspector = (*target)(nil)
	_ collector.Assigner  = (*target)(nil)
)

// Inspect reads values of the target while it runs: globals and addresses of its first living process; with the id of a
// paused thread, that thread's locals and registers. What runs may change a value while it is read.
func (t *target) Inspect(_ context.Context, q collector.Inspection) ([]collector.Reading, error) {
	view, th, _, err := t.inspected(q)
	if err != nil {
		return nil, err
	}
	return inspect.Read(view, th, q)
}

// Assign implements collector.Assigner.
func (t *target) Assign(ctx context.Context, q collector.Inspection) ([]collector.Reading, error) {
	view, th, w, err := t.inspected(q)
	if err != nil {
		return nil, err
	}
	w.ctx = ctx
	return inspect.Write(view, th, q, w)
}

// inspected chooses the process, and the paused thread, that a question is about.
func (t *target) inspected(q collector.Inspection) (*snapshot.Process, *snapshot.Thread, *writer, error) {
	if t.released.Load() {
		return nil, nil, nil, fault.New(fault.ProcessExited, "Launch it again.", "process %d was let go", t.pid)
	}
	t.awaitAnnounced()
	for _, p := range t.processes() {
		if p.dead.Load() || p.detached.Load() || q.PID != 0 && p.pid != q.PID {
			continue
		}
		c := t.pauseFor(p, q.ThreadID)
		if c == nil && (q.ThreadID != 0 || q.Frame >= 0) {
			continue
		}
		t.probeMu.Lock()
		view, err := p.view()
		t.probeMu.Unlock()
		if err != nil {
			if p.endedBefore(err) {
				continue
			}
			return nil, nil, nil, err
		}
		if c == nil {
			return view, nil, &writer{t: t, p: p}, nil
		}
		th := c.shownThread()
		return view, th, &writer{t: t, p: p, c: c, th: th}, nil
	}
	const hint = "debug_session status lists pausedThreads; without threadId and frame globals and addresses can be read."
	switch {
	case q.ThreadID != 0:
		return nil, nil, nil, fault.New(fault.NotPaused, hint, "thread %d is not paused", q.ThreadID)
	case q.Frame >= 0 && !t.released.Load() && len(t.PIDs()) > 0:
		return nil, nil, nil, fault.New(fault.NotPaused, hint, "no thread is paused")
	}
	pid := q.PID
	if pid == 0 {
		pid = t.pid
	} else if len(t.PIDs()) > 0 {
		return nil, nil, nil, fault.New(fault.ValidationError, "debug_session status lists pids.",
			"the session has no living process %d", pid)
	}
	return nil, nil, nil, fault.New(fault.ProcessExited, "debug_query shows what was recorded.", "process %d has ended",
		pid)
}

// writer changes a process for inspect.Write.
type writer struct {
	ctx context.Context
	t   *target
	p   *process
	c   *pause           // nil: no thread's registers
	th  *snapshot.Thread // what is read of it
}

// WriteMemory implements inspect.Writer. Memory that the program itself cannot write, such as its code, is refused.
func (w *writer) WriteMemory(addr uint64, b []byte) error {
	maps, err := readMaps(w.p.pid)
	if err != nil {
		return err
	}
	for _, m := range maps {
		if addr >= m.lo && addr < m.hi && (!m.write || addr+uint64(len(b)) > m.hi) {
			return fmt.Errorf("it lies in memory that the program cannot write (%s)", m.path)
		}
	}
	return w.p.mem.Write(addr, b)
}

// paused runs f on the tracer's thread while the writer's thread is paused.
func (w *writer) paused(f func() error) error {
	if w.c == nil {
		return fmt.Errorf("no thread is paused")
	}
	return w.t.tracer.Do(w.ctx, func() error {
		if w.t.pauseOf(w.c.th) != w.c {
			return fmt.Errorf("thread %d is not paused any more", w.c.TID)
		}
		return f()
	})
}

// WriteVector implements inspect.Writer.
func (w *writer) WriteVector(n int, v [16]byte) error {
	return w.paused(func() error {
		if err := ptrace.SetVector(w.c.th.tid, n, v); err != nil {
			return err
		}
		if w.c.seen.XMM != nil {
			w.c.seen.XMM[n] = v
		}
		return nil
	})
}

// WriteRegister implements inspect.Writer.
func (w *writer) WriteRegister(n int, v uint64) error {
	return w.paused(func() error {
		regs, err := ptrace.GetRegs(w.c.th.tid)
		if err != nil {
			return err
		}
		if n == regRip {
			return fmt.Errorf("the program counter cannot be set: the thread stands at a copy of its instruction")
		}
		*[...]*uint64{&regs.Rax, &regs.Rdx, &regs.Rcx, &regs.Rbx, &regs.Rsi, &regs.Rdi, &regs.Rbp, &regs.Rsp, &regs.R8,
			&regs.R9, &regs.R10, &regs.R11, &regs.R12, &regs.R13, &regs.R14, &regs.R15}[n] = v
		if err := ptrace.SetRegs(w.c.th.tid, &regs); err != nil {
			return err
		}
		w.c.seen.Regs.Set(n, v)
		w.th.Regs.Set(n, v)
		return nil
	})
}
