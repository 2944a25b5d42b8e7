package native

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/strobe-debug/strobe/internal/ptrace"
	"github.com/strobe-debug/strobe/internal/ring"
	"golang.org/x/sys/unix"
)

// parentage says where a new thread comes from.
type parentage struct {
	event  int
	parent *process
	tid    int   // the thread that made it, 0 if that is gone
	seen   int64 // the parent's changes when that thread was last let run before
}

// orphan is a new thread whose creator's stop has not come yet.
type orphan struct {
	stop  ptrace.Stop
	since time.Time
}

// memory is the process in whose memory the process's threads run.
func (p *process) memory() *process {
	if p.shares != nil {
		return p.shares
	}
	return p
}

// firstStop meets a new thread, before or after its creator's stop.
func (t *target) firstStop(s ptrace.Stop) {
	if from, ok := t.waiting[s.TID]; ok {
		t.adopt(s, from)
		t.forgetNew(s.TID) // behind it: until then the parent's region is kept
		return
	}
	// killStrays; or its process ended while it was born, and its creator with it
	if s.Event == ptrace.EventExit && (ptrace.Process(s.TID) != s.TID || t.stopping.Load()) {
		ptrace.Cont(s.TID, 0) //nolint:errcheck // it ends
		return
	}
	t.orphans[s.TID] = orphan{s, time.Now()}
	t.strays.Store(int32(len(t.orphans)))
}

// forgetNew ends the wait for a new thread's other report.
func (t *target) forgetNew(tid int) {
	if from, ok := t.waiting[tid]; ok {
		delete(t.waiting, tid)
		from.parent.memory().awaited.Add(-1)
	}
	delete(t.orphans, tid)
	t.strays.Store(int32(len(t.orphans)))
}

// created learns of a new thread or process from its creator's stop.
func (t *target) created(th *thread, s ptrace.Stop) {
	th.vforks = s.Event == ptrace.EventVfork
	if s.Msg != 0 {
		child, from := int(s.Msg), parentage{event: s.Event, parent: th.p, tid: th.tid, seen: th.seen}
		if first, ok := t.orphans[child]; ok {
			t.forgetNew(child)
			t.adopt(first.stop, from)
		} else if t.threads[child] == nil && (from.event != ptrace.EventClone || ptrace.Process(child) != 0) {
			// Else it has ended already.
			t.waiting[child] = from
			th.p.memory().awaited.Add(1)
		}
	}
	t.resume(th, 0)
}

// adopt takes a new thread in and lets it run.
func (t *target) adopt(s ptrace.Stop, from parentage) {
	if from.event == ptrace.EventClone && ptrace.Process(s.TID) == from.parent.pid {
		t.resume(t.addThread(from.parent, s.TID), 0)
		return
	}
	p, err := newProcess(t, s.TID)
	if err != nil {
		ptrace.Detach(s.TID, 0)
		return
	}
	root, what := from.parent.memory(), "fork"
	var why error
	if t.sharesMemory(s.TID, from) {
		p.shares, what = root, "vfork"
		p.visit(root)
	} else if why = p.adoptFork(root, s.TID, from.seen != root.changes.Load()); why != nil {
		p.lodge(root, why)
	}
	th := t.addThread(p, s.TID)
	th.stopped = true
	t.addProcess(p)
	t.note(p.pid, map[string]any{"what": what, "pid": p.pid, "parentPid": from.parent.pid})
	if why != nil {
		t.log.Warn("give a forked process rings of its own", "pid", s.TID, "err", why)
		t.warn(fmt.Sprintf("calls of processes forked by %d are not recorded: %v", root.pid, why))
	}
	if what == "fork" && t.attachedTo(p) {
		t.catchUp(th, p)
		return
	}
	t.resume(th, 0)
}

// kcmpVM asks the kernel whether two processes share their memory.
const kcmpVM = 1

// sharesMemory reports whether a new process runs in its parent's memory. What it was made by does not tell: vfork may
// copy the memory, and fork share it.
func (t *target) sharesMemory(child int, from parentage) bool {
	ask := func(tid int) (shared, known bool) {
		r, _, errno := syscall.Syscall6(unix.SYS_KCMP, uintptr(child), uintptr(tid), kcmpVM, 0, 0, 0)
		return r == 0, errno == 0
	}
	if from.tid == 0 {
		return false // with its parent gone, the memory is its own
	}
	if shared, known := ask(from.tid); known {
		return shared
	}
	for _, th := range from.parent.memory().threads {
		if shared, known := ask(th.tid); known {
			return shared
		}
	}
	return from.event == ptrace.EventVfork
}

// visit makes the process's threads write to a host's region. Two of them may have one FS base. Tracer thread only.
func (p *process) visit(host *process) {
	p.host = host
	host.visits++
	host.hosting.Store(true)
	host.withRegion(func(r *ring.Region) { host.setFlags(ring.FlagByTID) })
}

// leave ends a visit.
func (p *process) leave() {
	if p.visits--; p.visits == 0 {
		p.withRegion(func(r *ring.Region) { p.clearFlags(ring.FlagByTID) })
		p.hosting.Store(false)
	}
}

