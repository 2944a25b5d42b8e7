package value

import (
	"encoding/json"
	"math"
	"strconv"
	"unicode/utf8"
)

// MarshalJSON returns v as compact JSON. Integers are exact at any width; NaN and infinities are
// strings, as JSON has no numbers for them.
func (v Value) MarshalJSON() ([]byte, error) { return v.AppendJSON(nil), nil }

// MarshalJSON returns o as a JSON object with its members in order.
func (o Object) MarshalJSON() ([]byte, error) { return o.AppendJSON(nil), nil }

// UnmarshalJSON reads a JSON object, its members in order.
func (o *Object) UnmarshalJSON(b []byte) error {
	v, err := ParseJSON(b)
	if err != nil {
		return err
	}
	*o = v.Object()
	return nil
}

// AppendJSON appends v as compact JSON to b.
func (v Value) AppendJSON(b []byte) []byte {
	switch v.kind {
	case Null:
		return append(b, "null"...)
	case Bool:
		return strconv.AppendBool(b, v.lo != 0)
	case Int:
		return v.appendInt(b)
	case Float:
		return v.appendFloat(b, true)
	case Array:
		b = append(b, '[')
		for i, e := range v.elems {
			if i > 0 {
				b = append(b, ',')
			}
			b = e.AppendJSON(b)
		}
		if v.more > 0 {
			if len(v.elems) > 0 {
				b = append(b, ',')
			}
			b = appendQuoted(b, moreElems(v.more))
		}
		return append(b, ']')
	case Obj:
		return v.obj.AppendJSON(b)
	}
	return appendQuoted(b, v.text)
}

// AppendJSON appends o as compact JSON to b.
func (o Object) AppendJSON(b []byte) []byte {
	b = append(b, '{')
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendQuoted(b, m.Name)
		b = append(b, ':')
		b = m.Value.AppendJSON(b)
	}
	return append(b, '}')
}

func moreElems(n int) string { return "…(+" + strconv.Itoa(n) + " elements)" }

// appendQuoted appends s as a JSON string, without escaping < and >, which every marker has.
func appendQuoted(b []byte, s string) []byte {
	const hexDigits = "0123456789abcdef"
	b = append(b, '"')
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, '\\', 'n')
		case c == '\t':
			b = append(b, '\\', 't')
		case c == '\r':
			b = append(b, '\\', 'r')
		case c < 0x20 || c == 0x7f:
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		case c < utf8.RuneSelf:
			b = append(b, c)
		default:
			r, n := utf8.DecodeRuneInString(s[i:])
			b = utf8.AppendRune(b, r)
			i += n
			continue
		}
		i++
	}
	return append(b, '"')
}

func (v Value) appendInt(b []byte) []byte {
	if n, ok := v.Int64(); ok {
		return strconv.AppendInt(b, n, 10)
	}
	if v.hi == 0 && !v.neg {
		return strconv.AppendUint(b, v.lo, 10)
	}
	return v.big().Append(b, 10)
}

func (v Value) appendFloat(b []byte, quote bool) []byte {
	if special := floatName(v.f); special != "" {
		if quote {
			return appendQuoted(b, special)
		}
		return append(b, special...)
	}
	if v.text != "" {
		// JSON's grammar takes it, but decoders read numbers as doubles and refuse the whole answer, or make it infinite.
		if _, err := strconv.ParseFloat(v.text, 64); quote && err != nil {
			return appendQuoted(b, v.text)
		}
		return append(b, v.text...)
	}
	bits := 64
	if v.width == 32 || v.width == 16 {
		bits = 32
	}
	return appendJSONFloat(b, v.f, bits)
}

// floatName returns the text of a float that JSON has no number for, or "".
func floatName(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	return ""
}

// appendJSONFloat is the shortest text that reads back as f: plain digits where a person would
// write them so, an exponent elsewhere.
func appendJSONFloat(b []byte, f float64, bits int) []byte {
	format := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(b, f, format, -1, bits)
}

// trimPartialRune takes an incomplete UTF-8 sequence off the end of s.
func trimPartialRune(s string) string {
	for i := 1; i <= utf8.UTFMax && i <= len(s); i++ {
		if c := s[len(s)-i]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRuneInString(s[len(s)-i:]) {
				return s[:len(s)-i]
			}
			break
		}
	}
	return s
}

var (
	_ json.Marshaler = Value{}
	_ json.Marshaler = Object{}
)
