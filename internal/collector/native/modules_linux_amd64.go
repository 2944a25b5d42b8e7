package native

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/symbol"
)

// loaded is one file mapped with code into a process.
type loaded struct {
	path   string
	bias   uint64 // address in the process less address as linked
	lo, hi uint64 // its mappings
	code   uint64 // where its code begins
	codeHi uint64 // and ends
	first  mapping
	mod    *symbol.Module
	err    error // why mod is nil
}

func (m *loaded) key(fn *function) hookKey {
	return hookKey{uint64(fn.sym.Low) + m.bias, fn.want}
}

// scan brings the module list up to date with the process's mappings.
func (p *process) scan() ([]*loaded, error) {
	maps, err := readMaps(p.pid)
	if err != nil {
		return nil, err
	}
	found := mapped(maps)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.knownLocked(found)
	p.forget(found)
	if !slices.Equal(found, p.modules) {
		p.snap = nil
		p.scans.Add(1)
	}
	p.modules = found
	return slices.Clone(found), nil
}

// mapped lists the files that are mapped with code.
//
// A file may be mapped a second time, to be read: it is its code that says where it was loaded.
func mapped(maps []mapping) []*loaded {
	var found []*loaded
	for i, m := range maps {
		if !m.exec || !m.ofFile() {
			continue
		}
		if n := len(found); n > 0 && found[n-1].path == m.path && found[n-1].bias == m.lo-m.off { // its code in two parts
			found[n-1].hi, found[n-1].codeHi = max(found[n-1].hi, m.hi), m.hi
			continue
		}
		// completed when the file is read
		l := &loaded{path: m.path, first: m, code: m.lo, codeHi: m.hi, lo: m.lo, hi: m.hi, bias: m.lo - m.off}
		for j, off := i-1, m.off; j >= 0 && maps[j].path == m.path && maps[j].hi == l.lo && maps[j].off < off; j-- {
			l.lo, off = maps[j].lo, maps[j].off
		}
		for j, off := i+1, m.off; j < len(maps) && maps[j].path == m.path && maps[j].lo == l.hi && maps[j].off > off; j++ {
			l.hi, off = maps[j].hi, maps[j].off
		}
		found = append(found, l)
	}
	return found
}

// ofFile reports whether a mapping is of a file that may have symbols.
func (m *mapping) ofFile() bool {
	return m.inode != 0 && strings.HasPrefix(m.path, "/") && m.path != regionPath && !strings.HasPrefix(m.path, "/dev/")
}

// knownLocked puts the modules that are known in the place of those found at the same place.
func (p *process) knownLocked(found []*loaded) {
	for i, l := range found {
		for _, old := range p.modules {
			if old.path == l.path && old.code == l.code {
				found[i] = old
			}
		}
	}
}

// forget drops hooks in modules that are no longer mapped: another may come to the same place.
func (p *process) forget(now []*loaded) {
	for _, old := range p.modules {
		if slices.Contains(now, old) {
			continue
		}
		p.changingLocked()
		for k := range p.byAddr {
			if k.addr >= old.lo && k.addr < old.hi {
				delete(p.byAddr, k)
			}
		}
		for a := range p.unwindID {
			if a >= old.lo && a < old.hi {
				delete(p.unwindID, a)
			}
		}
	}
}

