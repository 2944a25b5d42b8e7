package expr

import (
	"strings"

	"github.com/strobe-debug/strobe/internal/symbol"
)

// pair checks both sides of an operator. A name that is known nowhere may be an enumerator of
// the other side's type.
func (c *checker) pair(n *ast) (a, b *operand, err error) {
	a, errA := c.expr(n.a)
	b, errB := c.expr(n.b)
	if errA != nil && errB == nil {
		if a = c.enumerator(b, n.a.kind == astName, n.a.text); a == nil {
			return nil, nil, errA
		}
		errA = nil
	}
	if errB != nil && errA == nil {
		if b = c.enumerator(a, n.b.kind == astName, n.b.text); b == nil {
			return nil, nil, errB
		}
		errB = nil
	}
	if errA != nil {
		return nil, nil, errA
	}
	return a, b, nil
}

// enumerator finds an enumerator of o's type by its name, qualified or not.
func (c *checker) enumerator(o *operand, isName bool, name string) *operand {
	for i := 0; i < maxFollow && o.typ.kind == KindPointer && o.typ.isRustReference(); i++ {
		next, err := c.pointed(o, o.pos)
		if err != nil {
			return nil
		}
		o = next
	}
	if !isName {
		return nil
	}
	if v := variantOf(o.typ.stripped(), name); v != nil {
		return &operand{typ: o.typ, variant: v, pos: o.pos}
	}
	if !o.typ.isEnum() {
		return nil
	}
	if i := strings.LastIndex(name, "::"); i >= 0 {
		name = name[i+2:]
	}
	for _, e := range o.typ.stripped().Enumerators() {
		if e.Name == name {
			return &operand{typ: o.typ, val: constant(extendWord(uint64(e.Val), uint8(o.typ.size), o.typ.signed)), pos: o.pos}
		}
	}
	return nil
}

func (c *checker) compare(n *ast, a, b *operand) (*operand, error) {
	for _, k := range [][2]*operand{{a, b}, {b, a}} {
		if k[0].lit != nil {
			if e := c.enumerator(k[1], true, *k[0].lit); e != nil { // color == "RED"
				if k[0] == a {
					a = e
				} else {
					b = e
				}
			}
		}
	}
	if o, err := c.compareVariant(n, a, b); o != nil || err != nil {
		return o, err
	}
	if o, err := c.compareText(n, a, b); o != nil || err != nil {
		return o, err
	}
	a, b = decay(a), decay(b)
	if c.rust { // a reference compares as what it refers to
		if a.typ.kind != KindPointer || b.typ.kind != KindPointer || a.typ.isRustReference() && b.typ.isRustReference() {
			a, b = c.dereferenced(a), c.dereferenced(b)
		}
	}
	if a.typ.kind == KindPointer || b.typ.kind == KindPointer {
		return c.comparePointers(n, a, b)
	}
	x, y, t, err := c.unify(a, b, n)
	if err != nil {
		return nil, err
	}
	if t.kind == KindFloat {
		return compareFloats(n, x, y), nil
	}
	return compareWords(n, x, y, t.signed), nil
}

// dereferenced follows Rust references to a scalar; anything else stays.
func (c *checker) dereferenced(o *operand) *operand {
	at := o
	for i := 0; i < maxFollow && at.typ.kind == KindPointer && at.typ.isRustReference(); i++ {
		next, err := c.pointed(at, at.pos)
		if err != nil {
			return o
		}
		at = next
	}
	if at.scalar() {
		return at
	}
	return o
}

func compareWords(n *ast, x, y *node, signed bool) *operand {
	op := n.text
	switch op {
	case ">", ">=":
		x, y = y, x
		op = map[string]string{">": "<", ">=": "<="}[op]
	}
	sign := 0
	if signed {
		sign = 1
	}
	return &operand{typ: typeBool, val: alu(aluOps[op][sign], x, y, n.pos)}
}

func compareFloats(n *ast, x, y *node) *operand {
	op := n.text
	if op == ">" || op == ">=" {
		x, y = y, x
	}
	var v *node
	switch op {
	case "==", "!=":
		v = build(node{op: opFEq, a: x, b: y, pos: n.pos})
		if op == "!=" {
			v = not(v)
		}
	case "<", ">":
		v = build(node{op: opFLess, a: x, b: y, pos: n.pos})
	default:
		v = build(node{op: opFLessE, a: x, b: y, pos: n.pos})
	}
	return &operand{typ: typeBool, val: v}
}

// comparePointers compares addresses; an integer is taken as one.
func (c *checker) comparePointers(n *ast, a, b *operand) (*operand, error) {
	var v [2]*node
	for i, o := range []*operand{a, b} {
		if o.typ == typeNull || o.typ.kind == KindPointer || o.typ.kind == KindInt && !o.typ.wide() {
			var err error
			if v[i], err = c.value(o); err != nil {
				return nil, err
			}
			continue
		}
		other := []*operand{b, a}[i]
		if other.typ == typeNull && !o.typ.isNumber() {
			if p := c.smartPointer(o); p != nil {
				w, err := c.value(p)
				if err != nil {
					return nil, err
				}
				v[i] = w
				continue
			}
		}
		return nil, errorAt(n.pos, "", "%s cannot compare %s with %s", n.text, a.typ, b.typ)
	}
	return compareWords(n, v[0], v[1], false), nil
}

