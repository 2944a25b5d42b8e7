package expr

import (
	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/symbol"
)

func (c *checker) unary(n *ast) (*operand, error) {
	o, err := c.expr(n.a)
	if err != nil {
		return nil, err
	}
	switch n.text {
	case "*":
		return c.deref(o, n.pos)
	case "&":
		return c.addressOf(o, n.pos)
	case "!":
		if c.rust && o.typ.kind == KindInt {
			return c.complement(o, n)
		}
		fallthrough
	case "not":
		v, err := c.truth(o)
		if err != nil {
			return nil, err
		}
		return &operand{typ: typeBool, val: not(v)}, nil
	case "~":
		return c.complement(o, n)
	}
	o, err = c.promoted(o, n)
	if err != nil {
		return nil, err
	}
	v := o.val
	switch {
	case n.text == "+":
	case o.typ.kind == KindFloat:
		v = build(node{op: opFALU, alu: ring.ALUMul, a: v, b: build(node{op: opFConst, f: -1}), pos: n.pos})
	default:
		v = extend(alu(ring.ALUSub, constant(0), v, n.pos), o.typ.size, o.typ.signed)
	}
	return &operand{typ: o.typ, val: v, literal: o.literal}, nil
}

func (c *checker) complement(o *operand, n *ast) (*operand, error) {
	o, err := c.promoted(o, n)
	if err != nil {
		return nil, err
	}
	if o.typ.kind == KindFloat {
		return nil, errorAt(n.pos, "", "%s needs an integer, not %s", n.text, o.typ)
	}
	v := extend(alu(ring.ALUXor, o.val, constant(^uint64(0)), n.pos), o.typ.size, o.typ.signed)
	return &operand{typ: o.typ, val: v, literal: o.literal}, nil
}

// truth returns an operand as 0 or 1.
func (c *checker) truth(o *operand) (*node, error) {
	if o.typ.kind == KindText || !o.scalar() {
		return nil, errorAt(o.pos, "Compare it, e.g. name == \"abc\".", "%s is neither true nor false", o.typ)
	}
	v, err := c.value(o)
	if err != nil {
		return nil, err
	}
	if o.typ.kind == KindFloat {
		eq := build(node{op: opFEq, a: v, b: build(node{op: opFConst}), pos: o.pos})
		return not(eq), nil
	}
	return truth(v), nil
}

// number returns an operand that can be computed with; in Rust a reference is followed to it.
func (c *checker) number(o *operand, n *ast) (*operand, error) {
	for i := 0; i < maxFollow && c.rust && o.typ.kind == KindPointer && o.typ.isRustReference(); i++ {
		next, err := c.pointed(o, n.pos)
		if err != nil {
			return nil, err
		}
		o = next
	}
	if o.typ.isNumber() {
		v, err := c.value(o)
		return &operand{typ: o.typ, val: v, bits: o.bits, literal: o.literal, pos: o.pos}, err
	}
	if o.scalar() {
		return nil, errorAt(n.pos, "", "%s needs numbers, not %s", n.text, o.typ)
	}
	return nil, c.noScalar(o)
}

// promoted is number with C's integer promotions.
func (c *checker) promoted(o *operand, n *ast) (*operand, error) {
	o, err := c.number(o, n)
	if err != nil {
		return nil, err
	}
	if c.rust {
		if o.typ.kind == KindInt || o.typ.kind == KindFloat {
			return o, nil
		}
		return nil, errorAt(n.pos, "Cast it, e.g. x as u32.", "%s needs numbers, not %s", n.text, o.typ)
	}
	return promote(o), nil
}

func promote(o *operand) *operand {
	p := *o
	switch {
	case o.typ.kind == KindFloat:
		return o
	case o.typ.size < 4 || o.bits > 0 && (o.bits < 32 || o.bits == 32 && o.typ.signed):
		p.typ = typeI32
	case o.typ.size == 4 && o.typ.signed:
		p.typ = typeI32
	case o.typ.size == 4:
		p.typ = typeU32
	case o.typ.signed:
		p.typ = typeI64
	default:
		p.typ = typeU64
	}
	p.bits = 0
	return &p
}

