package native

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/ptrace"
	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/symbol"
)

// loaded is one file mapped with code into a process.
type loaded struct {
	path   string
	bias   uint64 // address in the process less address as linked
	lo, hi uint64 // its mappings
	mod    *symbol.Module
	err    error // why mod is nil
}

func (m *loaded) key(fn *function) hookKey {
	return hookKey{uint64(fn.sym.Low) + m.bias, fn.want}
}

// loader is what is known of a process's dynamic linker.
type loader struct {
	brk    uint64 // the function that it calls when its list of modules changes
	rdebug uint64 // its r_debug, 0 unknown
	path   string
	byte0  byte // the original first byte at brk, while the startup trap stands there
}

// scan brings the module list up to date with the process's mappings.
func (p *process) scan() ([]*loaded, error) {
	maps, err := readMaps(p.pid)
	if err != nil {
		return nil, err
	}
	var found []*loaded
	byPath := map[string]*loaded{}
	for _, m := range maps {
		if m.inode == 0 || !strings.HasPrefix(m.path, "/") || strings.HasPrefix(m.path, "/memfd:") || strings.HasPrefix(m.path, "/dev/") {
			continue
		}
		l := byPath[m.path]
		if l == nil {
			l = &loaded{path: m.path, lo: m.lo}
			byPath[m.path] = l
		}
		l.hi = max(l.hi, m.hi)
		if m.exec && !slices.Contains(found, l) {
			l.bias = m.lo - m.off // completed with the segment's address when the file is read
			found = append(found, l)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, l := range found {
		for _, old := range p.modules {
			if old.path == l.path && old.lo == l.lo {
				old.hi = l.hi
				found[i] = old
			}
		}
	}
	p.forget(found)
	p.modules = found
	return slices.Clone(found), nil
}

// forget drops hooks in modules that are no longer mapped: another may come to the same place.
func (p *process) forget(now []*loaded) {
	for _, old := range p.modules {
		if slices.Contains(now, old) {
			continue
		}
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
	path := strings.TrimSuffix(l.path, " (deleted)")
	if _, serr := os.Stat(path); serr != nil {
		path = filepath.Join(fmt.Sprintf("/proc/%d/root", p.pid), path)
	}
	mod, err = p.t.rt.open(path, p.t.cmd.SymbolsPath)
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
	return mod, nil
}

// biasOf computes the load bias: l.bias is the address that file offset 0 would have through the first code mapping.
func biasOf(mod *symbol.Module, l *loaded) (uint64, bool) {
	for _, s := range mod.Segments() {
		if s.Exec {
			return l.bias + s.Off - uint64(s.Vaddr), true
		}
	}
	return 0, false
}

// setUp prepares an image that stands before its first instruction: symbols, loader, hooks.
func (t *target) setUp(ctx context.Context, p *process) error {
	t.probeMu.Lock()
	defer t.probeMu.Unlock()
	mods, err := p.scan()
	if err != nil {
		return err
	}
	for _, m := range mods {
		if base := filepath.Base(m.path); strings.HasPrefix(base, "ld-") || strings.HasPrefix(base, "ld.") || strings.HasPrefix(base, "ld64") {
			if p.watchLoader(m) {
				return nil // the rest when the libraries are there
			}
		}
	}
	return t.ready(ctx, p, mods)
}

// ready does what can be done once all modules of a starting process are there. probeMu is held.
func (t *target) ready(ctx context.Context, p *process, mods []*loaded) error {
	defer close(p.ready)
	if p.loader.brk != 0 {
		p.region.Control().Flags |= ring.FlagFS0
	}
	p.lineBuffer(mods)
	if err := p.watchLeaks(ctx, mods); err != nil {
		return err
	}
	return t.applyProbes(ctx, p)
}

// symbolize names the function that begins at an address, "" if none is known to. Drain goroutine only.
func (p *process) symbolize(addr uint64) string {
	if name, ok := p.drain.names[addr]; ok {
		return name
	}
	name := ""
	p.mu.Lock()
	mods := p.modules
	p.mu.Unlock()
	for _, m := range mods {
		if addr < m.lo || addr >= m.hi {
			continue
		}
		if mod, err := p.open(m); err == nil {
			if f, off, ok := mod.Lookup(symbol.Addr(addr - m.bias)); ok && off == 0 {
				name = f.Name
			}
		}
	}
	if p.drain.names == nil || len(p.drain.names) > maxNames {
		p.drain.names = map[uint64]string{}
	}
	p.drain.names[addr] = name
	return name
}

// maxNames bounds what symbolize remembers per process.
const maxNames = 100_000

// watchLoader puts an int3 where the dynamic linker reports changes of its list, for the time of the program's start.
func (p *process) watchLoader(m *loaded) bool {
	mod, err := p.open(m)
	if err != nil {
		return false
	}
	brk, _, ok := mod.Symbol("_dl_debug_state")
	if !ok {
		return false
	}
	l := loader{brk: uint64(brk) + m.bias, path: m.path}
	if rd, _, ok := mod.Symbol("_r_debug"); ok {
		l.rdebug = uint64(rd) + m.bias
	}
	var b [1]byte
	if p.mem.Read(l.brk, b[:]) != nil {
		return false
	}
	l.byte0 = b[0]
	p.loader = l
	p.trapMu.Lock()
	p.traps[l.brk] = &trap{loader: true, active: true}
	p.trapMu.Unlock()
	return p.mem.Write(l.brk, []byte{int3}) == nil
}

// loaderReady: the starting program's linker reports. Its thread stands at brk. Tracer thread only.
func (t *target) loaderReady(th *thread, p *process) {
	if err := p.mem.Write(p.loader.brk, []byte{p.loader.byte0}); err != nil {
		t.log.Warn("take back loader trap", "pid", p.pid, "err", err)
	}
	if !p.consistent() {
		if ptrace.Step(th.tid, 0) == nil {
			if s, err := ptrace.WaitStop(th.tid); err != nil || s.Event != 0 {
				t.tracer.Defer(s)
				return
			}
			p.mem.Write(p.loader.brk, []byte{int3})
		}
		t.resume(th, 0)
		return
	}
	p.trapMu.Lock()
	delete(p.traps, p.loader.brk)
	p.trapMu.Unlock()
	t.holdFor(th, p, func(ctx context.Context) error {
		t.probeMu.Lock()
		defer t.probeMu.Unlock()
		mods, err := p.scan()
		if err != nil {
			return err
		}
		err = t.ready(ctx, p, mods)
		p.passLoader(ctx, th)
		return err
	})
}

// passLoader lets the thread that stands at the loader's notification run on behind the hook that came there
// meanwhile: there is nothing to tell. On its way it registers the stubs' frames.
func (p *process) passLoader(ctx context.Context, th *thread) {
	to, once := p.registerFrames(ctx)
	for _, h := range *p.hooks.Load() {
		if h == nil || h.own == nil || !h.active() || h.own.addr != p.loader.brk {
			continue
		}
		if !once {
			to = h.sites[0].behind
		}
		p.t.tracer.Do(ctx, func() error {
			regs, err := ptrace.GetRegs(th.tid)
			if err != nil || regs.Rip != p.loader.brk {
				return err
			}
			regs.Rip = to
			return ptrace.SetRegs(th.tid, &regs)
		})
	}
}

// holdFor keeps a thread stopped while fn works, then lets it run. Tracer thread only.
func (t *target) holdFor(th *thread, p *process, fn func(context.Context) error) {
	t.spawn(func() {
		if err := fn(context.Background()); err != nil {
			t.log.Warn("set up process", "pid", p.pid, "err", err)
			t.warn(fmt.Sprintf("process %d runs untraced: %v", p.pid, err))
		}
		t.tracer.Do(context.Background(), func() error {
			if th.stopped {
				return t.resume(th, 0)
			}
			return nil
		})
	})
}

// setUpLater is setUp for an image made by exec. Tracer thread only.
func (t *target) setUpLater(p *process) {
	t.holdFor(p.threads[p.pid], p, func(ctx context.Context) error { return t.setUp(ctx, p) })
}

// consistent reports whether the linker's list can be read: true where its state is not known.
func (p *process) consistent() bool {
	if p.loader.rdebug == 0 {
		return true
	}
	var b [4]byte
	if p.mem.Read(p.loader.rdebug+24, b[:]) != nil {
		return true
	}
	return binary.LittleEndian.Uint32(b[:]) == 0
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
var unwindEntries = []string{"_Unwind_Find_FDE", "_Unwind_RaiseException", "_Unwind_ForcedUnwind", "_Unwind_Backtrace", "_Unwind_Resume", "_Unwind_Resume_or_Rethrow"}

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
	p.unwindID[reg] = true
	c.Unwind[index] = ring.Unwind{Fn: reg, LLVM: llvm}
	if a, _, ok := m.mod.Symbol("__deregister_frame_info"); ok && llvm == 0 {
		c.Unwind[index].Undo = uint64(a) + m.bias
	}
	c.UnwindCount++
	if shadowStacks(p.pid) {
		c.Flags |= ring.FlagShadow
	}
	for i, name := range unwindEntries {
		flags := uint32(ring.HookUnwind)
		if i == 0 && llvm == 0 {
			flags = ring.HookFindFDE
		}
		if s := p.ownHook(ctx, m, name, flags, index); s != nil && i == 0 {
			break
		}
	}
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
	if a, _, ok := m.mod.Symbol("__register_frame_info"); ok {
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
	p.unwindID[uint64(a)+m.bias] = true
	code, pad := ownCode(m.mod, a, size)
	h, err := p.own(ctx, nil, m, code, uint64(a)+m.bias, pad, flags, index)
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

// lineBuffer makes the C library's stdout line-buffered, as on a terminal, so that output lands in the timeline when
// it happens. The program may still choose otherwise by setvbuf.
func (p *process) lineBuffer(mods []*loaded) {
	const ioLineBuf = 0x200 // _IO_LINE_BUF of glibc's FILE._flags, at offset 0
	for _, m := range mods {
		base := filepath.Base(m.path)
		main := len(mods) == 1 || m == mods[0]
		if !main && !strings.HasPrefix(base, "libc.so") && !strings.HasPrefix(base, "libc-") {
			continue
		}
		mod, err := p.open(m)
		if err != nil {
			continue
		}
		a, _, ok := mod.Symbol("_IO_2_1_stdout_")
		if !ok {
			continue
		}
		var b [4]byte
		at := uint64(a) + m.bias
		if p.mem.Read(at, b[:]) != nil {
			continue
		}
		flags := binary.LittleEndian.Uint32(b[:])
		if flags>>16 != 0xfbad { // _IO_MAGIC: else this is not the structure we know
			continue
		}
		binary.LittleEndian.PutUint32(b[:], flags|ioLineBuf)
		p.mem.Write(at, b[:])
		return
	}
}
