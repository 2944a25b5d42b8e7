package symbol

import (
	"bytes"
	"cmp"
	"debug/elf"
	"math"
	"slices"
	"strings"
)

// Derived is a C++ class that derives, over any number of steps, from another one.
type Derived struct {
	Type   *Type
	Name   string       // qualified
	Text   []byte       // what its type_info has as its name, with the NUL
	Tables []ClassTable // at least one
}

// ClassTable is one of the tables that the virtual pointers in an object of a class lead to. Neither field depends on
// where the module was loaded.
type ClassTable struct {
	Off      int64 // of the part of the object that has the virtual pointer
	NameDist int64 // from what the virtual pointer holds to the text of the type_info's name
}

// Bounds on what is read of a module, and returned for a base. A large program has some ten thousands of classes.
const (
	maxClassSyms  = 1 << 17
	maxClassWords = 1 << 21
	maxClassSize  = 1 << 16 // bytes of one vtable or type_info
	maxDerived    = 64
	maxClassText  = 1024
)

// classTable is what a module's type_infos and vtables say of its classes. It is immutable once built.
type classTable struct {
	byName  map[string][]*class // by the canonical qualified name
	derived map[*class][]*class // direct
}

// class is one class, by the mangled name that its type_info has.
type class struct {
	mangled string
	name    string
	text    []byte
	info    uint64 // address of the type_info; 0: it is in another module
	bases   []*class
	tables  []ClassTable
	many    bool // several classes have the name: hidden ones of several source files
}

// Derived returns the classes of t's module that derive from t and have vtables, those of the program before those of
// the standard library, at most 64. It is empty where the module does not tell: without run-time type information, or
// without symbols. The first call for a module reads all of its vtables.
func (t *Type) Derived() []Derived {
	if t == nil || t.m == nil || t.Kind != KindStruct {
		return nil
	}
	m := t.m
	m.classOnce.Do(func() {
		m.classes = &classTable{}
		_ = m.guarded(func() error {
			m.classes = m.findClasses()
			return nil
		})
	})
	all := m.classes.below(canonicalPath(t.QualifiedName()))
	slices.SortFunc(all, func(a, b *class) int {
		return cmp.Or(falseFirst(a.library(), b.library()), cmp.Compare(a.name, b.name))
	})
	var out []Derived
	for _, c := range all {
		if len(out) == maxDerived {
			break
		}
		if of := m.classType(c); of != nil {
			out = append(out, Derived{Type: of, Name: of.QualifiedName(), Text: c.text, Tables: c.tables})
		}
	}
	return out
}

// classType returns the description of a class, nil where it is missing or ambiguous.
func (m *Module) classType(c *class) *Type {
	var found *Type
	for _, t := range m.TypesNamed(c.name) {
		if t = t.Strip(); t.Kind != KindStruct || t.Declared || t.Size <= 0 ||
			canonicalPath(t.QualifiedName()) != canonicalPath(c.name) {
			continue
		}
		if found != nil && found != t {
			return nil
		}
		found = t
	}
	return found
}

func (c *class) library() bool {
	return strings.HasPrefix(c.name, "std::") || strings.HasPrefix(c.name, "__gnu_cxx::") ||
		strings.HasPrefix(c.name, "__cxxabiv1::")
}

// canonicalPath spells a qualified name one way.
func canonicalPath(name string) string {
	segs := splitName(name)
	for i := range segs {
		segs[i] = canonicalName(segs[i])
	}
	return strings.Join(segs, "::")
}

// below returns the classes that derive from that of a name, once each.
func (ct *classTable) below(name string) []*class {
	todo := ct.byName[name]
	if len(todo) != 1 || todo[0].many {
		return nil
	}
	seen := map[*class]bool{todo[0]: true}
	var out []*class
	for len(todo) > 0 {
		c := todo[0]
		todo = todo[1:]
		for _, d := range ct.derived[c] {
			if seen[d] {
				continue
			}
			seen[d] = true
			todo = append(todo, d)
			if len(d.tables) > 0 && len(ct.byName[canonicalPath(d.name)]) == 1 && !d.many {
				out = append(out, d)
			}
		}
	}
	return out
}

// classWord is a word of a vtable or type_info: an address in the module or a number, or the name of a symbol
// elsewhere.
type classWord struct {
	v    uint64
	name string
}

// classReader collects what findClasses needs.
type classReader struct {
	m       *Module
	infos   map[string]elfSym
	vtables map[string]elfSym
	words   map[uint64]classWord
	classes map[string]*class
	at      map[uint64]*class // by the type_info's address
}

