package native

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"sort"

	"github.com/strobe-debug/strobe/internal/hook"
	"github.com/strobe-debug/strobe/internal/ptrace"
	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/snapshot"
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/unwind"
)

// seenMaps is what the maps of a process said, and what follows from them: at most stops nothing has changed since the
// one before.
type seenMaps struct {
	text    []byte
	maps    []snapshot.Mapping
	modules []unwind.Module
}

// view describes the process to readers of its stacks and values: its files, and where our stubs are. It reads no
// registers and stops nothing; what it returns holds until the process's hooks or modules change.
func (p *process) view() (*snapshot.Process, error) {
	text, err := mapsText(p.pid)
	if err != nil {
		return nil, err
	}
	seen := p.seenAs(text)
	if seen == nil {
		seen = p.lookAt(text)
		p.mu.Lock()
		p.seenMaps = seen
		p.mu.Unlock()
	}
	return p.viewOf(seen), nil
}

// seenView is view where nothing has changed since the last one; else nil. It opens no file but the maps.
func (p *process) seenView() *snapshot.Process {
	text, err := mapsText(p.pid)
	if err != nil {
		return nil
	}
	if seen := p.seenAs(text); seen != nil {
		return p.viewOf(seen)
	}
	return nil
}

// seenAs returns what was made of these maps, nil where they are others.
func (p *process) seenAs(text []byte) *seenMaps {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seenMaps == nil || !bytes.Equal(p.seenMaps.text, text) {
		return nil
	}
	return p.seenMaps
}

func (p *process) viewOf(seen *seenMaps) *snapshot.Process {
	owner := p
	if p.shares != nil {
		owner = p.shares
	}
	return &snapshot.Process{PID: p.pid, Mem: p.mem, Project: p.t.cmd.ProjectRoot, Described: p.t.walks.Own(),
		Secrets: p.t.cmd.Secrets, Stub: owner.stubs(), Maps: seen.maps, Modules: seen.modules}
}

// lookAt opens the files that are mapped.
func (p *process) lookAt(text []byte) *seenMaps {
	seen := &seenMaps{text: text}
	maps := parseMaps(text)
	mods := mapped(maps)
	p.mu.Lock()
	p.knownLocked(mods)
	p.mu.Unlock()
	for _, m := range maps {
		seen.maps = append(seen.maps, snapshot.Mapping{Lo: m.lo, Hi: m.hi, Off: m.off, Read: m.read, Write: m.write,
			Exec: m.exec, Path: m.path})
		if m.path == "[vdso]" {
			if mod := p.vdso(m); mod != nil {
				seen.modules = append(seen.modules, unwind.Module{Mod: mod, Bias: m.lo - vdsoBase(mod), Lo: m.lo, Hi: m.hi})
			}
		}
	}
	for _, m := range mods {
		if mod, err := p.open(m); err == nil {
			seen.modules = append(seen.modules, unwind.Module{Mod: mod, Bias: m.bias, Lo: m.lo, Hi: m.hi})
		}
	}
	return seen
}

// vdso reads the kernel's library, which has no file.
func (p *process) vdso(m mapping) *symbol.Module {
	b := make([]byte, m.hi-m.lo)
	if p.mem.Read(m.lo, b) != nil {
		return nil
	}
	mod, err := symbol.OpenBytes("[vdso]", b)
	if err != nil {
		return nil
	}
	return mod
}

// vdsoBase is the address that the vDSO was linked at.
func vdsoBase(mod *symbol.Module) uint64 {
	for _, s := range mod.Segments() {
		if s.Off == 0 {
			return uint64(s.Vaddr)
		}
	}
	return 0
}

// regsOf are a stopped thread's registers as unwinders number them.
func regsOf(r *ptrace.Regs) (out unwind.Regs) {
	for i, v := range [...]uint64{r.Rax, r.Rdx, r.Rcx, r.Rbx, r.Rsi, r.Rdi, r.Rbp, r.Rsp, r.R8, r.R9, r.R10, r.R11, r.R12,
		r.R13, r.R14, r.R15, r.Rip} {
		out.Set(i, v)
	}
	return out
}

