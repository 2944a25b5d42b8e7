package value

import "encoding/binary"

// Bounds on rendering, for layouts that no compiler would make.
const (
	maxNesting = 32
	maxNodes   = 20000
	maxFields  = 4096
)

// Enter returns the arguments of a call in parameter order.
func (l *Layout) Enter(payload []byte) Object {
	r := l.renderer(&l.OnEnter, payload)
	o := make(Object, len(l.Args))
	for i := range l.Args {
		o[i] = Member{l.Args[i].Name, r.field(&l.Args[i])}
	}
	return o
}

// EnterArg returns the i-th argument only; see ArgIndex.
func (l *Layout) EnterArg(payload []byte, i int) (Value, bool) {
	if i < 0 || i >= len(l.Args) {
		return Value{}, false
	}
	return l.renderer(&l.OnEnter, payload).field(&l.Args[i]), true
}

// Exit returns the result of a call. A result that fits event.Ret has no payload: ret is its first
// word then. It returns false when the function returns nothing, or nothing was recorded (hasRet
// is false and there is no payload: the frame was left by an exception, or the record was lost).
func (l *Layout) Exit(payload []byte, ret int64, hasRet bool) (Value, bool) {
	if l.Ret == nil {
		return Value{}, false
	}
	if l.Ret.Missing {
		return OptimizedOut, true
	}
	if len(payload) == 0 {
		if !hasRet && l.needsBytes(l.Ret) {
			return Value{}, false
		}
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], uint64(ret))
		payload = word[:]
	}
	return l.renderer(&l.OnExit, payload).field(l.Ret), true
}

func (l *Layout) needsBytes(f *Field) bool {
	for _, p := range f.Pieces {
		if p.Chunk != PieceConst && p.Size > 0 {
			return true
		}
	}
	return false
}

type renderer struct {
	l       *Layout
	shape   *Shape
	chunks  []chunk
	rest    []byte
	nodes   int
	addrs   []uint64 // objects that enclose the value at hand
	collect bool     // note code addresses in code
	code    []uint64
	space   [8]chunk
}

func (l *Layout) renderer(s *Shape, payload []byte) *renderer {
	r := &renderer{l: l, shape: s}
	r.chunks, r.rest = s.split(payload, r.space[:])
	return r
}

func (r *renderer) field(f *Field) Value {
	if f.Missing {
		return OptimizedOut
	}
	return r.value(f.Type, view{pieces: f.Pieces}, 0)
}

// view is where a value's bytes are: off bytes into pieces.
type view struct {
	pieces []Piece
	off    uint32
}

func (v view) at(off uint32) view { return view{v.pieces, v.off + off} }

// locate returns the chunk and the offset in it of the first byte of v.
func (v view) locate() (p *Piece, off uint32) {
	off = v.off
	for i := range v.pieces {
		if off < v.pieces[i].Size {
			return &v.pieces[i], off
		}
		off -= v.pieces[i].Size
	}
	return nil, 0
}

// bytes returns n bytes of v. n is at most a scalar's or a text's size.
func (r *renderer) bytes(v view, n uint32) ([]byte, chunkState) {
	var out []byte
	for first := true; ; first = false {
		p, off := v.locate()
		if p == nil {
			if n == 0 {
				return out, chunkOK
			}
			return nil, chunkUnreadable
		}
		k := min(n, p.Size-off)
		b, state := r.run(p, off, k)
		if state != chunkOK {
			return nil, state
		}
		if first && k == n {
			return b, chunkOK
		}
		out = append(out, b...)
		if n -= k; n == 0 {
			return out, chunkOK
		}
		v.off += k
	}
}