// withRegion calls fn if the process has its region still.
func (p *process) withRegion(fn func(r *ring.Region)) {
	p.regionMu.RLock()
	defer p.regionMu.RUnlock()
	if p.injected.Load() && !p.released {
		fn(p.region)
	}
}

// retireThread marks the ring of a thread that will write no more.
func (p *process) retireThread(tid int) {
	p.withRegion(func(r *ring.Region) {
		if r.HasRing(uint32(tid)) {
			r.RetireThread(uint32(tid))
		}
	})
}

// lodge leaves a forked child in its parent's region, because no system call can be made in it: its hooks are taken
// out, and what frames of stubs on its stack still write goes to a ring of its own.
func (p *process) lodge(host *process, why error) {
	p.unfit.Store(&why)
	if host.host != nil {
		host = host.host
	}
	p.regionAddr = host.regionAddr
	p.visit(host)
	p.changing()
	for _, covered := range []bool{false, true} { // what stands on another leaves that there
		for _, h := range *p.hooks.Load() {
			if h == nil {
				continue
			}
			for _, s := range h.sites {
				if s.active && p.covered(s) == covered {
					s.active = false
					p.mem.Write(s.addr, s.orig)
				}
			}
		}
	}
	for at, ps := range p.standing {
		p.mem.Write(ps.site.addr, ps.site.orig)
		p.setPoint(at, nil)
	}
	clear(p.standing)
	p.trapMu.Lock()
	for _, tr := range p.traps {
		tr.active = false
	}
	p.trapMu.Unlock()
	p.dropBreak()
}

// reconcile gives a forked child what was changed in its parent's memory after the fork and before we heard of it, so
// that its memory is what its hooks say. Tracer thread only; r is its only thread.
func (p *process) reconcile(parent *process, r *remote) error {
	p.mu.Lock()
	arenas, hooks := p.arenas, *p.hooks.Load()
	p.mu.Unlock()
	for _, a := range arenas {
		b := make([]byte, a.next-a.lo)
		if parent.mem.Read(a.lo, b) != nil {
			return fmt.Errorf("copy stubs of process %d: it has ended", parent.pid)
		}
		if p.mem.Write(a.lo, b[:8]) != nil {
			flags := unix.MAP_PRIVATE | unix.MAP_ANONYMOUS | unix.MAP_NORESERVE | unix.MAP_FIXED_NOREPLACE
			if _, err := r.mmap(a.lo, a.hi-a.lo, unix.PROT_READ|unix.PROT_EXEC, flags, -1); err != nil {
				return fmt.Errorf("map stubs in process %d: %w", p.pid, err)
			}
		}
		if err := p.mem.Write(a.lo, b); err != nil {
			return err
		}
	}
	patched := map[uint64]bool{}
	// where two hooks share a place, the active one counts, and the upper of two
	for _, active := range []bool{false, true} {
		for _, h := range hooks {
			if h == nil {
				continue
			}
			for _, s := range h.sites {
				if s.active != active || s.orig[0] == 0 && !active || active && p.covered(s) {
					continue
				}
				patched[s.addr] = active
				if err := p.settleSite(s); err != nil {
					return err
				}
			}
		}
	}
	// of a step that ended, or began, meanwhile: an int3 that nobody knows would be met for ever
	for _, s := range p.stepSites {
		if _, other := patched[s.addr]; other || s.orig[0] == 0 && !s.active {
			continue
		}
		if err := p.settleSite(s); err != nil {
			return err
		}
	}
	p.settlePoints(parent, patched)
	if brk := p.loader.brk; brk != 0 && !patched[brk] {
		b := []byte{p.loader.byte0}
		if p.loader.stands {
			b[0] = int3
		}
		return p.mem.Write(brk, b)
	}
	return nil
}

// settlePoints is settleSite for points, of which those that were taken out are not known any more: what the parent has
// where an int3 stands or stood is right for the child, too.
func (p *process) settlePoints(parent *process, patched map[uint64]bool) {
	p.trapMu.RLock()
	defer p.trapMu.RUnlock()
	for at, tr := range p.traps {
		if _, other := patched[at]; other || tr.loader || p.moduleAt(at) == nil {
			continue
		}
		for _, n := range [...]int{jumpBytes, 1} {
			want, now := make([]byte, n), make([]byte, n)
			if parent.mem.Read(at, want) == nil && p.mem.Read(at, now) == nil {
				if string(now) != string(want) && (now[0] == int3 || now[0] == jmpRel32 || want[0] == int3 || want[0] == jmpRel32) {
					p.mem.Write(at, want)
				}
				break
			}
		}
	}
}

// settleSite makes a place what it should be, if the patch or its beginning stands there and should not, or the
// reverse.
func (p *process) settleSite(s *site) error {
	now := make([]byte, len(s.patch))
	if p.mem.Read(s.addr, now) != nil {
		return nil // unmapped
	}
	if s.active && string(now) != string(s.patch) {
		return p.mem.Write(s.addr, s.patch)
	}
	if !s.active && (string(now) == string(s.patch) || now[0] == int3 && s.orig[0] != int3) {
		return p.mem.Write(s.addr, s.orig)
	}
	return nil
}

