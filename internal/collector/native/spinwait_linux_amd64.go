package native

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/strobe-debug/strobe/internal/ptrace"
	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/spin"
	"github.com/strobe-debug/strobe/internal/unwind"
	"github.com/strobe-debug/strobe/internal/waits"
)

// A thread that runs may only wait: it reads a word of memory over and over until another one writes there. A copy of
// it is run on in an interpreter (package spin) over the memory as it is, while it runs on itself; that finds the loop
// and by what it goes on. A while later the thread must still be in that loop, must not have slept, and what it reads
// must be what it was.

const (
	spinTries = 6 // at a thread that is met in a hook of ours
	// a spinning thread's share of the time between two looks, on a CPU or in wait for one
	spinShare = 0.8
)

// spinWait is one thread that may spin.
type spinWait struct {
	one   *spinning
	seen  *seen
	look  *look
	usage int64 // on a CPU or in wait for one
	at    time.Time
	ok    bool
	addrs []uint64
	words [][8]byte
}

// lookAtSpins finds out which of the threads that run wait for a word of memory, and says so of them.
func (t *target) lookAtSpins(ctx context.Context, s *survey) error {
	var all []*spinWait
	for _, l := range s.looks {
		for _, one := range l.seen {
			if one.thread.State == waits.Running && len(all) < maxSpinning && one.thread.Wait == nil {
				all = append(all, &spinWait{seen: one, look: l,
					one: &spinning{p: l.p, view: l.view, tid: one.thread.TID}})
			}
		}
	}
	if len(all) == 0 || t.cmd.Glance {
		return nil
	}
	for _, w := range all {
		for range spinTries {
			again, err := w.read(ctx)
			if err != nil {
				return err
			}
			if !again {
				break
			}
		}
		w.prove()
	}
	all = slices.DeleteFunc(all, func(w *spinWait) bool { return len(w.addrs) == 0 })
	if len(all) == 0 {
		return nil
	}
	timer := time.NewTimer(secondLook)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	for _, w := range all {
		if w.still() {
			w.tell(s, all)
		}
	}
	return nil
}

// read copies the thread's registers and the top of its stack. again: it was met in a hook of ours.
func (w *spinWait) read(ctx context.Context) (again bool, err error) {
	s := w.one
	err = s.p.t.tracer.Do(ctx, func() error {
		th := s.p.t.threads[s.tid]
		if th == nil || th.stopped || th.p != s.p {
			return nil
		}
		resume, ok := s.p.haltSoon(th)
		if !ok {
			return nil
		}
		defer resume()
		s.hooks = s.p.patches()
		if again = s.inHook(); again {
			return nil
		}
		var vec ptrace.Vectors
		var bad error
		if s.regs, vec, bad = s.registers(); bad != nil || restarts(&s.regs) || ptrace.Interrupted(&s.regs) {
			return nil
		}
		s.lo, s.stack = s.p.copyStack(s.regs.Rsp, make([]byte, stackBytes))
		s.th = emulated(&s.regs, vec)
		w.ok = true
		return nil
	})
	return again, err
}

// restarts reports whether a thread is to make a system call again, or finds that it was interrupted.
func restarts(regs *ptrace.Regs) bool {
	return int64(regs.Orig_rax) >= 0 && int64(regs.Rax) < 0 && int64(regs.Rax) >= -4095
}

// prove runs a copy on.
func (w *spinWait) prove() {
	s := w.one
	if !w.ok {
		return
	}
	u, counted := usageOf(s.p.pid, s.tid)
	if !counted {
		return
	}
	w.usage, w.at = u.Running+u.Runnable, time.Now()
	m := s.memory()
	m.Memory = &stackMemory{mem: s.p.mem, lo: s.lo, copy: s.stack}
	// a lock in memory shared with others is waited for in the same way
	m.shared = slices.DeleteFunc(m.shared, func(r mapping) bool { return r.shared })
	s.sys = &spin.System{Memory: m, Outer: s.outer(), Text: sync.OnceValue(s.text)}
	if s.res = spin.Polling(s.sys, &s.th); !s.res.Endless {
		return
	}
	for _, a := range spin.Polled(s.sys, &s.th, &s.res) {
		var b [8]byte
		if s.p.mem.Read(a, b[:]) == nil && s.writable(a) {
			w.addrs, w.words = append(w.addrs, a), append(w.words, b)
		}
	}
}