// stubs returns unwind.Options.Stub for the process: nil while it has no code of ours.
func (p *process) stubs() func(pc uint64) (original uint64, in bool) {
	if p.region == nil {
		return nil
	}
	arenas := *p.inArena.Load()
	hooks := *p.hooks.Load()
	p.mu.Lock()
	copies := p.moved[:len(p.moved):len(p.moved)]
	points := slices.Collect(maps.Values(p.points))
	p.mu.Unlock()
	var entries []stubEntry // made when an address in an arena is met
	return func(pc uint64) (uint64, bool) {
		if off := pc - p.regionAddr; off < ring.CodeBytes {
			return 0, true
		}
		if entry, is := p.onIsland(pc); is {
			return entry, true
		}
		for i := range arenas {
			if pc < arenas[i].Lo+stubOff || pc >= arenas[i].Hi {
				continue
			}
			for _, c := range copies {
				switch {
				case pc == c.at:
					return c.original, true
				case pc > c.at && pc < c.at+maxCopy: // on its way back
					return c.original + c.size, true
				}
			}
			if entries == nil {
				entries = stubEntries(hooks, points)
			}
			return p.original(entries, pc), true
		}
		return 0, false
	}
}

// maxCopy is the room that the copy of an instruction and the jump back take.
const maxCopy = 16

// stubEntry is one stub by where it begins.
type stubEntry struct {
	at   uint64
	h    *hooked
	site int
	ps   *pointSite // it is a place's; then there is no h
}

func stubEntries(hooks []*hooked, points []*pointSite) []stubEntry {
	entries := []stubEntry{}
	for _, h := range hooks {
		if h == nil {
			continue
		}
		for i, s := range h.sites {
			if s.entry == 0 { // else it leads to the stub of the function's own
				entries = append(entries, stubEntry{at: s.to, h: h, site: i})
			}
		}
	}
	for _, ps := range points {
		entries = append(entries, stubEntry{at: ps.stub, ps: ps})
	}
	sort.Slice(entries, func(i, j int) bool { return entries[i].at < entries[j].at })
	return entries
}

// original returns what an address in a stub is a displaced copy of; 0: it belongs to the stub's own frame.
func (p *process) original(entries []stubEntry, pc uint64) uint64 {
	i := sort.Search(len(entries), func(i int) bool { return entries[i].at > pc }) - 1
	if i < 0 {
		return 0
	}
	e := &entries[i]
	if e.ps != nil { // it makes no frame
		original := e.ps.at
		for _, pair := range e.ps.copies {
			if pc >= uint64(pair.Copy) {
				original = uint64(pair.Orig)
			}
		}
		return original
	}
	s := e.h.sites[e.site]
	if s.golang != nil {
		return s.golang.original(pc)
	}
	if e.site > 0 || e.h.fn == nil { // the place itself: no frame of ours is made there
		return s.addr
	}
	stub, err := p.stubOf(e.h)
	if err != nil {
		return 0
	}
	switch {
	case pc >= uint64(stub.Relocated):
	case pc == uint64(stub.Entry) || e.h.fn.kind != hook.CallThrough:
		return s.addr
	default:
		return 0
	}
	original := s.addr
	for _, pair := range stub.Map {
		if pc >= uint64(pair.Copy) {
			original = uint64(pair.Orig)
		}
	}
	return original
}

var errNoArena = errors.New("find the arena of a stub: it is in none")

// stubOf makes a function's stub again, to know what lies where in it.
func (p *process) stubOf(h *hooked) (hook.Stub, error) {
	fn, s := h.fn, h.sites[0]
	if s.golang != nil {
		return s.golang.stub, nil
	}
	for _, a := range p.arenas {
		if s.to < a.lo || s.to >= a.hi {
			continue
		}
		an := fn.analysis
		an.Addr = hook.Addr(s.addr) - hook.Addr(fn.analysis.Off)
		spec := hook.Spec{Kind: fn.kind, ID: h.id, Code: fn.code, Analysis: &an, StackBytes: fn.plan.StackBytes,
			EnterSlot: a.slot(fn.enterSlot()), ExitSlot: a.slot(fn.exitSlot()), CopySlot: a.slot(slotCopy)}
		return hook.WriteStub(make([]byte, hook.MaxStub(spec)), hook.Addr(s.to), spec)
	}
	return hook.Stub{}, errNoArena
}
