package expr

import (
	"strconv"
	"strings"

	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/symbol"
)

func itoa(n uint64) string { return strconv.FormatUint(n, 10) }

// textRef is where text is: count bytes at ptr, or up to a NUL and at most max bytes.
type textRef struct {
	ptr   *node
	count *node // nil: up to a NUL
	max   int64 // without count: the array's size, -1 for a pointer
	of    *Type // without count: what it is made of; bytes that are no char compare as text, and show as numbers
}

func (t *textRef) cost() int {
	n := t.ptr.cost
	if t.count != nil {
		n += t.count.cost
	}
	return n
}

// sequence is count elements one behind the other at data.
type sequence struct {
	data  *node
	count *node
	elem  *Type
}

// textOf reports where the text is that o stands for: a pointer to or an array of bytes, or a
// string class, behind any number of pointers.
func (c *checker) textOf(o *operand) (*textRef, bool) {
	for range maxFollow {
		if e, n, ok := o.typ.element(); ok {
			if !e.isByte() || o.addr == nil || n < 0 {
				return nil, false
			}
			return &textRef{ptr: o.addr, max: n, of: e}, true
		}
		if o.typ.kind == KindPointer && o.typ != typeNull {
			e := o.typ.pointee()
			if e.isByte() && !o.typ.isRustReference() {
				p, err := c.value(o)
				return &textRef{ptr: p, max: -1, of: e}, err == nil
			}
			if e.kind != KindPointer && !e.isRecord() && !isArray(e) {
				return nil, false
			}
			next, err := c.pointed(o, o.pos)
			if err != nil {
				return nil, false
			}
			o = next
			continue
		}
		s, ok := c.sequence(o)
		if !ok || !s.elem.isByte() {
			return nil, false
		}
		return &textRef{ptr: s.data, count: s.count}, true
	}
	return nil, false
}

func isArray(t *Type) bool { _, _, ok := t.element(); return ok }

// sub returns a member by a path of names, or nil.
func (c *checker) sub(o *operand, path ...string) *operand {
	for _, name := range path {
		f, off, ok := findField(o.typ.stripped(), name, 0)
		if !ok || f.Static || f.Virtual {
			return nil
		}
		o = c.part(o, f, off, o.pos)
	}
	return o
}

// word returns the value of a scalar member, or nil.
func (c *checker) word(o *operand, path ...string) *node {
	m := c.sub(o, path...)
	if m == nil || !m.scalar() || m.typ.kind == KindFloat {
		return nil
	}
	v, err := c.value(m)
	if err != nil {
		return nil
	}
	return v
}

// sequence recognizes the contiguous containers by their members, not by their names alone, so that
// versions of the libraries around those we know work too.
func (c *checker) sequence(o *operand) (*sequence, bool) {
	if !o.typ.isRecord() || o.addr == nil && len(o.pieces) == 0 {
		return nil, false
	}
	if c.rust {
		return c.rustSequence(o)
	}
	for _, shape := range cppShapes {
		data, count := c.sub(o, shape.data...), c.word(o, shape.count...)
		if data == nil || count == nil || data.typ.kind != KindPointer {
			continue
		}
		p, err := c.value(data)
		if err != nil {
			continue
		}
		s := &sequence{data: p, count: count, elem: data.typ.pointee()}
		if shape.end {
			if s.elem.size <= 0 {
				continue
			}
			s.count = alu(ring.ALUSDiv, alu(ring.ALUSub, count, p, o.pos), constant(uint64(s.elem.size)), o.pos)
		}
		return s, true
	}
	if a := c.firstSub(o, "_M_elems", "__elems_"); a != nil && a.addr != nil {
		if e, n, ok := a.typ.element(); ok && n >= 0 {
			return &sequence{data: a.addr, count: constant(uint64(n)), elem: e}, true
		}
	}
	return c.libcxxString(o)
}

func (c *checker) firstSub(o *operand, names ...string) *operand {
	for _, n := range names {
		if m := c.sub(o, n); m != nil {
			return m
		}
	}
	return nil
}

