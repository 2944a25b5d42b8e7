package capture

import (
	"cmp"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/sorting"
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/value"
)

// rustDyn is &dyn Trait and Box<dyn Trait>: the type that the vtable is of, and the value.
var rustDyn = &formatter{
	name:  "rust trait object",
	match: func(name string) bool { return rustTrait(rustReferent(name)) != "" },
	form: func(f *form) bool {
		ptr, table, ok := rustDynParts(f.T)
		if !ok {
			return false
		}
		f.P.Load(r0, ptr, 8)
		f.P.Load(r1, table, 8)
		f.traitObject(rustTrait(rustReferent(f.T.Name)), r0, r1)
		return true
	},
}

// rustDynParts finds the halves of a pointer to a trait object.
func rustDynParts(t *symbol.Type) (ptr, table int64, ok bool) {
	ptr, _, ok = field(t, "pointer")
	table, _, ok1 := field(t, "vtable")
	return ptr, table, ok && ok1
}

// rustTrait returns the path of the trait of "dyn Trait<…> + Send", "" for what is none.
func rustTrait(name string) string {
	name, ok := strings.CutPrefix(strings.TrimPrefix(name, "("), "dyn ")
	if !ok {
		return ""
	}
	if at := strings.IndexAny(name, "<+),"); at >= 0 {
		name = name[:at]
	}
	return strings.TrimSpace(name)
}

// Bounds on the types that one trait object is taken to be of: so many are shown with their value, so many by name.
const (
	maxDynValues = 48
	maxDynNames  = 256
)

// dynCase is one type that a trait object may be of.
type dynCase struct {
	symbol.Vtable
	number uint64 // from 1; vtables of one type have one number
	whole  bool   // the value is shown, too
}

// dynCases orders what may implement a trait: a program's own types before those of the standard library. Tables that
// cannot be told apart are left out.
func dynCases(t *symbol.Type, trait string) (cases []dynCase, names []dynCase) {
	all := slices.Clone(t.Implementors(trait))
	sorting.By(all, func(a, b symbol.Vtable) int {
		return cmp.Or(cmp.Compare(rustLibrary(a.Of), rustLibrary(b.Of)), cmp.Compare(a.Of, b.Of))
	})
	type key struct{ anchor, delta int64 }
	count := map[key]int{}
	for _, v := range all {
		count[key{v.Anchor, v.Delta}]++
	}
	for _, v := range all {
		if v.Anchor < 0 || count[key{v.Anchor, v.Delta}] > 1 {
			continue
		}
		c := dynCase{Vtable: v}
		if n := len(names); n > 0 && names[n-1].Type == v.Type {
			c.number, c.whole = names[n-1].number, names[n-1].whole
		} else if n < maxDynNames {
			c.number, c.whole = uint64(n+1), n < maxDynValues && sizeOf(v.Type.Strip()) >= 0
			names = append(names, c)
		} else {
			break
		}
		cases = append(cases, c)
	}
	return cases, names
}

func rustLibrary(name string) int {
	for _, crate := range []string{"core::", "alloc::", "std::"} {
		if strings.HasPrefix(name, crate) {
			return 1
		}
	}
	return 0
}

// traitObject shows the object at the address in register at, whose vtable is at that in table, as {"type": …, "value":
// …}. Which table it is is found in the target by the distance from the table to a function that it names.
func (f *form) traitObject(trait string, at, table reg) {
	f.V.Class, f.V.Walk = value.ClassDynamic, f.Words()
	if f.dry {
		return
	}
	f.dynamic(f.dynTypes(trait))
	f.dynamicWalk(slices.Clone(f.dynTypes(trait).cases), at, table)
}

// dynTypes are the types that a trait object may be of. They are looked for once for each type of pointers to it: a
// program of thousands of functions has such a pointer in most of them.
type dynTypes struct {
	cases, names []dynCase
	byName       []value.Variant // where none of them has a form
}

func (f *form) dynTypes(trait string) *dynTypes {
	key := dynKey{f.T, trait}
	if known, ok := f.tt.walks.dynTypes.Load(key); ok {
		return known.(*dynTypes)
	}
	d := &dynTypes{}
	d.cases, d.names = dynCases(f.T, trait)
	d.byName = variantsOf(d.names)
	f.tt.walks.dynTypes.Store(key, d)
	return d
}

