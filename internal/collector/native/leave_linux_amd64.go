package native

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/strobe-debug/strobe/internal/ptrace"
	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/symbol"
	"golang.org/x/sys/unix"
)

// LeakSanitizer traces the program's threads itself, which it cannot while we do. A process whose check begins is let
// go: its hooks are taken out and its threads detached. Programs that carry the sanitizer have its functions among
// their symbols; in the shared library they are hidden, but it calls a function that nobody need define, through a
// table entry that is empty.
const (
	leakMark = "__lsan_do_leak_check"
	leakWeak = "__lsan_is_turned_off"
)

var leakChecks = []string{"_ZN6__lsanL13CheckForLeaksEv", "_ZN6__lsan11DoLeakCheckEv"}

// watchLeaks makes the process tell when a leak check begins.
func (p *process) watchLeaks(ctx context.Context, mods []*loaded) error {
	var add []*site
	for _, m := range mods {
		if !mentions(m.path, leakMark) {
			continue
		}
		mod, err := p.open(m)
		if err != nil {
			continue
		}
		if err := p.equip(ctx); err != nil {
			return err
		}
		s := p.watchLeakCheck(ctx, m, mod)
		if s == nil {
			p.t.warn(fmt.Sprintf("%s carries LeakSanitizer, which does not work in a traced program, and its check could not "+
				"be found: set ASAN_OPTIONS=detect_leaks=0", m.path))
			continue
		}
		add = append(add, s)
	}
	if len(add) == 0 {
		return nil
	}
	return p.t.tracer.Do(ctx, func() error { return p.apply(add, nil) })
}

// leaves reports whether the process can ask to be let go.
func (p *process) leaves() bool {
	return slices.ContainsFunc(*p.hooks.Load(),
		func(h *hooked) bool { return h != nil && h.own != nil && h.own.flags == ring.HookLeave })
}

func (p *process) watchLeakCheck(ctx context.Context, m *loaded, mod *symbol.Module) *site {
	for _, name := range append(leakChecks, leakWeak) {
		if _, _, ok := mod.Symbol(name); ok {
			if s := p.ownHook(ctx, m, name, ring.HookLeave, 0); s != nil {
				return s
			}
		}
	}
	slot, ok := emptySlot(m.path, leakWeak)
	if !ok {
		return nil
	}
	slot += m.bias
	var b [8]byte
	if p.mem.Read(slot, b[:]) != nil || b != [8]byte{} {
		return nil
	}
	s, err := p.inventFunction(ctx, m)
	if err != nil {
		p.t.log.Warn("define "+leakWeak, "pid", p.pid, "err", err)
		return nil
	}
	binary.LittleEndian.PutUint64(b[:], s.addr)
	if p.mem.Write(slot, b[:]) != nil {
		return nil
	}
	return s
}

// inventFunction puts a function that returns 0 into an arena, with a hook on it.
func (p *process) inventFunction(ctx context.Context, m *loaded) (*site, error) {
	code := append([]byte{0x31, 0xc0, 0xc3}, bytes.Repeat([]byte{0x90}, 13)...) // xor eax,eax; ret
	a, err := p.arenaFor(ctx, nil, m.lo, m.hi, 512)
	if err != nil {
		return nil, err
	}
	at := a.next
	if err := p.mem.Write(at, code); err != nil {
		return nil, err
	}
	a.next += uint64(len(code))
	h, err := p.own(ctx, nil, m, code, at, 13, ring.HookLeave, 0, slotEnterOnly)
	if err != nil {
		return nil, err
	}
	return h.sites[0], nil
}

// emptySlot finds the table entry through which a module calls an undefined weak function.
func emptySlot(path, name string) (uint64, bool) {
	f, err := elf.Open(path)
	if err != nil {
		return 0, false
	}
	defer f.Close()
	syms, err := f.DynamicSymbols()
	if err != nil {
		return 0, false
	}
	index := slices.IndexFunc(syms, func(s elf.Symbol) bool { return s.Name == name && s.Section == elf.SHN_UNDEF }) + 1
	if index == 0 {
		return 0, false
	}
	for _, s := range f.Sections {
		if s.Type != elf.SHT_RELA {
			continue
		}
		b, err := s.Data()
		if err != nil {
			continue
		}
		for ; len(b) >= 24; b = b[24:] {
			info := binary.LittleEndian.Uint64(b[8:])
			typ := elf.R_X86_64(info & 0xffffffff)
			if int(info>>32) == index && (typ == elf.R_X86_64_GLOB_DAT || typ == elf.R_X86_64_JMP_SLOT) {
				return binary.LittleEndian.Uint64(b), true
			}
		}
	}
	return 0, false
}

var mentionCache sync.Map // path and name → bool