// killStrays kills the children whose makers' stops have not come, and waits for none that is not there: a maker that
// is killed amid its stop gives its own end for the child's number.
func (t *target) killStrays() {
	if t.live.Load() > 0 {
		t.spawn(func() {
			t.tracer.Do(context.Background(), func() error { //nolint:errcheck // it has ended
				for tid := range t.waiting {
					if by := ptrace.StatusField(tid, "TracerPid"); by == "" || by == "0" { // gone, or nobody's
						t.forgetNew(tid)
					}
				}
				t.live.Store(t.alive())
				for tid := range t.orphans {
					unix.Kill(tid, unix.SIGKILL) //nolint:errcheck // it has ended
					ptrace.Cont(tid, 0)          //nolint:errcheck // as above
				}
				return nil
			})
		})
	}
}

// A process that is killed while it forks may leave a child whose maker's stop never comes. How long one waits for it,
// how long what the child needs of its parent is kept, and when to give up.
const (
	strayAfter = 20 * time.Millisecond
	lingerFor  = time.Second
	strayMost  = 5 * time.Second

	strayThread = 500 * time.Millisecond // of a process that lives: its creator's report is on its way
)

// processOf returns the living process of a number. Tracer thread only.
func (t *target) processOf(pid int) *process {
	for _, p := range t.processes() {
		if p.pid == pid && !p.dead.Load() {
			return p
		}
	}
	return nil
}

// seekStrays looks for children whose parents are gone, if there are any whose parents are not known. Drain goroutine.
func (t *target) seekStrays() {
	if t.strays.Load() > 0 && t.seeking.CompareAndSwap(false, true) {
		t.spawn(func() {
			defer t.seeking.Store(false)
			t.tracer.Do(context.Background(), func() error { t.adoptStrays(); return nil })
		})
	}
}

func (t *target) adoptStrays() {
	for tid, o := range t.orphans {
		if time.Since(o.since) < strayAfter {
			continue
		}
		if pid := ptrace.Process(tid); pid != tid { // a thread, which waits for its creator's report
			if p := t.processOf(pid); p != nil && time.Since(o.since) > strayThread {
				t.forgetNew(tid)
				t.adopt(o.stop, parentage{event: ptrace.EventClone, parent: p})
			}
			continue
		}
		origin := t.originOf(tid)
		switch {
		case origin != nil && origin.dead.Load():
			t.adopt(o.stop, parentage{event: ptrace.EventFork, parent: origin, seen: -1})
			t.forgetNew(tid)
		case time.Since(o.since) > strayMost:
			t.forgetNew(tid)
			t.warn(fmt.Sprintf("process %d is not traced: it is not known where it comes from", tid))
			ptrace.Detach(tid, 0)
		}
	}
	t.live.Store(t.alive())
}

// originOf finds the process that a new one is a copy of, by the region that both have mapped, else by where its
// program is.
func (t *target) originOf(tid int) *process {
	maps, err := readMaps(tid)
	if err != nil || len(maps) == 0 {
		return nil
	}
	all := append(t.processes(), t.ghosts...)
	for _, m := range maps {
		for _, p := range all {
			if p.injected.Load() && m.lo == p.regionAddr && m.inode == p.inode {
				return p
			}
		}
	}
	for i := len(all) - 1; i >= 0; i-- {
		if p := all[i]; p.dead.Load() && !p.injected.Load() && len(p.modules) > 0 && p.modules[0].path == maps[0].path &&
			p.modules[0].lo == maps[0].lo {
			return p
		}
	}
	return nil
}

// haunt keeps an ended image for the children that it may have left. Tracer thread only.
func (t *target) haunt(p *process) {
	keep := t.ghosts[:0]
	for _, g := range t.ghosts {
		if time.Since(g.died) < lingerFor || t.strays.Load() > 0 {
			keep = append(keep, g)
		}
	}
	clear(t.ghosts[len(keep):])
	t.ghosts = keep
	// where another thread exits, this is how the one that forks ends
	if p.exit.Signal == unix.SignalName(unix.SIGKILL) || p.threaded {
		p.died = time.Now()
		p.lingers.Store(true)
		t.ghosts = append(t.ghosts, p)
	}
}

// needed reports whether a child may still have to copy the ended process's region.
func (p *process) needed() bool {
	select {
	case <-p.t.allGone:
		return false
	default:
	}
	return p.awaited.Load() > 0 || p.lingers.Load() && (p.t.strays.Load() > 0 || time.Since(p.died) < lingerFor)
}

// maxCommand bounds what an exec's event says of its arguments, in bytes.
const maxCommand = 200

// commandOf is a process's program and its arguments, shortened.
func commandOf(pid int) string {
	exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	args := strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
	text := exe
	for i, a := range args[1:] {
		if a == "" || strings.ContainsAny(a, " \t\n'\"") {
			a = fmt.Sprintf("%q", a)
		}
		if len(text)+1+len(a) > maxCommand {
			return fmt.Sprintf("%s …(+%d arguments)", text, len(args)-1-i)
		}
		text += " " + a
	}
	return text
}
