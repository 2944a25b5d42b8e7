package tracediff

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/strobe-debug/strobe/internal/value"
)

// maxDeltas is how many parts of a call's values that differ are looked for.
const maxDeltas = 8

// delta is a part of a value that differs.
type delta struct {
	path string // items[3].price
	key  string // items[].price
	a, b string
}

// compare finds the parts of two calls' values that differ.
type compare struct {
	a, b   *canon
	view   *view
	window int // bytes that are shown of each side
	out    []delta
}

func (c *compare) add(path, key, a, b string) {
	if len(c.out) < maxDeltas {
		c.out = append(c.out, delta{path, key, a, b})
	}
}

// object compares by name, so that a map's order does not matter.
func (c *compare) object(path, key string, a, b value.Object) {
	for i := range a {
		m := &a[i]
		p, k := join(path, m.Name), join(key, m.Name)
		if other, ok := b.Get(m.Name); ok {
			c.value(p, k, m.Name, m.Value, other)
		} else if !c.masked(k) {
			c.add(p, k, c.short(m.Value), "(none)")
		}
	}
	for i := range b {
		if _, ok := a.Get(b[i].Name); !ok && !c.masked(join(key, b[i].Name)) {
			c.add(join(path, b[i].Name), join(key, b[i].Name), "(none)", c.short(b[i].Value))
		}
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func (c *compare) masked(key string) bool { return c.view.masked[key] }

// value compares two values of one place.
func (c *compare) value(path, key, name string, a, b value.Value) {
	if c.masked(key) || len(c.out) >= maxDeltas {
		return
	}
	ta, na := c.a.token(a, name)
	tb, nb := c.b.token(b, name)
	switch {
	case ta != tokenNone && ta == tb:
		if na != nb {
			c.add(path, key, c.address(a, ta, na), c.address(b, tb, nb))
		}
		return
	case a.Kind() == value.Array && b.Kind() == value.Array:
		c.array(path, key, a, b)
		return
	case a.Kind() == value.Obj && b.Kind() == value.Obj:
		c.object(path, key, a.Object(), b.Object())
		return
	case unknown(a) || unknown(b):
		return
	case isText(a) && isText(b):
		if sa, sb := a.Text(), b.Text(); sa != sb && c.a.text(sa) != c.b.text(sb) {
			c.text(path, key, sa, sb)
		}
		return
	}
	if sa, sb := string(a.AppendJSON(nil)), string(b.AppendJSON(nil)); sa != sb {
		c.add(path, key, c.short(a), c.short(b))
	}
}

func isText(v value.Value) bool { return v.Kind() == value.Text || v.Kind() == value.Marker }

// unknown values were not recorded on one side: that is no difference of the programs.
func unknown(v value.Value) bool {
	return v.Kind() == value.Marker && (v.Text() == value.OptimizedOut.Text() || strings.HasPrefix(v.Text(), "<max depth"))
}

// address shows which of an event's addresses one is: addresses themselves say nothing.
func (c *compare) address(v value.Value, what int, n uint64) string {
	if what == tokenAddress {
		return fmt.Sprintf("%s (address %d of this call)", c.short(v), n+1)
	}
	return c.short(v)
}

func (c *compare) array(path, key string, a, b value.Value) {
	ea, moreA := a.Elems()
	eb, moreB := b.Elems()
	key += "[]"
	if na, nb := len(ea)+moreA, len(eb)+moreB; na != nb {
		c.add(path+".length", key+".length", strconv.Itoa(na), strconv.Itoa(nb))
	}
	if c.view.unordered {
		if moreA+moreB == 0 {
			c.set(path, key, ea, eb)
		}
		return
	}
	for i := range min(len(ea), len(eb)) {
		c.value(path+"["+strconv.Itoa(i)+"]", key, "", ea[i], eb[i])
	}
}

// set compares collections without an order.
func (c *compare) set(path, key string, a, b []value.Value) {
	left := make([]uint64, 0, len(b))
	for _, v := range b {
		left = append(left, c.b.hash(0, v, "", key, c.view))
	}
	var only []value.Value
	for _, v := range a {
		if i := slices.Index(left, c.a.hash(0, v, "", key, c.view)); i >= 0 {
			left = slices.Delete(left, i, i+1)
			b = slices.Delete(slices.Clone(b), i, i+1)
		} else {
			only = append(only, v)
		}
	}
	for i := range max(len(only), len(b)) {
		sa, sb := "(none)", "(none)"
		if i < len(only) {
			sa = c.short(only[i])
		}
		if i < len(b) {
			sb = c.short(b[i])
		}
		c.add(path+"[…]", key, sa, sb)
	}
}

func (c *compare) short(v value.Value) string { return clip(v.Short(c.window), c.window) }

// text shows two texts around their first difference.
func (c *compare) text(path, key, a, b string) {
	at := 0
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	from := max(0, at-c.window/3)
	if from < 8 {
		from = 0
	}
	if from > 0 {
		path += fmt.Sprintf(" (from byte %d)", from)
	}
	c.add(path, key, around(a, from, c.window), around(b, from, c.window))
}

// around is text from a byte on, quoted, in about limit bytes.
func around(s string, from, limit int) string {
	for from > 0 && from < len(s) && !utf8.RuneStart(s[from]) {
		from--
	}
	lead, tail := "", ""
	if from > 0 {
		lead = "…"
	}
	s = s[min(from, len(s)):]
	if len(s) > limit {
		for limit > 0 && !utf8.RuneStart(s[limit]) {
			limit--
		}
		s, tail = s[:limit], "…"
	}
	return lead + value.NewText(s).Short(2*len(s)+8) + tail
}

// clip cuts text to about limit bytes.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "…"
}
