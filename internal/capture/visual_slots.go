package capture

import (
	"strconv"

	"github.com/strobe-debug/strobe/internal/expr"
	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/value"
)

// visualGen writes the programs of one description.
type visualGen struct {
	f    *form
	v    *visual
	p    *prog
	self int64 // bytes of the object that are at hand: the others are read from memory
	what string
}

// maxVisualOps bounds one program of a description.
const maxVisualOps = 4000

func newVisualType(t *symbol.Type) *value.Type {
	return &value.Type{Name: t.Name, Size: size32(t), Elem: -1, Discr: value.TypeField{Type: -1}}
}

// form implements formatter.
func (v *visual) form(f *form) bool {
	f.V.Class = value.ClassVisual
	if f.dry {
		v.tell(f, v.root)
		return true
	}
	if f.index >= 0 {
		if v.words() > 0 {
			f.V.Walk = v.id(f.tt, walkWords, "")
		}
		var off uint32
		if f.V.Elem, off = v.layout(f, v.root); off > 0 { // the words are the root's
			f.V.Elem = f.tt.add(value.Type{Class: value.ClassTuple, Fields: []value.TypeField{{Type: f.V.Elem, Off: off}},
				Elem: -1, Discr: value.TypeField{Type: -1}})
		}
	}
	follow := &prog{}
	v.emit(f, follow)
	if id := v.id(f.tt, walkWords, ""); v.words() > 0 && !f.tt.walks.defined(id) {
		f.tt.define(id, follow)
	}
	return true
}

// id is the walk of a part of the description.
func (v *visual) id(tt *typeTable, what walkWhat, part string) uint16 {
	return tt.walks.partID(v.t, what, "visual "+v.view+part)
}

func listPart(l *listShape) string { return " " + strconv.Itoa(l.number) }

// words is how many words the node of an object has: one at least, if lists are collected from it.
func (v *visual) words() int {
	if v.n == 0 && v.root.hasList() {
		return 1
	}
	return v.n
}

func (s *shape) hasList() bool {
	if s.kind == shapeList {
		return true
	}
	for i := range s.parts {
		if s.parts[i].s != nil && s.parts[i].s.hasList() {
			return true
		}
	}
	return false
}

// emit writes both programs: the object's own into f.P, that of its words into follow. It returns what does not fit.
func (v *visual) emit(f *form, follow *prog) (line int, what string) {
	g := &visualGen{f: f, v: v, p: f.P, self: min(max(sizeOf(v.t), 0), maxObject)}
	if v.words() > 0 {
		g.p.Open(v.id(f.tt, walkWords, ""))
		if v.n == 0 {
			g.p.Const(r0, 0)
			g.p.Push(r0)
		}
		g.push(v.root, 8)
		g.p.Close()
	}
	g.mine(v.root)
	after := &visualGen{f: f, v: v, p: follow, what: g.what}
	after.follow(v.root, false)
	after.follow(v.root, true)
	if len(f.P.ops) > maxVisualOps || len(follow.ops) > maxVisualOps {
		return 0, "it is too long for a walk"
	}
	return 0, after.what
}

// eval computes an expression into r0; it may use the registers before limit.
func (g *visualGen) eval(e *expr.Expr, asValue bool, limit reg) {
	if len(g.p.ops) > maxVisualOps {
		g.what = "it is too long for a walk"
		return
	}
	f, ok := e.Fragment(expr.Room{Limit: uint8(limit), Bytes: g.self}, asValue)
	if !ok {
		if g.what == "" {
			g.what = short(e.Source) + " cannot be computed in the target"
		}
		return
	}
	g.p.ops = append(g.p.ops, f.Ops...)
}

// push writes the words of a shape. Registers from low on are taken.
func (g *visualGen) push(s *shape, low reg) {
	for _, w := range s.words {
		g.eval(w.e, w.asValue, low)
		g.p.Push(r0)
	}
	if s.kind == shapeList {
		return
	}
	if s.kind != shapeChoice {
		for i := range s.parts {
			if s.parts[i].s != nil {
				g.push(s.parts[i].s, low)
			}
		}
		return
	}
	low--
	p, chosen := g.p, low
	if low < 4 {
		g.what = "its conditions nest too deep"
		return
	}
	done := p.Label()
	for i := range s.parts {
		next := p.Label()
		if c := s.parts[i].cond; c != nil {
			g.eval(c, true, low)
			p.JumpZero(r0, next)
		}
		p.Const(chosen, uint64(i+1))
		p.Jump(done)
		p.Bind(next)
	}
	p.Const(chosen, 0)
	p.Bind(done)
	p.Push(chosen)
	for i := range s.parts {
		part := s.parts[i].s
		if part.n == 0 {
			continue
		}
		other, end := p.Label(), p.Label()
		p.ALUImm(ring.ALUEq, r0, chosen, int64(i+1))
		p.JumpZero(r0, other)
		g.push(part, low)
		p.Jump(end)
		p.Bind(other)
		p.Const(r0, 0)
		for range part.n {
			p.Push(r0)
		}
		p.Bind(end)
	}
}

// mine walks the members of the object that are always shown.
func (g *visualGen) mine(s *shape) {
	switch s.kind {
	case shapeMine:
		if g.f.dry || s.bits > 0 {
			return
		}
		if st := s.t.Strip(); s.view != "" && (st.Kind == symbol.KindStruct || st.Kind == symbol.KindUnion) {
			g.p.Sub(g.f.tt.walkOf(s.t, s.view), s.off, noReg)
			return
		}
		g.f.Part(s.t, s.off)
	case shapeItems, shapeFormat:
		for i := range s.parts {
			if s.parts[i].s != nil {
				g.mine(s.parts[i].s)
			}
		}
	}
}
