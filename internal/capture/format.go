package capture

import (
	"math"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/natvis"
	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/value"
)

// A formatter knows how a library's type reads. It is one value in a file of its own, named in the list below: a name,
// a matcher on the qualified type name, and a form, which looks at the type's members and says two things at once:
//
//   - in form.V, how the value is shown: a value.Class and what belongs to it;
//   - in form.P, the walk that the agent makes over an object of the type, in the target, at the moment of the call:
//     it writes a node of words (value.ClassString says which, and so on), and copies what they lead to.
//
// The methods of form do both for the usual shapes: Text, Span, Sequence, Box, Alias, Optional, Choice. Members are
// found by name (Field), never by a fixed offset: form returns false when the type is not as it knows it, and the
// object is shown as a plain struct then.
//
// Registers r0 to r7 are free in a form. Walk programs have at most 20,000 steps per event, loops included: count what
// you push.
type formatter struct {
	name  string
	match func(name string) bool // name: qualified, with template arguments, inline namespaces and ABI tags left out
	form  func(f *form) bool
}

// formatters of all libraries; the first that matches is used.
var formatters = slices.Concat(libstdcxx, libcxx, rustCrates, rustStd)

// formatter returns the one that knows t, or nil.
func (tt *typeTable) formatter(t *symbol.Type) *formatter {
	if f, ok := tt.forms[t]; ok {
		return f
	}
	if f, ok := tt.walks.forms.Load(t); ok {
		tt.forms[t] = f.(*formatter)
		return f.(*formatter)
	}
	tt.forms[t] = nil // should it lie within itself
	found := tt.findFormatter(t)
	tt.forms[t] = found
	tt.walks.forms.Store(t, found)
	return found
}

// findFormatter looks among the user's descriptions, what we know, and the built-in descriptions.
func (tt *typeTable) findFormatter(t *symbol.Type) *formatter {
	if tt.golang && t.Kind == symbol.KindFunction {
		return goFuncValue
	}
	if !tt.rust && !tt.golang && (t.Kind == symbol.KindPointer && t.Elem() != nil || t.Kind == symbol.KindUnion) {
		for _, f := range pointerForms {
			if f.form(&form{T: t, V: &value.Type{}, P: &prog{}, tt: tt, dry: true}) {
				return f
			}
		}
	}
	if t.Name == "" || t.Declared || t.Kind != symbol.KindStruct && t.Kind != symbol.KindUnion {
		return nil
	}
	if f := tt.described(t, tt.walks.Own(), ""); f != nil {
		return f
	}
	if t.Kind == symbol.KindStruct {
		name := t.QualifiedName()
		for _, skip := range []string{"__cxx11::", "__1::", "_V2::", "__debug::", "__cxx1998::"} {
			name = strings.Replace(name, skip, "", 1)
		}
		for _, f := range tt.known {
			if f.match(name) && f.form(&form{T: t, V: &value.Type{}, P: &prog{}, tt: tt, dry: true}) {
				return f
			}
		}
	}
	return tt.described(t, natvis.Builtin(), "")
}

// template matches a class template, or a class that is none, by its qualified name.
func template(names ...string) func(string) bool {
	return func(name string) bool {
		for _, n := range names {
			if strings.HasPrefix(name, n) && (len(name) == len(n) || name[len(n)] == '<') {
				return true
			}
		}
		return false
	}
}

// form is one type that a formatter describes.
type form struct {
	T *symbol.Type // the type, without typedefs and qualifiers
	V *value.Type  // how it is shown: to be filled in
	P *prog        // its walk: to be written; the object is at offset 0

	tt    *typeTable
	index int32 // of V; -1 when only the walk is made
	level int
	what  walkWhat // 0: walkWords; another one for a part at the same address
	dry   bool     // only asked whether the type is as the formatter knows it: parts are not looked at
	// part is told by a dry form, unless it is nil, the types of its elements, and of its parts that are walked with it
	// (inside).
	part func(t *symbol.Type, inside bool)

	reflected bool // r7 says that r0 leads to the value, also where an interface would have it itself
}

// Field finds a member by its path: names of members, each looked for in bases and unnamed members, too.
func (f *form) Field(path ...string) (off int64, t *symbol.Type, ok bool) { return field(f.T, path...) }