// run returns n bytes at off of one piece.
func (r *renderer) run(p *Piece, off, n uint32) ([]byte, chunkState) {
	var data []byte
	limit := uint64(1) << 32
	switch {
	case p.Chunk == PieceConst:
		data = p.Const
	case p.Chunk < 0:
		return nil, chunkMissing
	case int(p.Chunk) >= len(r.chunks):
		return nil, chunkUnreadable
	default:
		c := &r.chunks[p.Chunk]
		if c.state != chunkOK {
			return nil, c.state
		}
		data, limit = c.data, uint64(c.limit)
		off += p.Off
	}
	end := uint64(off) + uint64(n)
	switch {
	case end <= uint64(len(data)):
		return data[off:end], chunkOK
	case end > limit:
		return nil, chunkCut
	}
	return nil, chunkUnreadable
}

// state reports what became of the first byte at v.
func (r *renderer) state(v view) chunkState {
	_, s := r.bytes(v, 1)
	return s
}

func markerOf(s chunkState) Value {
	switch s {
	case chunkMissing:
		return OptimizedOut
	case chunkNull:
		return Value{}
	}
	return Unreadable
}

func (r *renderer) value(ti int32, v view, depth int) Value {
	t := r.l.typ(ti)
	if r.nodes++; r.nodes > maxNodes || depth > maxNesting {
		return MaxDepth(maxNesting)
	}
	switch t.Class {
	case ClassVoid:
		return Value{}
	case ClassStruct, ClassUnion:
		return r.object(t, v, depth)
	case ClassTuple:
		return r.tuple(t, v, depth)
	case ClassArray:
		return r.array(t, v, depth)
	case ClassVariant:
		return r.variant(t, v, depth)
	case ClassStructPtr, ClassRef:
		return r.pointee(t, v, depth)
	case ClassCString:
		return r.cstring(v)
	case ClassText:
		return r.charArray(t, v)
	case ClassOpaque:
		return newMarker("<" + t.Name + ">")
	}
	n := min(t.Size, 32)
	if t.Class == ClassX87 {
		n = min(n, 10) // the rest is padding
	}
	b, state := r.bytes(v, n)
	if state != chunkOK {
		return markerOf(state)
	}
	return r.scalar(t, b)
}

func (r *renderer) object(t *Type, v view, depth int) Value {
	o := make(Object, 0, min(len(t.Fields), maxFields))
	inlined := false
	for i := range t.Fields {
		f := &t.Fields[i]
		fv := v.at(f.Off)
		if i >= maxFields || r.state(fv) == chunkCut && r.l.typ(f.Type).Size > 0 {
			o = append(o, Member{"…", NewText(moreMembers(len(t.Fields) - i))})
			break
		}
		m := r.member(f, fv, depth)
		if f.Name != "" && f.Name[0] != ':' {
			o = append(o, Member{f.Name, m})
			continue
		}
		inlined = true
		if m.kind != Obj { // an unnamed part that is no object has nothing to inline
			o = append(o, Member{f.Name, m})
			continue
		}
		for _, sub := range m.obj {
			o = append(o, sub)
		}
	}
	if inlined {
		o.makeUnique()
	}
	return Value{kind: Obj, obj: o}
}

func (r *renderer) member(f *TypeField, v view, depth int) Value {
	if f.BitSize == 0 {
		return r.value(f.Type, v, depth+1)
	}
	return r.bitField(f, v)
}

// bitField reads BitSize bits at BitOff from v, little endian, and shows them as f's type.
func (r *renderer) bitField(f *TypeField, v view) Value {
	t := r.l.typ(f.Type)
	size := min(f.BitSize, 128)
	first := f.BitOff / 8
	b, state := r.bytes(v.at(first), (f.BitOff%8+size+7)/8)
	if state != chunkOK {
		return markerOf(state)
	}
	signed := t.Class == ClassInt || t.Class == ClassEnum && t.Signed || t.Class == ClassChar && t.Signed
	var out [16]byte
	bit := func(i uint32) byte { i += f.BitOff % 8; return b[i/8] >> (i % 8) & 1 }
	for i := uint32(0); i < 128; i++ {
		switch {
		case i < size:
			out[i/8] |= bit(i) << (i % 8)
		case signed:
			out[i/8] |= bit(size-1) << (i % 8)
		}
	}
	return r.scalar(t, out[:min(max(t.Size, 1), 16)])
}

