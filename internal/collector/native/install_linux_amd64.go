package native

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"

	"github.com/strobe-debug/strobe/internal/ptrace"
	"golang.org/x/sys/unix"
)

// site is one patched place: the original bytes and how to undo the patch.
type site struct {
	addr   uint64
	orig   []byte            // as long as patch
	patch  []byte            // jmp rel32, jmp rel8, or int3
	entry  uint64            // of an island, the jmp rel32 that a function's jmp rel8 leads to: where that one is; else 0
	to     uint64            // the stub, for a thread that meets the int3
	behind uint64            // the displaced instructions in the stub
	moves  map[uint64]uint64 // addresses inside the patch to their copies in the stub
	step   stepSite          // of a function that a step looks out for
	throw  throwKind         // of a function of a runtime that throws or catches
	active bool
	point  *pointSite // what stands there, if it is a breakpoint
	golang *goSite    // of a function of Go's
}

const (
	int3     = 0xcc
	jmpRel32 = 0xe9 // with four bytes of distance
)

// apply makes the sites of add patched and those of remove original again, while the program runs. Tracer thread only.
//
// First every new site gets an int3 at its first byte, then threads that compute are halted, then the rest is written.
// Threads that wait in the kernel are not halted: none of them can be inside a patched range (no window holds a system
// call), and whoever wakes up and goes there meets the int3; its trap is handled afterwards. The order matters: a
// thread that woke between the halt and the int3 could stand inside a window.
func (p *process) apply(add, remove []*site) error {
	quiet := p.onlyThreadStopped()
	remove = p.uncover(remove)
	ws := windowsOf(add)
	if err := p.readSites(ws); err != nil {
		return err
	}
	p.setTraps(add, remove)
	h := &halt{p: p, all: true}
	defer h.resume()
	if !quiet {
		for _, s := range add {
			if err := p.mem.Write(s.addr, []byte{int3}); err != nil {
				return err
			}
		}
		h.running(nil)
	}
	h.clear(add, ws, func() { p.spareParked(add) })
	for _, s := range remove {
		if s.entry != 0 && !p.leaveIsland(s, h.all) {
			s.active = false // nobody comes there any more: its bytes were padding
			continue
		}
		if err := p.unpatch(s); err != nil {
			return err
		}
	}
	if quiet {
		return p.patchQuiet(ws)
	}
	return p.patch(add)
}

// uncover takes sites out of remove that others stand on, which will leave there what those would have left.
func (p *process) uncover(remove []*site) (rest []*site) {
	for _, s := range remove {
		o := p.above(s)
		if o == nil {
			rest = append(rest, s)
			continue
		}
		p.trapMu.Lock()
		p.dropTrap(s)
		p.trapMu.Unlock()
		if s.active = false; len(s.orig) > len(o.orig) {
			p.mem.Write(s.addr+uint64(len(o.orig)), s.orig[len(o.orig):]) //nolint:errcheck // unmapped by now
		}
		copy(o.orig, s.orig)
	}
	return rest
}

// exchange is apply where sites of add may stand where sites of remove do. What has the same window is written over the
// other. Else those are made original first, with the program halted in between: a thread that wakes up in the kernel
// then may pass the place.
func (p *process) exchange(add, remove []*site) error {
	add, remove, err := p.replaceSites(add, remove)
	if err != nil {
		return err
	}
	at := map[uint64]bool{}
	for _, s := range add {
		at[s.addr] = true
	}
	var first, rest []*site
	for _, s := range remove {
		if at[s.addr] {
			first = append(first, s)
		} else {
			rest = append(rest, s)
		}
	}
	if len(first) > 0 {
		defer p.haltRunning()()
		if err := p.apply(nil, first); err != nil {
			return err
		}
	}
	if len(add)+len(rest) == 0 {
		return nil
	}
	return p.apply(add, rest)
}

// patch writes the new bytes; the int3 stands already.
func (p *process) patch(add []*site) error {
	for _, s := range add {
		if len(s.patch) > 1 {
			if err := p.mem.Write(s.addr+1, s.patch[1:]); err != nil {
				return err
			}
		}
	}
	for _, s := range add {
		if err := p.mem.Write(s.addr, s.patch[:1]); err != nil {
			return err
		}
		s.active = true
	}
	return nil
}

