package expr

import (
	"strings"

	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/symbol"
)

// guarded makes v an error where guard is 0; a nil guard is none.
func guarded(v, guard *node, text string, pos int) *node {
	if guard == nil {
		return v
	}
	return build(node{op: opGuard, a: v, b: guard, text: text, pos: pos})
}

// variantOf finds a variant of a Rust enum by its name, qualified or not, or nil.
func variantOf(s *symbol.Type, name string) *symbol.Variant {
	if s == nil {
		return nil
	}
	vp := s.Variants()
	if vp == nil {
		return nil
	}
	if i := strings.LastIndex(name, "::"); i >= 0 {
		name = name[i+2:]
	}
	for i := range vp.Variants {
		if vp.Variants[i].Name == name {
			return &vp.Variants[i]
		}
	}
	return nil
}

// variantPayload reads e.Some: the payload of a variant, an error at run time where e is another one.
func (c *checker) variantPayload(o *operand, name string, pos int) (*operand, error) {
	v := variantOf(o.typ.stripped(), name)
	if v == nil {
		return nil, nil
	}
	if len(v.Fields) == 0 || len(v.Fields[0].Type.Strip().Fields()) == 0 {
		return nil, errorAt(pos, "Compare with it: x == "+name+".", "the variant %s has nothing in it", name)
	}
	is, err := c.isVariant(o, v, pos)
	if err != nil {
		return nil, err
	}
	m := c.part(o, v.Fields[0], 0, pos)
	text := "the value is not " + name + " here"
	if m.addr != nil {
		m.addr = guarded(m.addr, is, text, pos)
		return m, nil
	}
	if m.guard != nil {
		is = build(node{op: opAnd, a: m.guard, b: is, pos: pos})
	}
	m.guard, m.guardText = is, text
	return m, nil
}

// isVariant makes 1 where o is the variant v, else 0.
func (c *checker) isVariant(o *operand, v *symbol.Variant, pos int) (*node, error) {
	vp := o.typ.stripped().Variants()
	if vp.Discr == nil {
		return constant(1), nil
	}
	d := c.part(o, *vp.Discr, 0, pos)
	if !d.typ.isInteger() && d.typ.kind != KindPointer {
		return nil, unsupported(pos, "", "what tells the variants of %s apart cannot be computed with", o.typ)
	}
	tag, err := c.value(d)
	if err != nil {
		return nil, err
	}
	in := func(spans []symbol.VariantSpan) *node {
		any := constant(0)
		for _, s := range spans {
			lo, hi := extendWord(s.Lo, uint8(d.typ.size), d.typ.signed), extendWord(s.Hi, uint8(d.typ.size), d.typ.signed)
			one := alu(ring.ALUEq, tag, constant(lo), pos)
			if lo != hi { // in the span if not further from its start than its end is
				from := alu(ring.ALUSub, tag, constant(lo), pos)
				one = alu(ring.ALUULe, from, constant(hi-lo), pos)
			}
			if any.isConst() {
				any = one
			} else {
				any = build(node{op: opOr, a: any, b: one, pos: pos})
			}
		}
		return any
	}
	if !v.Default {
		return in(v.Discr), nil
	}
	var others []symbol.VariantSpan
	for i := range vp.Variants {
		if !vp.Variants[i].Default {
			others = append(others, vp.Variants[i].Discr...)
		}
	}
	return not(in(others)), nil
}

// compareVariant reads e == Variant, whatever its payload, and opt == null for None; nil where this is none.
func (c *checker) compareVariant(n *ast, a, b *operand) (*operand, error) {
	if a.variant != nil || a.typ == typeNull {
		a, b = b, a
	}
	v := b.variant
	for i := 0; i < maxFollow && a.typ.isRustReference() && (v != nil || b.typ == typeNull); i++ {
		next, err := c.pointed(a, n.pos)
		if err != nil || next.typ.stripped() == nil || next.typ.kind == KindPointer && !next.typ.isRustReference() {
			break
		}
		a = next
	}
	if v == nil && b.typ == typeNull && a.typ.isRecord() {
		v = variantOf(a.typ.stripped(), "None")
	}
	if v == nil || a.typ.kind != KindObject {
		return nil, nil
	}
	if !isEquality(n.text) {
		return nil, errorAt(n.pos, "", "variants compare with == and != only")
	}
	is, err := c.isVariant(a, v, n.pos)
	if err != nil {
		return nil, err
	}
	if n.text == "!=" {
		is = not(is)
	}
	return &operand{typ: typeBool, val: is}, nil
}