// unify brings two numbers to one type: C's usual arithmetic conversions, or in Rust the same type,
// with literals taking the other's.
func (c *checker) unify(a, b *operand, n *ast) (x, y *node, t *Type, err error) {
	if a, err = c.number(a, n); err != nil {
		return nil, nil, nil, err
	}
	if b, err = c.number(b, n); err != nil {
		return nil, nil, nil, err
	}
	if c.rust {
		if t, err = c.rustCommon(a, b, n); err != nil {
			return nil, nil, nil, err
		}
	} else {
		a, b = promote(a), promote(b)
		t = commonC(a.typ, b.typ)
	}
	return convert(a, t), convert(b, t), t, nil
}

func commonC(a, b *Type) *Type {
	switch {
	case a.kind == KindFloat && b.kind == KindFloat:
		if a.size > 4 || b.size > 4 {
			return typeF64
		}
		return typeF32
	case a.kind == KindFloat:
		return floatOf(a)
	case b.kind == KindFloat:
		return floatOf(b)
	case a.size == b.size && !a.signed:
		return a
	case a.size == b.size:
		return b
	case a.size > b.size:
		return a
	}
	return b
}

func floatOf(t *Type) *Type {
	if t.size == 4 {
		return typeF32
	}
	return typeF64
}

func (c *checker) rustCommon(a, b *operand, n *ast) (*Type, error) {
	same := func(x, y *Type) bool { return x.kind == y.kind && x.size == y.size && x.signed == y.signed }
	switch {
	case same(a.typ, b.typ):
		if a.literal {
			return b.typ, nil
		}
		return a.typ, nil
	case b.literal && c.adapts(b, a.typ):
		return a.typ, nil
	case a.literal && c.adapts(a, b.typ):
		return b.typ, nil
	case a.literal && b.literal && a.typ.kind == KindInt && b.typ.kind == KindInt:
		if a.typ.size > b.typ.size || a.typ.size == b.typ.size && !a.typ.signed {
			return a.typ, nil
		}
		return b.typ, nil
	case a.literal && a.typ.kind == KindInt && b.typ.kind == KindInt, b.literal && b.typ.kind == KindInt &&
		a.typ.kind == KindInt:
		return nil, errorAt(n.pos, "", "the number does not fit the other side of %s: %s", n.text,
			pick(a.literal, b.typ, a.typ))
	}
	return nil, errorAt(n.pos, "Cast one of them, e.g. x as "+rustName(b.typ)+".",
		"%s has %s on its left and %s on its right", n.text, rustName(a.typ), rustName(b.typ))
}

func pick(left bool, a, b *Type) *Type {
	if left {
		return a
	}
	return b
}

// rustName is the type's name for messages about Rust, where made types have C names.
func rustName(t *Type) string {
	if t.sym == nil && t.kind == KindFloat {
		return "f" + itoa(uint64(t.size)*8)
	}
	if t.sym == nil && t == typeRune {
		return "char"
	}
	if t.sym == nil && t.kind == KindInt && t.size <= 8 {
		if t.signed {
			return "i" + itoa(uint64(t.size)*8)
		}
		return "u" + itoa(uint64(t.size)*8)
	}
	return t.String()
}

// adapts reports whether a Rust literal can take the type t.
func (c *checker) adapts(o *operand, t *Type) bool {
	switch {
	case o.typ.kind == KindFloat:
		return t.kind == KindFloat
	case t.kind == KindFloat:
		return o.typ.kind == KindInt
	case o.typ.kind == KindChar: // x == 'a' of a u8
		return t.size == 1 && o.val.n < 128
	case t.kind != KindInt || !o.val.isConst():
		return false
	}
	if int64(o.val.n) < 0 && o.typ.signed {
		return t.signed && extendWord(o.val.n, uint8(t.size), true) == o.val.n
	}
	return extendWord(o.val.n, uint8(t.size), t.signed) == o.val.n && (!t.signed || int64(o.val.n) >= 0)
}

