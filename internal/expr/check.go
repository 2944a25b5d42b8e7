package expr

import (
	"math"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/symbol"
)

// Expr is a checked expression. Immutable; safe for concurrent use.
type Expr struct {
	Source string
	typ    *Type
	val    *node    // the value of a scalar
	addr   *node    // where the value is, if it is in memory
	text   *textRef // what reads as text
	field  *node    // of a bit-field: the struct's address, where it is in memory
	lit    *string  // text without a place: its contents
	name   bool     // the thread's name
	point  bool     // AtPoint

	fieldOff, fieldBits int64 // of a bit-field, from field
}

// New reads and checks an expression. The error is an *Error.
func New(src string, lang symbol.Language, scope Scope) (*Expr, error) {
	s, err := Parse(src, lang)
	if err != nil {
		return nil, err
	}
	return Check(s, scope)
}

// Check gives an expression a meaning in a scope. The error is an *Error.
func Check(s *Syntax, scope Scope) (*Expr, error) {
	c := &checker{scope: scope, rust: s.Language == symbol.LangRust}
	o, err := c.expr(s.root)
	if err != nil {
		return nil, err
	}
	e := &Expr{Source: s.Source, typ: o.typ, addr: o.addr, lit: o.lit, name: o.threadName}
	if o.bits > 0 {
		e.field, e.fieldOff, e.fieldBits, e.addr = o.addr, o.bitOff, o.bits, nil
	}
	switch {
	case o.typ.kind == KindVoid:
		return nil, errorAt(s.root.pos, "Cast it to a type, e.g. (int *)p.", "this has no type that can be shown")
	case o.typ.kind == KindText:
	case o.scalar():
		if e.val, err = c.value(o); err != nil {
			return nil, err
		}
	case o.addr == nil:
		if _, isText := c.textOf(o); !isText {
			return nil, unsupported(s.root.pos, "Ask for its members one by one.", "%s is in registers as a whole",
				s.slice(s.root))
		}
	}
	if t, ok := c.textOf(o); ok && o.typ.kind != KindText && (t.count != nil || t.of.typeIsText()) &&
		!(s.root.kind == astUnary && s.root.text == "&" && o.typ.pointee().kind == KindObject) {
		e.text = t
	}
	if cost := e.cost(); cost > maxCost {
		return nil, errorAt(0, "Split it into several expressions.", "the expression takes too many steps")
	}
	return e, nil
}

func (s *Syntax) slice(n *ast) string { return short(s.Source[n.start:n.end]) }

func (e *Expr) cost() (n int) {
	for _, k := range []*node{e.val, e.addr} {
		if k != nil {
			n += k.cost
		}
	}
	if e.text != nil {
		n += e.text.cost()
	}
	return n
}

// Type returns the type of the result.
func (e *Expr) Type() *Type { return e.typ }

// IsText reports whether the result reads as text: char*, char[], std::string, &str and the like.
func (e *Expr) IsText() bool { return e.text != nil || e.typ.kind == KindText }

// InMemory reports whether the result has an address, so that it can be written or watched.
func (e *Expr) InMemory() bool { return e.addr != nil }

// Condition returns the expression as 0 or 1, for conditions. The error is an *Error: text and structs
// are neither true nor false.
func (e *Expr) Condition() (*Expr, error) {
	o := &operand{typ: e.typ, val: e.val}
	c := &checker{}
	v, err := c.truth(o)
	if err != nil {
		return nil, err
	}
	return &Expr{Source: e.Source, typ: typeBool, val: v}, nil
}

// operand is what a part of an expression is.
type operand struct {
	typ        *Type
	val        *node   // a scalar that was computed
	addr       *node   // where it is in memory
	pieces     []Piece // or the parts that it is in
	off        int64   // and where in them, in bytes
	bits       int64   // bit-field: its width
	bitOff     int64   // and its first bit, from addr or off
	literal    bool    // a number without a type of its own
	lit        *string // text literal
	threadName bool
	variant    *symbol.Variant // the name of a Rust enum's variant, to compare with
	guard      *node           // 1 where a payload in registers is there; guardText says what is wrong otherwise
	guardText  string
	pos        int
}

func (o *operand) scalar() bool {
	switch o.typ.kind {
	case KindBool, KindInt, KindChar, KindFloat, KindPointer:
		return !o.typ.wide()
	}
	return false
}

