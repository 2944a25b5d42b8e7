package native

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/strobe-debug/strobe/internal/ptrace"
	"github.com/strobe-debug/strobe/internal/ring"
	"golang.org/x/sys/unix"
)

// ownHook describes a hook of Strobe's own. They stand only while patterns need them: the loader's while there are
// patterns, the unwinders' while functions are hooked, and then until no frame of a stub is left that an exception
// could meet. LeakSanitizer's stays. Those of exceptions stand while @exceptions is wanted (exceptions_linux_amd64.go).
type ownHook struct {
	flags uint32 // ring.HookSync and so on
	index uint32 // of the unwinder
	addr  uint64 // of the function
}

// stays reports a hook that may outlive the tracing: it works without us.
func (o *ownHook) stays() bool { return o.flags == ring.HookUnwind || o.flags == ring.HookFindFDE }

// ownMissing returns the sites of own hooks that are wanted and out of place. probeMu is held.
func (p *process) ownMissing(unwinders bool) []*site {
	var add []*site
	for _, h := range *p.hooks.Load() {
		if h == nil || h.own == nil || h.active() || !p.unwindID[h.own.addr] { // the last: its module is gone
			continue
		}
		if h.own.flags == ring.HookSync || h.own.flags != ring.HookLeave && h.own.flags != hookOnce &&
			h.own.flags != hookException && h.own.flags != hookSockets &&
			h.own.flags != hookLocks && !h.own.ofWrites() && unwinders {
			add = append(add, h.sites...)
		}
	}
	return add
}

// retireOwn takes out what is not wanted any more. Where the unwinders' hooks have to stay it tries again later.
// probeMu is held.
func (p *process) retireOwn(ctx context.Context, loads, unwinders bool) error {
	var remove, unwind []*site
	done := true
	for _, h := range *p.hooks.Load() {
		switch {
		case h == nil || h.own == nil || !h.active() || h.own.flags == ring.HookLeave || h.own.flags == hookException ||
			h.own.flags == hookSockets || h.own.flags == hookLocks || h.own.ofWrites():
		case h.own.flags == ring.HookSync:
			if !loads {
				remove = append(remove, h.sites...)
			}
		case !unwinders:
			unwind = append(unwind, h.sites...)
			done = done && p.unwinderKnows(h.own.index)
		}
	}
	if len(unwind) > 0 {
		free := done
		if !free {
			var err error
			if free, err = p.framesSoonGone(ctx); err != nil {
				return err
			}
		}
		if free {
			remove = append(remove, unwind...)
		} else {
			p.retireLater()
		}
	}
	if len(remove) == 0 {
		return nil
	}
	return p.t.tracer.Do(ctx, func() error { return p.apply(nil, remove) })
}

// soon is how long the call that takes the last pattern away waits for hooked functions to return.
const soon = 25 * time.Millisecond

