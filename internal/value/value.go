// Package value owns what captured bytes mean: the layout of one function's arguments and result,
// and the values that come out when a payload is read through it.
//
// It stands at both ends of the data path: capture makes a Layout when a function is hooked, the
// store keeps it marshalled beside the function's name, and query renders payloads with it, with no
// target, no binary and no symbols, on any system. Nothing here trusts a byte of a layout or a
// payload: whatever is wrong in them shows as a marker, never as a panic.
//
// A payload is a sequence of chunks, then of nodes. Chunk 0 holds the general registers; every following chunk is
// the output of one capture operation (ring.Op), in order. A value is put together from pieces of
// chunks. A node is a copy of an object that a pointer led to, or words that say what a library's object holds
// (ClassString and so on); it is found by its address and the ID of its walk, which the pointer's type names.
package value

import (
	"math"
	"math/big"
	"strconv"

	"github.com/strobe-debug/strobe/internal/secret"
)

// Kind is the shape of a Value.
type Kind uint8

// The kinds. The zero Value is Null.
const (
	Null   Kind = iota
	Bool        // true, false
	Int         // an integer of up to 128 bits
	Float       // a binary floating point number of any width
	Text        // a string, a character, an enumerator's name, an address "0x…"
	Marker      // one of the markers of the interface contract, e.g. <unreadable>
	Array
	Obj
)

// MaxText and MaxElems bound what one string and one array show.
const (
	MaxText  = 1024
	MaxElems = 100
)

// Value is one rendered value. Immutable. The zero Value is null.
type Value struct {
	kind  Kind
	width uint8 // Float: its width in bits, 16 to 128; 0 for a JSON literal
	neg   bool  // Int: hi:lo is a two's complement number below zero
	num   bool  // Text: hi:lo is the number behind the name (enumerators, addresses, characters)
	bare  bool  // Text: shown without quotes in the short form
	laid  bool  // a member of a union: see Overlaid
	lo    uint64
	hi    uint64
	f     float64
	text  string // Text, Marker; Float wider than 64 bits: its decimal form
	elems []Value
	obj   Object
	more  int // Array: elements left out; Text: bytes left out are in the text itself
}

// Member is one named value.
type Member struct {
	Name  string
	Value Value
}

// Object is a list of members in their order of declaration. Names are unique.
type Object []Member

// NewBool, NewInt, NewUint, NewFloat, NewText, NewArray and NewObject make values for callers that
// have no layout, e.g. of JSON literals.
func NewBool(b bool) Value {
	if b {
		return Value{kind: Bool, lo: 1}
	}
	return Value{kind: Bool}
}

// NewInt returns a signed integer.
func NewInt(n int64) Value { return newInt128(uint64(n>>63), uint64(n), true) }

// NewUint returns an unsigned integer.
func NewUint(n uint64) Value { return Value{kind: Int, lo: n} }

// NewFloat returns a 64-bit float.
func NewFloat(f float64) Value { return Value{kind: Float, width: 64, f: f} }

// NewText returns a string.
func NewText(s string) Value { return Value{kind: Text, text: s} }

// NewArray returns an array of elems, of which more were left out at the end.
func NewArray(elems []Value, more int) Value { return Value{kind: Array, elems: elems, more: more} }

// NewObject returns an object.
func NewObject(o Object) Value { return Value{kind: Obj, obj: o} }

// Overlaid reports a member of a union others of which read the same bytes as something else: which one is meant, the
// program knows.
func (v Value) Overlaid() bool { return v.laid }

func newInt128(hi, lo uint64, signed bool) Value {
	return Value{kind: Int, hi: hi, lo: lo, neg: signed && int64(hi) < 0}
}

func newFloat32(f float32) Value { return Value{kind: Float, width: 32, f: float64(f)} }

func newMarker(s string) Value { return Value{kind: Marker, text: s} }

// The markers. No other text between angle brackets means anything.
var (
	Unreadable   = newMarker("<unreadable>")
	OptimizedOut = newMarker("<optimized out>")
	Redacted     = newMarker(secret.Redacted)
)

