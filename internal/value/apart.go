package value

import "encoding/binary"

// pairs shows a map whose keys and values lie apart: a count, and addresses of a key and of its value in turns.
func (r *renderer) pairs(t *Type, b []byte, v view, depth int) Value {
	n := word(b, 0)
	if t.Deeper && n > 0 && v.deep >= r.l.Depth {
		return MaxDepth(r.l.Depth)
	}
	elems := make([]Value, 0, min(len(b)/16, MaxElems))
	for i := 1; i+1 < len(b)/8 && len(elems) < MaxElems; i += 2 {
		key := r.item(t, t.Elem, word(b, i), t.ElemWalk, v, depth+1)
		val := Value{}
		if len(t.Fields) > 0 {
			val = r.keyed(key, func() Value {
				return r.item(t, t.Fields[0].Type, word(b, i+1), uint16(t.Num), v, depth+1)
			})
		}
		elems = append(elems, Value{kind: Array, elems: []Value{key, val}})
	}
	return mapOf(Value{kind: Array, elems: elems, more: count(n, len(elems))})
}

// item shows a part of v, an object of t, that is in a node of its own.
func (r *renderer) item(t *Type, ti int32, addr uint64, walk uint16, v view, depth int) Value {
	k := r.node(addr, walk)
	switch {
	case r.l.typ(ti).Size == 0:
		return r.value(ti, view{}, depth)
	case k < 0:
		return r.left(r.l.typ(ti), addr)
	case r.chunks[k].state != chunkOK:
		return r.lost(k)
	}
	at := r.nodeView(k)
	return r.within(t, addr, v, func(deep int) Value {
		at.deep = deep
		return r.value(ti, at, depth)
	})
}

// dynamic shows an object behind a pointer that tells its type.
func (r *renderer) dynamic(t *Type, b []byte, v view, depth int) Value {
	n, addr := word(b, 0), word(b, 1)
	if n > 0 && n <= uint64(len(t.Variants)) && len(t.Variants[n-1].Values) > 0 {
		c := &t.Variants[n-1]
		if c.Type < 0 {
			return NewUint(addr)
		}
		return r.value(c.Type, view{pieces: []Piece{{Chunk: PieceConst, Size: 8,
			Const: binary.LittleEndian.AppendUint64(nil, addr)}}}, depth+1)
	}
	switch {
	case t.Plain && (n == 0 || n > uint64(len(t.Variants))):
		return r.typeAlone(t, addr, word(b, 2))
	case n == 0 && addr == 0, addr == 0 && n > uint64(len(t.Variants)):
		return Value{}
	case n == 0 || n > uint64(len(t.Variants)):
		return r.left(t, addr)
	}
	c := &t.Variants[n-1]
	p := r.l.typ(c.Type)
	inner := TypeAt(c.Name, addr)
	switch {
	case addr == 0: // a nil pointer in an interface, which is not nil itself
		inner = Value{}
	case c.Type < 0:
	case p.Elem == ElemTooDeep && v.deep >= r.l.Depth:
		inner = MaxDepth(r.l.Depth)
	case p.Elem >= 0 && p.Walk != 0:
		inner = r.follow(p.Elem, addr, p.Walk, v, depth, true)
	}
	if c.Name == "" || t.Plain && (c.Name == "int" || c.Name == "string" || c.Name == "bool") {
		return inner // its form says its type
	}
	return NewObject(Object{{"type", NewText(c.Name)}, {"value", inner}})
}

// typeAlone shows an object of which only the type is known, by the address of that type's description.
func (r *renderer) typeAlone(t *Type, addr, desc uint64) Value {
	name := codeName(r.rest, desc)
	switch {
	case desc == 0:
		return Value{}
	case name == "":
		return r.left(t, addr)
	case addr == 0:
		return NewObject(Object{{"type", NewText(name)}, {"value", Value{}}})
	case name == "*reflect.rtype": // a reflect.Type
		if of := codeName(r.rest, addr); of != "" {
			return NewText(of)
		}
	}
	return TypeAt(name, addr)
}
