package capture

import (
	"strings"

	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/value"
)

// Bounds on one layout. They are far above what fits a payload; they keep a hostile type graph from
// growing a layout without end.
const (
	maxLayoutTypes  = 1000
	maxLayoutFields = 2000
	mostAlone       = 20 * maxLayoutTypes // where walks alone are wanted: each type's are looked for once in a session
	maxTypeDepth    = 200                 // objects within objects; no compiler's output comes near
	maxEnumerators  = 4096
)

// typeTable flattens a module's types into a layout, and makes the walks that they need.
//
// Every type has one form. It has its number when it is reached first, and is made after the one that led to it, not
// inside: types lead back to themselves, over any number of others. Pointees are taken up when everything that lies
// nearer is there, so that the form of a type that is reached on several ways has as much as the shortest of them
// allows.
type typeTable struct {
	types    []value.Type
	index    map[*symbol.Type]int32
	needed   map[*symbol.Type]need
	forms    map[*symbol.Type]*formatter
	near     []unmade
	queue    []pointee
	virtuals map[*symbol.Type]int32 // forms of what pointers to them lead to
	known    []*formatter
	walks    *Walks
	making   making
	alone    bool     // only walks are wanted, not the forms of what lies deeper
	short    bool     // some form found no room, and what it leads to was not looked at
	filled   []unmade // the forms that were made
	rust     bool
	golang   bool

	viewForms map[formKey]int32
	viewWalks map[formKey]bool // begun
}

// pointee is what a pointer leads to, whose form is not made yet.
type pointee struct {
	of    int32 // the pointer's form
	t     *symbol.Type
	level int
}

// unmade is a form that has its number only.
type unmade struct {
	i     int32
	t     *symbol.Type
	level int
	named bool // a character type by its typedef's name
	view  string
}

func newTypeTable(lang symbol.Language, walks *Walks, known []*formatter) *typeTable {
	return &typeTable{known: known, index: map[*symbol.Type]int32{}, needed: map[*symbol.Type]need{},
		forms: map[*symbol.Type]*formatter{}, walks: walks, rust: lang == symbol.LangRust,
		golang: lang == symbol.LangGo}
}

func (tt *typeTable) add(v value.Type) int32 {
	tt.types = append(tt.types, v)
	return int32(len(tt.types) - 1)
}

// of returns the layout's type for t. level is how many pointers from here on are followed.
func (tt *typeTable) of(t *symbol.Type, level int) int32 {
	i := tt.at(t, level)
	tt.make()
	return i
}

// make fills in the forms that have their numbers only, nearest first.
func (tt *typeTable) make() {
	for len(tt.near) > 0 {
		n := tt.near[0]
		tt.near = tt.near[1:]
		v := tt.types[n.i]
		if n.view != "" {
			tt.fillView(n.i, &v, n.t, n.view, n.level)
		} else {
			tt.fill(n.i, &v, n.t, n.level)
			tt.filled = append(tt.filled, n)
		}
		if n.named && v.Size <= 4 {
			v.Class = value.ClassChar
		}
		tt.types[n.i] = v
	}
}

// settle makes the forms of pointees, nearest first, and with them their walks. For walks alone it passes by what has
// been settled for another function.
func (tt *typeTable) settle() {
	var made []pointee
	for len(tt.queue) > 0 {
		q := tt.queue[0]
		tt.queue = tt.queue[1:]
		if tt.alone && tt.walks.settledAt(q.t, q.level) {
			continue
		}
		i := tt.pointeeForm(q.t, q.level)
		tt.types[q.of].Elem = i
		made = append(made, q)
	}
	if !tt.short {
		tt.walks.settle(made, tt.filled)
	}
	tt.filled = nil
}

// later notes a pointee of the form that is made as number i.
func (tt *typeTable) later(i int32, v *value.Type, t *symbol.Type, level int) {
	v.Elem = value.ElemTooDeep
	if level > 0 {
		tt.queue = append(tt.queue, pointee{i, t, level - 1})
	}
}

// at returns the number of t's form, which make fills in.
func (tt *typeTable) at(t *symbol.Type, level int) int32 {
	s := t.Strip()
	if s == nil {
		return tt.add(value.Type{Class: value.ClassVoid, Elem: -1})
	}
	named := t.Name == "wchar_t" || t.Name == "char16_t" || t.Name == "char32_t"
	if i, ok := tt.index[s]; ok && !named {
		return i
	}
	if len(tt.types) >= maxLayoutTypes && (!tt.alone || len(tt.types) >= mostAlone) {
		tt.short = true
		return tt.add(value.Type{Class: value.ClassOpaque, Name: "…", Size: size32(s), Elem: -1})
	}
	i := tt.add(value.Type{Name: s.Name, Size: size32(s), Elem: -1, Discr: value.TypeField{Type: -1}})
	if !named {
		tt.index[s] = i
	}
	if tt.alone && tt.walks.filledAt(s, level) {
		tt.types[i].Class = value.ClassOpaque // for where Complete cannot
		return i
	}
	tt.near = append(tt.near, unmade{i: i, t: s, level: level, named: named})
	return i
}

