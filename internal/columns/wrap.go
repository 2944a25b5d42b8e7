package columns

import (
	"fmt"
	"math"
)

const (
	wrapWeight = 3       // of a result: who sees one need not look further; of what a function was given, half
	wrapNear   = 0.25    // of all negative numbers: those that are so near to their end came over it
	wrapHalf   = 2       // an end was come near to by a number of one part in so many of it
	wrapUnder  = 1 << 20 // so far below its end an unsigned number is a negative one; of 32 bits, a part of that
	wrapShare  = 2       // one call in so many may be beyond
)

// wrap: numbers that went over the end of their type, and came out at its other end. They need not be few, as what
// breaks other rules has to be: what tells is the gap between them and all others.
func (f *finder) wrap(c *Column) {
	if c.n < MinCalls || c.Place == Took || c.Place == Thrown || c.Place == Computed {
		return
	}
	least, top, most, under, numbers := 0.0, math.Inf(-1), 0.0, 0, 0
	f.each(c, func(_ int, v Cell) {
		switch x := v.Float(); {
		case v.Kind != Int && v.Kind != Uint:
			return
		case v.below():
			under++
		case x < 0:
			least, top = min(least, x), max(top, x)
		default:
			most = max(most, x)
		}
		numbers++
	})
	if numbers != c.n {
		return
	}
	if least == 0 && under > 0 && most < wrapUnder {
		f.wrapped(c, c.Path+" does not wrap below 0", func(v Cell) bool { return !v.below() })
	}
	for _, bits := range []int{8, 16, 32, 64} {
		end := math.Ldexp(1, bits-1)
		if least < -end || most >= end {
			continue
		}
		if under == 0 && top > -end && top < (wrapNear-1)*end && most >= end/wrapHalf { // -end alone stands for nothing
			f.wrapped(c, fmt.Sprintf("%s does not wrap at %.0f", c.Path, end), func(v Cell) bool { return v.Float() >= 0 })
		}
		return
	}
}

// below reports an unsigned number that is a negative one but for its type. -1 itself stands for nothing.
func (c Cell) below() bool {
	switch c.Kind {
	case Uint:
		return -c.Word <= wrapUnder && -c.Word > 1
	case Int:
		return c.Word <= math.MaxUint32-1 && c.Word > math.MaxUint32-wrapUnder>>10
	}
	return false
}

func (f *finder) wrapped(c *Column, text string, holds func(v Cell) bool) {
	var count counter
	f.each(c, func(row int, v Cell) { count.tell(row, holds(v)) })
	if count.Broken*wrapShare > count.Calls {
		return
	}
	weight := float64(wrapWeight)
	if c.Place == Argument || c.Place == Watch {
		weight /= 2
	}
	count.Text, count.Columns, count.Own = text, []*Column{c}, 1
	count.Surprise = weight * math.Log2(float64(count.Calls))
	f.rules = append(f.rules, count.Rule)
}