// mentions reports whether a file's symbol names hold a name, without reading the symbols. System libraries other than
// the sanitizers' do not.
func mentions(path, name string) bool {
	found, known := mentioned(path, name)
	if known {
		return found
	}
	key := mentionKey(path, name)
	if f, err := elf.Open(path); err == nil {
		for _, s := range f.Sections {
			if s.Type == elf.SHT_STRTAB && !found {
				if b, err := s.Data(); err == nil {
					found = bytes.Contains(b, []byte(name))
				}
			}
		}
		f.Close()
	}
	mentionCache.Store(key, found)
	return found
}

// mentioned is mentions where the answer is known already.
func mentioned(path, name string) (found, known bool) {
	if strings.Contains(path, "/lib") && strings.Contains(path, ".so") && !strings.Contains(path, "san.so") {
		return false, true
	}
	v, ok := mentionCache.Load(mentionKey(path, name))
	if !ok {
		return false, false
	}
	return v.(bool), true
}

func mentionKey(path, name string) string {
	st, err := os.Stat(path)
	if err != nil {
		return path
	}
	return fmt.Sprintf("%s %d %d %s", path, st.Size(), st.ModTime().UnixNano(), name)
}

// letGo ends the tracing of one process that asked for it.
func (t *target) letGo(p *process, seq uint32) {
	t.probeMu.Lock()
	defer t.probeMu.Unlock()
	var remove []*site
	for _, h := range *p.hooks.Load() {
		if h != nil && h.active() {
			remove = append(remove, h.sites...)
		}
	}
	ctx := context.Background()
	err := t.tracer.Do(ctx, func() error { return p.apply(nil, remove) })
	if err == nil {
		err = t.settle(ctx)
	}
	if err == nil {
		err = t.tracer.Do(ctx, func() error { t.detachAll(p); return nil })
	}
	if err != nil {
		t.log.Warn("let process go", "pid", p.pid, "err", err)
		return
	}
	t.warn(fmt.Sprintf("process %d is no longer traced: its LeakSanitizer begins its check, which needs ptrace for itself",
		p.pid))
	t.statusOld.Store(true)
	if !p.dead.Load() {
		futexWake(p.region.AckLeave(seq))
	}
}

// detachAll detaches every thread of a process. Tracer thread only.
func (t *target) detachAll(p *process) {
	t.letGone[p.pid] = p
	p.detached.Store(true)
	for _, th := range p.allThreads() {
		if _, ok := p.halt(th); ok {
			th.ranOut()
			if th.owed != nil {
				ptrace.Queue(th.p.pid, th.tid, th.owed)
			}
			ptrace.Detach(th.tid, p.signalToTake(th.tid))
		}
		t.dropThread(th.tid)
	}
}

// signalToTake returns the signal that a stopped thread is about to take, 0 for none. One that met an int3 of ours
// stands at the original instruction again afterwards. Tracer thread only.
func (p *process) signalToTake(tid int) syscall.Signal {
	info, err := ptrace.GetSiginfo(tid)
	if err != nil || info.OfEvent() {
		return 0
	}
	if info.Signal() != unix.SIGTRAP {
		return info.Signal()
	}
	if info.OfStep() {
		return 0
	}
	regs, err := ptrace.GetRegs(tid)
	if err != nil {
		return 0
	}
	p.trapMu.RLock()
	_, ours := p.traps[regs.Rip-1]
	p.trapMu.RUnlock()
	if !ours || info.Code() != ptrace.TrapKernel {
		return unix.SIGTRAP
	}
	regs.Rip--
	ptrace.SetRegs(tid, &regs)
	return 0
}

// settle handles what threads have met of our int3s, which are all gone: the kernel would deliver SIGTRAP to a thread
// that it detaches in that stop.
func (t *target) settle(ctx context.Context) error {
	return t.tracer.Do(ctx, func() error {
		for _, p := range t.processes() {
			if !p.dead.Load() {
				p.haltRunning()() // whoever is on the way to its stop has stopped now
			}
		}
		t.tracer.Settle()
		t.meetChildren()
		t.tracer.Settle()
		return nil
	})
}

// hasEnded reports whether a process is gone, or all its threads are: the first may have ended before the others.
func hasEnded(pid int) bool {
	if unix.Kill(pid, 0) == unix.ESRCH {
		return true
	}
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return true
	}
	return !slices.ContainsFunc(list, func(e os.DirEntry) bool {
		tid, err := strconv.Atoi(e.Name())
		return err == nil && !ptrace.Ends(tid)
	})
}

// letAllGo ends the reading of processes that live on untraced.
func (d *drainer) letAllGo() {
	d.lastPending()
	for _, p := range d.t.processes() {
		for i, rs := range p.drain.rings {
			d.closeRing(p, i, rs)
		}
		p.keepCounts()
		d.t.mu.Lock()
		d.t.procs = slices.DeleteFunc(d.t.procs, func(q *process) bool { return q == p })
		d.t.mu.Unlock()
		d.t.spawn(p.release)
	}
}