func size32(t *symbol.Type) uint32 { return uint32(min(max(sizeOf(t), 0), 1<<31-1)) }

func (tt *typeTable) fill(i int32, v *value.Type, t *symbol.Type, level int) {
	switch t.Kind {
	case symbol.KindBase:
		tt.base(v, t)
	case symbol.KindVoid:
		v.Class = value.ClassVoid
		if v.Size == 8 {
			v.Class = value.ClassPointer
		}
	case symbol.KindPointer, symbol.KindReference, symbol.KindRValueReference:
		if f := tt.formatter(t); f != nil && f.form(&form{T: t, V: v, P: &prog{}, tt: tt, index: i, level: level}) {
			v.Size = 8
			return
		}
		tt.pointer(i, v, t, level)
	case symbol.KindFunction:
		if f := tt.formatter(t); f == nil || !f.form(&form{T: t, V: v, P: &prog{}, tt: tt, index: i, level: level}) {
			v.Class = value.ClassOpaque
		}
	case symbol.KindMemberPointer:
		v.Class = value.ClassMemberPtr
		if v.Size == 16 {
			v.Class = value.ClassMethodPtr
		}
	case symbol.KindEnum:
		tt.enum(v, t)
	case symbol.KindArray:
		tt.array(v, t, level)
	case symbol.KindStruct, symbol.KindUnion:
		tt.aggregate(i, v, t, level)
	default:
		v.Class = value.ClassOpaque
	}
}

func (tt *typeTable) base(v *value.Type, t *symbol.Type) {
	switch t.Encoding {
	case symbol.EncSigned:
		v.Class = value.ClassInt
	case symbol.EncBool:
		v.Class = value.ClassBool
	case symbol.EncSignedChar, symbol.EncUnsignedChar:
		signed := t.Encoding == symbol.EncSignedChar
		switch {
		case t.Name == "char":
			v.Class, v.Signed = value.ClassChar, signed
		case signed:
			v.Class = value.ClassInt
		default:
			v.Class = value.ClassUint
		}
	case symbol.EncUTF:
		v.Class = value.ClassChar
	case symbol.EncFloat:
		switch {
		case v.Size == 16 && isQuad(t):
			v.Class = value.ClassQuad
		case v.Size >= 10:
			v.Class = value.ClassX87
		default:
			v.Class = value.ClassFloat
		}
	case symbol.EncComplex:
		v.Class = value.ClassComplex
		e := value.Type{Class: value.ClassFloat, Size: v.Size / 2, Elem: -1}
		switch {
		case v.Size == 32 && isQuad(t):
			e.Class = value.ClassQuad
		case v.Size == 32:
			e.Class = value.ClassX87
		}
		v.Elem = tt.add(e)
	case symbol.EncAddress:
		v.Class = value.ClassPointer
	case symbol.EncUnsigned:
		v.Class = value.ClassUint
		if v.Size == 0 {
			v.Class = value.ClassVoid
		}
	default:
		v.Class = value.ClassOpaque
		if v.Size == 0 {
			v.Class = value.ClassVoid
		}
	}
}

// isReference tells Rust's references and boxes, which DWARF has as pointers, from raw pointers. All of Go's lead to
// one value.
func (tt *typeTable) isReference(t *symbol.Type) bool {
	return t.Kind != symbol.KindPointer || tt.golang || tt.rust &&
		(strings.HasPrefix(t.Name, "&") || strings.HasPrefix(t.Name, "alloc::boxed::Box<"))
}

func (tt *typeTable) pointer(i int32, v *value.Type, t *symbol.Type, level int) {
	v.Class, v.Size = value.ClassPointer, 8
	e := t.Elem().Strip()
	if e == nil {
		return
	}
	switch {
	case e.Kind == symbol.KindFunction:
		v.Class = value.ClassFuncPtr
		return
	case tt.isText(t, e):
		v.Class = value.ClassCString
		return
	case e.Kind == symbol.KindStruct || e.Kind == symbol.KindUnion:
		v.Class = value.ClassStructPtr
		if e.Declared || sizeOf(e) < 0 {
			v.Elem = tt.add(value.Type{Class: value.ClassOpaque, Name: e.Name, Elem: -1})
			v.Walk = value.WalkBytes
			return
		}
	case tt.followable(t):
		v.Class = value.ClassRef
	default:
		return
	}
	v.Walk, v.Plain = tt.pointeeWalk(e), !tt.isReference(t)
	tt.later(i, v, t.Elem(), level)
}

func (tt *typeTable) enum(v *value.Type, t *symbol.Type) {
	v.Class = value.ClassEnum
	for i, e := range t.Enumerators() {
		if i == maxEnumerators {
			break
		}
		v.Enums = append(v.Enums, value.Enumerator{Name: e.Name, Value: e.Val})
		v.Signed = v.Signed || e.Val < 0 && !e.Unsigned
	}
	if u := t.Elem(); u != nil {
		if b := u.Strip(); b.Kind == symbol.KindBase {
			v.Signed = b.Encoding == symbol.EncSigned || b.Encoding == symbol.EncSignedChar
		}
	}
}

