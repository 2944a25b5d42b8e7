package value

import (
	"encoding/binary"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// described shows what a description of a type came to.
func (r *renderer) described(t *Type, v view, depth int) Value {
	switch t.Class {
	case ClassVisual:
		return r.visual(t, v, depth)
	case ClassMine:
		if len(t.Fields) == 0 {
			return Unreadable
		}
		f := &t.Fields[0]
		return r.member(f, r.self.at(f.Off), depth)
	case ClassPlace:
		return r.place(t, v, depth)
	case ClassItems:
		return r.items(t, v, depth)
	case ClassList:
		return r.list(t, v, depth)
	case ClassFormat:
		return r.format(t, v, depth)
	case ClassNumber:
		return inBase(r.value(t.Elem, v, depth+1), t.Count)
	case ClassGrid:
		return r.grid(t, v, depth)
	case ClassWide:
		return r.wide(t, v)
	}
	return absent
}

// absent is no value: ClassItems leaves it out.
var absent = newMarker("")

// visual shows an object by its description.
func (r *renderer) visual(t *Type, v view, depth int) Value {
	was := r.self
	r.self = v
	defer func() { r.self = was }()
	at := v
	if t.Walk != 0 {
		b, state := r.words(t, v)
		switch {
		case state == chunkMissing && r.state(v) == chunkMissing:
			return OptimizedOut
		case state == chunkMissing:
			return r.left(t, v.address())
		case state != chunkOK || len(b) == 0:
			return Unreadable
		}
		at = r.nodeView(r.node(v.address(), t.Walk))
		at.deep = v.deep
	}
	out := r.value(t.Elem, at, depth+1)
	if out.isAbsent() {
		return Value{}
	}
	return out
}

func (v Value) isAbsent() bool { return v.kind == Marker && v.text == "" }

// place shows what is at an address.
func (r *renderer) place(t *Type, v view, depth int) Value {
	b, state := r.bytes(v, 8)
	if state != chunkOK {
		return markerOf(state)
	}
	addr := binary.LittleEndian.Uint64(b)
	if addr == 0 {
		return Value{}
	}
	if t.Signed { // what a pointer leads to
		if t.Elem == ElemTooDeep && v.deep >= r.l.Depth {
			return MaxDepth(r.l.Depth)
		}
		if t.Elem < 0 {
			return newAddress(addr)
		}
		return r.follow(t.Elem, addr, t.ElemWalk, v, depth, true)
	}
	if t.Deeper && v.deep >= r.l.Depth {
		return MaxDepth(r.l.Depth)
	}
	return r.item(t, t.Elem, addr, t.ElemWalk, v, depth+1)
}

func (r *renderer) items(t *Type, v view, depth int) Value {
	o := make(Object, 0, min(len(t.Fields), maxFields))
	for i := range t.Fields {
		f := &t.Fields[i]
		m := r.member(f, v.at(f.Off), depth)
		switch {
		case m.isAbsent():
		case f.Name == "" && m.kind == Obj:
			o = append(o, m.obj...)
		default:
			o = append(o, Member{f.Name, m})
		}
	}
	o.makeUnique()
	return Value{kind: Obj, obj: o}
}

// list shows the records that a list's walk has collected.
func (r *renderer) list(t *Type, v view, depth int) Value {
	total, known := uint64(0), false
	switch {
	case t.ElemWalk != 0:
		if k := r.node(v.address(), t.ElemWalk); k >= 0 && r.chunks[k].state == chunkOK && len(r.chunks[k].data) >= 8 {
			total, known = word(r.chunks[k].data, 0), true
		}
	case len(t.Fields) > 0:
		b, state := r.bytes(v.at(t.Fields[0].Off), 8)
		if state != chunkOK {
			return markerOf(state)
		}
		total, known = binary.LittleEndian.Uint64(b), true
	}
	k := r.node(v.address(), t.Walk)
	if k < 0 || r.chunks[k].state != chunkOK {
		if known && total == 0 {
			return Value{kind: Array}
		}
		return r.left(t, v.address())
	}
	size := max(r.l.typ(t.Elem).Size, 8)
	if t.Deeper && len(r.chunks[k].data) > 0 && v.deep >= r.l.Depth {
		return MaxDepth(r.l.Depth)
	}
	at := r.nodeView(k)
	at.deep = v.deep
	have := min(uint64(len(r.chunks[k].data))/uint64(size), MaxElems)
	elems := make([]Value, 0, have)
	for i := range uint32(have) {
		e := r.value(t.Elem, at.at(i*size), depth+1)
		if e.isAbsent() {
			e = Value{}
		}
		elems = append(elems, e)
	}
	if !known { // the walk did not come to the list's end
		elems = append(elems, Unreadable)
		total = uint64(len(elems))
	}
	out := Value{kind: Array, elems: elems, more: count(total, len(elems))}
	if t.Count&AsMap != 0 {
		return mapOf(out)
	}
	return out
}

// format puts text together. A field with BitOff 1 shows text without quotes.
func (r *renderer) format(t *Type, v view, depth int) Value {
	var b []byte
	for i := range t.Fields {
		f := &t.Fields[i]
		b = append(b, f.Name...)
		if f.Type < 0 {
			continue
		}
		m := r.value(f.Type, v.at(f.Off), depth+1)
		switch {
		case m.isAbsent():
		case m.kind == Marker, m.kind == Text && (m.bare || f.BitOff == 1):
			b = append(b, m.text...)
		default:
			b = m.AppendJSON(b)
		}
		if len(b) > 4*MaxText {
			break
		}
	}
	return newCapturedText(b, 0, false)
}

// inBase shows a number in another base than ten.
func inBase(v Value, base uint32) Value {
	if v.kind != Int && !v.num || v.hi != 0 && !v.neg {
		return v
	}
	prefix := map[uint32]string{2: "0b", 8: "0", 16: "0x"}[base]
	if base == 10 { // of a character or an enumerator its number
		return newInt128(v.hi, v.lo, v.neg)
	}
	if prefix == "" {
		return v
	}
	return Value{kind: Text, text: prefix + strconv.FormatUint(v.lo, int(base)), lo: v.lo, num: true, bare: true}
}

// maxRank bounds the dimensions of a grid.
const maxRank = 4

func (r *renderer) grid(t *Type, v view, depth int) Value {
	rank := min(int(t.Count), maxRank)
	dims := make([]uint64, rank)
	for i := range dims {
		b, state := r.bytes(v.at(uint32(8*i)), 8)
		if state != chunkOK {
			return markerOf(state)
		}
		dims[i] = binary.LittleEndian.Uint64(b)
	}
	b, state := r.bytes(v.at(uint32(8*rank)), 8)
	if state != chunkOK {
		return markerOf(state)
	}
	for _, d := range dims {
		if d == 0 {
			return Value{kind: Array}
		}
	}
	addr, size := binary.LittleEndian.Uint64(b), max(r.l.typ(t.Elem).Size, 1)
	k := r.node(addr, t.ElemWalk)
	if k < 0 {
		return r.absent(t, addr, v)
	}
	if r.chunks[k].state != chunkOK {
		return markerOf(r.chunks[k].state)
	}
	at := r.nodeView(k)
	at.deep = v.deep
	have := uint64(len(r.chunks[k].data)) / uint64(size)
	var level func(d int, index, step uint64) Value
	level = func(d int, index, step uint64) Value {
		n, stride, inner := dims[d], uint64(1), step
		if t.Signed { // index grows by step, which becomes larger with each dimension
			stride, inner = step, step*min(n, have+1)
		} else {
			for _, later := range dims[d+1:] {
				stride *= min(later, have+1)
			}
		}
		out := Value{kind: Array}
		for i := range min(n, MaxElems) {
			e := index + i*stride
			if e >= have {
				break
			}
			if d+1 == len(dims) {
				out.elems = append(out.elems, r.value(t.Elem, at.at(uint32(e)*size), depth+1))
			} else {
				out.elems = append(out.elems, level(d+1, e, inner))
			}
		}
		out.more = count(n, len(out.elems))
		return out
	}
	return level(0, 0, 1)
}

// wide shows text without a length, whose units have more than one byte.
func (r *renderer) wide(t *Type, v view) Value {
	b, state := r.bytes(v, 8)
	if state != chunkOK {
		return markerOf(state)
	}
	addr := binary.LittleEndian.Uint64(b)
	if addr == 0 {
		return Value{}
	}
	k := r.node(addr, WalkBytes)
	switch {
	case k < 0:
		return NewText("")
	case r.chunks[k].state != chunkOK:
		return markerOf(r.chunks[k].state)
	}
	return newCapturedText(fromUnits(r.chunks[k].data, max(r.l.typ(t.Elem).Size, 1)), 0, false)
}

// fromUnits makes text of UTF-8, UTF-16 or UTF-32.
func fromUnits(data []byte, unit uint32) []byte {
	switch unit {
	case 2:
		units := make([]uint16, len(data)/2)
		for i := range units {
			units[i] = binary.LittleEndian.Uint16(data[2*i:])
		}
		return []byte(string(utf16.Decode(units)))
	case 4:
		var s []byte
		for i := 0; i+4 <= len(data); i += 4 {
			c := binary.LittleEndian.Uint32(data[i:])
			if c > utf8.MaxRune {
				c = utf8.RuneError
			}
			s = utf8.AppendRune(s, rune(c))
		}
		return s
	}
	return data
}