// compareText compares text with a literal, or two strings that carry their length; nil where this is no
// comparison of text.
func (c *checker) compareText(n *ast, a, b *operand) (*operand, error) {
	if b.typ.kind != KindText {
		a, b = b, a
	}
	if b.typ.kind != KindText {
		return c.compareStrings(n, a, b)
	}
	if !isEquality(n.text) {
		return nil, errorAt(n.pos, "", "text compares with == and != only")
	}
	var v *node
	switch {
	case a.lit != nil && b.lit != nil:
		v = constant(word(*a.lit == *b.lit))
	case a.threadName && b.threadName:
		v = constant(1)
	case a.threadName:
		v = build(node{op: opThreadName, text: *b.lit, pos: n.pos})
	case b.threadName && a.lit != nil:
		v = build(node{op: opThreadName, text: *a.lit, pos: n.pos})
	case b.threadName:
		return nil, unsupported(n.pos, "Compare $threadName with text such as \"worker\".",
			"$threadName compares with literals only")
	default:
		ref, ok := c.textOf(a)
		if !ok {
			hint := "Text is char*, char[], std::string, std::string_view, &str and String."
			if a.typ.isEnum() {
				hint = "Its names are " + enumNames(a.typ.stripped()) + "."
			} else if a.typ.isNumber() {
				hint = "Write a number, or a character in single quotes."
			}
			return nil, errorAt(n.pos, hint, "%s is no text", a.typ)
		}
		v = build(node{op: opTextEq, x: ref, text: *b.lit, pos: n.pos})
	}
	if n.text == "!=" {
		v = not(v)
	}
	return &operand{typ: typeBool, val: v}, nil
}

func enumNames(s *symbol.Type) string {
	var names []string
	for _, e := range s.Enumerators() {
		if len(names) == 8 {
			names = append(names, "…")
			break
		}
		names = append(names, e.Name)
	}
	return strings.Join(names, ", ")
}

// compareStrings compares two string objects by their contents, as == of C++ and Rust does. Pointers to
// characters compare by address, as in C.
func (c *checker) compareStrings(n *ast, a, b *operand) (*operand, error) {
	if a.typ.kind == KindPointer && !a.typ.isRustReference() || b.typ.kind == KindPointer && !b.typ.isRustReference() ||
		a.scalar() && b.scalar() && !c.rust {
		return nil, nil
	}
	x, ok := c.textOf(a)
	if !ok {
		return nil, nil
	}
	y, ok := c.textOf(b)
	if !ok || x.count == nil && y.count == nil {
		return nil, nil
	}
	if !isEquality(n.text) {
		return nil, errorAt(n.pos, "", "text compares with == and != only")
	}
	v := build(node{op: opTextCmp, x: x, y: y, pos: n.pos})
	if n.text == "!=" {
		v = not(v)
	}
	return &operand{typ: typeBool, val: v}, nil
}

// conditional reads c ? a : b.
func (c *checker) conditional(n *ast) (*operand, error) {
	cond, err := c.expr(n.a)
	if err != nil {
		return nil, err
	}
	test, err := c.truth(cond)
	if err != nil {
		return nil, err
	}
	a, b, err := c.pair(&ast{kind: astBinary, text: "?:", pos: n.pos, a: n.b, b: n.c})
	if err != nil {
		return nil, err
	}
	choose := func(x, y *node, t *Type) *operand {
		op := opCond
		if t.kind == KindFloat {
			op = opFCond
		}
		return &operand{typ: t, val: build(node{op: op, a: test, b: x, c: y, pos: n.pos})}
	}
	a, b = decay(a), decay(b)
	if a.typ.kind == KindPointer && (b.typ.kind == KindPointer || b.typ.isInteger()) || b.typ.kind == KindPointer &&
		a.typ.isInteger() {
		x, err := c.value(a)
		if err != nil {
			return nil, err
		}
		y, err := c.value(b)
		if err != nil {
			return nil, err
		}
		t := a.typ
		if t == typeNull || t.kind != KindPointer {
			t = b.typ
		}
		return choose(x, y, t), nil
	}
	if a.addr != nil && b.addr != nil && !a.scalar() && a.typ.stripped() == b.typ.stripped() {
		return &operand{typ: a.typ, addr: build(node{op: opCond, a: test, b: a.addr, c: b.addr, pos: n.pos})}, nil
	}
	if a.typ.kind == KindBool && b.typ.kind == KindBool || a.typ.isEnum() && a.typ.stripped() == b.typ.stripped() {
		x, err := c.value(a)
		if err != nil {
			return nil, err
		}
		y, err := c.value(b)
		if err != nil {
			return nil, err
		}
		return choose(x, y, a.typ), nil
	}
	n2 := &ast{kind: astCond, text: "?:", pos: n.pos}
	x, y, t, err := c.unify(a, b, n2)
	if err != nil {
		return nil, err
	}
	return choose(x, y, t), nil
}