func (tt *typeTable) array(v *value.Type, t *symbol.Type, level int) {
	e := t.Elem().Strip()
	if e.Kind == symbol.KindBase && e.Name == "char" && e.Size == 1 && !t.Vector && !tt.rust {
		v.Class = value.ClassText
		return
	}
	v.Class = value.ClassArray
	v.Elem = tt.at(t.Elem(), level)
	v.Count = uint32(min(max(t.Count, 0), 1<<31-1))
}

func (tt *typeTable) aggregate(i int32, v *value.Type, t *symbol.Type, level int) {
	if t.Declared {
		v.Class = value.ClassOpaque
		return
	}
	if tt.secretUnion(t) {
		v.Class = value.ClassRedacted
		return
	}
	if f := tt.formatter(t); f != nil {
		was := *v
		if f.form(&form{T: t, V: v, P: &prog{}, tt: tt, index: i, level: level}) {
			return
		}
		*v = was
	}
	tt.plainStruct(v, t, level)
}

// plainStruct is a struct, union or enum as the debug information has it.
func (tt *typeTable) plainStruct(v *value.Type, t *symbol.Type, level int) {
	if vp := t.Variants(); vp != nil {
		tt.variant(v, vp, level)
		return
	}
	v.Class = value.ClassStruct
	if t.Kind == symbol.KindUnion {
		v.Class = value.ClassUnion
	}
	v.Fields = tt.fields(t.Fields(), level)
	if (tt.rust || tt.golang && t.Name == "") && isTuple(v.Fields) {
		v.Class = value.ClassTuple
	}
	if tt.rust && v.Size == 0 && len(v.Fields) == 0 && v.Name == "()" {
		v.Class = value.ClassVoid
	}
}

func (tt *typeTable) fields(fs []symbol.Field, level int) []value.TypeField {
	var out []value.TypeField
	for i := range fs {
		f := &fs[i]
		if f.Base && f.Virtual && f.VBase > 0 && len(out) < maxLayoutFields {
			out = append(out, value.TypeField{Name: ":" + f.Name, Type: tt.virtualBase(f.Type, level)})
			continue
		}
		if f.Static || f.Virtual || f.Off < 0 || f.Artificial && strings.HasPrefix(f.Name, "_vptr") ||
			len(out) >= maxLayoutFields || tt.golang && (f.Name == "_" || f.Name == "noCopy") {
			continue
		}
		name := f.Name
		if f.Base {
			name = ":" + f.Name // its members join those of the object
		}
		vf := value.TypeField{Name: name, Off: uint32(min(f.Off, 1<<31-1))}
		if tt.secretField(f) {
			vf.Type = tt.redacted(f.Type)
		} else {
			vf.Type = tt.at(f.Type, level)
		}
		if f.BitSize > 0 {
			vf.Off, vf.BitOff, vf.BitSize = 0, uint32(f.BitOff), uint32(f.BitSize)
		}
		out = append(out, vf)
	}
	return out
}

// isTuple reports fields named __0, __1, …: a tuple, or a struct or variant with unnamed fields.
func isTuple(fs []value.TypeField) bool {
	for _, f := range fs {
		if !strings.HasPrefix(f.Name, "__") || len(f.Name) < 3 || f.Name[2] < '0' || f.Name[2] > '9' {
			return false
		}
	}
	return len(fs) > 0
}

func (tt *typeTable) variant(v *value.Type, vp *symbol.VariantPart, level int) {
	v.Class = value.ClassVariant
	if vp.Discr != nil {
		v.Discr = value.TypeField{Type: tt.at(vp.Discr.Type, 0), Off: uint32(max(vp.Discr.Off, 0))}
	}
	for i := range vp.Variants {
		c := &vp.Variants[i]
		out := value.Variant{Name: c.Name}
		for _, s := range c.Discr {
			for d := s.Lo; len(out.Values) < maxEnumerators; d++ {
				out.Values = append(out.Values, d)
				if d >= s.Hi {
					break
				}
			}
		}
		if c.Default {
			out.Values = nil
		}
		if len(c.Fields) == 1 && c.Fields[0].Off == 0 && !tt.secretField(&c.Fields[0]) {
			out.Type = tt.at(c.Fields[0].Type, level)
			if out.Name == "" {
				out.Name = c.Fields[0].Name
			}
		} else {
			fs := tt.fields(c.Fields, level)
			class := value.ClassStruct
			if isTuple(fs) {
				class = value.ClassTuple
			}
			out.Type = tt.add(value.Type{Class: class, Size: v.Size, Elem: -1, Fields: fs, Discr: value.TypeField{Type: -1}})
		}
		v.Variants = append(v.Variants, out)
	}
}