func field(t *symbol.Type, path ...string) (off int64, found *symbol.Type, ok bool) {
	for _, name := range path {
		o, m, ok := member(t.Strip(), name, 0)
		if !ok {
			return 0, nil, false
		}
		off, t = off+o, m
	}
	return off, t, t != nil
}

func member(t *symbol.Type, name string, depth int) (int64, *symbol.Type, bool) {
	if t == nil || depth > 8 || t.Kind != symbol.KindStruct && t.Kind != symbol.KindUnion {
		return 0, nil, false
	}
	fs := t.Fields()
	for i := range fs {
		if f := &fs[i]; f.Name == name && !f.Static && !f.Base {
			return f.Off, f.Type, true
		}
	}
	for i := range fs {
		if f := &fs[i]; !f.Static && !f.Virtual && (f.Base || f.Name == "") {
			if off, m, ok := member(f.Type.Strip(), name, depth+1); ok {
				return f.Off + off, m, true
			}
		}
	}
	return 0, nil, false
}

// Pointer finds the first pointer inside t, through wrappers with one member that matters: where it is, and what it is
// to.
func pointerIn(t *symbol.Type) (off int64, to *symbol.Type, ok bool) {
	for range 12 {
		t = t.Strip()
		if t == nil {
			return 0, nil, false
		}
		if t.Kind == symbol.KindPointer {
			return off, t.Elem().Strip(), true
		}
		next := (*symbol.Type)(nil)
		fs := t.Fields()
		for i := range fs {
			if s := fs[i].Type.Strip(); !fs[i].Static && s != nil && sizeOf(s) >= 8 {
				off, next = off+fs[i].Off, s
				break
			}
		}
		if next == nil {
			return 0, nil, false
		}
		t = next
	}
	return 0, nil, false
}

// Elem returns the layout's type of a part of the object, which lies as deep as the object itself.
func (f *form) Elem(t *symbol.Type) int32 {
	if f.dry {
		f.tell(t, false)
	}
	if f.dry || f.index < 0 {
		return -1
	}
	return f.tt.at(t, f.level)
}

func (f *form) tell(t *symbol.Type, inside bool) {
	if f.part != nil {
		f.part(t, inside)
	}
}

func (f *form) tellInside(t *symbol.Type) { f.tell(t, true) }

// Words returns the ID of the walk of the words that stand for the object.
func (f *form) Words() uint16 {
	if f.what != 0 {
		return f.tt.walks.id(f.T, f.what)
	}
	return f.tt.walks.id(f.T, walkWords)
}

// Text shows characters of type unit: n of them at the address in register at. It may be called once.
func (f *form) Text(unit *symbol.Type, at, n reg) bool {
	size := sizeOf(unit.Strip())
	if size != 1 && size != 2 && size != 4 {
		return false
	}
	f.V.Class, f.V.Elem, f.V.Walk = value.ClassString, f.Elem(unit), f.Words()
	f.P.Open(f.V.Walk)
	f.P.Push(n)
	f.P.Push(at)
	f.P.Close()
	f.P.ALUImm(ring.ALUMul, r7, n, size)
	f.P.Node(value.WalkBytes, at, r7, maxString, false)
	return true
}

// Span shows elements that lie together: n of them at the address in register at.
func (f *form) Span(elem *symbol.Type, at, n reg) bool {
	elem = elem.Strip()
	size := sizeOf(elem)
	if size < 0 {
		return false
	}
	f.V.Class, f.V.Elem, f.V.Walk = value.ClassSpan, f.Elem(elem), f.Words()
	if f.dry {
		return true
	}
	f.tt.walk(elem)
	f.V.ElemWalk, f.V.Deeper = f.tt.arrayWalk(elem), f.tt.recursive(f.T, elem)
	if size > 0 && size <= math.MaxInt32 {
		f.P.Span(f.V.Walk, f.V.ElemWalk, at, n, size, min(size*value.MaxElems, maxObject/size*size), f.V.Deeper)
		return true
	}
	f.P.Open(f.V.Walk)
	f.P.Push(n)
	f.P.Push(at)
	f.P.Close()
	return true
}