// castNode reads (T)x and x as T.
func (c *checker) castNode(n *ast) (*operand, error) {
	t, err := c.typeOf(n.typ)
	if err != nil {
		return nil, err
	}
	o, err := c.expr(n.a)
	if err != nil {
		return nil, err
	}
	return c.cast(o, t, n)
}

// sizeOf is sizeof of a type or of an expression, whichever it can be read as.
func (c *checker) sizeOf(n *ast) (*operand, error) {
	var t *Type
	err := error(errorAt(n.pos, "", "sizeof needs a type or an expression"))
	if n.typ != nil {
		t, err = c.typeOf(n.typ)
	}
	if err != nil && n.a != nil {
		o, exprErr := c.expr(n.a)
		if exprErr != nil {
			return nil, err
		}
		t, err = o.typ, nil
	}
	switch {
	case err != nil:
		return nil, err
	case t.size < 0 || t.kind == KindVoid || t.kind == KindText:
		return nil, errorAt(n.pos, "", "the size of %s is not known", t)
	}
	return &operand{typ: typeU64, val: constant(uint64(t.size)), pos: n.pos}, nil
}

func (c *checker) cast(o *operand, t *Type, n *ast) (*operand, error) {
	if t.kind == KindObject || t.kind == KindVoid {
		return nil, errorAt(n.typ.pos, "Cast its address: *("+n.typ.name+" *)&x.", "a value cannot be cast to %s", t)
	}
	if t.wide() {
		return nil, unsupported(n.typ.pos, "Cast to 64 bits.", "128-bit arithmetic is not supported")
	}
	o = decay(o)
	if o.typ.wide() && (o.addr != nil || len(o.pieces) > 0) { // its low 64 bits
		low := *o
		low.typ = typeU64
		o = &low
	}
	if o.typ.kind == KindObject {
		if p := c.smartPointer(o); p != nil && t.kind == KindPointer {
			o = p
		}
	}
	v, err := c.value(o)
	if err != nil {
		return nil, err
	}
	switch {
	case t.kind == KindPointer && o.typ.kind == KindFloat:
		return nil, errorAt(n.pos, "", "%s cannot be cast to a pointer", o.typ)
	case o.typ.kind == KindPointer && t.kind == KindFloat:
		return nil, errorAt(n.pos, "", "a pointer cannot be cast to %s", t)
	case t.kind == KindPointer:
		return &operand{typ: t, val: v}, nil
	}
	return &operand{typ: t, val: convert(&operand{typ: o.typ, val: v, pos: n.pos}, t)}, nil
}

// typeOf finds a type by its name as written.
func (c *checker) typeOf(n *typeName) (*Type, error) {
	if n.of != nil {
		e, err := c.typeOf(n.of)
		if err != nil {
			return nil, err
		}
		t, err := arrayOf(n, e, n.dims)
		for range min(n.ptrs, 8) {
			t = pointerTo(t)
		}
		return t, err
	}
	if n.ref {
		if sym, ok := c.scope.TypeNamed("&" + n.name); ok { // &str
			t := newType(sym)
			for range min(n.ptrs, 8) - 1 {
				t = pointerTo(t)
			}
			return t, nil
		}
	}
	var t *Type
	switch b, ok := builtinName(n.name); {
	case ok && c.rust && n.name == "char":
		t = typeRune
	case ok:
		t = b
	default:
		sym, found := c.scope.TypeNamed(n.name)
		if !found {
			hint := "Use a type of the program, or a built-in one such as uint64_t or char."
			if c.rust {
				hint = "Use a type of the program, or a built-in one such as u64 or char."
			}
			return nil, errorAt(n.pos, hint, "the type %s is not known", n.name)
		}
		t = newType(sym)
	}
	for range min(n.ptrs, 8) {
		t = pointerTo(t)
	}
	if n.outer > 0 {
		var err error
		if t, err = arrayOf(n, t, n.dims); err != nil {
			return nil, err
		}
	}
	for range min(n.outer, 8) {
		t = pointerTo(t)
	}
	return t, nil
}

// arrayOf makes an array type.
func arrayOf(n *typeName, elem *Type, dims []int64) (*Type, error) {
	sym := elem.Target()
	if sym == nil || sym.Strip().Size <= 0 {
		return nil, errorAt(n.pos, "", "%s has no size", elem)
	}
	for i := len(dims) - 1; i >= 0; i-- {
		if sym = symbol.MadeArray(sym, dims[i]); sym.Size < 0 {
			return nil, errorAt(n.pos, "", "no memory holds so many of %s", elem)
		}
	}
	return newType(sym), nil
}