func (m *Module) findClasses() *classTable {
	r := &classReader{m: m, infos: map[string]elfSym{}, vtables: map[string]elfSym{}, words: map[uint64]classWord{},
		classes: map[string]*class{}, at: map[uint64]*class{}}
	many := r.symbols()
	r.read()
	for name, s := range r.infos {
		r.at[s.value] = r.class(name)
		r.at[s.value].info = s.value
	}
	for name := range r.infos {
		r.info(r.classes[name])
	}
	for name, s := range r.vtables {
		if c := r.classes[name]; c != nil && c.info != 0 && c.text != nil {
			r.tables(c, s)
		}
	}
	ct := &classTable{byName: map[string][]*class{}, derived: map[*class][]*class{}}
	for _, c := range r.classes {
		name, _, ok := demangled("_ZTI" + c.mangled)
		if c.name = strings.TrimPrefix(name, "typeinfo for "); !ok || c.name == name {
			continue
		}
		c.many = many[c.mangled]
		key := canonicalPath(c.name)
		ct.byName[key] = append(ct.byName[key], c)
		for _, b := range c.bases {
			ct.derived[b] = append(ct.derived[b], c)
		}
	}
	return ct
}

// symbols finds the module's vtables and type_infos, by mangled name. It returns the names that stand for several.
func (r *classReader) symbols() (many map[string]bool) {
	many = map[string]bool{}
	words := uint64(0)
	for _, im := range r.m.images() {
		im.eachSym(func(s elfSym) bool {
			if s.typ != uint8(elf.STT_OBJECT) || s.size < 16 || s.size > maxClassSize || len(s.name) < 5 || s.value%8 != 0 {
				return true
			}
			to := r.vtables
			switch {
			case bytes.HasPrefix(s.name, []byte("_ZTI")):
				to = r.infos
			case !bytes.HasPrefix(s.name, []byte("_ZTV")):
				return true
			}
			name := string(s.name[4:])
			if have, ok := to[name]; ok {
				many[name] = many[name] || have.value != s.value
				return true
			}
			words += s.size / 8
			to[name] = s
			return len(to) < maxClassSyms && words < maxClassWords
		})
	}
	return many
}

// read sets the words of all tables.
func (r *classReader) read() {
	im := r.m.im
	for _, syms := range []map[string]elfSym{r.infos, r.vtables} {
		for _, s := range syms {
			b := newReader(im.at(s.value), 0)
			for at := s.value; at+8 <= s.value+s.size && b.left() >= 8; at += 8 {
				r.words[at] = classWord{v: b.u64()}
			}
		}
	}
	var dyn *sectHeader
	for i := range im.sects {
		if s := &im.sects[i]; s.typ == uint32(elf.SHT_DYNSYM) && s.link < uint32(len(im.sects)) {
			dyn = s
		}
	}
	im.relocations(func(at, info, addend uint64) {
		if _, ok := r.words[at]; !ok {
			return
		}
		w := classWord{}
		switch info & math.MaxUint32 {
		case relocRelative:
			w.v = addend
		case reloc64:
			if dyn != nil {
				w = im.dynamic(dyn, info>>32, addend)
			}
		}
		r.words[at] = w
	})
}

// dynamic returns what a dynamic symbol stands for.
func (im *image) dynamic(dyn *sectHeader, index, addend uint64) classWord {
	b := im.raw(dyn)
	if index >= uint64(len(b))/elf.Sym64Size {
		return classWord{}
	}
	r := newReader(b[index*elf.Sym64Size:], 0)
	name := r.u32()
	r.skip(2)
	if shndx, value := r.u16(), r.u64(); shndx != uint16(elf.SHN_UNDEF) {
		return classWord{v: value + addend}
	}
	return classWord{name: string(cstrAt(im.raw(&im.sects[dyn.link]), uint64(name)))}
}

func (r *classReader) class(mangled string) *class {
	c := r.classes[mangled]
	if c == nil {
		c = &class{mangled: mangled}
		r.classes[mangled] = c
	}
	return c
}

// info reads a type_info: {table, name}, and behind that nothing, or one base, or flags, a count and that many {base,
// flags}.
func (r *classReader) info(c *class) {
	size := r.infos[c.mangled].size
	text := r.m.im.at(r.words[c.info+8].v)
	if end := bytes.IndexByte(text[:min(len(text), maxClassText)], 0); end > 0 {
		c.text = bytes.Clone(text[:end+1])
	}
	switch {
	case size == 24:
		r.base(c, c.info+16)
	case size >= 40:
		n := min(r.words[c.info+16].v>>32, (size-24)/16)
		for i := range n {
			r.base(c, c.info+24+16*i)
		}
	}
}

func (r *classReader) base(c *class, at uint64) {
	w := r.words[at]
	b := r.at[w.v]
	if mangled, ok := strings.CutPrefix(w.name, "_ZTI"); ok {
		b = r.class(mangled)
	}
	if b != nil && b != c {
		c.bases = append(c.bases, b)
	}
}

// tables finds the tables that one symbol stands for: each begins behind its offset to the top and the type_info's
// address.
func (r *classReader) tables(c *class, s elfSym) {
	name := r.words[c.info+8].v
	for at := s.value + 8; at+8 <= s.value+s.size; at += 8 {
		if r.words[at].v != c.info {
			continue
		}
		if off := -int64(r.words[at-8].v); off >= 0 && off < math.MaxInt32 {
			c.tables = append(c.tables, ClassTable{Off: off, NameDist: int64(name - (at + 8))})
		}
	}
}
