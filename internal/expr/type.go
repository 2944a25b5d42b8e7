package expr

import (
	"strings"

	"github.com/strobe-debug/strobe/internal/symbol"
)

// Kind is the kind of an expression's type.
type Kind uint8

const (
	KindVoid    Kind = iota // nothing that has a value
	KindBool                //
	KindInt                 // an integer or enumeration of Size bytes; 16 bytes only as a whole
	KindChar                // a character of Size bytes
	KindFloat               // IEEE 754 of Size bytes, 4 or 8
	KindPointer             // an address: pointers, references, null
	KindText                // text without a place in the target: a literal, $threadName
	KindObject              // a struct, union, array, or anything else that is no scalar
)

// Type is the type of an expression: one of the target's, or made by the language.
type Type struct {
	kind   Kind
	size   int64
	signed bool
	sym    *symbol.Type // as declared; nil for made types
	elem   *Type        // of made pointers
	name   string       // of made types
}

// Kind returns what the type is.
func (t *Type) Kind() Kind { return t.kind }

// Size returns the bytes of a scalar, or of an object where known, else -1.
func (t *Type) Size() int64 { return t.size }

// Signed reports whether an integer or character is sign-extended.
func (t *Type) Signed() bool { return t.signed }

// Symbol returns the target's type, with its typedefs and qualifiers, or nil for a type that the
// language made: a literal's, a cast's to a built-in type, &x's.
func (t *Type) Symbol() *symbol.Type { return t.sym }

// Target is Symbol, with one made for types that the language made; nil for those without a value.
func (t *Type) Target() *symbol.Type {
	if t.sym != nil {
		return t.sym
	}
	enc := symbol.EncUnsigned
	switch t.kind {
	case KindPointer:
		if t.elem == nil {
			return symbol.MadePointer(nil)
		}
		return symbol.MadePointer(t.elem.Target())
	case KindBool:
		enc = symbol.EncBool
	case KindFloat:
		enc = symbol.EncFloat
	case KindChar:
		if enc = symbol.EncUTF; t == typeChar {
			enc = symbol.EncSignedChar
		}
	case KindInt:
		if t.signed {
			enc = symbol.EncSigned
		}
	default:
		return nil
	}
	return symbol.MadeBase(t.name, enc, t.size)
}

// String returns the name for messages.
func (t *Type) String() string {
	switch {
	case t.sym != nil:
		return t.sym.String()
	case t.name != "":
		return t.name
	case t.kind == KindPointer && t.elem != nil:
		return t.elem.String() + "*"
	case t.kind == KindPointer:
		return "void*"
	}
	return "void"
}

var (
	typeVoid  = &Type{kind: KindVoid, name: "void"}
	typeBool  = &Type{kind: KindBool, size: 1, name: "bool"}
	typeI32   = &Type{kind: KindInt, size: 4, signed: true, name: "int"}
	typeU32   = &Type{kind: KindInt, size: 4, name: "unsigned int"}
	typeI64   = &Type{kind: KindInt, size: 8, signed: true, name: "long"}
	typeU64   = &Type{kind: KindInt, size: 8, name: "unsigned long"}
	typeF32   = &Type{kind: KindFloat, size: 4, name: "float"}
	typeF64   = &Type{kind: KindFloat, size: 8, name: "double"}
	typeChar  = &Type{kind: KindChar, size: 1, signed: true, name: "char"}
	typeRune  = &Type{kind: KindChar, size: 4, name: "char32_t"}
	typeNull  = &Type{kind: KindPointer, size: 8, name: "null"}
	typeText  = &Type{kind: KindText, size: -1, name: "text"}
	typeUsize = &Type{kind: KindInt, size: 8, name: "usize"}
)

// wide reports a 128-bit integer, which can be looked at and cast but not computed with.
func (t *Type) wide() bool { return t.kind == KindInt && t.size > 8 }

func (t *Type) isInteger() bool {
	return (t.kind == KindInt || t.kind == KindChar || t.kind == KindBool) && t.size <= 8
}

