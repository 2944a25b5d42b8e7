package capture

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/sorting"
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/value"
)

// Bounds on the dynamic types of one base.
const (
	maxVirtualCases = 256 // vtables; a class has one for each of its polymorphic bases that it does not begin with
	maxVirtualTypes = 300 // forms in one layout, from which on derived classes are shown by name and the base's members
	// the same once the session has made virtualForms of derived classes: hooking thousands of functions stays quick
	fewVirtualTypes = 40
	virtualForms    = 50000
	maxNameCheck    = 24 // bytes of the type_info's name compared, from its end
)

// virtualClass is a C++ class with virtual functions that others derive from. What a pointer to it leads to is copied
// as an object of the class; the walk of that (walkVirtual) finds out what it is a part of, and copies the whole.
type virtualClass struct {
	derived []symbol.Derived
	located []bool     // it is known where in the derived class the class is: by its bases, or its table
	walks   [][]uint64 // of the derived classes' objects, one each; none when not located
	cases   []virtualCase
}

// virtualCase is one vtable that an object's virtual pointer may lead to. Its number, from 1, is its place in
// virtualClass.cases.
type virtualCase struct {
	symbol.ClassTable
	class int
}

var notVirtual = new(virtualClass)

// virtual returns what derives from t, nil for classes without virtual functions and those that nothing derives from.
func (tt *typeTable) virtual(t *symbol.Type) *virtualClass {
	if tt.rust || t == nil || t.Kind != symbol.KindStruct || t.Declared {
		return nil
	}
	v, ok := tt.walks.virtuals.Load(t)
	if !ok {
		v = notVirtual
		if polymorphic(t) && tt.formatter(t) == nil {
			v = tt.newVirtualClass(t)
		}
		v, _ = tt.walks.virtuals.LoadOrStore(t, v)
	}
	if c := v.(*virtualClass); len(c.cases) > 0 {
		return c
	}
	return nil
}

// polymorphic reports a class whose objects begin with a virtual pointer.
func polymorphic(t *symbol.Type) bool { return polymorphicIn(t, nil) }

// polymorphicIn is polymorphic without the classes that were seen: one may be the base of many.
func polymorphicIn(t *symbol.Type, seen map[*symbol.Type]bool) bool {
	if seen[t] {
		return false
	}
	fs := t.Fields()
	for i := range fs {
		f := &fs[i]
		switch {
		case f.Static || f.Virtual || f.Off != 0:
		case f.Artificial && strings.HasPrefix(f.Name, "_vptr"):
			return true
		case f.Base:
			if seen == nil {
				seen = map[*symbol.Type]bool{}
			}
			seen[t] = true
			if polymorphicIn(f.Type.Strip(), seen) {
				return true
			}
		}
	}
	return false
}

func (tt *typeTable) newVirtualClass(t *symbol.Type) *virtualClass {
	c := &virtualClass{derived: t.Derived()}
	name := t.QualifiedName()
	for i := range c.derived {
		d := &c.derived[i]
		offs, whole := basesAt(d.Type, name, 0, 0)
		located := len(offs) > 0 || !whole // each table says how far it is from the object's beginning
		c.located = append(c.located, located)
		c.walks = append(c.walks, nil)
		if located {
			c.walks[i] = []uint64{uint64(tt.walks.id(d.Type.Strip(), walkObject))}
		}
		for _, table := range d.Tables {
			if whole && len(offs) > 0 && !slices.Contains(offs, table.Off) {
				continue // of another base
			}
			if len(c.cases) < maxVirtualCases {
				c.cases = append(c.cases, virtualCase{table, i})
			}
		}
	}
	return c
}

// basesAt finds where in a class bases of a name are. whole is false where virtual bases may hide more.
func basesAt(t *symbol.Type, name string, off int64, depth int) (at []int64, whole bool) {
	whole = true
	for _, f := range t.Fields() {
		switch b := f.Type.Strip(); {
		case !f.Base:
		case f.Virtual || depth > maxTypeDepth:
			whole = false
		case b.QualifiedName() == name:
			at = append(at, off+f.Off)
		default:
			more, all := basesAt(b, name, off+f.Off, depth+1)
			at, whole = append(at, more...), whole && all
		}
	}
	return at, whole
}

// pointeeWalk returns the walk of what a pointer to e leads to.
func (tt *typeTable) pointeeWalk(e *symbol.Type) uint16 {
	if tt.virtual(e) != nil {
		return tt.walks.id(e, walkVirtual)
	}
	return tt.walks.id(e, walkObject)
}

