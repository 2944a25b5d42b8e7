package native

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/ptrace"
	"golang.org/x/sys/unix"
)

// attachedTo reports a process that has been attached to and is not set up yet.
func (t *target) attachedTo(p *process) bool {
	return t.cmd.PID != 0 && !p.isReady()
}

// catchUp gives a child whose parent was not set up yet the hooks that are wanted now, before it runs. Tracer thread
// only.
func (t *target) catchUp(th *thread, p *process) {
	t.holdFor(th, p, func(ctx context.Context) error {
		t.probeMu.Lock()
		defer t.probeMu.Unlock()
		if t.released.Load() || p.dead.Load() {
			return nil
		}
		p.setReady()
		err := t.applyProbes(ctx, p)
		if err != nil && p.endedBefore(err) {
			return nil
		}
		return err
	})
}

// meetChildren handles the first stops of children that were announced. Tracer thread only, and not from the handler.
func (t *target) meetChildren() {
	for len(t.waiting) > 0 {
		for tid := range t.waiting {
			s, err := ptrace.WaitStop(tid)
			if err != nil && !s.Ended {
				t.forgetNew(tid)
				continue
			}
			t.stopped(s)
		}
	}
}

// removeMax bounds how long a stop goes on taking hooks out of children that were forked meanwhile.
const removeMax = 1500 * time.Millisecond

// takeOut removes every hook of every process, and says what could not be restored.
func (t *target) takeOut(ctx context.Context) error {
	t.leaving.Store(true)
	for started := time.Now(); ; {
		if _, err := t.SetTracing(ctx, collector.Tracing{}); err != nil {
			return err
		}
		bad := t.verifyRestored(ctx)
		if err := t.removeOwn(ctx); err != nil && bad == nil {
			bad = err
		}
		if err := t.settle(ctx); err != nil && bad == nil {
			bad = err
		}
		if bad == nil && !t.hooksLeft() && !t.runningOut(ctx) || time.Since(started) > removeMax || ctx.Err() != nil {
			return bad
		}
	}
}

// runningOut reports whether a thread still runs to where the agent's C ends.
func (t *target) runningOut(ctx context.Context) (any bool) {
	t.tracer.Do(ctx, func() error { //nolint:errcheck // then there is none
		for _, th := range t.threads {
			any = any || th.out != nil
		}
		return nil
	})
	return any
}

// runHeld lets threads run that are still held for their process to be set up: the kernel would deliver the SIGTRAP of
// a step, in which they stand if a system call was made in them, to a thread that it detaches.
func (t *target) runHeld(ctx context.Context) {
	err := t.tracer.Do(ctx, func() error {
		t.tracer.Settle()
		t.meetChildren()
		t.tracer.Settle()
		for _, th := range t.threads {
			if th.out != nil { // it never comes there, it seems
				th.p.halt(th)
				th.ranOut()
			}
			if th.stopped {
				t.resume(th, 0)
			}
		}
		return nil
	})
	if err != nil {
		t.log.Warn("let threads run", "pid", t.pid, "err", err)
	}
}

// hooksLeft reports hooks of functions, or of ours that have to go, in any process that lives.
func (t *target) hooksLeft() bool {
	for _, p := range t.processes() {
		if p.dead.Load() || p.detached.Load() {
			continue
		}
		if p.loader.stands {
			return true
		}
		if mask := p.mem.Mask(); mask != nil && mask.Armed() > 0 {
			return true
		}
		for _, h := range *p.hooks.Load() {
			if h != nil && h.active() && (h.own == nil || !h.own.stays()) {
				return true
			}
		}
	}
	return false
}

// copying reports a thread that is copying the process's memory to a child just now, though it seems to wait: the copy
// must not have a change half done. One that waits for its vfork child copies nothing.
func (p *process) copying(th *thread, nr int64) bool {
	switch nr {
	case unix.SYS_FORK:
		return true
	case unix.SYS_CLONE, unix.SYS_CLONE3:
	default:
		return false
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/syscall", th.p.pid, th.tid))
	if err != nil {
		return false
	}
	f := strings.Fields(string(b))
	if len(f) < 3 {
		return true // on a CPU by now
	}
	flags, err := strconv.ParseUint(f[1], 0, 64)
	if err != nil {
		return false
	}
	if nr == unix.SYS_CLONE3 {
		var word [8]byte
		if p.mem.Read(flags, word[:]) != nil {
			return false
		}
		flags = binary.LittleEndian.Uint64(word[:])
	}
	return flags&(unix.CLONE_VFORK|unix.CLONE_VM) == 0
}
