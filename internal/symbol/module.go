package symbol

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
)

// Options say where Open looks besides the file itself.
type Options struct {
	SymbolsPath string   // a debug file, or a directory to look for one in; "" for none
	CacheDir    string   // where indexes are kept; "" for no cache
	DebugDirs   []string // global debug directories; nil means /usr/lib/debug
}

// Module is one program or shared library. It is immutable and safe for concurrent use.
type Module struct {
	Path      string
	BuildID   string // hex, or ""
	DebugPath string // the separate debug file in use, or ""
	PIE       bool   // position-independent: addresses need a load bias (also for shared libraries)
	Static    bool   // no interpreter and no needed libraries
	Go        bool   // linked by Go's linker: its functions run on the small stacks of goroutines
	Interp    string // PT_INTERP, or ""
	Machine   string // "x86_64"
	Entry     Addr
	HasDWARF  bool
	Compiler  string // of the unit of main, short: "GNU C17 12.2.0"
	Language  Language
	FromCache bool // the index came from the cache

	im, dbg *image
	ix      *index
	finder  problemsOf
	sources *sources

	asked    sync.Map   // answers of Symbol, by name
	settling sync.Mutex // held while types are looked through for themselves; taken before mu

	mu     sync.RWMutex // read-held while mapped files are read
	closed bool

	dwOnce sync.Once
	dw     *dwarfData

	ghostOnce  sync.Once
	ghostNames []string // of ix.ghosts

	ehOnce sync.Once
	eh     *frameTables

	vtOnce  sync.Once
	vtables []Vtable

	classOnce sync.Once
	classes   *classTable

	namesOnce sync.Once
	named     *nameTable

	memos sync.Map // see Memo
}

// Memo returns what make makes, at most a few times for one key. What others derive from a module is kept here: it
// lives as long as the module.
func (m *Module) Memo(key any, make func() any) any {
	if v, ok := m.memos.Load(key); ok {
		return v
	}
	v, _ := m.memos.LoadOrStore(key, make())
	return v
}

type problemsOf struct{ list []string }

// Open reads the symbols and debug information of an ELF file for x86-64. Damage behind the
// program headers shows in Problems only. Errors are faults: LAUNCH_FAILED (missing, not ELF,
// truncated, not a program), PERMISSION_DENIED, UNSUPPORTED (32-bit, another machine).
func Open(path string, o Options) (*Module, error) {
	im, err := openImage(path)
	if err != nil {
		return nil, err
	}
	m := &Module{Path: path, Machine: "x86_64", im: im, sources: newSources(path)}
	if err := protect(func() error { m.readHeader(); m.load(o); return nil }); err != nil {
		m.Close()
		return nil, openFault(path, err)
	}
	return m, nil
}

// readHeader fills in what the program headers say.
func (m *Module) readHeader() {
	im := m.im
	m.BuildID, m.PIE, m.Entry = im.buildID(), im.typ == elf.ET_DYN, Addr(im.entry)
	needed := false
	for _, p := range im.progs {
		switch elf.ProgType(p.typ) {
		case elf.PT_INTERP:
			m.Interp = string(cstrAt(im.slice(p.off, p.filesz), 0))
		case elf.PT_DYNAMIC:
			r := newReader(im.slice(p.off, p.filesz), 0)
			for r.left() >= 16 {
				tag := elf.DynTag(r.u64())
				r.u64()
				if tag == elf.DT_NULL {
					break
				}
				needed = needed || tag == elf.DT_NEEDED
			}
		}
	}
	m.Static = m.Interp == "" && !needed
	for _, name := range []string{".gopclntab", ".data.rel.ro.gopclntab"} {
		if im.find(name) >= 0 {
			m.Go = true
		}
	}
}

// load finds the debug file and reads or builds the index.
func (m *Module) load(o Options) {
	var problems []string
	m.dbg, problems = findDebugFile(m.im, o)
	if m.dbg != nil {
		m.DebugPath = m.dbg.path
	}
	m.finder.list = slices.Concat(m.im.damage, problems)
	key := ""
	if o.CacheDir != "" {
		key = m.cacheKey(o)
		path := filepath.Join(o.CacheDir, key)
		if ix, err := readCache(path); err == nil {
			m.ix, m.FromCache = ix, true
			noteUse(path)
		}
	}
	if m.ix == nil {
		d := m.dwarf()
		m.ix = buildIndex(m.im, m.images(), d)
		if m.Go && !m.ix.hasDWARF {
			if err := m.addGo(); err != nil {
				m.ix.problems = append(m.ix.problems, err.Error())
			}
		}
		if key != "" && len(m.ix.problems) == 0 && len(m.finder.list) == 0 && (d == nil || len(d.problems) == 0) {
			if err := writeCache(o.CacheDir, key, m.ix); err != nil {
				m.finder.list = append(m.finder.list, fmt.Sprintf("the symbol cache was not written: %v", err))
			}
			pruneCache(o.CacheDir, maxCacheBytes)
		}
	}
	m.sources.locateAll(m.ix)
	m.HasDWARF, m.Compiler, m.Language = m.ix.hasDWARF, m.ix.compiler, m.ix.language
	for _, im := range m.images() {
		if im.held != nil { // a copy of memory, such as the vDSO's, is no file's
			forget(im.held.data) // an index is made of all of it, a question needs little
		}
	}
}