// cppShapes are the members of libstdc++'s and libc++'s string, string_view, vector, span and initializer_list.
var cppShapes = []struct {
	data, count []string
	end         bool // count is the end's address
}{
	{data: []string{"_M_dataplus", "_M_p"}, count: []string{"_M_string_length"}},
	{data: []string{"_M_str"}, count: []string{"_M_len"}},
	{data: []string{"_M_impl", "_M_start"}, count: []string{"_M_impl", "_M_finish"}, end: true},
	{data: []string{"_M_array"}, count: []string{"_M_len"}},
	{data: []string{"_M_ptr"}, count: []string{"_M_extent", "_M_extent_value"}},
	{data: []string{"__begin_"}, count: []string{"__end_"}, end: true},
	{data: []string{"__data_"}, count: []string{"__size_"}},
	{data: []string{"__data"}, count: []string{"__size"}},
}

// libcxxString reads std::string of libc++: a long form {pointer, size, capacity} and a short one of the
// same bytes, told apart by a bit.
func (c *checker) libcxxString(o *operand) (*sequence, bool) {
	if !strings.HasPrefix(o.typ.stripped().Name, "basic_string<") {
		return nil, false
	}
	rep := c.sub(o, "__rep_")
	if rep == nil {
		rep = c.sub(o, "__r_", "__value_")
	}
	if rep == nil {
		return nil, false
	}
	long, small := c.firstSub(rep, "__l", "__l_"), c.firstSub(rep, "__s", "__s_")
	if long == nil || small == nil {
		return nil, false
	}
	data, size := c.sub(long, "__data_"), c.word(long, "__size_")
	inside, smallSize := c.sub(small, "__data_"), c.word(small, "__size_")
	if data == nil || size == nil || inside == nil || inside.addr == nil || smallSize == nil ||
		data.typ.kind != KindPointer {
		return nil, false
	}
	isLong := c.word(small, "__is_long_")
	if isLong == nil { // before LLVM 14 the bit is the size's lowest
		isLong = truth(alu(ring.ALUAnd, smallSize, constant(1), o.pos))
		smallSize = alu(ring.ALUShr, smallSize, constant(1), o.pos)
	}
	p, err := c.value(data)
	if err != nil {
		return nil, false
	}
	pick := func(a, b *node) *node { return build(node{op: opCond, a: isLong, b: a, c: b, pos: o.pos}) }
	return &sequence{data: pick(p, inside.addr), count: pick(size, smallSize), elem: data.typ.pointee()}, true
}

// rustSequence reads slices, &str, String, Vec and Box<[T]>.
func (c *checker) rustSequence(o *operand) (*sequence, bool) {
	if data, count := c.sub(o, "data_ptr"), c.word(o, "length"); data != nil && count != nil &&
		data.typ.kind == KindPointer {
		p, err := c.value(data)
		return &sequence{data: p, count: count, elem: data.typ.pointee()}, err == nil
	}
	s := o.typ.stripped()
	switch {
	case s.Name == "String":
		if v := c.sub(o, "vec"); v != nil && v.typ.isRecord() {
			return c.rustSequence(v)
		}
	case strings.HasPrefix(s.Name, "Vec<"):
		buf, count := c.sub(o, "buf"), c.word(o, "len")
		if buf == nil || count == nil {
			return nil, false
		}
		data := c.firstPointer(buf, 0)
		elem := elementOfVec(s)
		if data == nil || elem == nil {
			return nil, false
		}
		p, err := c.value(data)
		return &sequence{data: p, count: count, elem: elem}, err == nil
	case s.Name == "PathBuf" || s.Name == "OsString" || s.Name == "Buf":
		if v := c.sub(o, "inner"); v != nil && v.typ.isRecord() {
			return c.rustSequence(v)
		}
	}
	return nil, false
}

// firstPointer finds the first pointer in o, as deep as wrappers go.
func (c *checker) firstPointer(o *operand, depth int) *operand {
	if o.typ.kind == KindPointer {
		return o
	}
	s := o.typ.stripped()
	if s == nil || s.Kind != symbol.KindStruct || depth > 8 {
		return nil
	}
	for _, f := range s.Fields() {
		if f.Static || f.Virtual || f.BitSize > 0 || f.Type == nil || f.Type.Size == 0 {
			continue
		}
		if p := c.firstPointer(c.part(o, f, 0, o.pos), depth+1); p != nil {
			return p
		}
	}
	return nil
}

