package value

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/strobe-debug/strobe/internal/secret"
)

// layoutVersion begins every marshalled layout. A reader takes no other: a file with a newer one
// is also of a newer store schema, which refuses it first.
const layoutVersion = 2

// Limits on what Unmarshal believes, far above what capture makes.
const (
	maxTypes  = 1 << 16
	maxItems  = 1 << 16
	maxLayout = 16 << 20
)

var errLayout = errors.New("layout is malformed")

// Marshal returns l in a compact binary form: a version byte, then numbers as varints.
func (l *Layout) Marshal() []byte {
	if l.tree {
		return l.marshalTree()
	}
	w := writer{b: make([]byte, 0, 256)}
	w.b = append(w.b, layoutVersion)
	w.shape(&l.OnEnter)
	w.shape(&l.OnExit)
	w.fields(l.Args)
	w.flag(l.Ret != nil)
	if l.Ret != nil {
		w.field(l.Ret)
	}
	w.fields(l.Out)
	w.fields(l.EnterWatches)
	w.fields(l.ExitWatches)
	w.num(len(l.Types))
	for i := range l.Types {
		w.typ(&l.Types[i])
	}
	w.num(l.Depth)
	if l.Secrets != nil {
		w.str(l.Secrets.Spec())
	}
	return w.b
}

type writer struct{ b []byte }

func (w *writer) num(n int)      { w.b = binary.AppendUvarint(w.b, uint64(n)) }
func (w *writer) u32(n uint32)   { w.b = binary.AppendUvarint(w.b, uint64(n)) }
func (w *writer) i64(n int64)    { w.b = binary.AppendVarint(w.b, n) }
func (w *writer) str(s string)   { w.num(len(s)); w.b = append(w.b, s...) }
func (w *writer) bytes(p []byte) { w.num(len(p)); w.b = append(w.b, p...) }

func (w *writer) flag(v bool) {
	if v {
		w.b = append(w.b, 1)
	} else {
		w.b = append(w.b, 0)
	}
}

func (w *writer) shape(s *Shape) {
	w.num(s.GPRs)
	w.flag(s.Nodes)
	w.num(len(s.Parts))
	for _, p := range s.Parts {
		w.flag(p.Eval)
		w.u32(p.Size)
	}
}

func (w *writer) fields(fs []Field) {
	w.num(len(fs))
	for i := range fs {
		w.field(&fs[i])
	}
}

func (w *writer) field(f *Field) {
	w.str(f.Name)
	w.u32(uint32(f.Walk))
	w.i64(int64(f.Off))
	w.i64(int64(f.Gather))
	w.flag(f.Indirect)
	w.i64(int64(f.Type))
	w.flag(f.Missing)
	w.num(len(f.Pieces))
	for _, p := range f.Pieces {
		w.i64(int64(p.Chunk))
		w.u32(p.Off)
		w.u32(p.Size)
		if p.Chunk == PieceConst {
			w.bytes(p.Const)
		}
	}
}

func (w *writer) typ(t *Type) {
	w.b = append(w.b, byte(t.Class), t.bits())
	w.str(t.Name)
	w.u32(t.Size)
	w.i64(int64(t.Elem))
	w.u32(t.Count)
	w.num(len(t.Fields))
	for i := range t.Fields {
		w.member(&t.Fields[i])
	}
	w.num(len(t.Enums))
	for _, e := range t.Enums {
		w.str(e.Name)
		w.i64(e.Value)
	}
	w.u32(uint32(t.Walk))
	w.u32(uint32(t.ElemWalk))
	if t.Class == ClassDuration || t.Class == ClassTime || t.Class == ClassPairs {
		w.i64(t.Num)
		w.i64(t.Den)
	}
	if t.Class != ClassVariant && t.Class != ClassDynamic && t.Class != ClassVirtual {
		return
	}
	w.flag(t.Plain)
	w.member(&t.Discr)
	w.num(len(t.Variants))
	for _, v := range t.Variants {
		w.str(v.Name)
		w.i64(int64(v.Type))
		w.u32(v.Off)
		w.num(len(v.Values))
		for _, d := range v.Values {
			w.b = binary.AppendUvarint(w.b, d)
		}
	}
}

// The yes and no of a type.
const (
	bitSigned = 1
	bitDeeper = 2
	bitPlain  = 4 // of pointers; variants have a byte of it, too
)

func (t *Type) bits() (b byte) {
	if t.Signed {
		b |= bitSigned
	}
	if t.Deeper {
		b |= bitDeeper
	}
	if t.Plain {
		b |= bitPlain
	}
	return b
}

func (w *writer) member(m *TypeField) {
	w.str(m.Name)
	w.i64(int64(m.Type))
	w.u32(m.Off)
	w.u32(m.BitOff)
	w.u32(m.BitSize)
}