// pointeeForm returns the form of what a pointer leads to, whose walk it makes, too. level is that of the pointee.
func (tt *typeTable) pointeeForm(t *symbol.Type, level int) int32 {
	i := tt.of(t, level)
	if tt.needs(t); level > 0 || tt.isNear(t) {
		tt.walk(t)
	}
	s := t.Strip()
	c := tt.virtual(s)
	if c == nil {
		return i
	}
	if made, ok := tt.virtuals[s]; ok {
		return made
	}
	v := value.Type{Class: value.ClassVirtual, Name: tt.types[i].Name, Size: tt.types[i].Size, Elem: i,
		Discr: value.TypeField{Type: -1},
		Walk:  tt.walks.id(s, walkWords)}
	forms := make([]int32, len(c.derived))
	tt.types = slices.Grow(tt.types, min(3*len(forms), maxVirtualTypes))
	for k := range c.derived {
		forms[k] = tt.derivedForm(c, k, level)
	}
	v.Variants = make([]value.Variant, 0, len(c.cases))
	for _, one := range c.cases {
		out := value.Variant{Name: c.derived[one.class].Name, Type: forms[one.class], Off: uint32(one.Off),
			Values: c.walks[one.class]}
		v.Variants = append(v.Variants, out)
	}
	if tt.virtuals == nil {
		tt.virtuals = map[*symbol.Type]int32{}
	}
	tt.virtuals[s] = tt.add(v)
	tt.virtualWalk(s, c)
	return tt.virtuals[s]
}

// roomForDerived reports whether one more of the types that an object may be of gets a form of its own in this layout,
// and counts it: each leads to others, and each function has a layout of its own.
func (tt *typeTable) roomForDerived() bool {
	if tt.alone {
		return len(tt.types) < mostAlone
	}
	most := maxVirtualTypes
	if tt.walks.derived.Load() > virtualForms {
		most = fewVirtualTypes
	}
	if len(tt.types) >= most {
		return false
	}
	tt.walks.derived.Add(1)
	return true
}

// derivedForm makes form and walk of one derived class; -1 stands for the members of the base.
func (tt *typeTable) derivedForm(c *virtualClass, k, level int) int32 {
	t := c.derived[k].Type
	if !c.located[k] {
		return -1
	}
	form := int32(-1)
	if tt.roomForDerived() {
		form = tt.of(t, level)
	} else {
		tt.short = true
		if tt.walks.defined(uint16(c.walks[k][0])) {
			return form
		}
	}
	if tt.needs(t); level > 0 || tt.isNear(t) {
		tt.walk(t)
	}
	return form
}

// virtualWalk makes the walk of what a pointer to a class leads to. Which vtable the object has is told by the distance
// from it to the name in its type_info, and by that name's end; neither depends on where the module was loaded.
func (tt *typeTable) virtualWalk(t *symbol.Type, c *virtualClass) {
	id := tt.walks.id(t, walkVirtual)
	if tt.walks.defined(id) {
		return
	}
	order := make([]int, len(c.cases))
	for i := range order {
		order[i] = i
	}
	sorting.By(order, func(a, b int) int { return cmp.Compare(c.cases[a].NameDist, c.cases[b].NameDist) })
	p := &prog{}
	miss, end := p.Label(), p.Label()
	p.Load(r0, 0, 8)
	p.JumpZero(r0, miss)
	p.LoadMem(r1, r0, -8, 8)
	p.JumpZero(r1, miss)
	p.LoadMem(r2, r1, 8, 8)
	p.ALU(ring.ALUSub, r3, r2, r0)
	tt.virtualSearch(p, t, c, order, miss, end)
	p.Bind(miss)
	p.Sub(tt.walks.id(t, walkObject), 0, noReg)
	p.Bind(end)
	tt.define(id, p)
}

// virtualSearch looks for r3 among the distances of cases, which are in order.
func (tt *typeTable) virtualSearch(p *prog, t *symbol.Type, c *virtualClass, order []int, miss, end label) {
	if len(order) > 1 {
		mid, right := len(order)/2, p.Label()
		p.Const(r4, uint64(c.cases[order[mid]].NameDist))
		p.ALU(ring.ALUSLt, r5, r3, r4)
		p.JumpZero(r5, right)
		tt.virtualSearch(p, t, c, order[:mid], miss, end)
		p.Bind(right)
		tt.virtualSearch(p, t, c, order[mid:], miss, end)
		return
	}
	one := &c.cases[order[0]]
	d := &c.derived[one.class]
	p.Const(r4, uint64(one.NameDist))
	p.ALU(ring.ALUEq, r5, r3, r4)
	p.JumpZero(r5, miss)
	p.sameName(d.Text, miss)
	p.Const(r4, uint64(order[0]+1))
	p.Open(tt.walks.id(t, walkWords))
	p.Push(r4)
	p.Close()
	if !c.located[one.class] {
		p.Sub(tt.walks.id(t, walkObject), 0, noReg)
	} else {
		p.Addr(r6, -min(one.Off, math.MaxInt32))
		of := d.Type.Strip()
		p.Node(tt.walks.id(of, walkObject), r6, noReg, sizeOf(of), false)
	}
	p.Jump(end)
}

// sameName compares the end of the text at the address in r2.
func (p *prog) sameName(text []byte, miss label) {
	check := func(at, size int) {
		var word [8]byte
		copy(word[:], text[at:at+size])
		p.LoadMem(r4, r2, int64(at), int64(size))
		p.Const(r5, binary.LittleEndian.Uint64(word[:]))
		p.ALU(ring.ALUEq, r5, r4, r5)
		p.JumpZero(r5, miss)
	}
	at := max(len(text)-maxNameCheck, 0)
	for ; at+8 <= len(text); at += 8 {
		check(at, 8)
	}
	for size := 4; size > 0; size /= 2 {
		if at+size <= len(text) {
			check(at, size)
			at += size
		}
	}
}
