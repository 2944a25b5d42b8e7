package expr

import (
	"strings"

	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/symbol"
)

// maxFollow bounds how many pointers, smart pointers and references one member access follows.
const maxFollow = 6

// member reads a.b and a->b, which mean the same.
func (c *checker) member(n *ast) (*operand, error) {
	o, err := c.expr(n.a)
	if err != nil {
		if n.a.kind == astName { // a variable of Go's: package.name
			if p, ok := c.scope.Lookup(n.a.text + "." + n.text); ok {
				return c.place(p, n)
			}
		}
		return nil, err
	}
	return c.memberOf(o, n.text, n.pos)
}

func (c *checker) memberOf(o *operand, name string, pos int) (*operand, error) {
	var firstErr error
	for range maxFollow {
		if o.typ.isRecord() {
			m, err := c.field(o, name, pos)
			if m == nil && err == nil {
				m, err = c.variantPayload(o, name, pos)
			}
			if m != nil || err != nil {
				return m, err
			}
			if firstErr == nil {
				firstErr = c.unknownMember(o, name, pos)
			}
		}
		next, err := c.follow(o, pos)
		if err != nil {
			return nil, err
		}
		if next == nil {
			break
		}
		o = next
	}
	if firstErr != nil {
		return nil, firstErr
	}
	hint := "Cast it to a struct's type first."
	if s := o.typ.stripped(); s != nil && s.Kind == symbol.KindArray {
		hint = "Name an element first, e.g. a[0]." + name + "."
	}
	return nil, errorAt(pos, hint, "%s has no members", o.typ)
}

// follow goes from a pointer, reference or smart pointer to what it points to; nil where o is none.
func (c *checker) follow(o *operand, pos int) (*operand, error) {
	if o.typ.kind == KindPointer {
		return c.pointed(o, pos)
	}
	if p := c.smartPointer(o); p != nil {
		return c.pointed(p, pos)
	}
	return nil, nil
}

// pointed returns what the pointer o points to.
func (c *checker) pointed(o *operand, pos int) (*operand, error) {
	at, err := c.value(o)
	if err != nil {
		return nil, err
	}
	e := o.typ.pointee()
	if e.kind == KindVoid {
		return nil, errorAt(pos, "Cast it first, e.g. (int *)p.", "%s points to no known type", o.typ)
	}
	return c.settle(&operand{typ: e, addr: at, pos: pos})
}

func (c *checker) unknownMember(o *operand, name string, pos int) *Error {
	s := o.typ.stripped()
	if s.Declared {
		return errorAt(pos, "Cast it to a type that is defined.",
			"%s is declared only: its members are not known in this program", o.typ)
	}
	names := allNames(s, 0)
	hint := ""
	if near := symbol.Suggest(names, name); len(near) > 0 {
		hint = "Did you mean " + orList(near) + "?"
	} else if len(names) > 0 {
		hint = "It has " + strings.Join(names[:min(len(names), 8)], ", ") + "."
	}
	return errorAt(pos, hint, "%s has no member %s", o.typ, name)
}

// allNames lists the members of a record, those of its bases and unnamed members with it.
func allNames(s *symbol.Type, depth int) []string {
	out := fieldNames(s)
	if vp := s.Variants(); vp != nil {
		for _, v := range vp.Variants {
			out = append(out, v.Name)
		}
	}
	for _, f := range s.Fields() {
		if depth < 8 && len(out) < 1000 && (f.Base || f.Name == "") && f.Type != nil {
			out = append(out, allNames(f.Type.Strip(), depth+1)...)
		}
	}
	return out
}

// field finds a member by name, in bases and unnamed members too; nil and no error where there is none.
func (c *checker) field(o *operand, name string, pos int) (*operand, error) {
	f, off, ok := findField(o.typ.stripped(), name, 0)
	if !ok && name != "" && isDigit(name[0]) {
		f, off, ok = findField(o.typ.stripped(), "__"+name, 0)
	}
	switch {
	case !ok:
		return nil, nil
	case f.Static:
		full := o.typ.stripped().QualifiedName() + "::" + name
		place, found := c.scope.Lookup(full)
		if !found {
			return nil, errorAt(pos, "", "where the static member %s is cannot be found", full)
		}
		return c.place(place, &ast{pos: pos, text: full})
	case f.Virtual:
		return nil, unsupported(pos, "Cast to the class that it is in.", "members of virtual base classes cannot be reached")
	}
	return c.settle(c.part(o, f, off, pos))
}

