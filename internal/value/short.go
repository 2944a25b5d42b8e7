package value

import (
	"slices"
	"strconv"
	"strings"
)

// Bounds of short text.
const (
	shortLimit = 160  // of String: one value must not push the rest of a tree's line away
	shortAgain = 20   // of an object that the line above has shown
	shortSame  = 1000 // bytes in which two objects are compared for that
	shortLeast = 10   // what a text, an array or an object is given at least, where others need the room
)

// String returns v in one short line for people: quoted text, bare names and addresses, unquoted
// keys, cut with "…" beyond 160 bytes.
func (v Value) String() string { return v.Short(shortLimit) }

// Short is String with a limit in bytes (approximately; at least 8). Numbers, names and addresses are never cut: half
// of one would be another.
func (v Value) Short(limit int) string {
	var b strings.Builder
	v.writeShort(&b, max(limit, 8))
	return b.String()
}

// Short returns the members as "a=1, b=2" in about limit bytes: the arguments of a call. Every one of them has its name
// and a part of its value. What is small is whole, and what is large shares the room that is left.
func (o Object) Short(limit int) string {
	var b strings.Builder
	o.writeMembers(&b, max(limit, 8), "=", o.shares(max(limit, 8), 1))
	return b.String()
}

// ShortAfter is Short of the arguments of a call whose caller has shown its own: what has the same name and value as
// there takes only as much as tells it again.
func (o Object) ShortAfter(limit int, shown Object) string {
	again := make(Object, len(o))
	for i, m := range o {
		again[i] = m
		if had, ok := shown.Get(m.Name); ok && (m.Value.kind == Obj || m.Value.kind == Array) &&
			m.Value.shortSize(shortAgain) > shortAgain &&
			had.Short(shortSame) == m.Value.Short(shortSame) {
			again[i].Value = newMarker(m.Value.Short(shortAgain))
		}
	}
	return again.Short(limit)
}

func (v Value) writeShort(b *strings.Builder, limit int) {
	switch v.kind {
	case Text:
		if v.bare {
			b.WriteString(v.text)
			return
		}
		writeShortText(b, v.text, limit)
	case Marker:
		b.WriteString(v.text)
	case Float:
		b.Write(v.appendFloat(nil, false))
	case Array:
		v.writeElems(b, limit)
	case Obj:
		obj := v.obj
		if class, ok := obj.class(); ok { // Order{id: 7}
			class = class[strings.LastIndexByte(class, '.')+1:]
			b.WriteString(class)
			obj, limit = obj[1:], limit-len(class)
		}
		b.WriteByte('{')
		fit := obj.thatFit(limit - 2)
		part := obj[:fit]
		part.writeMembers(b, limit-2, ": ", part.shares(limit-2, 2))
		if left := len(obj) - fit; left > 0 {
			if fit > 0 {
				b.WriteByte(' ')
			}
			b.WriteString("…+" + strconv.Itoa(left))
		}
		b.WriteByte('}')
	default:
		b.Write(v.AppendJSON(nil))
	}
}

// class returns what an instance of an interpreter's class is called: its first member, classMember.
func (o Object) class() (string, bool) {
	if len(o) == 0 || o[0].Name != classMember || !o[0].Value.bare {
		return "", false
	}
	return o[0].Value.text, true
}

func writeShortText(b *strings.Builder, t string, limit int) {
	room := max(limit-2, 6)
	cut := len(t) > room
	if cut {
		t = trimPartialRune(t[:max(room-3, 4)])
	}
	q := appendQuoted(nil, t)
	if cut {
		q = append(q[:len(q)-1], "…\""...)
	}
	b.Write(q)
}

func (v Value) writeElems(b *strings.Builder, limit int) {
	b.WriteByte('[')
	left, end := v.more, b.Len()+limit-2
	for i, e := range v.elems {
		room := end - b.Len()
		if i > 0 && room < min(e.shortSize(shortLeast), shortLeast)+2 {
			left += len(v.elems) - i
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		if i+1 < len(v.elems) {
			room -= 6 // for what says how many are left out
		}
		e.writeShort(b, max(room, shortLeast))
	}
	if left > 0 {
		if len(v.elems) > 0 {
			b.WriteByte(' ')
		}
		b.WriteString("…+" + strconv.Itoa(left))
	}
	b.WriteByte(']')
}

func (o Object) writeMembers(b *strings.Builder, limit int, sep string, shares []int) {
	for i, m := range o {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(m.Name)
		b.WriteString(sep)
		m.Value.writeShort(b, shares[i])
	}
}

// thatFit is how many members have room for their names and a little of their values.
func (o Object) thatFit(limit int) int {
	used := 0
	for i, m := range o {
		used += len(m.Name) + 4 + min(m.Value.shortSize(shortLeast), shortLeast)
		if used > limit && i > 0 {
			return i
		}
	}
	return len(o)
}

// shares gives every member its part of limit bytes, sep being what stands between a name and its value: those that
// need less than their part leave the rest to the others.
func (o Object) shares(limit, sep int) []int {
	need, order := make([]int, len(o)), make([]int, len(o))
	room := limit + 2
	for i, m := range o {
		room -= len(m.Name) + sep + 2
		need[i], order[i] = m.Value.shortSize(limit), i
	}
	slices.SortStableFunc(order, func(x, y int) int { return need[x] - need[y] })
	for k, i := range order {
		part := max(room/(len(order)-k), shortLeast)
		need[i] = min(need[i], part)
		room -= need[i]
	}
	return need
}

// shortSize is how many bytes v takes in short text, or more than limit where it takes more than that.
func (v Value) shortSize(limit int) int {
	switch v.kind {
	case Text:
		if v.bare {
			return len(v.text)
		}
		return len(v.text) + 2
	case Marker:
		return len(v.text)
	case Null:
		return 4
	case Array:
		n := 2
		for _, e := range v.elems {
			if n += e.shortSize(limit-n) + 2; n > limit {
				return n
			}
		}
		if v.more > 0 {
			n += 8
		}
		return n
	case Obj:
		n := 2
		for _, m := range v.obj {
			if n += len(m.Name) + 4 + m.Value.shortSize(limit-n); n > limit {
				return n
			}
		}
		return n
	case Float:
		return len(v.appendFloat(nil, false))
	}
	return len(v.AppendJSON(nil))
}