type dynKey struct {
	t     *symbol.Type
	trait string
}

// variantsOf are types that are shown by name.
func variantsOf(names []dynCase) []value.Variant {
	out := make([]value.Variant, len(names))
	for i := range names {
		out[i] = value.Variant{Name: errorName(names[i].Of), Type: -1}
	}
	return out
}

// dynamic makes the forms of the types that an object may be of.
func (f *form) dynamic(d *dynTypes) {
	if f.index < 0 {
		return
	}
	f.V.Variants = d.byName // which other layouts have, too
	own := false
	for i := range d.names {
		if !d.names[i].whole || !f.tt.roomForDerived() {
			continue
		}
		if !own {
			f.V.Variants, own = slices.Clone(d.byName), true
		}
		to := f.pointee(d.names[i].Type)
		f.V.Variants[i].Type = to
	}
}

// errorName is the type's name; that of text in a Box<dyn Error> is one within a function, which differs by what names
// it.
func errorName(of string) string {
	if (strings.HasPrefix(of, "alloc::") || strings.HasPrefix(of, "<alloc::")) &&
		strings.HasSuffix(of, "::from::StringError") {
		return "StringError"
	}
	return of
}

// dynamicWalk writes the number of the type whose table of functions is at that in table, and the object's address, and
// copies the object.
func (f *form) dynamicWalk(cases []dynCase, at, table reg) {
	sorting.By(cases, func(a, b dynCase) int {
		return cmp.Or(cmp.Compare(a.Anchor, b.Anchor), cmp.Compare(a.Delta, b.Delta))
	})
	p, end, miss := f.P, f.P.Label(), f.P.Label()
	p.JumpZero(table, miss)
	for len(cases) > 0 {
		n := 1
		for n < len(cases) && cases[n].Anchor == cases[0].Anchor {
			n++
		}
		next := p.Label()
		p.LoadMem(r3, table, cases[0].Anchor, 8)
		p.ALU(ring.ALUSub, r3, r3, table)
		f.dynSearch(cases[:n], at, next, end)
		p.Bind(next)
		cases = cases[n:]
	}
	p.Bind(miss)
	p.Const(r2, 0)
	f.dynWords(at)
	p.Bind(end)
}

// dynSearch looks for r3 among the distances of cases, which are in order.
func (f *form) dynSearch(cases []dynCase, at reg, miss, end label) {
	p := f.P
	if len(cases) > 1 {
		mid, right := len(cases)/2, p.Label()
		p.Const(r4, uint64(cases[mid].Delta))
		p.ALU(ring.ALUSLt, r5, r3, r4)
		p.JumpZero(r5, right)
		f.dynSearch(cases[:mid], at, miss, end)
		p.Bind(right)
		f.dynSearch(cases[mid:], at, miss, end)
		return
	}
	c := &cases[0]
	p.Const(r4, uint64(c.Delta))
	p.ALU(ring.ALUEq, r5, r3, r4)
	p.JumpZero(r5, miss)
	p.Const(r2, c.number)
	f.dynWords(at)
	if t := c.Type.Strip(); c.whole && sizeOf(t) > 0 {
		p.Node(f.tt.walks.id(t, walkObject), at, noReg, sizeOf(t), true)
	}
	p.Jump(end)
}

func (f *form) dynWords(at reg) {
	f.P.Open(f.V.Walk)
	f.P.Push(r2)
	f.P.Push(at)
	f.P.Close()
}

// pointee makes the form of a pointer to an object, -1 if t is nil.
func (f *form) pointee(t *symbol.Type) int32 {
	if t == nil {
		return -1
	}
	t = t.Strip()
	v := value.Type{Class: value.ClassStructPtr, Size: 8, Elem: -1, Discr: value.TypeField{Type: -1},
		Walk: f.tt.walks.id(t, walkObject)}
	i := f.tt.add(v)
	f.tt.later(i, &f.tt.types[i], t, f.level)
	return i
}