// part makes the operand of a field whose struct begins off bytes into o.
func (c *checker) part(o *operand, f symbol.Field, off int64, pos int) *operand {
	m := &operand{typ: newType(f.Type), pos: pos}
	at := off + f.Off
	if f.BitSize > 0 {
		m.bits, m.bitOff = f.BitSize, f.BitOff
		at = off
	}
	if o.addr != nil {
		m.addr = addConst(o.addr, at)
	} else {
		m.pieces, m.off, m.guard, m.guardText = o.pieces, o.off+at, o.guard, o.guardText
	}
	return m
}

// findField returns the field and where its struct begins in s. Own members come before those of bases.
func findField(s *symbol.Type, name string, depth int) (f symbol.Field, off int64, ok bool) {
	if s == nil || depth > 16 {
		return f, 0, false
	}
	fields := s.Fields()
	for _, f := range fields {
		if f.Name == name && !f.Base {
			return f, 0, true
		}
	}
	for _, f := range fields {
		if !f.Base && f.Name != "" || f.Type == nil || f.Static {
			continue
		}
		if f.Base && (f.Name == name || plain(f.Name) == name) {
			return f, 0, true
		}
		if m, at, ok := findField(f.Type.Strip(), name, depth+1); ok {
			m.Virtual = m.Virtual || f.Virtual
			return m, f.Off + at, true
		}
	}
	return f, 0, false
}

// plain is a type's name without its template arguments.
func plain(name string) string {
	if i := strings.IndexByte(name, '<'); i > 0 {
		return name[:i]
	}
	return name
}

// bitField reads a field of some bits, from its type's storage unit where that holds it.
func (c *checker) bitField(o *operand) (*node, error) {
	unit := max(o.typ.size, 1)
	first := o.bitOff / (8 * unit) * unit
	if o.bitOff+o.bits > 8*(first+unit) { // packed: over a unit's end
		first = o.bitOff / 8
		for unit = 1; o.bitOff+o.bits > 8*(first+unit); unit *= 2 {
		}
		if unit > 8 {
			return nil, unsupported(o.pos, "", "the bit-field is spread over more than 8 bytes")
		}
	}
	var w *node
	var err error
	if o.addr != nil {
		w = load(addConst(o.addr, first), unit, false, o.pos)
	} else if w, err = c.piece(o, o.off+first, unit, false); err != nil {
		return nil, err
	}
	low := o.bitOff - 8*first
	up := alu(ring.ALUShl, w, constant(uint64(64-low-o.bits)), o.pos)
	shift := uint32(ring.ALUShr)
	if o.typ.signed {
		shift = ring.ALUSar
	}
	v := alu(shift, up, constant(uint64(64-o.bits)), o.pos)
	if o.typ.kind == KindBool {
		v = truth(v)
	}
	return v, nil
}

// index reads a[i] of pointers, arrays, slices, Vec and std::vector, and args[i].
func (c *checker) index(n *ast) (*operand, error) {
	if n.a.kind == astName && (n.a.text == "args" || n.a.text == "$args") {
		if _, hidden := c.scope.Lookup(n.a.text); !hidden {
			return c.argument(n)
		}
	}
	o, err := c.expr(n.a)
	if err != nil {
		return nil, err
	}
	i, err := c.expr(n.b)
	if err != nil {
		return nil, err
	}
	if (i.typ.kind == KindPointer || isArray(i.typ)) && o.typ.isInteger() { // C's 3[a]
		o, i = i, o
	}
	if !i.typ.isInteger() {
		return nil, errorAt(n.b.pos, "", "an index must be an integer, not %s", i.typ)
	}
	iv, err := c.value(i)
	if err != nil {
		return nil, err
	}
	return c.element(o, iv, n)
}