// Unmarshal reads what Marshal wrote. It believes nothing: any bytes give a layout or an error.
func Unmarshal(b []byte) (*Layout, error) {
	if len(b) > 0 && b[0] == treeVersion && len(b) <= maxLayout {
		l, err := unmarshalTree(b[1:])
		if err != nil {
			return nil, fmt.Errorf("read layout: %w", err)
		}
		return l, nil
	}
	if len(b) == 0 || b[0] != layoutVersion || len(b) > maxLayout {
		return nil, fmt.Errorf("read layout: %w", errLayout)
	}
	r := reader{b: b[1:]}
	l := &Layout{}
	r.shape(&l.OnEnter)
	r.shape(&l.OnExit)
	l.Args = r.fields()
	if r.flag() {
		l.Ret = &Field{}
		r.field(l.Ret)
	}
	l.Out, l.EnterWatches, l.ExitWatches = r.fields(), r.fields(), r.fields()
	l.Types = make([]Type, r.count(maxTypes))
	for i := range l.Types {
		r.typ(&l.Types[i])
	}
	l.Depth = int(r.u32() & 255)
	if len(r.b) > 0 {
		if l.Secrets, r.err = secret.New(r.str()); r.err != nil {
			return nil, fmt.Errorf("read layout: %w", errLayout)
		}
	}
	if r.err != nil || len(r.b) != 0 {
		return nil, fmt.Errorf("read layout: %w", errLayout)
	}
	return l, nil
}

type reader struct {
	b   []byte
	err error
}

func (r *reader) fail() { r.err = errLayout; r.b = nil }

func (r *reader) u64() uint64 {
	n, k := binary.Uvarint(r.b)
	if k <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[k:]
	return n
}

func (r *reader) u32() uint32 {
	n := r.u64()
	if n > 1<<32-1 {
		r.fail()
		return 0
	}
	return uint32(n)
}

func (r *reader) i64() int64 {
	n, k := binary.Varint(r.b)
	if k <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[k:]
	return n
}

func (r *reader) i32() int32 {
	n := r.i64()
	if int64(int32(n)) != n {
		r.fail()
		return 0
	}
	return int32(n)
}

// count reads a number of items; each takes at least one byte, so more than are left is malformed.
func (r *reader) count(limit int) int {
	n := r.u64()
	if n > uint64(limit) || n > uint64(len(r.b)) {
		r.fail()
		return 0
	}
	return int(n)
}

func (r *reader) byte() byte {
	if len(r.b) == 0 {
		r.fail()
		return 0
	}
	c := r.b[0]
	r.b = r.b[1:]
	return c
}

func (r *reader) flag() bool { return r.byte() == 1 }

func (r *reader) bytes() []byte {
	n := r.count(maxLayout)
	p := r.b[:n:n]
	r.b = r.b[n:]
	return p
}

func (r *reader) str() string { return string(r.bytes()) }

func (r *reader) shape(s *Shape) {
	s.GPRs = int(r.u32() & 15)
	s.Nodes = r.flag()
	s.Parts = make([]Part, r.count(maxItems))
	for i := range s.Parts {
		s.Parts[i] = Part{r.flag(), r.u32()}
	}
}

func (r *reader) fields() []Field {
	n := r.count(maxItems)
	if n == 0 {
		return nil
	}
	fs := make([]Field, n)
	for i := range fs {
		r.field(&fs[i])
	}
	return fs
}

func (r *reader) field(f *Field) {
	f.Name = r.str()
	f.Walk, f.Off, f.Gather = uint16(r.u32()), r.i32(), r.i32()
	f.Indirect = r.flag()
	f.Type = r.i32()
	f.Missing = r.flag()
	f.Pieces = make([]Piece, r.count(maxItems))
	for i := range f.Pieces {
		p := &f.Pieces[i]
		p.Chunk = r.i32()
		p.Off = r.u32()
		p.Size = r.u32()
		if p.Chunk == PieceConst {
			p.Const = append([]byte(nil), r.bytes()...)
		}
	}
}

func (r *reader) typ(t *Type) {
	t.Class = Class(r.byte())
	bits := r.byte()
	t.Signed, t.Deeper, t.Plain = bits&bitSigned != 0, bits&bitDeeper != 0, bits&bitPlain != 0
	t.Name = r.str()
	t.Size = r.u32()
	t.Elem = r.i32()
	t.Count = r.u32()
	t.Fields = make([]TypeField, r.count(maxItems))
	for i := range t.Fields {
		r.member(&t.Fields[i])
	}
	t.Enums = make([]Enumerator, r.count(maxItems))
	for i := range t.Enums {
		t.Enums[i] = Enumerator{r.str(), r.i64()}
	}
	t.Discr.Type = -1
	if t.Class >= numClasses {
		r.fail()
	}
	t.Walk, t.ElemWalk = uint16(r.u32()), uint16(r.u32())
	if t.Class == ClassDuration || t.Class == ClassTime || t.Class == ClassPairs {
		t.Num, t.Den = r.i64(), r.i64()
	}
	if t.Class != ClassVariant && t.Class != ClassDynamic && t.Class != ClassVirtual {
		return
	}
	t.Plain = r.flag()
	r.member(&t.Discr)
	t.Variants = make([]Variant, r.count(maxItems))
	for i := range t.Variants {
		v := &t.Variants[i]
		v.Name = r.str()
		v.Type = r.i32()
		v.Off = r.u32()
		v.Values = make([]uint64, r.count(maxItems))
		for j := range v.Values {
			v.Values[j] = r.u64()
		}
	}
}

func (r *reader) member(m *TypeField) {
	m.Name = r.str()
	m.Type = r.i32()
	m.Off = r.u32()
	m.BitOff = r.u32()
	m.BitSize = r.u32()
}