// tuple shows unnamed fields: one as itself, several as an array, none as an empty array.
func (r *renderer) tuple(t *Type, v view, depth int) Value {
	if len(t.Fields) == 1 {
		return r.member(&t.Fields[0], v.at(t.Fields[0].Off), depth)
	}
	elems := make([]Value, 0, min(len(t.Fields), MaxElems))
	for i := range t.Fields {
		if i == MaxElems {
			break
		}
		elems = append(elems, r.member(&t.Fields[i], v.at(t.Fields[i].Off), depth))
	}
	return Value{kind: Array, elems: elems, more: len(t.Fields) - len(elems)}
}

func (r *renderer) array(t *Type, v view, depth int) Value {
	size := r.l.typ(t.Elem).Size
	n := min(t.Count, MaxElems)
	elems := make([]Value, 0, n)
	for i := uint32(0); i < n; i++ {
		ev := v.at(i * size)
		if size > 0 {
			if s := r.state(ev.at(size - 1)); s == chunkCut {
				break
			} else if i == 0 && s != chunkOK && len(v.pieces) == 1 {
				return markerOf(s) // nothing of it is there: say so once
			}
		}
		elems = append(elems, r.value(t.Elem, ev, depth+1))
	}
	return Value{kind: Array, elems: elems, more: int(t.Count) - len(elems)}
}

func (r *renderer) variant(t *Type, v view, depth int) Value {
	chosen := -1
	if t.Discr.Type < 0 {
		chosen = 0
	} else {
		d := r.l.typ(t.Discr.Type)
		b, state := r.bytes(v.at(t.Discr.Off), min(d.Size, 16))
		if state != chunkOK {
			return markerOf(state)
		}
		_, tag := uint128(b)
		chosen = t.choose(tag)
	}
	if chosen < 0 || chosen >= len(t.Variants) {
		return Unreadable
	}
	c := &t.Variants[chosen]
	if p := r.l.typ(c.Type); len(p.Fields) == 0 {
		return newName(c.Name, 0, uint64(chosen), false)
	}
	return Value{kind: Obj, obj: Object{{c.Name, r.value(c.Type, v, depth+1)}}}
}

func (t *Type) choose(tag uint64) int {
	other := -1
	for i := range t.Variants {
		if len(t.Variants[i].Values) == 0 {
			other = i
		}
		for _, d := range t.Variants[i].Values {
			if d == tag {
				return i
			}
		}
	}
	return other
}

// followed returns the chunk that holds what the pointer at v points to, or -1.
func (r *renderer) followed(v view) int32 {
	p, off := v.locate()
	if p == nil || p.Chunk < 0 {
		return -1
	}
	for i := range r.shape.Parts {
		pt := &r.shape.Parts[i]
		if pt.Followed && pt.From == p.Chunk && pt.FromOff == p.Off+off {
			return int32(i + 1)
		}
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
	for _, a := range r.addrs {
		if a == addr && t.Class == ClassStructPtr {
			return CircularRef(addr)
		}
	}
	e := r.l.typ(t.Elem)
	k := r.followed(v)
	switch {
	case t.Elem >= 0 && e.Class == ClassOpaque:
		return TypeAt(e.Name, addr)
	case t.Elem >= 0 && e.Size == 0 && (e.Class == ClassStruct || e.Class == ClassUnion || e.Class == ClassTuple):
		return r.value(t.Elem, view{}, depth+1) // nothing to copy
	case t.Elem < 0 || k < 0:
		return newAddress(addr)
	case int(k) < len(r.chunks) && r.chunks[k].state != chunkOK:
		return markerOf(r.chunks[k].state)
	}
	r.addrs = append(r.addrs, addr)
	out := r.value(t.Elem, view{pieces: []Piece{{Chunk: k, Size: max(e.Size, 1)}}}, depth+1)
	r.addrs = r.addrs[:len(r.addrs)-1]
	return out
}