// images returns the files that have symbol tables.
func (m *Module) images() []*image {
	if m.dbg != nil {
		return []*image{m.dbg, m.im}
	}
	return []*image{m.im}
}

// dwarf returns the debug information, or nil. The caller holds mu or is Open.
func (m *Module) dwarf() *dwarfData {
	m.dwOnce.Do(func() {
		im := m.im
		if m.dbg != nil && m.dbg.hasDWARF() {
			im = m.dbg
		}
		m.dw = openDWARF(im, absolute(m.Path), m.sources)
	})
	return m.dw
}

// guarded runs fn while the files stay mapped.
func (m *Module) guarded(fn func() error) error {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.closed {
		return errClosed
	}
	return protect(fn)
}

// Close releases the files. Functions, patterns and types that were already walked stay usable.
func (m *Module) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil
	}
	m.closed = true
	if m.dw != nil {
		m.dw.close()
	}
	m.im.release()
	if m.dbg != nil {
		m.dbg.release()
	}
	return nil
}

// Segments returns the loaded segments in file order.
func (m *Module) Segments() []Segment {
	var out []Segment
	for _, p := range m.im.progs {
		if p.typ == uint32(elf.PT_LOAD) {
			out = append(out, Segment{Addr(p.vaddr), p.memsz, p.off, p.filesz,
				p.flags&uint32(elf.PF_X) != 0, p.flags&uint32(elf.PF_W) != 0})
		}
	}
	return out
}

// TextRange returns the range that holds all executable segments; 0, 0 when there is none.
func (m *Module) TextRange() (lo, hi Addr) {
	for _, s := range m.Segments() {
		if !s.Exec {
			continue
		}
		if hi == 0 || s.Vaddr < lo {
			lo = s.Vaddr
		}
		hi = max(hi, s.Vaddr+Addr(s.Memsz))
	}
	return lo, hi
}

// Functions returns all functions with code by address. The slice is shared: do not change it.
func (m *Module) Functions() []Function { return m.ix.funcs }

// Fragments returns the parts of functions that are jumped to, never called (".cold"), by address. Do not change the
// slice.
func (m *Module) Fragments() []Function { return m.ix.frags }

// Lookup returns the function whose range holds a, and a's offset in the range. The function may
// be a Fragment: look at its Name, do not hook it.
func (m *Module) Lookup(a Addr) (f *Function, off uint64, ok bool) {
	for _, in := range [][]Function{m.ix.frags, m.ix.funcs} {
		i := sort.Search(len(in), func(i int) bool { return in[i].Low > a }) - 1
		if i >= 0 && (a < in[i].High || a == in[i].Low) {
			return &in[i], uint64(a - in[i].Low), true
		}
	}
	return nil, 0, false
}

// FunctionAt returns the function that starts at a, or nil.
func (m *Module) FunctionAt(a Addr) *Function {
	in := m.ix.funcs
	i := sort.Search(len(in), func(i int) bool { return in[i].Low >= a })
	if i < len(in) && in[i].Low == a {
		return &in[i]
	}
	return nil
}

// askedSymbol is an answer of Symbol: the symbol tables are read through for each name once.
type askedSymbol struct {
	addr Addr
	size uint64
	ok   bool
	fn   bool // a GNU indirect function: the address is of its resolver
}

// Indirect reports whether a symbol is a GNU indirect function: what Symbol finds is not its code, but a function that
// chooses it and returns its address.
func (m *Module) Indirect(name string) bool {
	m.Symbol(name)
	known, _ := m.asked.Load(name)
	s, _ := known.(askedSymbol)
	return s.fn
}

// Symbol finds a symbol, function or data, by its linkage name.
func (m *Module) Symbol(name string) (a Addr, size uint64, ok bool) {
	if known, found := m.asked.Load(name); found {
		s := known.(askedSymbol)
		return s.addr, s.size, s.ok
	}
	indirect := false
	defer func() { m.asked.Store(name, askedSymbol{a, size, ok, indirect}) }()
	_ = m.guarded(func() error {
		for _, im := range m.images() {
			im.eachSym(func(s elfSym) bool {
				if string(s.name) != name || s.typ == uint8(elf.STT_FILE) || s.typ == uint8(elf.STT_SECTION) {
					return true
				}
				a, size, ok, indirect = Addr(s.value), s.size, true, s.typ == sttGNUIfunc
				return false
			})
			if ok {
				return nil
			}
		}
		return nil
	})
	return a, size, ok
}

