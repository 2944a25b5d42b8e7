package value

import "encoding/binary"

type nodeKey struct {
	addr uint64
	walk uint16
}

// node returns the chunk of a node, or -1.
func (r *renderer) node(addr uint64, walk uint16) int32 {
	k := r.find(addr, walk)
	if k >= 0 {
		r.wiped.add(r.chunks[k].data)
	}
	return k
}

func (r *renderer) find(addr uint64, walk uint16) int32 {
	const few = 16
	first := len(r.shape.Parts) + 1
	if len(r.chunks)-first <= few {
		for i := first; i < len(r.chunks); i++ {
			if c := &r.chunks[i]; c.addr == addr && c.walk == walk {
				return int32(i)
			}
		}
		return -1
	}
	if r.byKey == nil {
		r.byKey = make(map[nodeKey]int32, len(r.chunks))
		for i := first; i < len(r.chunks); i++ {
			r.byKey[nodeKey{r.chunks[i].addr, r.chunks[i].walk}] = int32(i)
		}
	}
	if i, ok := r.byKey[nodeKey{addr, walk}]; ok {
		return i
	}
	return -1
}

func (r *renderer) pointee(t *Type, v view, depth int) Value {
	b, state := r.bytes(v, 8)
	if state != chunkOK {
		return markerOf(state)
	}
	addr := binary.LittleEndian.Uint64(b)
	if addr == 0 {
		return Value{}
	}
	switch {
	case t.Elem == ElemTooDeep && v.deep >= r.l.Depth:
		return MaxDepth(r.l.Depth)
	case t.Walk == 0 || t.Elem < 0:
		return newAddress(addr)
	}
	out := r.follow(t.Elem, addr, t.Walk, v, depth, t.Class == ClassStructPtr)
	if t.Plain {
		return out.inside("*")
	}
	return out
}

// inside names what is around a null: of {"*": null} the pointer is not null, of {"Some": null} the option is not None.
func (v Value) inside(name string) Value {
	if v.kind != Null {
		return v
	}
	return Value{kind: Obj, obj: Object{{name, v}}}
}

// follow shows what lies at an address that v, or what v is part of, has.
func (r *renderer) follow(ti int32, addr uint64, walk uint16, v view, depth int, object bool) Value {
	e := r.l.typ(ti)
	if e.Class == ClassVirtual {
		return r.virtual(e, addr, walk, v, depth)
	}
	if object {
		for _, a := range r.addrs {
			if a == addr {
				return CircularRef(addr)
			}
		}
	}
	switch {
	case e.Class == ClassOpaque:
		return TypeAt(e.Name, addr)
	case e.Size == 0:
		return r.value(ti, view{}, depth+1) // nothing to copy
	case v.deep >= r.l.Depth:
		return MaxDepth(r.l.Depth)
	}
	k := r.node(addr, walk)
	if k < 0 || r.nodes > maxFollow {
		return r.left(e, addr)
	}
	if r.chunks[k].state != chunkOK {
		return r.lost(k)
	}
	to := r.nodeView(k)
	to.deep = v.deep + 1
	r.addrs = append(r.addrs, addr)
	out := r.value(ti, to, depth+1)
	r.addrs = r.addrs[:len(r.addrs)-1]
	return r.addressed(out, addr)
}

// addressed adds to an object where it is, if that is asked for.
func (r *renderer) addressed(v Value, addr uint64) Value {
	if r.l.addresses && v.kind == Obj && !MadeUp(addr) {
		v.obj = append(Object{{"$address", newAddress(addr)}}, v.obj...)
	}
	return v
}

// lost stands for what is in node k, which has nothing.
func (r *renderer) lost(k int32) Value {
	if c := &r.chunks[k]; c.state == chunkUnreadable {
		return UnreadableAt(c.addr)
	}
	return markerOf(r.chunks[k].state)
}

// virtual shows an object behind a pointer to one of its bases.
func (r *renderer) virtual(e *Type, addr uint64, walk uint16, v view, depth int) Value {
	var c *Variant
	if b, state := r.words(e, view{addr: addr}); state == chunkOK {
		if n := word(b, 0); n > 0 && n <= uint64(len(e.Variants)) {
			c = &e.Variants[n-1]
		}
	}
	if c == nil {
		return r.follow(e.Elem, addr, walk, v, depth, true)
	}
	top := addr - uint64(c.Off)
	for _, a := range r.addrs {
		if a == top {
			return CircularRef(top)
		}
	}
	switch {
	case v.deep >= r.l.Depth:
		return MaxDepth(r.l.Depth)
	case r.nodes > maxFollow:
		return TypeAt(c.Name, top)
	}
	ti, at, k := c.Type, uint32(0), int32(-1)
	if len(c.Values) > 0 {
		k = r.node(top, uint16(c.Values[0]))
	}
	switch {
	case k < 0 || r.chunks[k].state != chunkOK: // the part is what there is
		if ti, k = e.Elem, r.node(addr, walk); k < 0 || r.chunks[k].state != chunkOK {
			return TypeAt(c.Name, top)
		}
	case ti < 0:
		ti, at = e.Elem, c.Off
	}
	to := r.nodeView(k).at(at)
	to.deep = v.deep + 1
	r.addrs = append(r.addrs, top)
	out := r.value(ti, to, depth+1)
	r.addrs = r.addrs[:len(r.addrs)-1]
	if out.kind == Obj {
		out.obj = append(Object{{"$type", NewText(c.Name)}}, out.obj...)
	}
	return r.addressed(out, addr)
}

// left stands for an object that the record had no room for.
func (r *renderer) left(e *Type, addr uint64) Value {
	if e.Name == "" {
		return newAddress(addr)
	}
	return TypeAt(e.Name, addr)
}