func (t *Type) isNumber() bool { return t.isInteger() || t.kind == KindFloat }

// isByte reports a type that text is made of.
func (t *Type) isByte() bool { return (t.kind == KindInt || t.kind == KindChar) && t.size == 1 }

// stripped returns the target's type without typedefs and qualifiers, or nil.
func (t *Type) stripped() *symbol.Type {
	if t.sym == nil {
		return nil
	}
	return t.sym.Strip()
}

// pointee returns what a pointer points to; void where that is not known.
func (t *Type) pointee() *Type {
	if t.elem != nil {
		return t.elem
	}
	if s := t.stripped(); s != nil && t.kind == KindPointer {
		return newType(s.Elem())
	}
	return typeVoid
}

// isReference reports a C++ reference, which stands for what it refers to.
func (t *Type) isReference() bool {
	s := t.stripped()
	return s != nil && (s.Kind == symbol.KindReference || s.Kind == symbol.KindRValueReference)
}

// isRustReference reports a Rust & or &mut, which DWARF shows as a pointer of that name.
func (t *Type) isRustReference() bool {
	s := t.stripped()
	return s != nil && s.Kind == symbol.KindPointer && strings.HasPrefix(s.Name, "&")
}

// element returns the type and number of an array's elements; n is -1 where it is not known.
func (t *Type) element() (e *Type, n int64, ok bool) {
	s := t.stripped()
	if s == nil || s.Kind != symbol.KindArray {
		return nil, 0, false
	}
	return newType(s.Elem()), s.Count, true
}

// isRecord reports a struct, class, union or Rust enum.
func (t *Type) isRecord() bool {
	s := t.stripped()
	return s != nil && (s.Kind == symbol.KindStruct || s.Kind == symbol.KindUnion)
}

func (t *Type) isEnum() bool {
	s := t.stripped()
	return s != nil && s.Kind == symbol.KindEnum
}

func pointerTo(t *Type) *Type { return &Type{kind: KindPointer, size: 8, elem: t} }

// newType reads a target's type.
func newType(sym *symbol.Type) *Type {
	if sym == nil {
		return typeVoid
	}
	s := sym.Strip()
	t := &Type{kind: KindObject, size: s.Size, sym: sym}
	switch s.Kind {
	case symbol.KindVoid, symbol.KindUnknown:
		t.kind = KindVoid
	case symbol.KindBase:
		baseType(t, s)
	case symbol.KindPointer, symbol.KindReference, symbol.KindRValueReference:
		t.kind, t.size = KindPointer, 8
	case symbol.KindMemberPointer:
		if s.Size == 8 {
			t.kind, t.signed = KindInt, true
		}
	case symbol.KindEnum:
		enumType(t, s)
	}
	if t.kind == KindInt || t.kind == KindChar || t.kind == KindBool {
		switch t.size {
		case 1, 2, 4, 8:
		case 16:
			if t.kind != KindInt {
				t.kind = KindObject
			}
		default:
			t.kind = KindObject
		}
	}
	return t
}

func baseType(t *Type, s *symbol.Type) {
	switch s.Encoding {
	case symbol.EncBool:
		t.kind = KindBool
	case symbol.EncSigned:
		t.kind, t.signed = KindInt, true
	case symbol.EncUnsigned, symbol.EncAddress:
		t.kind = KindInt
	case symbol.EncSignedChar, symbol.EncUnsignedChar:
		// uint8_t and int8_t are characters in DWARF and numbers to people, as in package capture.
		t.kind, t.signed = KindInt, s.Encoding == symbol.EncSignedChar
		if s.Name == "char" {
			t.kind = KindChar
		}
	case symbol.EncUTF:
		t.kind = KindChar
	case symbol.EncFloat:
		if s.Size == 4 || s.Size == 8 {
			t.kind = KindFloat
		}
	}
}