func (c *checker) argument(n *ast) (*operand, error) {
	if n.b.kind != astInt {
		return nil, errorAt(n.b.pos, "Write args[0] for the first argument.", "the index of args must be a number")
	}
	if n.b.num < 256 {
		if place, ok := c.scope.Arg(int(n.b.num)); ok {
			return c.place(place, &ast{pos: n.a.pos, text: "args[" + itoa(n.b.num) + "]"})
		}
	}
	return nil, errorAt(n.b.pos, "Arguments are counted from 0, where a function is called.", "there is no argument %d",
		n.b.num)
}

func (c *checker) element(o *operand, i *node, n *ast) (*operand, error) {
	for range maxFollow {
		if s, ok := c.sequence(o); ok {
			if s.elem.size <= 0 {
				return nil, errorAt(n.pos, "", "the size of %s is not known", s.elem)
			}
			bounded := build(node{op: opBound, a: i, b: s.count, pos: n.b.pos})
			return c.settle(&operand{typ: s.elem, addr: scaled(s.data, bounded, s.elem.size, n.pos), pos: n.pos})
		}
		if e, _, ok := o.typ.element(); ok {
			return c.arrayElement(o, e, i, n)
		}
		if o.typ.kind != KindPointer {
			break
		}
		e := o.typ.pointee()
		if o.typ.isRustReference() { // a reference is to one thing: index that
			next, err := c.pointed(o, n.pos)
			if err != nil {
				return nil, err
			}
			o = next
			continue
		}
		if e.kind == KindVoid || e.size <= 0 {
			return nil, errorAt(n.pos, "Cast it first, e.g. ((int *)p)[0].", "the size of what %s points to is not known", o.typ)
		}
		base, err := c.value(o)
		if err != nil {
			return nil, err
		}
		return c.settle(&operand{typ: e, addr: scaled(base, i, e.size, n.pos), pos: n.pos})
	}
	return nil, errorAt(n.pos, "", "%s cannot be indexed", o.typ)
}

func (c *checker) arrayElement(o *operand, e *Type, i *node, n *ast) (*operand, error) {
	switch {
	case e.size <= 0:
		return nil, errorAt(n.pos, "", "the size of %s is not known", e)
	case o.addr != nil:
		return c.settle(&operand{typ: e, addr: scaled(o.addr, i, e.size, n.pos), pos: n.pos})
	case i.isConst() && int64(i.n) >= 0 && int64(i.n) < 1<<20:
		return &operand{typ: e, pieces: o.pieces, off: o.off + int64(i.n)*e.size, guard: o.guard, guardText: o.guardText,
			pos: n.pos}, nil
	}
	return nil, unsupported(n.pos, "Use a number as the index.", "the array is in registers")
}

func scaled(base, i *node, size int64, pos int) *node {
	off := alu(ring.ALUMul, i, constant(uint64(size)), pos)
	if off.isConst() {
		return addConst(base, int64(off.n))
	}
	return alu(ring.ALUAdd, base, off, pos)
}

// deref reads *p.
func (c *checker) deref(o *operand, pos int) (*operand, error) {
	if e, _, ok := o.typ.element(); ok {
		if o.addr == nil {
			return nil, unsupported(pos, "", "the array is in registers")
		}
		return &operand{typ: e, addr: o.addr, pos: pos}, nil
	}
	next, err := c.follow(o, pos)
	if err != nil {
		return nil, err
	}
	if next == nil {
		return nil, errorAt(pos, "", "%s is no pointer", o.typ)
	}
	return next, nil
}

// addressOf reads &x.
func (c *checker) addressOf(o *operand, pos int) (*operand, error) {
	switch {
	case o.bits > 0:
		return nil, errorAt(pos, "", "a bit-field has no address")
	case o.addr == nil && len(o.pieces) > 0:
		return nil, errorAt(pos, "", "this is in a register and has no address")
	case o.addr == nil:
		return nil, errorAt(pos, "", "only what is in memory has an address")
	}
	return &operand{typ: pointerTo(o.typ), val: o.addr, pos: pos}, nil
}