// Code returns a copy of the function's bytes in the file.
func (m *Module) Code(f *Function) ([]byte, error) {
	b, err := m.BytesAt(f.Low, int(min(f.Size(), maxCode)))
	if err != nil {
		return nil, fmt.Errorf("read code of %s: %w", f.Name, err)
	}
	return b, nil
}

// maxCode bounds one function's code; the largest real ones are a few megabytes.
const maxCode = 1 << 28

// BytesAt returns a copy of n bytes that the file loads at a. Fewer than n is an error.
func (m *Module) BytesAt(a Addr, n int) ([]byte, error) {
	var out []byte
	err := m.guarded(func() error {
		b := m.im.at(uint64(a))
		if n < 0 || len(b) < n {
			return fmt.Errorf("%d bytes at %#x are not in the file", n, uint64(a))
		}
		out = slices.Clone(b[:n])
		return nil
	})
	return out, err
}

// Constants returns up to most bytes of what is loaded at an address and never written; nil where that is not so.
func (m *Module) Constants(a Addr, most int) []byte {
	var out []byte
	m.guarded(func() error { //nolint:errcheck // then there are none
		if p := m.im.segment(uint64(a)); p != nil && p.flags&uint32(elf.PF_W) == 0 {
			b := m.im.at(uint64(a))
			out = slices.Clone(b[:min(len(b), most)])
		}
		return nil
	})
	return out
}

// IsCode reports whether an address is loaded to be run.
func (m *Module) IsCode(a Addr) bool {
	p := m.im.segment(uint64(a))
	return p != nil && p.flags&uint32(elf.PF_X) != 0
}

// LineFor returns the source position of the code at a.
func (m *Module) LineFor(a Addr) (file string, line int, ok bool) {
	f, _, found := m.Lookup(a)
	if !found || !f.HasDWARF {
		return "", 0, false
	}
	_ = m.guarded(func() error {
		d := m.dwarf()
		if d == nil {
			return nil
		}
		u := d.unitOf(f.die)
		if u == nil {
			return nil
		}
		t := u.lineTable()
		if t == nil {
			return nil
		}
		row, hit := t.find(uint64(a))
		if !hit || row.line == 0 {
			return nil
		}
		file, line, ok = t.path(u, uint64(row.file)), int(row.line), true
		return nil
	})
	return file, line, ok
}

// Problems lists what could not be read, in sentences for people. Empty when all is well.
func (m *Module) Problems() []string {
	out := slices.Concat(m.finder.list, m.ix.problems)
	_ = m.guarded(func() error {
		if !m.FromCache && m.dw != nil {
			m.dw.mu.Lock()
			defer m.dw.mu.Unlock()
			out = append(out, m.dw.problems...)
		}
		return nil
	})
	return out
}

// OnlyDeclared is the reason of a function that a module names and has no code of.
const OnlyDeclared = "it is only declared here: its code is in another module, or nowhere"

// Unhookable returns the functions that the patterns match and that have no code: inlined
// everywhere, discarded by the linker, or only declared. Functions that have code are never listed.
func (m *Module) Unhookable(patterns *Sieve) []Unhookable {
	byName := slices.ContainsFunc(patterns.patterns, func(p *Pattern) bool { return p.kind == patternName })
	if byName {
		m.ghostOnce.Do(m.loadGhosts)
	}
	var out []Unhookable
	for i := range m.ix.ghosts {
		g := &m.ix.ghosts[i]
		f := Function{Raw: g.raw, File: g.file, Line: g.line, Language: m.Language}
		if byName {
			f.Name = m.ghostNames[i]
		}
		some := false
		if patterns.Match(&f, func(int) { some = true }); some {
			if !byName {
				f.name(g.raw)
			}
			out = append(out, Unhookable{Function: f.Name, Reason: g.reason.String(), File: g.file, Line: g.line})
		}
	}
	return out
}

// loadGhosts demangles the functions without code; done once, when somebody asks for some by name.
func (m *Module) loadGhosts() {
	gs := m.ix.ghosts
	m.ghostNames = make([]string, len(gs))
	const chunk = 256
	_ = parallelN((len(gs)+chunk-1)/chunk, func(c int) {
		for i := c * chunk; i < min((c+1)*chunk, len(gs)); i++ {
			f := Function{Raw: gs[i].raw, Language: m.Language}
			f.name(gs[i].raw)
			m.ghostNames[i] = f.Name
		}
	})
}

// String names the module for messages.
func (m *Module) String() string {
	return strings.TrimPrefix(m.Path, filepath.Dir(m.Path)+string(os.PathSeparator))
}
