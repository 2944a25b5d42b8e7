package capture

import (
	"github.com/strobe-debug/strobe/internal/expr"
	"github.com/strobe-debug/strobe/internal/natvis"
	"github.com/strobe-debug/strobe/internal/ring"
)

// maxListSteps bounds how often the loops of one list go round.
const maxListSteps = 1500

// list collects the records of a list, and makes their walk.
func (g *visualGen) list(s *shape) {
	p, l := g.p, s.list
	tt := g.f.tt
	id := g.v.id(tt, walkSeq, listPart(l))
	p.Const(listLeft, limit)
	p.Const(listFuel, maxListSteps)
	p.Open(id)
	done, over := p.Label(), p.Label()
	switch l.kind {
	case natvis.IndexListItems:
		g.indexList(s, done)
	case natvis.LinkedListItems:
		g.linkedList(s, done, over)
	case natvis.TreeItems:
		g.tree(s, done, over)
	default:
		g.customList(s, done, over)
	}
	p.Bind(done)
	p.Close()
	if !l.sized {
		total := listTotal
		if l.kind == natvis.CustomListItems {
			total = customTotal
		}
		p.Open(g.v.id(tt, walkWords, " total"+listPart(l)))
		p.Push(total)
	}
	p.Bind(over)
	p.Close()
	if g.f.dry || tt.walks.defined(id) {
		return
	}
	record := &visualGen{f: g.f, v: g.v, p: &prog{}}
	record.follow(l.record, false)
	if len(record.p.ops) == 0 {
		return
	}
	one := g.v.id(tt, walkSeqElem, listPart(l))
	tt.define(one, record.p)
	all := &prog{}
	all.loop(one, 0, int64(8*l.record.n), -1, 0)
	tt.define(id, all)
}

// element pushes a record, if it is to be shown and there is room, and counts it.
func (g *visualGen) element(l *listShape, total reg) {
	p := g.p
	next := p.Label()
	if l.show != nil && l.kind != natvis.TreeItems {
		g.eval(l.show, true, listTemps)
		p.JumpZero(r0, next)
	}
	p.ALUImm(ring.ALUAdd, total, total, 1)
	p.JumpZero(listLeft, next)
	p.ALUImm(ring.ALUSub, listLeft, listLeft, 1)
	g.record(l.record)
	p.Bind(next)
}

// record pushes the words of one element.
func (g *visualGen) record(s *shape) {
	for _, w := range s.words {
		g.eval(w.e, w.asValue, listTemps)
		g.p.Push(r0)
	}
	for i := range s.parts {
		g.record(s.parts[i].s)
	}
}

// burn ends a loop that has gone round too often.
func (g *visualGen) burn(over label) {
	g.p.JumpZero(listFuel, over)
	g.p.ALUImm(ring.ALUSub, listFuel, listFuel, 1)
}

func (g *visualGen) indexList(s *shape, done label) {
	p := g.p
	top := p.Label()
	p.Const(listI, 0)
	p.Const(listTotal, 0)
	p.Load(listHead, int64(8*s.slot), 8)
	p.Bind(top)
	p.ALU(ring.ALUULt, r0, listI, listHead)
	p.JumpZero(r0, done)
	p.JumpZero(listLeft, done)
	g.burn(done)
	g.element(s.list, listTotal)
	p.ALUImm(ring.ALUAdd, listI, listI, 1)
	p.Jump(top)
}

func (g *visualGen) linkedList(s *shape, done, over label) {
	p, l, at := g.p, s.list, int64(8*s.slot)
	top := p.Label()
	p.Const(listI, 0)
	p.Const(listTotal, 0)
	if l.sized {
		p.Load(listTotal, at, 8) // here: how many there are
		at += 8
		over = done
	}
	p.Load(listNode, at, 8)
	p.ALUImm(ring.ALUAdd, listHead, listNode, 0)
	p.Bind(top)
	p.JumpZero(listNode, done)
	count := listTotal
	if l.sized {
		count = listI
		p.ALU(ring.ALUULt, r0, listI, listTotal)
		p.JumpZero(r0, done)
		p.JumpZero(listLeft, done)
	}
	g.burn(over)
	g.element(l, count)
	g.eval(l.next, true, listTemps)
	p.ALUImm(ring.ALUAdd, listNode, r0, 0)
	p.ALU(ring.ALUNe, r0, listNode, listHead) // a ring ends where it began
	p.JumpNot(r0, top)
}