// enumType finds the sign of an enumeration: its underlying type's where DWARF has that, else there
// is one if an enumerator is below zero.
func enumType(t *Type, s *symbol.Type) {
	t.kind = KindInt
	if u := s.Elem(); u != nil {
		if b := u.Strip(); b.Kind == symbol.KindBase {
			t.signed = b.Encoding == symbol.EncSigned || b.Encoding == symbol.EncSignedChar
			return
		}
	}
	for _, e := range s.Enumerators() {
		t.signed = t.signed || !e.Unsigned && e.Val < 0
	}
}

// builtinTypes are the type names that need no debug information. Sizes are those of x86-64 Linux.
var builtinTypes = map[string]*Type{
	"void": typeVoid, "bool": typeBool, "_Bool": typeBool, "float": typeF32, "double": typeF64, "f32": typeF32,
	"f64":  typeF64,
	"char": typeChar, "wchar_t": {kind: KindChar, size: 4, signed: true, name: "wchar_t"}, "char32_t": typeRune,
	"char16_t": {kind: KindChar, size: 2, name: "char16_t"}, "char8_t": {kind: KindChar, size: 1, name: "char8_t"},
	"int8_t": intType(1, true, "int8_t"), "uint8_t": intType(1, false, "uint8_t"), "int16_t": intType(2, true, "int16_t"),
	"uint16_t": intType(2, false, "uint16_t"), "int32_t": intType(4, true, "int32_t"),
	"uint32_t": intType(4, false, "uint32_t"),
	"int64_t":  intType(8, true, "int64_t"), "uint64_t": intType(8, false, "uint64_t"),
	"size_t":  intType(8, false, "size_t"),
	"ssize_t": intType(8, true, "ssize_t"), "ptrdiff_t": intType(8, true, "ptrdiff_t"),
	"intptr_t":  intType(8, true, "intptr_t"),
	"uintptr_t": intType(8, false, "uintptr_t"),
	"i8":        intType(1, true, "i8"), "u8": intType(1, false, "u8"), "i16": intType(2, true, "i16"),
	"u16": intType(2, false, "u16"),
	"i32": intType(4, true, "i32"), "u32": intType(4, false, "u32"), "i64": intType(8, true, "i64"),
	"u64":   intType(8, false, "u64"),
	"isize": intType(8, true, "isize"), "usize": typeUsize, "i128": intType(16, true, "i128"),
	"u128":     intType(16, false, "u128"),
	"__int128": intType(16, true, "__int128"), "unsigned __int128": intType(16, false, "unsigned __int128"),
	"__int128 unsigned": intType(16, false, "unsigned __int128"),
}

func intType(size int64, signed bool, name string) *Type {
	return &Type{kind: KindInt, size: size, signed: signed, name: name}
}

// rustTypes are Rust's names for numbers, which are free names in C.
var rustTypes = map[string]bool{"i8": true, "u8": true, "i16": true, "u16": true, "i32": true, "u32": true, "i64": true,
	"u64":   true,
	"isize": true, "usize": true, "i128": true, "u128": true, "f32": true, "f64": true}

// builtinName finds a built-in type by its words in any order, with std:: or without.
func builtinName(name string) (*Type, bool) {
	name = strings.TrimPrefix(name, "std::")
	if t, ok := builtinTypes[name]; ok {
		return t, true
	}
	words := strings.Fields(name)
	n := map[string]int{}
	for _, w := range words {
		switch w {
		case "unsigned", "signed", "short", "long", "int", "char", "double":
			n[w]++
		default:
			return nil, false
		}
	}
	sign := n["unsigned"] == 0
	switch {
	case len(words) == 0 || n["int"] > 1 || n["unsigned"]+n["signed"] > 1 || n["double"] > 0 || n["char"]+n["short"] > 1:
		return nil, false
	case n["char"] == 1:
		return intType(1, sign, name), n["int"]+n["long"] == 0
	case n["short"] == 1:
		return intType(2, sign, name), n["long"] == 0
	case n["long"] > 0:
		return intType(8, sign, name), n["long"] <= 2
	case sign:
		return typeI32, true
	}
	return typeU32, true
}
