package symbol

import (
	"cmp"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/sorting"
)

// DWARF's name of the type that a vtable is of.
const atContainingType = 0x1d

// Vtable is the table of one Rust type's methods of one trait. A program's memory does not say where the module was
// loaded; Anchor and Delta tell a table by itself: the word at Anchor is the table's own address plus Delta.
type Vtable struct {
	Addr   Addr
	Trait  string // qualified, with generic arguments: "core::fmt::Debug"; "_" for none
	Of     string // the type's name, as in the source
	Type   *Type
	Anchor int64 // offset of a word that is an address in this module; -1 none
	Delta  int64
	Params []*Type // of SlotTables
	size   int64   // of the type, as the table says; only where no description of it is
}

// maxVtables bounds what is kept of a module; the largest programs have some ten thousands.
const maxVtables = 1 << 17

// Vtables returns the vtables of Rust's trait objects, by trait, then by address. They are looked for once.
func (m *Module) Vtables() []Vtable {
	m.vtOnce.Do(func() {
		_ = m.guarded(func() error {
			m.vtables = m.findVtables()
			return nil
		})
		m.vtables = sortVtables(append(m.vtables, m.bareVtables(m.vtables)...))
	})
	return m.vtables
}

func sortVtables(all []Vtable) []Vtable {
	sorting.By(all, func(a, b Vtable) int {
		return cmp.Or(cmp.Compare(plainName(a.Trait), plainName(b.Trait)), cmp.Compare(a.Addr, b.Addr))
	})
	return all
}

// Implementors returns the vtables of the module of t whose trait is the one of that path, whatever its generic
// arguments.
func (t *Type) Implementors(trait string) []Vtable {
	if t == nil || t.m == nil {
		return nil
	}
	trait = plainName(trait)
	all := t.m.Vtables()
	i, _ := slices.BinarySearchFunc(all, trait,
		func(v Vtable, want string) int { return cmp.Compare(plainName(v.Trait), want) })
	n := i
	for n < len(all) && plainName(all[n].Trait) == trait {
		n++
	}
	return all[i:n]
}

func (m *Module) findVtables() []Vtable {
	d := m.dwarf()
	if d == nil {
		return nil
	}
	var units []*unit
	for _, s := range d.secs {
		for _, u := range s.units {
			if u.lang == LangRust {
				units = append(units, u)
			}
		}
	}
	found := make([][]Vtable, len(units))
	_ = parallelN(len(units), func(i int) { found[i] = d.vtablesOf(m, units[i]) }) // what a damaged unit has is left out
	all := sortVtables(slices.Concat(found...))
	all = slices.CompactFunc(all, func(a, b Vtable) bool { return a.Addr == b.Addr && a.Trait == b.Trait })
	all = all[:min(len(all), maxVtables)]
	m.anchor(all)
	return all
}

// vtablesOf reads the variables at the top of a unit that rustc describes vtables with:
// <Type as Trait>::{vtable}, of a type <Type as Trait>::{vtable_type} that names Type as the one that contains it.
func (d *dwarfData) vtablesOf(m *Module, u *unit) []Vtable {
	var out []Vtable
	r := reader{b: u.sec.data[:u.end], off: int(u.dieOff)}
	root := u.abbrevs.get(r.uleb())
	if root == nil || !root.children {
		return nil
	}
	root.skipAttrs(&r)
	for depth := 0; r.off < len(r.b) && !r.bad && len(out) < maxVtables; {
		code := r.uleb()
		if code == 0 {
			if depth--; depth < 0 {
				break
			}
			continue
		}
		c := u.abbrevs.get(code)
		if c == nil {
			break
		}
		if depth == 0 && c.tag == tagVariable {
			if v, ok := d.vtable(m, u, c, &r); ok {
				out = append(out, v)
			}
		} else {
			c.skipAttrs(&r)
		}
		if c.children {
			depth++
		}
	}
	return out
}

