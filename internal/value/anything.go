package value

import (
	"encoding/binary"
	"math"
	"strings"
)

// anything shows what a std::any holds: its type, by the name of its manager, and the value, if it is a number or a
// text.
func (r *renderer) anything(b []byte) Value {
	manager := word(b, 0)
	if manager == 0 {
		return Value{}
	}
	name := codeName(r.rest, manager)
	if args := templateArgs(name); len(args) > 0 {
		name = args[0]
	}
	if name == "" {
		return newAddress(manager)
	}
	o := Object{{"type", NewText(name)}}
	if len(b) >= 16 {
		if v, ok := r.heldValue(name, word(b, 1)); ok {
			o = append(o, Member{"value", v})
		}
	}
	return NewObject(o)
}

// heldTypes are the types that an any keeps in itself, by their C++ names.
var heldTypes = map[string]Type{
	"bool": {Class: ClassBool, Size: 1}, "char": {Class: ClassChar, Size: 1, Signed: true},
	"signed char": {Class: ClassInt, Size: 1}, "unsigned char": {Class: ClassUint, Size: 1},
	"short": {Class: ClassInt, Size: 2}, "unsigned short": {Class: ClassUint, Size: 2},
	"int": {Class: ClassInt, Size: 4}, "unsigned int": {Class: ClassUint, Size: 4},
	"unsigned": {Class: ClassUint, Size: 4},
	"long":     {Class: ClassInt, Size: 8}, "unsigned long": {Class: ClassUint, Size: 8},
	"long long": {Class: ClassInt, Size: 8}, "unsigned long long": {Class: ClassUint, Size: 8},
	"float": {Class: ClassFloat, Size: 4}, "double": {Class: ClassFloat, Size: 8},
	"wchar_t": {Class: ClassChar, Size: 4}, "char16_t": {Class: ClassChar, Size: 2},
	"char32_t": {Class: ClassChar, Size: 4},
}

// heldValue is the value whose word, or the address of it, is w.
func (r *renderer) heldValue(name string, w uint64) (Value, bool) {
	if t, ok := heldTypes[name]; ok {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], w)
		return r.scalar(&t, b[:t.Size]), true
	}
	if strings.HasSuffix(name, "*") {
		return newAddress(w), true
	}
	if !strings.HasPrefix(name, "std::__cxx11::basic_string<char,") && name != "std::string" {
		return Value{}, false
	}
	k := r.node(w, WalkBytes) // {address, length, …}
	if k < 0 || r.chunks[k].state != chunkOK || len(r.chunks[k].data) < 16 {
		return Value{}, false
	}
	at, n := word(r.chunks[k].data, 0), word(r.chunks[k].data, 1)
	if n == 0 {
		return NewText(""), true
	}
	if k = r.node(at, WalkBytes); k < 0 || r.chunks[k].state != chunkOK || n > math.MaxInt32 {
		return Value{}, false
	}
	data := r.chunks[k].data[:min(n, uint64(len(r.chunks[k].data)))]
	return newCapturedText(data, n-uint64(len(data)), false), true
}
