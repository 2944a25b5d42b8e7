package value

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// ParseJSON reads a JSON literal, e.g. of a filter. Integers of up to 128 bits stay exact; objects
// keep their order.
func ParseJSON(raw []byte) (Value, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	v, err := parseJSON(d, 0)
	if err != nil {
		return Value{}, fmt.Errorf("read JSON value: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return Value{}, fmt.Errorf("read JSON value: more follows after byte %d", d.InputOffset())
	}
	return v, nil
}

func parseJSON(d *json.Decoder, depth int) (Value, error) {
	if depth > maxNesting {
		return Value{}, fmt.Errorf("nested deeper than %d", maxNesting)
	}
	t, err := d.Token()
	if err != nil {
		return Value{}, err
	}
	switch t := t.(type) {
	case nil:
		return Value{}, nil
	case bool:
		return NewBool(t), nil
	case string:
		return NewText(t), nil
	case json.Number:
		return parseNumber(t.String())
	case json.Delim:
		if t == '[' {
			var elems []Value
			for d.More() {
				e, err := parseJSON(d, depth+1)
				if err != nil {
					return Value{}, err
				}
				elems = append(elems, e)
			}
			_, err := d.Token()
			return NewArray(elems, 0), err
		}
		var o Object
		for d.More() {
			k, err := d.Token()
			if err != nil {
				return Value{}, err
			}
			e, err := parseJSON(d, depth+1)
			if err != nil {
				return Value{}, err
			}
			name, _ := k.(string)
			o = append(o, Member{name, e})
		}
		_, err := d.Token()
		return NewObject(o), err
	}
	return Value{}, fmt.Errorf("unexpected token %v", t)
}

func parseNumber(s string) (Value, error) {
	const digits = len("-170141183460469231731687303715884105728") // more is no 128-bit integer, and costs its square
	if len(s) <= digits && !strings.ContainsAny(s, ".eE") {
		if n, ok := new(big.Int).SetString(s, 10); ok && n.BitLen() <= 127 {
			return fromBig(n), nil
		} else if ok && n.Sign() > 0 && n.BitLen() == 128 {
			return fromBig(n), nil
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && !math.IsInf(f, 0) {
		return Value{}, err
	}
	return Value{kind: Float, f: f, text: s}, nil
}

// fromBig returns an integer of at most 128 bits.
func fromBig(n *big.Int) Value {
	v := Value{kind: Int, neg: n.Sign() < 0}
	m := n
	if v.neg {
		m = new(big.Int).Add(n, new(big.Int).Lsh(big.NewInt(1), 128))
	}
	v.lo = new(big.Int).And(m, new(big.Int).SetUint64(math.MaxUint64)).Uint64()
	v.hi = new(big.Int).Rsh(m, 64).Uint64()
	return v
}

// Equal reports whether v, a rendered value, equals lit, a JSON literal. Integers compare exactly; a
// float compares in its own width, so that a 32-bit 0.1 equals 0.1; an enumerator, address or
// character equals its name and its number; "NaN" equals a NaN; `<optimized out>` and the other
// markers equal only their own text.
func (v Value) Equal(lit Value) bool {
	switch {
	case v.kind == Array && lit.kind == Array:
		if len(v.elems) != len(lit.elems) || v.more != lit.more {
			return false
		}
		for i := range v.elems {
			if !v.elems[i].Equal(lit.elems[i]) {
				return false
			}
		}
		return true
	case v.kind == Obj && lit.kind == Obj:
		if len(v.obj) != len(lit.obj) {
			return false
		}
		for _, m := range v.obj {
			if l, ok := lit.obj.Get(m.Name); !ok || !m.Value.Equal(l) {
				return false
			}
		}
		return true
	case v.kind == Null || lit.kind == Null:
		return v.kind == lit.kind
	case lit.kind == Text || lit.kind == Marker:
		if v.kind == Float {
			return lit.text != "" && floatName(v.f) == lit.text
		}
		return (v.kind == Text || v.kind == Marker) && v.text == lit.text
	case v.kind == Bool || lit.kind == Bool:
		return v.kind == lit.kind && v.lo == lit.lo
	}
	c, ok := v.Compare(lit)
	return ok && c == 0
}

// Compare orders v, a rendered value, against lit, a JSON literal: numbers with numbers (exactly,
// enumerators, addresses and characters by their number), text with text. ok is false where
// there is no order: other kinds, markers, NaN.
func (v Value) Compare(lit Value) (c int, ok bool) {
	if v.kind == Text && lit.kind == Text {
		return strings.Compare(v.text, lit.text), true
	}
	if !v.isNumber() || !lit.isNumber() {
		return 0, false
	}
	if v.kind != Float && lit.kind != Float {
		return v.compareInt(lit), true
	}
	if math.IsNaN(v.f) || math.IsNaN(lit.f) {
		return 0, false
	}
	if v.kind == Float && math.IsInf(v.f, 0) && v.text == "" {
		l, _ := lit.bigFloat(64).Float64()
		return compareFloat(v.f, l), true
	}
	switch {
	case v.kind == Float && (v.width == 32 || v.width == 16):
		l, _ := lit.bigFloat(256).Float32()
		return compareFloat(v.f, float64(l)), true
	case v.kind == Float && v.width > 64:
		prec := uint(64)
		if v.width == 128 {
			prec = 113
		}
		return v.bigFloat(prec).Cmp(lit.bigFloat(prec)), true
	case v.kind == Float && v.width == 64 && lit.kind == Float:
		return compareFloat(v.f, lit.f), true
	}
	return v.bigFloat(256).Cmp(lit.bigFloat(256)), true
}

func (v Value) isNumber() bool { return v.kind == Int || v.kind == Float || v.kind == Text && v.num }

func compareFloat(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func (v Value) compareInt(w Value) int {
	if v.neg != w.neg {
		if v.neg {
			return -1
		}
		return 1
	}
	switch { // two's complement of the same sign orders as unsigned
	case v.hi != w.hi && v.hi < w.hi || v.hi == w.hi && v.lo < w.lo:
		return -1
	case v.hi == w.hi && v.lo == w.lo:
		return 0
	}
	return 1
}

// bigFloat returns a number rounded to prec bits. NaN does not reach it.
func (v Value) bigFloat(prec uint) *big.Float {
	f := new(big.Float).SetPrec(prec)
	if v.kind != Float {
		return f.SetInt(v.big())
	}
	if v.text != "" && smallExponent(v.text) {
		if _, _, err := f.Parse(v.text, 10); err == nil {
			return f
		}
	}
	return f.SetFloat64(v.f)
}

// smallExponent keeps a hostile literal such as 1e-999999999 from costing minutes.
func smallExponent(s string) bool {
	i := strings.IndexAny(s, "eE")
	return len(s) < 4096 && (i < 0 || len(strings.TrimLeft(s[i+1:], "+-0")) <= 5)
}

// Path returns the value at p below v: members by name, elements by index, e.g. "x", "x.y", "x[2].z".
// An empty path is v itself.
func (v Value) Path(p string) (Value, bool) {
	if p == "" {
		return v, true
	}
	switch v.kind {
	case Obj:
		return v.obj.Path(strings.TrimPrefix(p, "."))
	case Array:
		return v.index(p)
	}
	return Value{}, false
}

func (v Value) index(p string) (Value, bool) {
	if p[0] != '[' {
		return Value{}, false
	}
	end := strings.IndexByte(p, ']')
	if end < 0 {
		return Value{}, false
	}
	i, err := strconv.Atoi(p[1:end])
	if err != nil || i < 0 || i >= len(v.elems) {
		return Value{}, false
	}
	return v.elems[i].Path(p[end+1:])
}

// Path returns the value at p below o, e.g. "p", "p.x[2]". Where names hold dots or brackets
// themselves, the longest name that leads to a value wins.
func (o Object) Path(p string) (Value, bool) {
	best, found := -1, Value{}
	for _, m := range o {
		if len(m.Name) <= best || !strings.HasPrefix(p, m.Name) {
			continue
		}
		rest := p[len(m.Name):]
		if rest != "" && rest[0] != '.' && rest[0] != '[' {
			continue
		}
		if v, ok := m.Value.Path(rest); ok {
			best, found = len(m.Name), v
		}
	}
	return found, best >= 0
}