// elementOfVec returns the T of Vec<T, A>, or nil.
func elementOfVec(s *symbol.Type) *Type {
	for _, p := range s.TemplateParams() {
		if p.Type != nil {
			return newType(p.Type)
		}
	}
	return nil
}

// smartPointer returns the pointer in a unique_ptr, shared_ptr, Rc, Arc or the like, or nil.
func (c *checker) smartPointer(o *operand) *operand {
	s := o.typ.stripped()
	if s == nil || s.Kind != symbol.KindStruct || o.addr == nil && len(o.pieces) == 0 {
		return nil
	}
	switch plain(s.Name) {
	case "unique_ptr":
		if p := c.sub(o, "_M_t", "_M_t"); p != nil {
			if head := c.deep(p, "_M_head_impl", 0); head != nil {
				return head
			}
		}
		p := c.sub(o, "__ptr_")
		if p != nil && p.typ.kind != KindPointer { // before LLVM 20 a compressed pair
			p = c.sub(p, "__value_")
		}
		if p == nil || p.typ.kind != KindPointer {
			return nil
		}
		return p
	case "shared_ptr":
		return c.firstSub(o, "_M_ptr", "__ptr_")
	case "Box", "Rc", "Arc", "NonNull", "Unique", "Pin":
		if p := c.firstPointer(o, 0); p != nil {
			if p.typ.pointee().kind != KindVoid {
				return p
			}
		}
	}
	return nil
}

// deep finds a pointer member by name through members and bases.
func (c *checker) deep(o *operand, name string, depth int) *operand {
	s := o.typ.stripped()
	if s == nil || s.Kind != symbol.KindStruct || depth > 8 {
		return nil
	}
	for _, f := range s.Fields() {
		if f.Static || f.Virtual || f.BitSize > 0 || f.Type == nil {
			continue
		}
		m := c.part(o, f, 0, o.pos)
		if f.Name == name && m.typ.kind == KindPointer {
			return m
		}
		if d := c.deep(m, name, depth+1); d != nil {
			return d
		}
	}
	return nil
}

// length reads len(x).
func (c *checker) length(n *ast) (*operand, error) {
	o, err := c.expr(n.a)
	if err != nil {
		return nil, err
	}
	t := builtinTypes["size_t"]
	if c.rust {
		t = typeUsize
	}
	if o.lit != nil {
		return &operand{typ: t, val: constant(uint64(len(*o.lit)))}, nil
	}
	for at, i := o, 0; i < maxFollow; i++ {
		if e, count, ok := at.typ.element(); ok && count >= 0 && !(e.typeIsText() && at.addr != nil) {
			return &operand{typ: t, val: constant(uint64(count))}, nil
		}
		if s, ok := c.sequence(at); ok {
			return &operand{typ: t, val: s.count}, nil
		}
		if at.typ.kind != KindPointer || at.typ.pointee().isByte() || at.typ.pointee().kind == KindVoid {
			break
		}
		if at, err = c.pointed(at, n.pos); err != nil {
			return nil, err
		}
	}
	if ref, ok := c.textOf(o); ok {
		if ref.count != nil {
			return &operand{typ: t, val: ref.count}, nil
		}
		limit := uint64(maxStrlen)
		if ref.max >= 0 {
			limit = min(limit, uint64(ref.max))
		}
		return &operand{typ: t, val: build(node{op: opTextLen, a: ref.ptr, n: limit, signed: ref.max >= 0 &&
			ref.max <= maxStrlen, pos: n.pos})}, nil
	}
	return nil, errorAt(n.pos, "It is for text, arrays, slices, Vec and std::vector.", "len of %s is not known", o.typ)
}

// typeIsText reports the char of C, whose arrays have a text's length, not their size.
func (t *Type) typeIsText() bool { return t.kind == KindChar && t.size == 1 }

// maxStrlen bounds how far len looks for a NUL; the program that does so takes four steps per byte.
const maxStrlen = 2048