// Sequence shows elements that lie apart: count is in register n, and each emits pushes of the addresses of at most
// limit of them (it leaves n alone).
func (f *form) Sequence(elem *symbol.Type, n reg, each func()) bool {
	elem = elem.Strip()
	if sizeOf(elem) < 0 {
		return false
	}
	f.V.Class, f.V.Elem = value.ClassSeq, f.Elem(elem)
	if f.dry {
		return true
	}
	f.tt.walk(elem)
	f.V.Deeper = f.tt.recursive(f.T, elem)
	f.V.Walk, f.V.ElemWalk = f.tt.seqWalk(f.T, elem, f.V.Deeper)
	f.P.Open(f.V.Walk)
	f.P.Push(n)
	each()
	f.P.Close()
	return true
}

// Map is Sequence for elements whose first two members are a key and a value.
func (f *form) Map(elem *symbol.Type, n reg, each func()) bool {
	if !f.Sequence(elem, n, each) {
		return false
	}
	f.V.Class = value.ClassMap
	return true
}

// Limit is how many elements a Sequence pushes at most.
const limit = value.MaxElems

// Box shows what the address in register at leads to, null if it is 0. With extra, registers that hold signed numbers,
// it is an object of the pointee and them.
func (f *form) Box(elem *symbol.Type, at reg, extra ...extraWord) bool {
	elem = elem.Strip()
	if elem == nil {
		return false
	}
	f.V.Class, f.V.Elem, f.V.Walk = value.ClassBox, -1, f.Words()
	for _, x := range extra {
		f.V.Fields = append(f.V.Fields, value.TypeField{Name: x.name, Type: -1})
	}
	f.P.Open(f.V.Walk)
	f.P.Push(at)
	for _, x := range extra {
		f.P.Push(x.in)
	}
	f.P.Close()
	size := sizeOf(elem)
	if f.dry || size < 0 || elem.Kind == symbol.KindVoid || elem.Kind == symbol.KindFunction {
		return true
	}
	f.V.ElemWalk = f.tt.pointeeWalk(elem)
	if f.index >= 0 {
		f.tt.later(f.index, f.V, elem, f.level)
	}
	if size > 0 {
		f.P.Node(f.V.ElemWalk, at, noReg, size, true)
	}
	return true
}

// extraWord is a number beside a Box's pointee.
type extraWord struct {
	name string
	in   reg
}

// Alias shows the object as its part of type t at off.
func (f *form) Alias(t *symbol.Type, off int64) bool {
	f.V.Class = value.ClassTuple
	f.V.Fields = []value.TypeField{{Type: f.Elem(t), Off: uint32(off)}}
	f.Part(t, off)
	return true
}

// Part walks a part of the object.
func (f *form) Part(t *symbol.Type, off int64) {
	if f.dry {
		f.tell(t, true)
		return
	}
	f.tt.part(f.P, t, off)
}

// Choice shows the object as one of its parts, by the number of size bytes at off. A choice without a type is null.
func (f *form) Choice(off, size int64, choices ...choice) bool {
	if size != 1 && size != 2 && size != 4 && size != 8 {
		return false
	}
	f.V.Class, f.V.Plain = value.ClassVariant, true
	f.V.Discr = value.TypeField{Type: -1, Off: uint32(off)}
	if !f.dry && f.index >= 0 {
		f.V.Discr.Type = f.tt.add(value.Type{Class: value.ClassUint, Size: uint32(size), Elem: -1})
	}
	end := f.P.Label()
	for _, c := range choices {
		v := value.Variant{Name: c.name, Values: c.is, Type: -1, Off: uint32(c.off)}
		if c.t != nil {
			v.Type = f.Elem(c.t)
			if f.dry {
				f.tell(c.t, true)
			} else if f.needs(c.t) {
				for _, is := range c.is {
					next := f.P.Label()
					f.P.Load(r1, off, size)
					f.P.Const(r2, is)
					f.P.ALU(ring.ALUEq, r3, r1, r2)
					f.P.JumpZero(r3, next)
					f.Part(c.t, c.off)
					f.P.Jump(end)
					f.P.Bind(next)
				}
				if len(c.is) == 0 {
					f.Part(c.t, c.off)
				}
			}
		}
		f.V.Variants = append(f.V.Variants, v)
	}
	f.P.Bind(end)
	return true
}

func (f *form) needs(t *symbol.Type) bool {
	_, needs := f.tt.needs(t)
	return needs
}

// choice is one part of a Choice. Without is it stands for every other number; it must be the last one then.
type choice struct {
	name string
	is   []uint64
	t    *symbol.Type
	off  int64
}