func (p *process) framesSoonGone(ctx context.Context) (bool, error) {
	tick := time.NewTicker(soon / 8)
	defer tick.Stop()
	for started := time.Now(); ; {
		gone, err := p.framesGone(ctx)
		if gone || err != nil || time.Since(started) > soon {
			return gone, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

// unwinderKnows reports whether every stub's unwind entry is registered with an unwinder.
func (p *process) unwinderKnows(index uint32) bool {
	c := p.region.Control()
	return atomic.LoadUint32(&c.Unwind[index%ring.MaxUnwind].Done) >= c.ArenaCount
}

// How often retireLater looks for frames: soon after the patterns went, then seldom.
const (
	retireFirst = 100 * time.Millisecond
	retireMost  = 10 * time.Second
)

// retireLater tries to take the unwinders' hooks out until it succeeded, hooks are wanted again, or the process is
// gone.
func (p *process) retireLater() {
	if !p.retiring.CompareAndSwap(false, true) {
		return
	}
	p.t.spawn(func() {
		defer p.retiring.Store(false)
		wait := retireFirst
		timer := time.NewTimer(wait)
		defer timer.Stop()
		for {
			select {
			case <-p.t.allGone:
				return
			case <-timer.C:
			}
			if p.dead.Load() || p.detached.Load() || p.t.released.Load() || !p.retireAgain() {
				return
			}
			wait = min(wait*2, retireMost)
			timer.Reset(wait)
		}
	})
}

// retireAgain reports whether hooks of unwinders still wait for their end.
func (p *process) retireAgain() (more bool) {
	t := p.t
	t.probeMu.Lock()
	defer t.probeMu.Unlock()
	var unwind []*site
	for _, h := range *p.hooks.Load() {
		switch {
		case h == nil || !h.active():
		case h.fn != nil:
			return false // wanted again
		case h.own != nil && h.own.stays():
			unwind = append(unwind, h.sites...)
		}
	}
	if len(unwind) == 0 {
		return false
	}
	free, err := p.framesGone(context.Background())
	if err != nil || !free {
		return err == nil
	}
	return t.tracer.Do(context.Background(), func() error { return p.apply(nil, unwind) }) == nil
}

// releaseWait bounds how long a target that is let go may take to leave the stubs.
const releaseWait = time.Second

// removeOwn takes Strobe's own hooks out, for good. The hook of an unwinder that could meet a stub's frame stays: it
// works without us, and without it an exception would end the program.
func (t *target) removeOwn(ctx context.Context) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for _, p := range t.processes() {
		if p.dead.Load() || p.shares != nil {
			continue
		}
		if err := t.tracer.Do(ctx, p.dropBreak); err != nil && !p.endedBefore(err) {
			return err
		}
		if !p.injected.Load() {
			continue
		}
		for started := time.Now(); p.retireAgain() && time.Since(started) < releaseWait; {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if err := t.removeRest(ctx, p); err != nil && !p.endedBefore(err) {
			return err
		}
	}
	return nil
}

func (t *target) removeRest(ctx context.Context, p *process) error {
	t.probeMu.Lock()
	defer t.probeMu.Unlock()
	var remove []*site
	for _, h := range *p.hooks.Load() {
		switch {
		case h == nil || !h.active():
		case h.own == nil || !h.own.stays():
			remove = append(remove, h.sites...)
		default:
			t.warn(fmt.Sprintf("process %d keeps one hook, in its unwinder: functions that were hooked have not returned, and "+
				"an exception could pass through them", p.pid))
		}
	}
	return t.tracer.Do(ctx, func() error { return p.apply(nil, remove) })
}

// maxStackScan bounds how much of a thread's stack is searched for frames of stubs.
const maxStackScan = 64 << 20

// framesGone reports that no thread is in a stub or has to return through one. Hooks of functions are out of place
// already, so that no new frame appears. In doubt it says no.
func (p *process) framesGone(ctx context.Context) (bool, error) {
	if p.stacks.Load() { // signal stacks, fibres: their frames may lie anywhere
		return false, nil
	}
	gone := true
	err := p.t.tracer.Do(ctx, func() error {
		resume := p.haltRunning()
		defer resume()
		maps, err := readMaps(p.pid)
		if err != nil {
			return err
		}
		for _, th := range p.allThreads() {
			gone = gone && p.threadFree(th, maps)
		}
		return nil
	})
	return gone, err
}

// threadFree reports that one thread is not in a stub and has none to return through. Tracer thread only.
func (p *process) threadFree(th *thread, maps []mapping) bool {
	pc, sp, waits := waitsAt(th.p.pid, th.tid)
	if !waits {
		regs, err := ptrace.GetRegs(th.tid)
		if err != nil {
			return err == unix.ESRCH
		}
		pc, sp = regs.Rip, regs.Rsp
	}
	if p.ours(pc) || !p.stackFree(sp, maps) {
		return false
	}
	if !waits {
		return true
	}
	// It may have woken meanwhile, and returned into a stub through a word that the search came to too late.
	pc, _, waits = waitsAt(th.p.pid, th.tid)
	return waits && !p.ours(pc)
}

// ours reports whether an address is in a stub or in the agent.
func (p *process) ours(pc uint64) bool { return p.inStub(pc) || pc-p.regionAddr < ring.CodeBytes }

// stackFree reports that no word of a thread's stacks, from sp up, leads into a stub.
func (p *process) stackFree(sp uint64, maps []mapping) bool {
	known := true
	read := func(sp uint64) []byte {
		for _, m := range maps {
			if sp < m.lo || sp >= m.hi {
				continue
			}
			if m.hi-sp > maxStackScan {
				known = false
				return []byte{}
			}
			b := make([]byte, (m.hi-sp)&^7)
			known = known && p.mem.Read(sp, b) == nil
			return b
		}
		return nil
	}
	return p.eachStack(sp, read, func(b []byte) bool {
		for ; len(b) >= 8; b = b[8:] {
			if p.inStub(binary.LittleEndian.Uint64(b)) {
				return false
			}
		}
		return known
	})
}

// waitsAt returns where a thread waits in a system call. False: it does not, or is stopped.
func waitsAt(pid, tid int) (pc, sp uint64, ok bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/syscall", pid, tid))
	if err != nil {
		return 0, 0, false
	}
	f := strings.Fields(string(b))
	if len(f) < 3 {
		return 0, 0, false
	}
	sp, err1 := strconv.ParseUint(f[len(f)-2], 0, 64)
	pc, err2 := strconv.ParseUint(f[len(f)-1], 0, 64)
	return pc, sp, err1 == nil && err2 == nil
}

// hookOnce marks a hook that is never patched in: a thread is sent to its stub.
const hookOnce = 1 << 16

// registerFrames sends the thread that stands at the loader's notification, while the program has no other thread and
// has run nothing of its own, through the registration of the stubs' frames with the C++ unwinder. So the unwinder's
// hook can be taken out whenever the patterns are, also while functions that were hooked have not returned.
func (p *process) registerFrames(ctx context.Context) (stub uint64, ok bool) {
	if !p.injected.Load() {
		return 0, false
	}
	c := p.region.Control()
	if p.t.cmd.PID != 0 || c.ArenaCount == 0 || c.UnwindCount == 0 || c.Unwind[0].LLVM != 0 ||
		c.Flags&ring.FlagShadow != 0 || !strings.Contains(p.loader.path, "ld-linux") {
		return 0, false
	}
	for _, m := range p.modules {
		if m.path != p.loader.path || m.mod == nil {
			continue
		}
		a, size, found := m.mod.Symbol("_dl_debug_state")
		if !found || uint64(a)+m.bias != p.loader.brk {
			return 0, false
		}
		code, pad := ownCode(m.mod, a, size)
		h, err := p.own(ctx, nil, m, code, p.loader.brk, pad, ring.HookUnwind, 0, slotEnterOnly)
		if err != nil {
			return 0, false
		}
		h.own.flags = hookOnce
		return h.sites[0].to, true
	}
	return 0, false
}