type checker struct {
	scope Scope
	rust  bool
}

func (c *checker) expr(n *ast) (*operand, error) {
	o, err := c.dispatch(n)
	if err != nil {
		return nil, err
	}
	if o.pos == 0 {
		o.pos = n.pos
	}
	for _, k := range []*node{o.val, o.addr} {
		if k != nil && k.cost > maxCost {
			return nil, errorAt(n.pos, "Split it into several expressions.", "the expression takes too many steps")
		}
	}
	return o, nil
}

func (c *checker) dispatch(n *ast) (*operand, error) {
	switch n.kind {
	case astName:
		return c.name(n)
	case astInt:
		return c.integer(n)
	case astFloat:
		t := typeF64
		if n.text == "f" || n.text == "f32" {
			t = typeF32
		}
		f := n.float
		if t == typeF32 {
			f = float64(float32(f))
		}
		return &operand{typ: t, val: build(node{op: opFConst, f: f}), literal: n.text == ""}, nil
	case astChar:
		return c.character(n), nil
	case astText:
		text := n.text
		return &operand{typ: typeText, lit: &text}, nil
	case astBool:
		return &operand{typ: typeBool, val: constant(n.num)}, nil
	case astNull:
		return &operand{typ: typeNull, val: constant(0)}, nil
	case astMember:
		return c.member(n)
	case astIndex:
		return c.index(n)
	case astUnary:
		return c.unary(n)
	case astBinary:
		return c.binary(n)
	case astCond:
		return c.conditional(n)
	case astCast:
		return c.castNode(n)
	case astSize:
		return c.sizeOf(n)
	}
	return c.length(n)
}

// integer types a literal as the language does: C's takes the first of int, long and their unsigned
// kin that holds it; Rust's takes that of the other operand, else i32 or what holds it.
func (c *checker) integer(n *ast) (*operand, error) {
	o := &operand{val: constant(n.num), literal: n.text == ""}
	if t, ok := builtinTypes[n.text]; ok {
		o.typ = t
		if extendWord(n.num, uint8(t.size), t.signed) != n.num || t.signed && int64(n.num) < 0 {
			return nil, errorAt(n.pos, "", "the number does not fit %s", n.text)
		}
		return o, nil
	}
	u := strings.Contains(n.text, "u")
	l := strings.ContainsAny(n.text, "lz")
	switch {
	case n.num <= math.MaxInt32 && !u && !l:
		o.typ = typeI32
		if c.rust {
			o.typ = builtinTypes["i32"]
		}
	case n.num <= math.MaxUint32 && !l && (u || n.hex && !c.rust):
		o.typ = typeU32
	case n.num <= math.MaxInt64 && !u:
		o.typ = typeI64
	default:
		o.typ = typeU64
	}
	return o, nil
}

func (c *checker) character(n *ast) *operand {
	o := &operand{val: constant(n.num)}
	switch {
	case n.text == "b":
		o.typ = builtinTypes["u8"]
	case c.rust:
		o.typ, o.literal = typeRune, true
	case n.text == "L" || n.text == "U" || n.num > 255:
		o.typ = typeRune
	case n.text == "u":
		o.typ = builtinTypes["char16_t"]
	default:
		o.typ, o.val = typeChar, constant(extendWord(n.num, 1, true))
	}
	return o
}

// name finds a variable or special. Bare members of this come before globals, as in C++.
func (c *checker) name(n *ast) (*operand, error) {
	switch n.text {
	case "$thread":
		return &operand{typ: typeI32, val: build(node{op: opThread, pos: n.pos})}, nil
	case "$pid":
		return &operand{typ: typeI32, val: build(node{op: opProcess, pos: n.pos})}, nil
	case "$threadName":
		return &operand{typ: typeText, threadName: true}, nil
	}
	place, ok := c.scope.Lookup(n.text)
	global := ok && place.Kind == PlaceAddress && place.Module != nil
	if (!ok || global) && !c.rust && n.text[0] != '$' && !strings.Contains(n.text, "::") && n.text != "this" {
		if this, found := c.scope.Lookup("this"); found && this.Kind != PlaceMissing {
			if o, err := c.place(this, n); err == nil {
				if m, err := c.memberOf(o, n.text, n.pos); err == nil {
					return m, nil
				}
			}
		}
	}
	if !ok {
		return nil, c.unknownName(n)
	}
	return c.place(place, n)
}

