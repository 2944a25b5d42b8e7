package expr

import (
	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/symbol"
)

// Fragment is an expression as a part of a walk program over an object, which is what PlaceSelf leads to.
type Fragment struct {
	Ops    []ring.Op
	Object bool // the word is the address of the value: it is in memory
	Signed bool
}

// Room is what a fragment may use: registers from First to before Limit, of which First has the word at the end, and
// the first Bytes of the object, which were copied: others are read from memory.
type Room struct {
	First, Limit uint8
	Bytes        int64
}

// Fragment compiles the expression. ok is false where a walk program cannot compute it, or has no room. With asValue a
// scalar's value is computed even if it is in memory.
func (e *Expr) Fragment(in Room, asValue bool) (f Fragment, ok bool) {
	n := e.addr
	f.Object = n != nil
	if n == nil || asValue && e.val != nil {
		n, f.Object = e.val, false
	}
	if n == nil || n.cost > maxFragment || usesText(n, 0) {
		return f, false
	}
	g := &generator{p: &Program{}, limit: in.Limit, self: in.Bytes}
	if n.op == opFBits { // the bits stay what they are
		n = n.a
	}
	g.node(n, in.First)
	if g.failed || len(g.p.Relocs) > 0 || len(g.p.Ops) > maxFragment {
		return f, false
	}
	f.Ops, f.Signed = g.p.Ops, e.typ.signed
	return f, true
}

// maxFragment bounds one expression of a description, in operations.
const maxFragment = 400

// usesText reports an expression that reads text, for which fragments have no registers.
func usesText(n *node, depth int) bool {
	if n == nil {
		return false
	}
	switch n.op {
	case opTextEq, opTextLen, opTextCmp, opThreadName, opReg, opCFA, opFS:
		return true
	}
	return depth > maxDepth || usesText(n.a, depth+1) || usesText(n.b, depth+1) || usesText(n.c, depth+1)
}

// Member reports that the expression is a part of the object at a fixed place in it: where, and of what type.
func (e *Expr) Member() (off int64, t *symbol.Type, ok bool) {
	if e.addr == nil || e.addr.op != opSelf || e.typ.sym == nil {
		return 0, nil, false
	}
	return int64(e.addr.n), e.typ.sym, true
}

// BitMember is Member for a bit-field: off is its first bit.
func (e *Expr) BitMember() (off, bits int64, t *symbol.Type, ok bool) {
	if e.field == nil || e.field.op != opSelf || e.typ.sym == nil {
		return 0, 0, nil, false
	}
	return 8*int64(e.field.n) + e.fieldOff, e.fieldBits, e.typ.sym, true
}

// Pointee returns what a pointer, or an array's first element, is of, nil for anything else.
func (e *Expr) Pointee() *Type {
	if el, _, ok := e.typ.element(); ok {
		return el
	}
	if e.typ.kind != KindPointer {
		return nil
	}
	return e.typ.pointee()
}

// Follows reports a value in memory whose address is read from memory: what a pointer leads to.
func (e *Expr) Follows() bool { return e.addr != nil && hasLoad(e.addr, 0) }

func hasLoad(n *node, depth int) bool {
	return n != nil && (n.op == opLoad || depth < maxDepth &&
		(hasLoad(n.a, depth+1) || hasLoad(n.b, depth+1) || hasLoad(n.c, depth+1)))
}

// Constant returns the value of an expression that is a number whatever the object is.
func (e *Expr) Constant() (uint64, bool) {
	if e.val != nil && e.val.isConst() {
		return e.val.n, true
	}
	return 0, false
}

// IsArray reports an expression of an array's type, whose elements are at its address.
func (e *Expr) IsArray() (n int64, ok bool) {
	_, n, ok = e.typ.element()
	return n, ok
}

// Elem returns what a pointer type points to, nil for anything else.
func (t *Type) Elem() *Type {
	if t.kind != KindPointer {
		return nil
	}
	return t.pointee()
}