// unpatch restores one site, if our patch still stands there: the module may have been replaced.
func (p *process) unpatch(s *site) error {
	s.active = false
	now := make([]byte, len(s.patch))
	if err := p.mem.Read(s.addr, now); err != nil || !bytes.Equal(now, s.patch) {
		return nil // unmapped, or other code by now
	}
	if len(s.patch) > 1 {
		if err := p.mem.Write(s.addr, []byte{int3}); err != nil {
			return err
		}
		if err := p.mem.Write(s.addr+1, s.orig[1:]); err != nil {
			return err
		}
	}
	return p.mem.Write(s.addr, s.orig[:1])
}

// setTraps tells the stop handler what an int3 at each site means. Entries stay after removal: a thread
// may have met the int3 just before.
func (p *process) setTraps(add, remove []*site) {
	p.changing()
	p.trapMu.Lock()
	defer p.trapMu.Unlock()
	for _, s := range remove {
		p.dropTrap(s)
	}
	all := make([]trap, len(add))
	if len(p.traps) < len(add) { // it would grow again and again
		more := make(map[uint64]*trap, len(p.traps)+len(add))
		maps.Copy(more, p.traps)
		p.traps = more
	}
	for i, s := range add {
		all[i] = trap{to: s.to, behind: s.behind, active: true, throw: s.throw, point: s.point, step: s.step}
		if was := p.traps[s.addr]; was != nil && was.active && !was.loader && !was.is(s) {
			all[i].below = was
		}
		p.traps[s.addr] = &all[i]
	}
}

// dropTrap takes a site's trap away. What stands below it counts again; what stands above it stays. trapMu is held.
func (p *process) dropTrap(s *site) {
	t := p.traps[s.addr]
	switch {
	case t == nil:
	case t.is(s) && t.below != nil:
		p.traps[s.addr] = t.below
	case t.is(s) || t.below == nil:
		t.active = false
	default:
		for up := t; up.below != nil; up = up.below {
			if up.below.is(s) {
				up.below = up.below.below
				return
			}
		}
	}
}

// above is the site that stands directly on another one, nil if none does.
func (p *process) above(s *site) *site {
	p.trapMu.RLock()
	t := p.traps[s.addr]
	for t != nil && t.below != nil && !t.below.is(s) {
		t = t.below
	}
	p.trapMu.RUnlock()
	if t == nil || t.below == nil {
		return nil
	}
	for _, h := range *p.hooks.Load() {
		if h == nil {
			continue
		}
		for _, o := range h.sites {
			if o.addr == s.addr && o.active && t.is(o) {
				return o
			}
		}
	}
	return nil
}

// covered reports whether another site stands on this one.
func (p *process) covered(s *site) bool {
	p.trapMu.RLock()
	defer p.trapMu.RUnlock()
	t := p.traps[s.addr]
	return t != nil && t.below != nil && !t.is(s)
}

// metTrap reports that a stopped thread has just run an int3, which is still to be handled: it stands behind the first
// byte of a window for that reason, and not because it ran an instruction of one byte there. Its SIGTRAP is being
// reported, or it waits behind the halt that we asked for.
func metTrap(pid, tid int) bool {
	info, err := ptrace.GetSiginfo(tid)
	if err == nil && info.Signal() == unix.SIGTRAP && info.Code() == ptrace.TrapKernel {
		return true
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/status", pid, tid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(b), "SigPnd:\t")
	mask, _, _ := strings.Cut(rest, "\n")
	pending, err := strconv.ParseUint(mask, 16, 64)
	return err == nil && pending&(1<<(unix.SIGTRAP-1)) != 0
}

// onlyThreadStopped reports whether nothing of the process can run: it has one thread, and that is stopped.
func (p *process) onlyThreadStopped() bool {
	all := p.allThreads()
	return len(all) == 1 && all[0].stopped
}

// runs reports that a thread which was to be halted may run on.
func (p *process) runs(th *thread) bool {
	return !th.vforks && !ptrace.Ends(th.tid) && !p.awaitsChild(th)
}

// allThreads returns the threads that run in the process's memory: its own, and those of its vfork children.
func (p *process) allThreads() []*thread {
	var all []*thread
	for _, th := range p.t.threads {
		if th.p == p || th.p.shares == p {
			all = append(all, th)
		}
	}
	return all
}