func (c *checker) unknownName(n *ast) *Error {
	switch n.text {
	case "$return":
		return errorAt(n.pos, "Use it where a function with a result returns.", "there is no result here")
	case "args", "$args":
		return errorAt(n.pos, "Write args[0] where a function is called.", "args must be followed by an index")
	}
	near := c.scope.Near(n.text)
	hint := "Names in scope are parameters, globals, statics, $return, $thread, $threadName, $pid and args[n]."
	if len(near) > 0 {
		hint = "Did you mean " + orList(near) + "?"
	}
	return errorAt(n.pos, hint, "%s is not known here", n.text)
}

func orList(names []string) string {
	if len(names) > 5 {
		names = names[:5]
	}
	if len(names) == 1 {
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

// place makes an operand of where a variable is.
func (c *checker) place(p Place, n *ast) (*operand, error) {
	o := &operand{typ: typeU64, pos: n.pos}
	if p.Type != nil {
		o.typ = newType(p.Type)
	} else if p.Made != nil {
		o.typ = p.Made
	}
	switch {
	case p.Kind == PlaceSelf:
		o.val = build(node{op: opSelf, n: uint64(p.Off), pos: n.pos})
	case p.Kind == PlaceWalk:
		o.val = build(node{op: opWalk, n: uint64(p.Reg), pos: n.pos})
	case p.Kind == PlaceMissing:
		return nil, &Error{Code: fault.OptimizedOut, Pos: n.pos, Msg: n.text + " was optimized out here",
			Hint: "Build with -O0 or -Og to see it, or watch what it was computed from."}
	case p.Deref:
		inner := p
		inner.Deref, inner.Type = false, nil
		at, err := c.place(inner, n)
		if err != nil {
			return nil, err
		}
		if o.addr, err = c.value(at); err != nil {
			return nil, err
		}
	case p.Kind == PlacePieces:
		o.pieces = p.Pieces
	case p.Kind == PlaceRegister || p.Kind == PlaceConst || p.Kind == PlaceValue:
		o.pieces = []Piece{{Place: p, Size: max(o.typ.size, 8)}}
	default:
		if o.addr = placeAddress(p, n.pos); o.addr == nil {
			return nil, unsupported(n.pos, "", "where %s is cannot be computed", n.text)
		}
	}
	return c.settle(o)
}

// computed is the word that steps come to, nil where they are none.
func computed(steps []Step, pos int) *node {
	var stack []*node
	for _, s := range steps {
		n := len(stack)
		switch {
		case s.Kind == StepConst:
			stack = append(stack, build(node{op: opConst, n: uint64(s.N), mod: s.Module, pos: pos}))
		case s.Kind == StepReg:
			stack = append(stack, addConst(build(node{op: opReg, n: uint64(s.Reg), pos: pos}), s.N))
		case s.Kind == StepFS:
			stack = append(stack, build(node{op: opFS, n: uint64(s.N), pos: pos}))
		case s.Kind == StepLoad && n > 0 && s.N >= 1 && s.N <= 8 && s.N&(s.N-1) == 0:
			stack[n-1] = load(stack[n-1], s.N, false, pos)
		case s.Kind == StepALU && n > 1:
			stack = append(stack[:n-2], alu(s.ALU, stack[n-2], stack[n-1], pos))
		default:
			return nil
		}
	}
	if len(stack) == 0 {
		return nil
	}
	return stack[len(stack)-1]
}

// placeAddress returns the address of a place in memory.
func placeAddress(p Place, pos int) *node {
	switch p.Kind {
	case PlaceRegOffset:
		return addConst(build(node{op: opReg, n: uint64(p.Reg), pos: pos}), p.Off)
	case PlaceCFAOffset:
		return build(node{op: opCFA, n: uint64(p.Off), pos: pos})
	case PlaceFSOffset:
		return build(node{op: opFS, n: uint64(p.Off), pos: pos})
	case PlaceComputed:
		return computed(p.Steps, pos)
	}
	return build(node{op: opConst, n: p.Addr, mod: p.Module, pos: pos})
}

// settle follows a C++ reference to what it stands for.
func (c *checker) settle(o *operand) (*operand, error) {
	for i := 0; i < 4 && o.typ.isReference(); i++ {
		at, err := c.value(o)
		if err != nil {
			return nil, err
		}
		o = &operand{typ: o.typ.pointee(), addr: at, pos: o.pos}
	}
	return o, nil
}

// value returns the word, or float, of a scalar.
func (c *checker) value(o *operand) (*node, error) {
	if o.val != nil {
		return o.val, nil
	}
	if !o.scalar() {
		return nil, c.noScalar(o)
	}
	var v *node
	var err error
	size, signed := o.typ.size, o.typ.signed
	if o.typ.kind == KindFloat {
		signed = false
	}
	switch {
	case o.bits > 0:
		return c.bitField(o)
	case o.addr != nil:
		v = load(o.addr, size, signed, o.pos)
	default:
		v, err = c.piece(o, o.off, size, signed)
	}
	if err != nil {
		return nil, err
	}
	v = guarded(v, o.guard, o.guardText, o.pos)
	switch o.typ.kind {
	case KindFloat:
		v = build(node{op: opFBits, a: v, size: uint8(size), pos: o.pos})
	case KindBool:
		v = truth(v)
	}
	return v, nil
}

func (c *checker) noScalar(o *operand) *Error {
	switch {
	case o.typ.wide():
		return unsupported(o.pos, "Cast it to 64 bits, e.g. (uint64_t)x.", "128-bit arithmetic is not supported")
	case o.typ.kind == KindText:
		return errorAt(o.pos, "Compare it with == or !=.", "text has no number")
	case o.typ.kind == KindVoid:
		return errorAt(o.pos, "Cast it, e.g. *(int *)p.", "this has no type, so no value")
	}
	s := o.typ.stripped()
	if s != nil && s.Kind == symbol.KindBase {
		return unsupported(o.pos, "", "values of type %s cannot be computed with", o.typ)
	}
	if s != nil && s.Kind == symbol.KindArray {
		return errorAt(o.pos, "Name an element, e.g. a[0].", "%s is an array, not a number", o.typ)
	}
	hint := ""
	if names := fieldNames(s); len(names) > 0 {
		hint = "Name a member, e.g. ." + names[0] + "."
	}
	return errorAt(o.pos, hint, "%s is a struct, not a number", o.typ)
}

// piece reads size bytes at off of a value that is in registers or in several places.
func (c *checker) piece(o *operand, off, size int64, signed bool) (*node, error) {
	for _, p := range o.pieces {
		if off >= p.Size {
			off -= p.Size
			continue
		}
		if off+size > p.Size {
			return nil, unsupported(o.pos, "", "the value is split over several registers")
		}
		switch p.Place.Kind {
		case PlaceMissing:
			return nil, &Error{Code: fault.OptimizedOut, Pos: o.pos, Msg: "this part of the value was optimized out here"}
		case PlaceRegister, PlaceConst, PlaceValue:
			if off+size > 8 {
				return nil, unsupported(o.pos, "", "the upper half of a wide register cannot be read")
			}
			w := constant(p.Place.Addr)
			if p.Place.Kind == PlaceRegister {
				w = build(node{op: opReg, n: uint64(p.Place.Reg), pos: o.pos})
			}
			if p.Place.Kind == PlaceValue {
				if w = computed(p.Place.Steps, o.pos); w == nil {
					return nil, unsupported(o.pos, "", "the value cannot be computed")
				}
			}
			shift := alu(ring.ALUShr, w, constant(uint64(8*off)), o.pos)
			return extend(shift, size, signed), nil
		case PlacePieces:
			return nil, unsupported(o.pos, "", "the value is in parts of parts")
		}
		at := placeAddress(p.Place, o.pos)
		if at == nil {
			return nil, unsupported(o.pos, "", "where it is cannot be computed")
		}
		return load(addConst(at, off), size, signed, o.pos), nil
	}
	return nil, unsupported(o.pos, "", "the value is not whole here")
}

func fieldNames(s *symbol.Type) []string {
	var out []string
	if s == nil {
		return nil
	}
	for _, f := range s.Fields() {
		if f.Name != "" && !f.Static && !slices.Contains(out, f.Name) {
			out = append(out, f.Name)
		}
	}
	return out
}