// convert returns a number's value as the type t.
func convert(o *operand, t *Type) *node {
	v := o.val
	switch {
	case o.typ.kind == KindFloat && t.kind == KindFloat:
		return rounded(v, t, o.typ)
	case o.typ.kind == KindFloat && t.kind == KindBool:
		return not(build(node{op: opFEq, a: v, b: build(node{op: opFConst}), pos: o.pos}))
	case o.typ.kind == KindFloat:
		return build(node{op: opInt, a: v, size: uint8(t.size), signed: t.signed, pos: o.pos})
	case t.kind == KindFloat:
		f := build(node{op: opFInt, a: v, signed: o.typ.signed, size: uint8(t.size), pos: o.pos})
		return f
	case t.kind == KindBool:
		return truth(v)
	case o.typ.size < t.size && (!o.typ.signed || t.signed || t.size == 8):
		return v // wider and of the same value
	case o.typ.size == t.size && o.typ.signed == t.signed && o.typ.kind != KindBool:
		return v
	}
	return extend(v, t.size, t.signed)
}

func rounded(v *node, t, from *Type) *node {
	if t.size >= from.size {
		return v
	}
	return build(node{op: opRound, a: v, size: uint8(t.size), pos: v.pos})
}

var aluOps = map[string][2]uint32{ // unsigned, signed
	"+": {ring.ALUAdd, ring.ALUAdd}, "-": {ring.ALUSub, ring.ALUSub}, "*": {ring.ALUMul, ring.ALUMul},
	"/": {ring.ALUUDiv, ring.ALUSDiv}, "%": {ring.ALUURem, ring.ALUSRem},
	"&": {ring.ALUAnd, ring.ALUAnd}, "|": {ring.ALUOr, ring.ALUOr}, "^": {ring.ALUXor, ring.ALUXor},
	"<<": {ring.ALUShl, ring.ALUShl}, ">>": {ring.ALUShr, ring.ALUSar},
	"==": {ring.ALUEq, ring.ALUEq}, "!=": {ring.ALUNe, ring.ALUNe},
	"<": {ring.ALUULt, ring.ALUSLt}, "<=": {ring.ALUULe, ring.ALUSLe},
}

func (c *checker) binary(n *ast) (*operand, error) {
	if n.text == "&&" || n.text == "||" {
		return c.logic(n)
	}
	a, b, err := c.pair(n)
	if err != nil {
		return nil, err
	}
	if isComparison(n.text) {
		return c.compare(n, a, b)
	}
	if n.text == "<<" || n.text == ">>" {
		return c.shift(n, a, b)
	}
	if o, err := c.pointerArithmetic(n, a, b); o != nil || err != nil {
		return o, err
	}
	x, y, t, err := c.unify(a, b, n)
	if err != nil {
		return nil, err
	}
	if t.kind == KindFloat {
		return c.floatArithmetic(n, x, y, t)
	}
	if t.kind != KindInt && !(t.kind == KindBool && (n.text == "&" || n.text == "|" || n.text == "^")) {
		return nil, errorAt(n.pos, "Cast it to a number first.", "%s needs numbers, not %s", n.text, t)
	}
	sign := 0
	if t.signed {
		sign = 1
	}
	v := alu(aluOps[n.text][sign], x, y, n.pos)
	switch {
	case t.kind == KindBool:
	case (n.text == "&" || n.text == "|" || n.text == "^") || !t.signed && (n.text == "/" || n.text == "%"):
		// These keep extended words extended.
	default:
		v = extend(v, t.size, t.signed)
	}
	return &operand{typ: t, val: v, literal: a.literal && b.literal}, nil
}

func (c *checker) logic(n *ast) (*operand, error) {
	var v [2]*node
	for i, k := range []*ast{n.a, n.b} {
		o, err := c.expr(k)
		if err != nil {
			return nil, err
		}
		if v[i], err = c.truth(o); err != nil {
			return nil, err
		}
	}
	op := opAnd
	if n.text == "||" {
		op = opOr
	}
	return &operand{typ: typeBool, val: build(node{op: op, a: v[0], b: v[1], pos: n.pos})}, nil
}

