package value

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"unicode/utf8"
)

func moreMembers(n int) string { return "+" + strconv.Itoa(n) + " members" }

// makeUnique renames members that repeat an earlier name, as inlined bases may.
func (o Object) makeUnique() {
	seen := make(map[string]int, len(o))
	for i := range o {
		n := o[i].Name
		seen[n]++
		if k := seen[n]; k > 1 {
			o[i].Name = n + "#" + strconv.Itoa(k)
		}
	}
}

// uint128 reads up to 16 bytes, little endian.
func uint128(b []byte) (hi, lo uint64) {
	var w [16]byte
	copy(w[:], b)
	return binary.LittleEndian.Uint64(w[8:]), binary.LittleEndian.Uint64(w[:])
}

// int128 reads up to 16 bytes as two's complement.
func int128(b []byte) (hi, lo uint64) {
	var w [16]byte
	n := copy(w[:], b)
	if n > 0 && w[n-1]&0x80 != 0 {
		for ; n < 16; n++ {
			w[n] = 0xff
		}
	}
	return binary.LittleEndian.Uint64(w[8:]), binary.LittleEndian.Uint64(w[:])
}

// scalar shows the bytes of a type that has no parts.
func (r *renderer) scalar(t *Type, b []byte) Value {
	hi, lo := uint128(b)
	if t.Class == ClassInt || t.Signed {
		hi, lo = int128(b)
	}
	switch t.Class {
	case ClassInt:
		return newInt128(hi, lo, true)
	case ClassUint:
		return newInt128(hi, lo, false)
	case ClassBool:
		return NewBool(hi|lo != 0)
	case ClassChar:
		return newChar(t, hi, lo)
	case ClassFloat:
		if len(b) == 8 && t.Name == "float" { // passed as a double to a function without a prototype, which rounds it
			return newFloat32(float32(math.Float64frombits(binary.LittleEndian.Uint64(b))))
		}
		return newFloat(b)
	case ClassX87:
		return newX87(b)
	case ClassQuad:
		return newQuad(b)
	case ClassComplex:
		return r.complex(t, b)
	case ClassEnum:
		return newEnum(t, hi, lo)
	case ClassPointer:
		return newAddress(lo)
	case ClassFuncPtr:
		return r.funcPtr(lo)
	case ClassMemberPtr:
		if lo == math.MaxUint64 {
			return Value{}
		}
		return NewInt(int64(lo))
	case ClassBits:
		return newBits(b, t.Count)
	case ClassMethodPtr:
		if lo&1 != 0 { // Itanium C++ ABI 2.3: an odd first word is 1 plus an offset in the vtable
			return NewText("virtual+" + strconv.FormatUint(lo-1, 10))
		}
		return r.funcPtr(lo)
	}
	return Unreadable
}

func (r *renderer) funcPtr(addr uint64) Value {
	if addr == 0 {
		return Value{}
	}
	v := newAddress(addr)
	if name := codeName(r.rest, addr); name != "" {
		v.text = name
	}
	return v
}

func (r *renderer) complex(t *Type, b []byte) Value {
	e := r.l.typ(t.Elem)
	if e.Class == ClassComplex || 2*uint64(e.Size) > uint64(len(b)) {
		return Unreadable
	}
	re, im := r.scalar(e, b[:e.Size]), r.scalar(e, b[e.Size:2*e.Size])
	return NewObject(Object{{"re", re}, {"im", im}})
}

func newEnum(t *Type, hi, lo uint64) Value {
	for i := range t.Enums {
		if uint64(t.Enums[i].Value) == lo || t.Size < 8 && !t.Signed && uint64(t.Enums[i].Value)&(1<<(8*t.Size)-1) == lo {
			return newName(t.Enums[i].Name, hi, lo, t.Signed)
		}
	}
	if name := flagNames(t, lo); name != "" {
		return newName(name, hi, lo, false)
	}
	return newInt128(hi, lo, t.Signed)
}

// flagNames shows a combination of single-bit enumerators as "A|B"; "" when it is none.
func flagNames(t *Type, n uint64) string {
	name := ""
	for i := range t.Enums {
		e := uint64(t.Enums[i].Value)
		if e == 0 || e&(e-1) != 0 || n&e == 0 {
			continue
		}
		n &^= e
		if name != "" {
			name += "|"
		}
		name += t.Enums[i].Name
	}
	if n != 0 {
		return ""
	}
	return name
}

// newChar shows a character as text; one that is no character by itself as an escape.
func newChar(t *Type, hi, lo uint64) Value {
	v := newName("", hi, lo, t.Signed)
	v.bare = false
	switch c := lo & (1<<(8*min(t.Size, 4)) - 1); {
	case t.Size == 1 && c >= utf8.RuneSelf:
		v.text = fmt.Sprintf(`\x%02x`, c)
	case !utf8.ValidRune(rune(c)) || c > utf8.MaxRune:
		v.text = fmt.Sprintf(`\u%04x`, c)
	default:
		v.text = string(rune(c))
	}
	return v
}