// tree goes through a binary tree in order. There is no room for a stack: the way to the node at hand is kept as bits,
// 1 for right, and gone again from the root to come up.
func (g *visualGen) tree(s *shape, done, over label) {
	p, l, at := g.p, s.list, int64(8*s.slot)
	down, visit, climb, again, goneAll := p.Label(), p.Label(), p.Label(), p.Label(), p.Label()
	p.Const(listI, 0)
	p.Const(listTotal, 0)
	if l.sized {
		p.Load(listI, at, 8)
		at += 8
		over = done
	}
	p.Load(listHead, at, 8)
	p.ALUImm(ring.ALUAdd, listNode, listHead, 0)
	p.Const(listPath, 0)
	p.Const(listDepth, 0)
	p.JumpZero(listNode, done)
	g.exists(l, done)
	p.Bind(down) // as far left as it goes
	g.burn(over)
	p.ALUImm(ring.ALUULt, r0, listDepth, 62)
	p.JumpZero(r0, over)
	p.ALUImm(ring.ALUAdd, listJ, listNode, 0)
	g.eval(l.left, true, listTemps)
	p.ALUImm(ring.ALUAdd, listNode, r0, 0)
	noLeft := p.Label()
	p.JumpZero(listNode, noLeft)
	g.exists(l, noLeft)
	p.ALUImm(ring.ALUAdd, listDepth, listDepth, 1)
	p.Jump(down)
	p.Bind(noLeft)
	p.ALUImm(ring.ALUAdd, listNode, listJ, 0)
	p.Bind(visit)
	g.element(l, listTotal)
	if l.sized {
		p.JumpZero(listLeft, done)
		p.ALU(ring.ALUULt, r0, listTotal, listI)
		p.JumpZero(r0, done)
	}
	g.burn(over)
	p.ALUImm(ring.ALUAdd, listJ, listNode, 0)
	g.eval(l.right, true, listTemps)
	p.ALUImm(ring.ALUAdd, listNode, r0, 0)
	p.JumpZero(listNode, climb)
	g.exists(l, climb)
	p.Const(r0, 1)
	p.ALU(ring.ALUShl, r0, r0, listDepth)
	p.ALU(ring.ALUOr, listPath, listPath, r0)
	p.ALUImm(ring.ALUAdd, listDepth, listDepth, 1)
	p.Jump(down)
	p.Bind(climb) // up, as long as it came from the right
	p.JumpZero(listDepth, goneAll)
	p.ALUImm(ring.ALUSub, listDepth, listDepth, 1)
	p.ALU(ring.ALUShr, r0, listPath, listDepth)
	p.ALUImm(ring.ALUAnd, r0, r0, 1)
	p.Const(r1, 1)
	p.ALU(ring.ALUShl, r1, r1, listDepth)
	p.ALUImm(ring.ALUSub, r1, r1, 1)
	p.ALU(ring.ALUAnd, listPath, listPath, r1)
	p.JumpNot(r0, climb)
	p.ALUImm(ring.ALUAdd, listNode, listHead, 0)
	p.Const(listJ, 0)
	p.Bind(again)
	g.burn(over)
	p.ALU(ring.ALUULt, r0, listJ, listDepth)
	p.JumpZero(r0, visit)
	p.ALU(ring.ALUShr, r0, listPath, listJ)
	p.ALUImm(ring.ALUAnd, r0, r0, 1)
	right, moved := p.Label(), p.Label()
	p.JumpNot(r0, right)
	g.eval(l.left, true, listTemps)
	p.Jump(moved)
	p.Bind(right)
	g.eval(l.right, true, listTemps)
	p.Bind(moved)
	p.ALUImm(ring.ALUAdd, listNode, r0, 0)
	p.ALUImm(ring.ALUAdd, listJ, listJ, 1)
	p.Jump(again)
	p.Bind(goneAll)
}

// exists jumps where the node at hand is none: its condition does not hold, as that of a sentinel.
func (g *visualGen) exists(l *listShape, none label) {
	if l.show != nil {
		g.eval(l.show, true, listTemps)
		g.p.JumpZero(r0, none)
	}
}

// customList runs the statements of CustomListItems.
func (g *visualGen) customList(s *shape, done, over label) {
	p, l := g.p, s.list
	p.Const(customTotal, 0)
	for i := range l.vars {
		g.eval(l.vars[i].initial, true, firstVarReg)
		p.ALUImm(ring.ALUAdd, l.vars[i].in, r0, 0)
	}
	g.statements(l, l.code, done, done, over)
	p.Jump(done)
}

const firstVarReg = reg(firstVar)

// statements writes code. out is where Break leads to, done the end.
func (g *visualGen) statements(l *listShape, code []listCode, out, done, over label) {
	p := g.p
	for i := range code {
		st := &code[i]
		switch st.kind {
		case natvis.Loop:
			top, end := p.Here(), p.Label()
			g.burn(over)
			if st.cond != nil {
				g.eval(st.cond, true, firstVarReg)
				p.JumpZero(r0, end)
			}
			g.statements(l, st.body, end, done, over)
			p.Jump(top)
			p.Bind(end)
		case natvis.If:
			other, end := p.Label(), p.Label()
			if st.cond != nil {
				g.eval(st.cond, true, firstVarReg)
				p.JumpZero(r0, other)
			}
			g.statements(l, st.body, out, done, over)
			p.Jump(end)
			p.Bind(other)
			g.statements(l, st.els, out, done, over)
			p.Bind(end)
		default:
			next := p.Label()
			if st.cond != nil {
				g.eval(st.cond, true, firstVarReg)
				p.JumpZero(r0, next)
			}
			switch st.kind {
			case natvis.Break:
				p.Jump(out)
			case natvis.Exec:
				g.eval(st.e, true, firstVarReg)
				g.assign(st.to)
			case natvis.Emit:
				g.element(l, customTotal)
				if l.sized {
					p.JumpZero(listLeft, done)
				}
			}
			p.Bind(next)
		}
	}
}

// assign sets a variable to r0, as its type has it.
func (g *visualGen) assign(to *listVar) {
	p := g.p
	if size := to.typ.Size(); size < 8 && size > 0 && to.typ.Kind() != expr.KindPointer {
		shift := uint32(ring.ALUShr)
		if to.typ.Signed() {
			shift = ring.ALUSar
		}
		p.ALUImm(ring.ALUShl, r0, r0, 64-8*size)
		p.ALUImm(shift, r0, r0, 64-8*size)
	}
	p.ALUImm(ring.ALUAdd, to.in, r0, 0)
}
