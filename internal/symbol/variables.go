package symbol

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/strobe-debug/strobe/internal/sorting"
)

// Variable is a variable that lives as long as its thread or program.
type Variable struct {
	Name     string // qualified: ns::x, Class::x, and function::x for statics in functions
	File     string // of the declaration, absolute, or ""
	Line     int    // 1-based, or 0
	Type     *Type
	Addr     Addr   // link-time address; TLS: offset in the module's TLS segment
	TLS      bool   // one per thread
	Const    []byte // the value itself, little-endian; then it has no address
	External bool   // visible outside its source file

	own bool // of the source file that it was asked for in
}

// Bounds on what is kept of a module and returned for one name; real programs stay far below the first three.
const (
	maxNameRecords = 1 << 24 // DIEs looked at twice
	maxNameBytes   = 1 << 29 // text of names
	maxVariables   = 1 << 20
	maxNamed       = 64 // answers to one question
)

// nameTable finds variables and types by name. It is immutable once built.
type nameTable struct {
	paths   []pathSeg
	vars    []varEntry  // by key
	removed []varEntry  // by key; defined, but neither place nor value is left
	types   []typeEntry // by key

	listOnce sync.Once
	list     []string
}

// pathSeg is a namespace, class or function around a name; parent is its index in nameTable.paths, and 0 is the
// outside.
type pathSeg struct {
	parent  int32
	skipped bool // sources leave it out: an anonymous or inline namespace
	name    string
}

// varEntry is one variable, not yet turned to a Variable.
type varEntry struct {
	key      uint64 // nameKey of name
	u        *unit  // of the type and the file
	fileUnit *unit
	name     string
	typ      value
	place    fixedPlace
	path     int32
	file     uint32 // DW_AT_decl_file + 1
	line     uint32
	external bool
	local    bool // inside a function
}

// typeEntry is one named type.
type typeEntry struct {
	key      uint64 // nameKey of the name
	id       uint64 // hash of what tells two types of one name apart
	u        *unit
	die      dieRef
	spec     dieRef // where it is declared, or 0
	name     strRef
	path     int32
	declared bool
	local    bool
	typedef  bool
}

// Variables returns the variables of a name, the best match first: the whole qualified name before
// its last parts, variables outside functions before those inside, external ones before static
// ones. The name is qualified or the last parts of a qualified name; "file.c::x" asks for a variable
// of that source file. Anonymous and inline namespaces can be left out. At most 64; nil for none.
func (m *Module) Variables(name string) []Variable {
	return m.variablesFor(name, 0, false, func(t *nameTable) []varEntry { return t.vars })
}

// OptimizedOut returns the variables of a name that the source defines and the compiler or linker
// removed: they have no address and no value.
func (m *Module) OptimizedOut(name string) []Variable {
	return m.variablesFor(name, 0, false, func(t *nameTable) []varEntry { return t.removed })
}

// variablesFor is Variables for code at an address, which means those of its own source file before others; 0: none.
// whole: those whose qualified name it is.
func (m *Module) variablesFor(name string, at Addr, whole bool, in func(*nameTable) []varEntry) []Variable {
	t := m.nameTable()
	q := newNameQuery(name, true)
	if len(q.segs) == 0 {
		return nil
	}
	var out []Variable
	_ = m.guarded(func() error {
		d := m.dwarf()
		type hit struct {
			e    *varEntry
			rank int
			path string
			own  bool
		}
		var hits []hit
		var from *unit
		if at != 0 {
			from = d.unitAt(uint64(at))
		}
		for e := range keyed(in(t), q.key(), func(e *varEntry) uint64 { return e.key }) {
			rank := t.match(q, e.name, e.path)
			exact := rank >= 0 && rank&(rankDefault-1) < rankSuffix
			if rank < 0 || whole && !exact || q.file != "" && !e.inFile(q.file) {
				continue
			}
			hits = append(hits, hit{e, rank, t.join(e.path), from != nil && exact && !e.local && e.of(from)})
		}
		sorting.By(hits, func(a, b hit) int {
			return cmp.Or(falseFirst(!a.own, !b.own), cmp.Compare(a.rank, b.rank), falseFirst(a.e.local, b.e.local),
				falseFirst(!a.e.external, !b.e.external),
				falseFirst(a.e.place.kind == placeConst, b.e.place.kind == placeConst),
				cmp.Compare(len(a.path), len(b.path)), cmp.Compare(a.path, b.path))
		})
		if len(hits) > 0 && hits[0].rank >= rankLoose {
			for _, h := range hits {
				if !h.e.place.equal(hits[0].e.place) {
					return nil // several instances of a template: the name says not which
				}
			}
		}
		for _, h := range hits {
			if len(out) == maxNamed || h.rank >= rankLoose && hits[0].rank < rankLoose {
				break
			}
			v := h.e.variable(m, d, h.path)
			v.own = h.own
			out = append(out, v)
		}
		return nil
	})
	return out
}

// keyed yields the entries of a key.
func keyed[E any](in []E, key uint64, of func(*E) uint64) func(func(*E) bool) {
	return func(yield func(*E) bool) {
		i, _ := slices.BinarySearchFunc(in, key, func(e E, k uint64) int { return cmp.Compare(of(&e), k) })
		for ; i < len(in) && of(&in[i]) == key; i++ {
			if !yield(&in[i]) {
				return
			}
		}
	}
}

func falseFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// inFile reports whether the variable is declared in a file, or in a unit, whose path ends in want.
func (e *varEntry) inFile(want string) bool {
	return pathEndsIn(e.filePath(), want) || pathEndsIn(string(e.u.text(e.u.name)), want)
}

