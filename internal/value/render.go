package value

import (
	"encoding/binary"
	"slices"
	"strings"
)

// Bounds on rendering, for layouts that no compiler would make.
const (
	maxNesting = 100
	maxNodes   = 40000
	// beyond so many values no pointer is followed: an object that many others point to is shown for each of them
	maxFollow = 5000
	maxFields = 4096
)

// Enter returns the arguments of a call in parameter order.
func (l *Layout) Enter(payload []byte) Object {
	if l.tree {
		return l.enterTree(payload)
	}
	r := l.renderer(&l.OnEnter, payload)
	o := make(Object, len(l.Args))
	for i := range l.Args {
		o[i] = Member{l.Args[i].Name, r.field(&l.Args[i])}
	}
	return o
}

// EnterArg returns the i-th argument only; see ArgIndex.
func (l *Layout) EnterArg(payload []byte, i int) (Value, bool) {
	if l.tree {
		return l.treeArg(payload, i)
	}
	if i < 0 || i >= len(l.Args) {
		return Value{}, false
	}
	return l.renderer(&l.OnEnter, payload).field(&l.Args[i]), true
}

// Exit returns the result of a call. A result that fits event.Ret has no payload: ret is its first
// word then. It returns false when the function returns nothing, or nothing was recorded (hasRet
// is false and there is no payload: the frame was left by an exception, or the record was lost).
func (l *Layout) Exit(payload []byte, ret int64, hasRet bool) (Value, bool) {
	if l.Ret == nil || l.tree && len(payload) == 0 {
		return Value{}, false
	}
	if l.tree {
		return l.readTree(payload), true
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

// Outs returns what the pointer arguments of a call led to at its exit.
func (l *Layout) Outs(payload []byte) Object {
	if len(l.Out) == 0 || len(payload) == 0 {
		return nil
	}
	return l.named(l.Out, &l.OnExit, payload)
}

// WatchValues returns the watched variables as they were at an enter or an exit.
func (l *Layout) WatchValues(payload []byte, exit bool) Object {
	if len(payload) == 0 {
		return nil
	}
	if exit {
		return l.named(l.ExitWatches, &l.OnExit, payload)
	}
	return l.named(l.EnterWatches, &l.OnEnter, payload)
}

func (l *Layout) named(fs []Field, s *Shape, payload []byte) Object {
	if len(fs) == 0 {
		return nil
	}
	r := l.renderer(s, payload)
	o := make(Object, len(fs))
	for i := range fs {
		o[i] = Member{fs[i].Name, r.field(&fs[i])}
	}
	return o
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
	l      *Layout
	shape  *Shape
	chunks []chunk
	rest   []byte
	nodes  int
	addrs  []uint64          // objects that enclose the value at hand
	self   view              // the object whose description is at hand
	byKey  map[nodeKey]int32 // chunks of nodes, once there are many
	base   bool              // the object that comes is a base of the one at hand
	bases  []uint64          // virtual bases of it that are shown
	wiped  *wiped            // nil: values are shown
	space  [8]chunk
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
	v := view{pieces: f.Pieces}
	if f.Gather != 0 {
		v.addr = GatherAddr(f.Gather)
	}
	if !f.Indirect {
		return r.value(f.Type, v, 0)
	}
	b, state := r.bytes(v, 8)
	if state != chunkOK {
		return markerOf(state)
	}
	at := binary.LittleEndian.Uint64(b)
	if at == 0 {
		return Unreadable
	}
	at += uint64(int64(f.Off))
	k := r.node(at, f.Walk)
	if k < 0 {
		return r.left(r.l.typ(f.Type), at)
	}
	return r.value(f.Type, r.nodeView(k), 0)
}

// nodeView is all of a node.
func (r *renderer) nodeView(k int32) view {
	c := &r.chunks[k]
	return view{pieces: []Piece{{Chunk: k, Size: max(c.limit, 1)}}, addr: c.addr}
}

// view is where a value's bytes are: off bytes into pieces.
type view struct {
	pieces []Piece
	off    uint32
	addr   uint64 // of the first piece's first byte in the target, 0 not known
	deep   int    // pointers followed to here
}

func (v view) at(off uint32) view { v.off += off; return v }

// address is where in the target the first byte of v was.
func (v view) address() uint64 { return v.addr + uint64(v.off) }

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
			switch {
			case n == 0:
				return out, chunkOK
			case len(v.pieces) == 1 && v.pieces[0].Chunk > 0: // an object of which only the beginning was copied
				return nil, chunkCut
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
		r.wiped.add(data[off:end])
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
	}
	return Unreadable
}

func (r *renderer) value(ti int32, v view, depth int) Value {
	t := r.l.typ(ti)
	if r.nodes++; r.nodes > maxNodes || depth > maxNesting {
		return r.left(t, v.address())
	}
	switch t.Class {
	case ClassVoid:
		return Value{}
	case ClassRedacted:
		return Redacted
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
	case ClassString, ClassSpan, ClassSeq, ClassMap, ClassPairs, ClassDynamic, ClassBig, ClassBox, ClassBitSpan,
		ClassCallable, ClassTypeOf, ClassVirtualBase, ClassSocketAddress:
		return r.library(t, v, depth)
	case ClassVisual, ClassMine, ClassPlace, ClassItems, ClassList, ClassFormat, ClassNumber, ClassGrid, ClassWide,
		ClassAbsent:
		return r.described(t, v, depth)
	case ClassDuration, ClassTime:
		return r.duration(t, v)
	case ClassCalendar:
		return r.calendar(t, v)
	case ClassUUID:
		return r.uuid(v)
	case ClassErrno:
		return r.errno(v)
	case ClassCString:
		return r.cstring(v)
	case ClassText:
		return r.charArray(t, v)
	case ClassOpaque:
		if t.Name == "" {
			return Unreadable // of a type that the debug information does not give
		}
		return newMarker("<" + t.Name + ">")
	}
	n := min(t.Size, 32)
	switch t.Class {
	case ClassX87:
		n = min(n, 10) // the rest is padding
	case ClassBits:
		n = min(t.Size, maxBits/8)
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
	if !r.base {
		defer func(was []uint64) { r.bases = was }(r.bases)
		r.bases = nil
	}
	r.base = false
	for i := range t.Fields {
		f := &t.Fields[i]
		fv := v.at(f.Off)
		if i >= maxFields || r.state(fv) == chunkCut && r.l.typ(f.Type).Size > 0 {
			o = append(o, Member{"…", NewText(moreMembers(len(t.Fields) - i))})
			break
		}
		if f.Name != "" && f.Name[0] != ':' {
			o = append(o, Member{f.Name, r.member(f, fv, depth)})
			continue
		}
		if r.baseShown(f, fv) {
			continue
		}
		inlined, r.base = true, true
		m := r.member(f, fv, depth)
		r.base = false
		if m.kind != Obj { // an unnamed part that is no object has nothing to inline
			o = append(o, Member{strings.TrimPrefix(f.Name, ":"), m})
			continue
		}
		for _, sub := range m.obj {
			o = append(o, sub)
		}
	}
	if inlined {
		o.makeUnique()
	}
	if t.Class == ClassUnion && r.l.differ(t) {
		for i := range o {
			o[i].Value.laid = true
		}
	}
	return Value{kind: Obj, obj: o}
}

// baseShown reports a virtual base that was shown before in the same object: several ways lead to it.
func (r *renderer) baseShown(f *TypeField, v view) bool {
	t := r.l.typ(f.Type)
	if t.Class != ClassVirtualBase {
		return false
	}
	b, state := r.words(t, v)
	if state != chunkOK {
		return false
	}
	if at := word(b, 0); !slices.Contains(r.bases, at) {
		r.bases = append(r.bases, at)
		return false
	}
	return true
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
	empty := len(r.l.typ(c.Type).Fields) == 0 && r.l.typ(c.Type).Class != ClassArray
	switch {
	case t.Plain && c.Type < 0:
		return Value{}
	case t.Plain && c.Name != "":
		return r.value(c.Type, v.at(c.Off), depth+1).inside(c.Name)
	case t.Plain:
		return r.value(c.Type, v.at(c.Off), depth+1)
	case empty:
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