// shift takes its count modulo the width, as the machine does, and gives the type of its left side.
func (c *checker) shift(n *ast, a, b *operand) (*operand, error) {
	a, err := c.promoted(a, n)
	if err != nil {
		return nil, err
	}
	if b, err = c.promoted(b, n); err != nil {
		return nil, err
	}
	if a.typ.kind == KindFloat || b.typ.kind == KindFloat {
		return nil, errorAt(n.pos, "", "%s needs integers", n.text)
	}
	count := alu(ring.ALUAnd, b.val, constant(uint64(a.typ.size*8-1)), n.pos)
	sign := 0
	if a.typ.signed {
		sign = 1
	}
	v := extend(alu(aluOps[n.text][sign], a.val, count, n.pos), a.typ.size, a.typ.signed)
	return &operand{typ: a.typ, val: v, literal: a.literal}, nil
}

func (c *checker) floatArithmetic(n *ast, x, y *node, t *Type) (*operand, error) {
	switch {
	case n.text == "%" && !c.rust:
		return nil, errorAt(n.pos, "", "%% needs integers")
	case n.text == "&" || n.text == "|" || n.text == "^":
		return nil, errorAt(n.pos, "", "%s needs integers", n.text)
	}
	v := build(node{op: opFALU, alu: aluOps[n.text][0], a: x, b: y, pos: n.pos})
	return &operand{typ: t, val: rounded(v, t, typeF64)}, nil
}

// pointerArithmetic does p + n, p - n and p - q in units of what p points to; nil where neither is a pointer.
func (c *checker) pointerArithmetic(n *ast, a, b *operand) (*operand, error) {
	if c.rust && (a.typ.isRustReference() || b.typ.isRustReference()) {
		return nil, nil
	}
	a, b = decay(a), decay(b)
	if b.typ.kind == KindPointer && a.typ.isInteger() && n.text == "+" {
		a, b = b, a
	}
	if a.typ.kind != KindPointer {
		if b.typ.kind == KindPointer {
			return nil, errorAt(n.pos, "Cast the pointer to an integer first.", "%s cannot be done with %s and %s", n.text,
				a.typ, b.typ)
		}
		return nil, nil
	}
	size := a.typ.pointee().size
	if a.typ.pointee().kind == KindVoid {
		size = 1
	}
	if size <= 0 {
		return nil, errorAt(n.pos, "Cast it first, e.g. (char *)p.", "the size of what %s points to is not known", a.typ)
	}
	p, err := c.value(a)
	if err != nil {
		return nil, err
	}
	switch {
	case b.typ.kind == KindPointer && n.text == "-":
		q, err := c.value(b)
		if err != nil {
			return nil, err
		}
		d := alu(ring.ALUSub, p, q, n.pos)
		return &operand{typ: typeI64, val: alu(ring.ALUSDiv, d, constant(uint64(size)), n.pos)}, nil
	case b.typ.isInteger() && (n.text == "+" || n.text == "-"):
		i, err := c.value(b)
		if err != nil {
			return nil, err
		}
		t := pointerTo(a.typ.pointee())
		if a.typ.sym != nil {
			t = a.typ
		}
		if n.text == "-" {
			off := alu(ring.ALUMul, i, constant(uint64(size)), n.pos)
			return &operand{typ: t, val: alu(ring.ALUSub, p, off, n.pos)}, nil
		}
		return &operand{typ: t, val: scaled(p, i, size, n.pos)}, nil
	}
	return nil, errorAt(n.pos, "Cast the pointer to an integer first.", "%s cannot be done with %s and %s", n.text, a.typ,
		b.typ)
}

// decay makes a pointer of an array or function.
func decay(o *operand) *operand {
	if s := o.typ.stripped(); s != nil && s.Kind == symbol.KindFunction && o.addr != nil {
		return &operand{typ: pointerTo(o.typ), val: o.addr, pos: o.pos}
	}
	if e, _, ok := o.typ.element(); ok && o.addr != nil {
		return &operand{typ: pointerTo(e), val: o.addr, pos: o.pos}
	}
	return o
}