// of reports whether the variable is one of a unit's, or of the source file that the unit was compiled from, as where a
// program was optimized as a whole.
func (e *varEntry) of(u *unit) bool {
	if e.u == u || e.fileUnit == u {
		return true
	}
	name := string(u.text(u.name))
	return name != "" && name == string(e.u.text(e.u.name))
}

func pathEndsIn(path, want string) bool {
	want = strings.TrimPrefix(want, "./")
	return path == want || strings.HasSuffix(path, "/"+want)
}

func (e *varEntry) filePath() string {
	if e.file == 0 || e.fileUnit == nil {
		return ""
	}
	return e.fileUnit.filePath(uint64(e.file) - 1)
}

func (e *varEntry) variable(m *Module, d *dwarfData, path string) Variable {
	v := Variable{Name: path + e.name, File: e.filePath(), Line: int(e.line), Type: d.typeOf(m, e.typ, 0),
		External: e.external}
	switch e.place.kind {
	case placeAddr:
		v.Addr = Addr(e.place.val)
	case placeTLS:
		v.Addr, v.TLS = Addr(e.place.val), true
	case placeConst:
		v.Const = e.place.bytes(v.Type.Strip().Size)
	}
	return v
}

// VariableNames returns the qualified names of all variables, sorted, each once. The slice is shared: do not change it.
func (m *Module) VariableNames() []string {
	t := m.nameTable()
	t.listOnce.Do(func() {
		for i := range t.vars {
			t.list = append(t.list, t.join(t.vars[i].path)+t.vars[i].name)
		}
		slices.Sort(t.list)
		t.list = slices.Compact(t.list)
	})
	return t.list
}

// TypesNamed returns the base types, structs, classes, unions, enums and typedefs of a name, the best match first as
// for Variables, and definitions before declarations. Base types may be spelled as C allows:
// "unsigned" is "unsigned int" and "long unsigned int" is "unsigned long". Template arguments may be left
// out from the end, as "vector<int>". At most 64; nil for none.
func (m *Module) TypesNamed(name string) []*Type {
	t := m.nameTable()
	for _, whole := range []bool{false, true} {
		q := newTypeQuery(name, whole)
		if len(q.segs) == 0 {
			return nil
		}
		if out := m.typesFor(t, q); len(out) > 0 {
			return out
		}
	}
	// arguments are compared as they are spelled
	if open := strings.IndexByte(name, '<'); open > 0 && strings.Contains(name[open:], "std::string") {
		return m.TypesNamed(name[:open] + strings.ReplaceAll(name[open:], "std::string",
			"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"))
	}
	return nil
}

func (m *Module) typesFor(t *nameTable, q nameQuery) []*Type {
	type hit struct {
		t    *Type
		rank int
		e    *typeEntry
		full string
	}
	var hits []hit
	_ = m.guarded(func() error {
		d := m.dwarf()
		for e := range keyed(t.types, q.key(), func(e *typeEntry) uint64 { return e.key }) {
			name := string(e.u.text(e.name))
			rank := t.match(q, name, e.path)
			if rank < 0 {
				continue
			}
			hits = append(hits, hit{rank: rank, e: e, full: t.join(e.path) + name})
		}
		sorting.By(hits, func(a, b hit) int {
			return cmp.Or(cmp.Compare(a.rank, b.rank), falseFirst(a.e.declared, b.e.declared), falseFirst(a.e.local, b.e.local),
				falseFirst(a.e.typedef, b.e.typedef), cmp.Compare(len(a.full), len(b.full)), cmp.Compare(a.full, b.full))
		})
		hits = hits[:min(len(hits), 4*maxNamed)]
		for i := range hits {
			hits[i].t = d.typeAt(m, hits[i].e.die, 0)
		}
		return nil
	})
	var out []*Type
	for _, h := range hits {
		if h.rank >= rankLoose && hits[0].rank < rankLoose {
			break
		}
		if h.rank >= rankLoose && h.full != hits[0].full {
			return nil // several instances of a template: the name says not which
		}
		if h.t == nil || h.t.Kind == KindUnknown || slices.Contains(out, h.t) {
			continue
		}
		out = append(out, h.t)
	}
	sorting.By(out, func(a, b *Type) int { return falseFirst(a.Declared, b.Declared) })
	return out[:min(len(out), maxNamed)]
}

// TLSOffset returns the distance from the FS base to the TLS block of an executable, which is
// negative; add a thread-local Variable's Addr to it. ok is false for shared libraries, whose
// blocks are elsewhere in each process, and without thread-locals.
func (m *Module) TLSOffset() (off int64, ok bool) {
	if !m.executable() {
		return 0, false
	}
	for _, p := range m.im.progs {
		const ptTLS, maxTLS = 7, 1 << 40
		if p.typ != ptTLS || p.memsz > maxTLS || p.align > maxTLS || p.align&(p.align-1) != 0 {
			continue
		}
		// ELF for x86-64, variant II: the block ends at the thread pointer, and starts as aligned as its image is.
		align := max(p.align, 1)
		return -int64(p.memsz + (-p.vaddr-p.memsz)&(align-1)), true
	}
	return 0, false
}

// executable tells programs from shared libraries, which both can be ET_DYN.
func (m *Module) executable() bool {
	if !m.PIE || m.Interp != "" {
		return true
	}
	pie := false
	_ = m.guarded(func() error {
		for _, p := range m.im.progs {
			const ptDynamic, dtFlags1, df1PIE = 2, 0x6ffffffb, 0x08000000
			if p.typ != ptDynamic {
				continue
			}
			for r := newReader(m.im.slice(p.off, p.filesz), 0); r.left() >= 16; {
				if tag, v := r.u64(), r.u64(); tag == dtFlags1 {
					pie = v&df1PIE != 0
				}
			}
		}
		return nil
	})
	return pie
}