// UnreadableAt is a pointer to what cannot be read: where it points is what is known.
func UnreadableAt(addr uint64) Value {
	if addr == 0 || MadeUp(addr) {
		return Unreadable
	}
	return Value{kind: Marker, text: hex(addr) + " <unreadable>", lo: addr, num: true}
}

// CircularRef marks a pointer to an object that encloses it.
func CircularRef(addr uint64) Value { return newMarker("<circular ref to " + hex(addr) + ">") }

// MaxDepth marks what lies deeper than the serialization depth n.
func MaxDepth(n int) Value { return newMarker("<max depth " + strconv.Itoa(n) + " reached>") }

// TypeAt marks an object whose contents are not described, e.g. of an incomplete type.
func TypeAt(name string, addr uint64) Value {
	if MadeUp(addr) { // it was in registers, and no more of it was recorded
		return newMarker("<" + name + ">")
	}
	return newMarker("<" + name + " at " + hex(addr) + ">")
}

func hex(a uint64) string { return "0x" + strconv.FormatUint(a, 16) }

// newAddress shows an address as "0x…", and a null pointer as null.
func newAddress(a uint64) Value {
	if a == 0 {
		return Value{}
	}
	return Value{kind: Text, text: hex(a), lo: a, num: true, bare: true}
}

// newName shows a number by its name, e.g. an enumerator.
func newName(name string, hi, lo uint64, signed bool) Value {
	return Value{kind: Text, text: name, hi: hi, lo: lo, num: true, bare: true, neg: signed && int64(hi) < 0}
}

// Kind returns the value's shape.
func (v Value) Kind() Kind { return v.kind }

// IsNull reports whether v is null: a null pointer, or an absent value.
func (v Value) IsNull() bool { return v.kind == Null }

// TypeName returns null, bool, number, string, array or object. Markers are strings.
func (v Value) TypeName() string {
	switch v.kind {
	case Null:
		return "null"
	case Bool:
		return "bool"
	case Int, Float:
		return "number"
	case Array:
		return "array"
	case Obj:
		return "object"
	}
	return "string"
}

// Bool returns the value of a Bool.
func (v Value) Bool() bool { return v.kind == Bool && v.lo != 0 }

// Text returns the contents of a Text or Marker, whole as captured.
func (v Value) Text() string {
	if v.kind == Text || v.kind == Marker {
		return v.text
	}
	return ""
}

// Int64 returns an Int that fits, or the number behind an enumerator, address or character.
func (v Value) Int64() (int64, bool) {
	if v.kind != Int && !v.num {
		return 0, false
	}
	n := int64(v.lo)
	if v.neg {
		return n, v.hi == math.MaxUint64 && n < 0
	}
	return n, v.hi == 0 && n >= 0
}

// Uint64 is Int64 of what is not below zero.
func (v Value) Uint64() (uint64, bool) { return v.lo, (v.kind == Int || v.num) && v.hi == 0 && !v.neg }

// Float returns a Float that 64 bits hold as it is.
func (v Value) Float() (float64, bool) { return v.f, v.kind == Float && v.width <= 64 }

// Elems returns the elements of an Array and how many more were left out.
func (v Value) Elems() (elems []Value, more int) { return v.elems, v.more }

// Object returns the members of an Obj.
func (v Value) Object() Object { return v.obj }

// big returns the integer of an Int or a named number.
func (v Value) big() *big.Int {
	n := new(big.Int).SetUint64(v.hi)
	n.Lsh(n, 64)
	n.Add(n, new(big.Int).SetUint64(v.lo))
	if v.neg {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), 128))
	}
	return n
}

// Get returns the member of that name.
func (o Object) Get(name string) (Value, bool) {
	for i := range o {
		if o[i].Name == name {
			return o[i].Value, true
		}
	}
	return Value{}, false
}

// Float64 returns a number, rounded where a float64 does not hold it.
func (v Value) Float64() (float64, bool) {
	switch v.kind {
	case Float:
		return v.f, true
	case Int:
		f, _ := new(big.Float).SetInt(v.big()).Float64()
		return f, true
	}
	return 0, false
}
