package symbol

import (
	"sync"
	"sync/atomic"
)

// Kind says what a Type is.
type Kind uint8

const (
	KindUnknown         Kind = iota // missing, unreadable or not supported
	KindVoid                        // no type, or an unspecified type such as nullptr_t (Name says)
	KindBase                        // Encoding, Size
	KindPointer                     // Elem is the pointee; void for void*
	KindReference                   // C++ lvalue reference
	KindRValueReference             // C++ rvalue reference
	KindMemberPointer               // C++ pointer to member; Elem is the member's type (function for methods)
	KindStruct                      // Tag says struct or class; Fields, Variants
	KindUnion
	KindEnum     // Enumerators; Elem is the underlying type, if known
	KindArray    // Elem, Count; several dimensions nest
	KindFunction // Elem is the result, Params
	KindTypedef  // Elem
	KindConst    // Elem
	KindVolatile // Elem
	KindOther    // restrict, atomic and other qualifiers: Elem
)

// Encoding is how the bits of a base type are read.
type Encoding uint8

const (
	EncNone Encoding = iota
	EncSigned
	EncUnsigned
	EncFloat
	EncComplex
	EncBool
	EncSignedChar
	EncUnsignedChar
	EncUTF // char8_t, char16_t, char32_t, Rust char
	EncAddress
	EncDecimalFloat
	EncImaginaryFloat
)

// Passing is what the producer says about passing a C++ class by value (DW_AT_calling_convention).
type Passing uint8

const (
	PassUnknown     Passing = iota
	PassByReference         // non-trivial for calls: passed and returned through a hidden pointer
	PassByValue
)

// Type is a node of a module's type graph. The graph is decoded as it is walked, may have cycles,
// and is safe for concurrent use. Within a Module one DIE is one *Type, so types compare by pointer.
type Type struct {
	Kind       Kind
	Encoding   Encoding
	Passing    Passing
	Declared   bool   // incomplete: no definition in this module; Size is -1
	Vector     bool   // array with the GNU vector attribute: a SIMD value
	Scoped     bool   // enum class
	Artificial bool   // made by the compiler
	Tag        string // "struct", "class", "union", "enum", "interface", else ""
	Name       string // as in DWARF: unqualified, with template arguments; may be ""
	Size       int64  // bytes; -1 unknown; arrays of unknown count have -1
	Align      int64  // bytes, 0 when not said
	Count      int64  // KindArray: number of elements, -1 unknown

	bound bound // KindArray of unknown count

	m   *Module
	die dieRef
	// where the runtime's description of it is, of a Go program without debug information; see goRuntime
	described uint64
	spec      dieRef // the declaration inside namespaces that a type unit's type completes, or 0

	elemOnce sync.Once
	elem     *Type
	bodyOnce sync.Once
	template atomic.Pointer[[]TemplateParam]
	body     typeBody
	settled  atomic.Bool // nothing that it contains by value contains it

	trivial, doubtful atomic.Int32 // answers of NonTrivial and MayBeNonTrivial; 0: not asked yet
}

type typeBody struct {
	fields      []Field
	enumerators []Enumerator
	params      []*Type
	variadic    bool
	variants    *VariantPart
	copying     copying
}

// copying is what a class says about its copy and move constructors and its destructor.
type copying struct{ own, ok, deleted, more bool }

// Field is a member or base of a struct, class or union.
type Field struct {
	Name       string // "" for anonymous members
	Type       *Type
	Off        int64 // bytes from the start of the struct
	BitOff     int64 // bit-fields: bits from the start of the struct, little-endian; BitSize > 0
	BitSize    int64 // 0 when it is not a bit-field
	Base       bool  // a base class; Name is the base's name
	Virtual    bool  // a virtual base: Off is not known statically
	VBase      int64 // of that, how far before what the virtual pointer leads to its offset stands; 0 not known
	Static     bool  // no storage in the object
	Artificial bool  // made by the compiler (_vptr)
}

// Enumerator is one name of an enum. Val holds the bits; Unsigned says how to read them.
type Enumerator struct {
	Name     string
	Val      int64
	Unsigned bool
}

// VariantPart is the tagged part of a Rust enum.
type VariantPart struct {
	Discr    *Field // where the discriminant is; nil when there is only one variant
	Variants []Variant
}

// Variant is one case of a VariantPart.
type Variant struct {
	Name    string
	Default bool          // matches when no other does (niche)
	Discr   []VariantSpan // values of the discriminant
	Fields  []Field       // usually one field holding the variant's struct
}

// VariantSpan is an inclusive range of discriminant values, as bits.
type VariantSpan struct{ Lo, Hi uint64 }

// Elem returns the pointee, element, result, underlying or qualified type. Nil when there is none.
func (t *Type) Elem() *Type {
	if t == nil {
		return nil
	}
	t.elemOnce.Do(func() { t.loadElem() })
	return t.elem
}

// Fields returns the members and bases in declaration order, statics included.
func (t *Type) Fields() []Field { t.settle(); return t.loaded().fields }

// Enumerators returns an enum's names in declaration order.
func (t *Type) Enumerators() []Enumerator { return t.loaded().enumerators }

// Params returns a function type's parameters and whether it is variadic.
func (t *Type) Params() ([]*Type, bool) { b := t.loaded(); return b.params, b.variadic }

// Variants returns the variant part of a Rust enum, or nil.
func (t *Type) Variants() *VariantPart { t.settle(); return t.loaded().variants }

// Strip removes typedefs and qualifiers. It never returns nil for a non-nil t.
func (t *Type) Strip() *Type {
	for n := 0; n < maxTypeChain && t != nil; n++ {
		switch t.Kind {
		case KindTypedef, KindConst, KindVolatile, KindOther:
			e := t.Elem()
			if e == nil {
				return voidType
			}
			t = e
		default:
			return t
		}
	}
	return unknownType
}

// String returns the type in a C-like notation, for messages.
func (t *Type) String() string { return t.describe(0) }

func (t *Type) describe(depth int) string {
	if t == nil {
		return "void"
	}
	if depth > 16 {
		return "…"
	}
	inner := func() string { return t.Elem().describe(depth + 1) }
	switch t.Kind {
	case KindVoid, KindBase, KindTypedef, KindStruct, KindUnion, KindEnum:
		if t.Name != "" {
			return t.Name
		}
		if t.Tag != "" {
			return t.Tag + " {…}"
		}
		return "void"
	case KindPointer:
		return inner() + "*"
	case KindReference:
		return inner() + "&"
	case KindRValueReference:
		return inner() + "&&"
	case KindConst:
		return "const " + inner()
	case KindVolatile:
		return "volatile " + inner()
	case KindOther:
		return inner()
	case KindArray:
		counts, e := "["+countText(t.Count)+"]", t.Elem()
		for ; e != nil && e.Kind == KindArray && depth < 16; e, depth = e.Elem(), depth+1 { // int[2][3] is two of three
			counts += "[" + countText(e.Count) + "]"
		}
		return e.describe(depth+1) + counts
	case KindFunction:
		return inner() + "()"
	case KindMemberPointer:
		return inner() + " ::*"
	}
	return "?"
}

func (t *Type) loaded() *typeBody {
	if t == nil {
		return &emptyBody
	}
	t.bodyOnce.Do(func() { t.loadBody() })
	return &t.body
}

// maxTypeChain bounds chains of typedefs and qualifiers; real ones are under ten long.
const maxTypeChain = 64

var (
	emptyBody   typeBody
	voidType    = &Type{Kind: KindVoid, Name: "void"}
	unknownType = &Type{Kind: KindUnknown, Size: -1}
)
