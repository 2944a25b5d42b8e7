package columns

import (
	"cmp"
	"hash/maphash"
	"math"
	"strconv"
	"strings"

	"github.com/strobe-debug/strobe/internal/value"
)

// Kind is what a cell holds.
type Kind uint8

// The kinds of cells.
const (
	Absent  Kind = iota // the call has no such value
	Null                //
	Bool                // 0 or 1
	Int                 // as int64
	Uint                // beyond int64
	Float               // bits of a float64
	Name                // an enumerator: its number
	Address             //
	Text                // a hash of it
	Marker              // a hash of it: what could not be read
	Whole               // an array or object as a hash
)

// Cell is a value as far as it is needed for comparing it. Comparable with ==.
type Cell struct {
	Kind Kind
	Word uint64
}

var seed = maphash.MakeSeed()

// CellOf returns what a value is in a table.
func CellOf(v value.Value) Cell {
	switch v.Kind() {
	case value.Null:
		return Cell{Kind: Null}
	case value.Bool:
		if v.Bool() {
			return Cell{Bool, 1}
		}
		return Cell{Kind: Bool}
	case value.Int:
		return number(v)
	case value.Float:
		f, _ := v.Float64()
		return Cell{Float, math.Float64bits(f)}
	case value.Text:
		if at, ok := v.Address(); ok {
			return Cell{Address, at}
		}
		if n, ok := v.Int64(); ok {
			return Cell{Name, uint64(n)}
		}
		return Cell{Text, maphash.String(seed, v.Text())}
	case value.Marker:
		text := v.Text() // where it points is no difference
		return Cell{Marker, maphash.String(seed, text[max(strings.IndexByte(text, '<'), 0):])}
	}
	return Cell{Whole, hashOf(v)}
}

func number(v value.Value) Cell {
	if n, ok := v.Int64(); ok {
		return Cell{Int, uint64(n)}
	}
	f, _ := v.Float64()
	if f >= 0 && f <= 1<<64 { // what rounds up to it is below
		if n, err := strconv.ParseUint(v.Short(40), 10, 64); err == nil {
			return Cell{Uint, n}
		}
	}
	return Cell{Float, math.Float64bits(f)}
}

// hashOf is the hash of an array or object with all that it holds.
func hashOf(v value.Value) uint64 {
	h := uint64(v.Kind()) + 1
	mix := func(w uint64) { h = (h ^ w) * 0x9E3779B97F4A7C15; h ^= h >> 29 }
	add := func(e value.Value) {
		switch e.Kind() {
		case value.Array, value.Obj:
			mix(hashOf(e))
		default:
			c := CellOf(e)
			mix(uint64(c.Kind))
			mix(c.Word)
		}
	}
	elems, more := v.Elems()
	for _, e := range elems {
		add(e)
	}
	mix(uint64(more))
	for _, m := range v.Object() {
		mix(maphash.String(seed, m.Name))
		add(m.Value)
	}
	return h
}

// Number reports whether the cell has an order among numbers.
func (c Cell) Number() bool { return c.Kind == Int || c.Kind == Uint || c.Kind == Float }

// Float is the number, rounded where a float64 does not hold it.
func (c Cell) Float() float64 {
	switch c.Kind {
	case Int, Name:
		return float64(int64(c.Word))
	case Float:
		return math.Float64frombits(c.Word)
	}
	return float64(c.Word)
}

// Compare orders two numbers; ok is false where one of them is none.
func Compare(a, b Cell) (order int, ok bool) {
	if a.Kind == Int && b.Kind == Int {
		return cmp.Compare(int64(a.Word), int64(b.Word)), true
	}
	if !a.Number() || !b.Number() {
		return 0, false
	}
	if a.Kind == Uint && b.Kind == Uint {
		return cmp.Compare(a.Word, b.Word), true
	}
	x, y := a.Float(), b.Float()
	if math.IsNaN(x) || math.IsNaN(y) {
		return 0, false
	}
	return cmp.Compare(x, y), true
}

// show writes a number; ok is false where the cell is no number and has no text of its own.
func (c Cell) show() (string, bool) {
	switch c.Kind {
	case Null:
		return "null", true
	case Bool:
		return strconv.FormatBool(c.Word != 0), true
	case Int:
		return strconv.FormatInt(int64(c.Word), 10), true
	case Uint:
		return strconv.FormatUint(c.Word, 10), true
	case Float:
		return strconv.FormatFloat(c.Float(), 'g', 6, 64), true
	case Address:
		return "0x" + strconv.FormatUint(c.Word, 16), true
	}
	return "", false
}