// open reads the module's symbols, once.
func (p *process) open(l *loaded) (*symbol.Module, error) {
	p.mu.Lock()
	mod, err := l.mod, l.err
	p.mu.Unlock()
	if mod != nil || err != nil {
		return mod, err
	}
	path, err := p.file(l)
	if err == nil {
		mod, err = p.t.rt.open(path, p.t.cmd.SymbolsPath)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.mod, l.err = mod, err; err != nil {
		return nil, err
	}
	bias, ok := biasOf(mod, l)
	if !ok {
		l.mod, l.err = nil, fmt.Errorf("find %s in process %d: its segments are not mapped as its file says", l.path, p.pid)
		return nil, l.err
	}
	l.bias = bias
	for i, seg := range mod.Segments() {
		if seg.Memsz > 1<<46 { // no such memory
			continue
		}
		lo, hi := (bias+uint64(seg.Vaddr))&^(pageBytes-1), (bias+uint64(seg.Vaddr)+seg.Memsz+pageBytes-1)&^(pageBytes-1)
		if i == 0 {
			l.lo, l.hi = lo, hi
		}
		l.lo, l.hi = min(l.lo, lo), max(l.hi, hi)
	}
	return mod, nil
}

// known reports whether a module's symbols have been read already.
func (p *process) known(l *loaded) bool {
	p.mu.Lock()
	have := l.mod != nil || l.err != nil
	p.mu.Unlock()
	if have {
		return true
	}
	path, err := p.file(l)
	return err == nil && p.t.rt.opened(path, p.t.cmd.SymbolsPath)
}

const pageBytes = 4096

// biasOf computes the load bias: l.bias is the address that file offset 0 would have through the first code mapping.
func biasOf(mod *symbol.Module, l *loaded) (uint64, bool) {
	for _, s := range mod.Segments() {
		if s.Exec {
			return l.bias + s.Off - uint64(s.Vaddr), true
		}
	}
	return 0, false
}

// holdFor keeps a thread stopped while fn works, then lets it run. Tracer thread only.
func (t *target) holdFor(th *thread, p *process, fn func(context.Context) error) {
	t.spawn(func() {
		t.setUpDone(th, p, fn(context.Background()))
	})
}

// setUpDone lets a thread go on that was held while its process was set up.
func (t *target) setUpDone(th *thread, p *process, err error) {
	if err != nil {
		t.log.Warn("set up process", "pid", p.pid, "err", err)
		t.warn(fmt.Sprintf("process %d runs untraced: %v", p.pid, err))
	}
	t.tracer.Do(context.Background(), func() error {
		if th.stopped && !t.stopsAtEntry(th) {
			return t.resume(th, 0)
		}
		return nil
	})
}

// modulesChanged applies the patterns to modules that came by dlopen, while the thread that loaded them waits.
func (t *target) modulesChanged(p *process, seq uint32) {
	t.probeMu.Lock()
	defer t.probeMu.Unlock()
	if _, err := p.scan(); err == nil {
		if err := t.applyProbes(context.Background(), p); err != nil {
			t.log.Warn("hook a loaded module", "pid", p.pid, "err", err)
			t.warn(fmt.Sprintf("a module loaded by process %d runs untraced: %v", p.pid, err))
		}
	}
	if !p.dead.Load() {
		futexWake(p.region.AckSync(seq))
	}
}

// prepareHooks puts Strobe's own hooks in place, before the first hook of the program's: the loader's notification and,
// when functions are about to be hooked, the unwinders.
func (p *process) prepareHooks(ctx context.Context, mods []*loaded, unwinders bool) error {
	if p.loader.brk != 0 && !p.unwindID[p.loader.brk] {
		for _, m := range mods {
			if m.path == p.loader.path && m.mod != nil {
				p.region.Control().RDebug = p.loader.rdebug
				p.ownHook(ctx, m, "_dl_debug_state", ring.HookSync, 0)
			}
		}
	}
	if unwinders {
		for _, m := range mods {
			p.hookUnwinder(ctx, m)
		}
	}
	add := p.ownMissing(unwinders)
	if len(add) == 0 {
		return nil
	}
	return p.t.tracer.Do(ctx, func() error { return p.apply(add, nil) })
}

// Entry points of an unwinder at which the stubs' frames must be known. libgcc asks _Unwind_Find_FDE for every frame.
var unwindEntries = []string{"_Unwind_Find_FDE", "_Unwind_RaiseException", "_Unwind_ForcedUnwind", "_Unwind_Backtrace",
	"_Unwind_Resume", "_Unwind_Resume_or_Rethrow"}

// hookUnwinder finds an unwinder in a module and makes it learn of the stubs' frames when it is used first.
func (p *process) hookUnwinder(ctx context.Context, m *loaded) {
	if m.mod == nil || m.unwinder() == 0 {
		return
	}
	reg, llvm := m.registrar()
	if reg == 0 {
		return
	}
	c := p.region.Control()
	index := c.UnwindCount
	if p.unwindID[reg] || index == ring.MaxUnwind {
		return
	}
	p.know(reg)
	c.Unwind[index] = ring.Unwind{Fn: reg, LLVM: llvm}
	if a, _, ok := m.mod.Symbol("__deregister_frame_info"); ok && llvm == 0 {
		c.Unwind[index].Undo = uint64(a) + m.bias
	}
	c.UnwindCount++
	if shadowStacks(p.pid) {
		p.setFlags(ring.FlagShadow)
	}
	for i, name := range unwindEntries {
		if i == 0 && llvm != 0 {
			continue // LLVM's is for others: it does not ask it itself
		}
		flags := uint32(ring.HookUnwind)
		if i == 0 && llvm == 0 {
			flags = ring.HookFindFDE
		}
		if s := p.ownHook(ctx, m, name, flags, index); s != nil && i == 0 {
			break
		}
	}
}

// know remembers an entry point at which a hook of ours was made, or tried.
func (p *process) know(addr uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changingLocked()
	p.unwindID[addr] = true
}

func (m *loaded) unwinder() uint64 {
	a, _, ok := m.mod.Symbol("_Unwind_RaiseException")
	if !ok {
		return 0
	}
	return uint64(a) + m.bias
}

// registrar is the module's function that takes an unwind entry.
func (m *loaded) registrar() (addr uint64, llvm uint32) {
	_, _, isLLVM := m.mod.Symbol("__unw_add_dynamic_fde") // there __register_frame_info does nothing
	if a, _, ok := m.mod.Symbol("__register_frame_info"); ok && !isLLVM {
		return uint64(a) + m.bias, 0
	}
	if a, _, ok := m.mod.Symbol("__register_frame"); ok {
		return uint64(a) + m.bias, 1
	}
	return 0, 0
}

// ownHook makes one of Strobe's own hooks; nil if the place cannot be patched.
func (p *process) ownHook(ctx context.Context, m *loaded, name string, flags, index uint32) *site {
	a, size, ok := m.mod.Symbol(name)
	if !ok {
		return nil
	}
	p.know(uint64(a) + m.bias)
	code, pad := ownCode(m.mod, a, size)
	h, err := p.own(ctx, nil, m, code, uint64(a)+m.bias, pad, flags, index, slotEnterOnly)
	if err != nil {
		p.t.log.Warn("hook "+name, "pid", p.pid, "module", m.path, "err", err)
		return nil
	}
	return h.sites[0]
}

// shadowStacks reports whether the process uses the CPU's shadow stacks.
func shadowStacks(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return false
	}
	for _, line := range strings.Split(string(b), "\n") {
		if v, ok := strings.CutPrefix(line, "x86_Thread_features:"); ok {
			return strings.Contains(v, "shstk")
		}
	}
	return false
}

// ownCode reads a small function with the padding behind it, up to the next 16-byte boundary.
func ownCode(mod *symbol.Module, a symbol.Addr, size uint64) ([]byte, int) {
	size = max(size, 1)
	end := (uint64(a) + size + 15) &^ 15
	pad := int(end - uint64(a) - size)
	if code, err := mod.BytesAt(a, int(size)+pad); err == nil {
		return code, pad
	}
	code, _ := mod.BytesAt(a, int(size))
	return code, 0
}