// writable reports whether anybody can change what is at an address.
func (s *spinning) writable(a uint64) bool {
	for i := range s.view.Maps {
		if m := &s.view.Maps[i]; a >= m.Lo && a < m.Hi {
			return m.Write
		}
	}
	return false
}

// still reports whether the thread is where it was, has not slept, and reads what it read.
func (w *spinWait) still() bool {
	u, ok := usageOf(w.one.p.pid, w.one.tid)
	if !ok || taskState(w.one.p.pid, w.one.tid) != 'R' {
		return false
	}
	// what the kernel counts comes up to a few ms late
	busy := float64(u.Running + u.Runnable - w.usage)
	if busy < spinShare*float64(time.Since(w.at))-float64(4*time.Millisecond) {
		return false
	}
	for i, a := range w.addrs {
		var b [8]byte
		if w.one.p.mem.Read(a, b[:]) != nil || b != w.words[i] {
			return false
		}
	}
	return true
}

// tell says it of the thread.
func (w *spinWait) tell(s *survey, all []*spinWait) {
	a := w.addrs[0]
	wait := &waits.Wait{Kind: "spin", Object: fmt.Sprintf("%#x", a), Name: w.look.nameOf(w.seen, a)}
	if len(w.addrs) > 1 {
		if wait.Detail = w.look.nameOf(w.seen, w.addrs[1]); wait.Detail == "" {
			wait.Detail = fmt.Sprintf("%#x", w.addrs[1])
		}
		wait.Detail = "and " + wait.Detail
	}
	wait.Owner, wait.OwnerKnownBy = w.owner(s, all)
	w.seen.thread.Wait = wait
}

// owner is the thread that holds what a thread waits for: which the agent knows of locks of the C library, or the word
// itself says, or only one other thread's stack speaks for.
func (w *spinWait) owner(s *survey, all []*spinWait) (tid int, how string) {
	p, a, own := w.one.p, w.addrs[0], w.one.tid
	if tid := p.holder(a); tid != 0 && tid != own {
		return tid, "lock"
	}
	value := int(uint32(le64(w.words[0][:])) &^ (3 << 30)) // the bits of the C library's locks are not the owner's
	var guess []int
	for _, one := range s.seen {
		switch th := one.thread; {
		case th.PID != p.pid || th.TID == own:
		case value > 1 && (value == th.TID || value == th.Local):
			return th.TID, "lock"
		case slices.ContainsFunc(all, func(o *spinWait) bool {
			return o.one.tid == th.TID && slices.Contains(o.addrs, a)
		}):
		case w.look.mentions(one, a):
			guess = append(guess, th.TID)
		}
	}
	if len(guess) == 1 {
		return guess[0], "guess"
	}
	return 0, ""
}

// holder is the thread that holds a lock as far as @locks knows, 0: none.
func (p *process) holder(lock uint64) int {
	p.regionMu.Lock()
	defer p.regionMu.Unlock()
	if p.released || !p.injected.Load() || p.region == nil || p.shares != nil {
		return 0
	}
	for i := range p.region.Rings() {
		switch atomic.LoadUint32(p.region.State(i)) {
		case ring.RingFree:
			return 0
		case ring.RingUsed:
			h := p.region.Header(i)
			for k := range min(int(atomic.LoadUint32(&h.Locks.Count)), ring.MaxHeld) {
				if held := &h.Locks.Held[k+1]; atomic.LoadUint64(&held.Lock) == lock {
					return int(h.TID)
				}
			}
		}
	}
	return 0
}

// polled names what the loop reads that decides how it goes on.
func (s *spinning) polled() string {
	if s.sys == nil || s.rest != nil {
		return ""
	}
	for _, a := range spin.Polled(s.sys, &s.th, &s.res) {
		if !s.writable(a) {
			continue
		}
		u := unwind.New(&stackMemory{mem: s.p.mem, lo: s.lo, copy: s.stack}, s.view.Modules,
			unwind.Options{Stub: s.view.Stub, MaxFrames: nameFrames})
		one := &seen{p: s.p, thread: &waits.Thread{PID: s.p.pid, TID: s.tid}}
		one.take(u.Walk(regsOf(&s.regs)), u)
		if name := (&look{p: s.p, view: s.view}).nameOf(one, a); name != "" {
			return name
		}
		return hex(a)
	}
	return ""
}
