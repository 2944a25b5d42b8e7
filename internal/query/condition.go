package query

import (
	"math"

	"github.com/strobe-debug/strobe/internal/value"
)

// condition is a compiled ValueFilter.
type condition struct {
	equals, notEquals *value.Value
	greater, less     *value.Value
	isNull            *bool
}

// compileCondition returns nil for a filter without conditions.
func compileCondition(field string, f ValueFilter) (*condition, error) {
	if f == (ValueFilter{}) {
		return nil, nil
	}
	c := &condition{isNull: f.IsNull}
	for _, x := range []struct {
		name    string
		lit     Literal
		numeric bool
		dst     **value.Value
	}{
		{"equals", f.Equals, false, &c.equals},
		{"notEquals", f.NotEquals, false, &c.notEquals},
		{"greaterThan", f.GreaterThan, true, &c.greater},
		{"lessThan", f.LessThan, true, &c.less},
	} {
		v, err := literal(field+"."+x.name, x.lit, x.numeric)
		if err != nil {
			return nil, err
		}
		*x.dst = v
	}
	return c, nil
}

// match reports whether a rendered value fulfils all conditions. A marker such as <optimized out> is no
// known value: it matches nothing but its own text.
func (c *condition) match(v value.Value) bool {
	if v.Kind() == value.Marker {
		return c.equals != nil && v.Equal(*c.equals)
	}
	if c.equals != nil && !equal(v, *c.equals) {
		return false
	}
	if c.notEquals != nil && equal(v, *c.notEquals) {
		return false
	}
	if c.isNull != nil && v.IsNull() != *c.isNull {
		return false
	}
	if c.greater != nil {
		if n, ok := v.Compare(*c.greater); !ok || n <= 0 {
			return false
		}
	}
	if c.less != nil {
		if n, ok := v.Compare(*c.less); !ok || n >= 0 {
			return false
		}
	}
	return true
}

// equal is Value.Equal, and takes a number that was sent as text for a number.
func equal(v, lit value.Value) bool {
	if v.Equal(lit) {
		return true
	}
	if lit.Kind() != value.Text {
		return false
	}
	if k := v.Kind(); k != value.Int && k != value.Float {
		return false
	}
	n, ok := textNumber(lit.Text())
	return ok && v.Equal(n)
}

// bounds turns a condition on a plain integer into bounds on its 64 bits as event.Ret has them, for
// the store's columns. ok is false where the condition is no such range; none is true where no integer
// of that type can match.
func (c *condition) bounds(unsigned64 bool) (lo, hi int64, none, ok bool) {
	if c.notEquals != nil {
		return 0, 0, false, false
	}
	if c.isNull != nil && *c.isNull {
		return 0, 0, true, true
	}
	lo, hi = math.MinInt64, math.MaxInt64
	if c.equals != nil {
		n, isInt := c.equals.Int64()
		if c.equals.Kind() != value.Int || !isInt || unsigned64 && n < 0 {
			return 0, 0, false, false
		}
		lo, hi = n, n
	}
	if unsigned64 && (c.greater != nil || c.less != nil || c.equals == nil) {
		return 0, 0, false, false // the column orders by sign
	}
	if c.greater != nil {
		n, isInt := c.greater.Int64()
		if c.greater.Kind() != value.Int || !isInt {
			return 0, 0, false, false
		}
		if n == math.MaxInt64 {
			return 0, 0, true, true
		}
		lo = max(lo, n+1)
	}
	if c.less != nil {
		n, isInt := c.less.Int64()
		if c.less.Kind() != value.Int || !isInt {
			return 0, 0, false, false
		}
		if n == math.MinInt64 {
			return 0, 0, true, true
		}
		hi = min(hi, n-1)
	}
	return lo, hi, lo > hi, true
}