func (d *dwarfData) vtable(m *Module, u *unit, c *abbrev, r *reader) (v Vtable, ok bool) {
	var name string
	var typ value
	for _, at := range c.attrs {
		switch at.name {
		case atName:
			name = string(u.text(u.str(r, at.form)))
		case atType:
			typ = u.value(r, at)
		case atLocation:
			loc := u.value(r, at)
			v.Addr, ok = u.fixedAddr(loc.b)
		default:
			u.skip(r, at.form)
		}
	}
	name, isTable := strings.CutSuffix(name, ">::{vtable}")
	if r.bad || !ok || !isTable || typ.class != clsRef || !strings.HasPrefix(name, "<") {
		return v, false
	}
	at := castIn(name[1:])
	if at < 0 {
		return v, false
	}
	v.Of, v.Trait = name[1:1+at], name[1+at+len(" as "):]
	tu, ab, tr := d.die(dieRef(typ.u))
	if ab == nil {
		return v, false
	}
	for _, at := range ab.attrs {
		if at.name == atContainingType {
			v.Type = d.typeOf(m, tu.value(&tr, at), 0)
			continue
		}
		tu.skip(&tr, at.form)
	}
	return v, v.Type != nil && !tr.bad
}

// castIn returns where the last " as " outside of generic arguments is, or -1.
func castIn(s string) int {
	depth := 0
	for i := len(s) - 1; i >= 0; i-- {
		switch s[i] {
		case '>':
			if i == 0 || s[i-1] != '-' { // the arrow of a function type
				depth++
			}
		case '<':
			depth--
		case ' ':
			if depth == 0 && strings.HasPrefix(s[i:], " as ") {
				return i
			}
		}
	}
	return -1
}

// fixedAddr reads a location that is one address.
func (u *unit) fixedAddr(b []byte) (Addr, bool) {
	const opAddr, opAddrx = 0x03, 0xa1
	r := newReader(b, 0)
	switch r.u8() {
	case opAddr:
		a := r.word(int(u.addrSize))
		return Addr(a), !r.bad && r.left() == 0
	case opAddrx:
		i := r.uleb()
		return Addr(u.addrAt(i)), !r.bad && r.left() == 0
	}
	return 0, false
}

// A vtable has its drop function, or 0, the size and the alignment of the type, then the methods.
var anchorSlots = []int64{0, 24, 32, 40}

// anchor finds a word in each table that is an address.
func (m *Module) anchor(all []Vtable) {
	wanted := make(map[uint64]uint64, len(all)*len(anchorSlots))
	for i := range all {
		for _, k := range anchorSlots {
			wanted[uint64(all[i].Addr)+uint64(k)] = 0
		}
	}
	m.im.relocated(wanted)
	for i := range all {
		all[i].Anchor = -1
		for _, k := range anchorSlots {
			if to := wanted[uint64(all[i].Addr)+uint64(k)]; to != 0 && m.im.at(to) != nil {
				all[i].Anchor, all[i].Delta = k, int64(to)-int64(all[i].Addr)
				break
			}
		}
	}
}

// relocated sets each address that is a key to the word that it has once the module is loaded, less the load bias: what
// the file has there, or what a relative relocation puts there. Words that the loader looks up by name stay 0.
func (im *image) relocated(words map[uint64]uint64) {
	for a := range words {
		if r := newReader(im.at(a), 0); r.left() >= 8 {
			words[a] = r.u64()
		}
	}
	im.relocations(func(at, info, addend uint64) {
		if _, ok := words[at]; ok && info == relocRelative {
			words[at] = addend
		} else if ok {
			words[at] = 0
		}
	})
}

// Kinds of relocations of x86-64.
const (
	reloc64       = 1 // the address of a symbol, and an addend
	relocRelative = 8 // the load bias, and an addend
)

// relocations calls fn for each entry of the loader's table.
func (im *image) relocations(fn func(at, info, addend uint64)) {
	const dtRela, dtRelaSize, entry = 7, 8, 24
	table, size := uint64(0), uint64(0)
	for _, p := range im.progs {
		if p.typ != 2 { // PT_DYNAMIC
			continue
		}
		for r := newReader(im.slice(p.off, p.filesz), 0); r.left() >= 16; {
			switch tag, v := r.u64(), r.u64(); tag {
			case dtRela:
				table = v
			case dtRelaSize:
				size = v
			}
		}
	}
	if table == 0 {
		return
	}
	b := im.at(table)
	for r := newReader(b[:min(size, uint64(len(b)))], 0); r.left() >= entry; {
		fn(r.u64(), r.u64(), r.u64())
	}
}