func newFloat(b []byte) Value {
	switch len(b) {
	case 2:
		v := newFloat32(float16(binary.LittleEndian.Uint16(b)))
		v.width = 16
		return v
	case 4:
		return newFloat32(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	case 8:
		return NewFloat(math.Float64frombits(binary.LittleEndian.Uint64(b)))
	}
	return Unreadable
}

func float16(h uint16) float32 {
	sign, exp, frac := uint32(h>>15)<<31, int(h>>10&31), uint32(h&1023)
	switch exp {
	case 0:
		f := float32(frac) / (1 << 24)
		return math.Float32frombits(math.Float32bits(f) | sign)
	case 31:
		return math.Float32frombits(sign | 0xff<<23 | frac<<13)
	}
	return math.Float32frombits(sign | uint32(exp+112)<<23 | frac<<13)
}

// newX87 shows an 80-bit extended float: 64 bits of significand with its leading one, 15 of
// exponent, sign (Intel SDM volume 1, 4.2.2).
func newX87(b []byte) Value {
	if len(b) < 10 {
		return Unreadable
	}
	frac, se := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint16(b[8:])
	neg, exp := se&0x8000 != 0, int(se&0x7fff)
	switch {
	case exp == 0x7fff && frac<<1 == 0:
		return wideInf(80, neg)
	case exp == 0x7fff || exp != 0 && frac>>63 == 0: // the latter are invalid operands
		return Value{kind: Float, width: 80, f: math.NaN()}
	}
	f := new(big.Float).SetPrec(64).SetUint64(frac)
	f.SetMantExp(f, max(exp, 1)-16383-63)
	return newWide(f, neg, 80)
}

func newQuad(b []byte) Value {
	if len(b) < 16 {
		return Unreadable
	}
	hi, lo := uint128(b)
	neg, exp := hi>>63 != 0, int(hi>>48&0x7fff)
	hi &= 1<<48 - 1
	switch {
	case exp == 0x7fff && hi|lo == 0:
		return wideInf(128, neg)
	case exp == 0x7fff:
		return Value{kind: Float, width: 128, f: math.NaN()}
	case exp != 0:
		hi |= 1 << 48
	}
	n := new(big.Int).SetUint64(hi)
	n.Or(n.Lsh(n, 64), new(big.Int).SetUint64(lo))
	f := new(big.Float).SetPrec(113).SetInt(n)
	f.SetMantExp(f, max(exp, 1)-16383-112)
	return newWide(f, neg, 128)
}

func wideInf(width uint8, neg bool) Value {
	if neg {
		return Value{kind: Float, width: width, f: math.Inf(-1)}
	}
	return Value{kind: Float, width: width, f: math.Inf(1)}
}

// newWide keeps the shortest decimal form that reads back as f; the 64-bit value is only for order
// and never infinite.
func newWide(f *big.Float, neg bool, width uint8) Value {
	if neg {
		f.Neg(f)
	}
	v := Value{kind: Float, width: width}
	v.f, _ = f.Float64()
	if math.IsInf(v.f, 0) {
		v.f = math.Copysign(math.MaxFloat64, v.f)
	}
	format := byte('f')
	if a := math.Abs(v.f); f.Sign() != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	v.text = f.Text(format, -1)
	return v
}

// cstring shows the text that a followed pointer led to.
func (r *renderer) cstring(v view) Value {
	b, state := r.bytes(v, 8)
	if state != chunkOK {
		return markerOf(state)
	}
	addr := binary.LittleEndian.Uint64(b)
	if addr == 0 {
		return Value{}
	}
	k := r.node(addr, WalkText)
	if k < 0 {
		return newAddress(addr)
	}
	c := &r.chunks[k]
	if c.state != chunkOK {
		return r.lost(k)
	}
	more := uint64(0)
	if c.length > uint64(len(c.data)) {
		more = c.length - uint64(len(c.data))
	}
	return newCapturedText(c.data, more, c.atLeast)
}

// charArray shows a char[N]: text up to the first NUL.
func (r *renderer) charArray(t *Type, v view) Value {
	n := t.Size
	for n > 0 {
		if r.state(v.at(n-1)) != chunkCut {
			break
		}
		p, off := v.locate()
		if p == nil || p.Chunk < 0 || r.chunks[p.Chunk].limit <= p.Off+off {
			n = 0
			break
		}
		n = min(n-1, r.chunks[p.Chunk].limit-p.Off-off)
	}
	b, state := r.bytes(v, n)
	if state != chunkOK {
		return markerOf(state)
	}
	for i, c := range b {
		if c == 0 {
			return newCapturedText(b[:i], 0, false)
		}
	}
	return newCapturedText(b, uint64(t.Size-n), false)
}

// TextOf shows an array of characters, up to the zero that ends a text in it.
func TextOf(b []byte) Value {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return newCapturedText(b, 0, false)
}

// newCapturedText shows bytes as text where they are UTF-8, else as base64 behind "base64:"; both
// cut at MaxText bytes, more being left out already.
func newCapturedText(b []byte, more uint64, atLeast bool) Value {
	whole := uint64(len(b)) + more
	b = b[:min(len(b), MaxText)]
	if uint64(len(b)) < whole {
		b = b[:len(trimPartialRune(string(b)))]
	}
	s := string(b)
	if !utf8.Valid(b) {
		b = b[:min(len(b), MaxText*3/4)]
		s = "base64:" + base64.StdEncoding.EncodeToString(b)
	}
	if left := whole - uint64(len(b)); left > 0 {
		plus := "+"
		if atLeast {
			plus = "+≥"
		}
		s += "…(" + plus + strconv.FormatUint(left, 10) + " bytes)"
	}
	return NewText(s)
}
