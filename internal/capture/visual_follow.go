package capture

import (
	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/value"
)

// follow copies what the words of a shape lead to; lists: what lists collect, else all but that, since a bad address in
// a list's middle ends the program.
func (g *visualGen) follow(s *shape, lists bool) {
	p, off := g.p, int64(8*s.slot)
	if lists != (s.kind == shapeList) && s.kind != shapeItems && s.kind != shapeFormat && s.kind != shapeChoice {
		return
	}
	switch s.kind {
	case shapeWord:
		if !g.f.dry {
			g.f.tt.part(p, s.t, off)
		}
	case shapePlace:
		p.Load(r0, off, 8)
		if s.deeper {
			p.Node(g.f.tt.pointeeWalk(s.t.Strip()), r0, noReg, sizeOf(s.t.Strip()), true)
		} else {
			p.Node(g.walkOf(s.t, s.view), r0, noReg, sizeOf(s.t.Strip()), g.recurs(s))
		}
	case shapeString:
		p.Load(r0, off, 8)
		p.Load(r1, off+8, 8)
		p.ALUImm(ring.ALUMul, r2, r0, max(sizeOf(s.t.Strip()), 1))
		p.Node(value.WalkBytes, r1, r2, maxString, false)
	case shapeWide:
		g.wide(s)
	case shapeSpan:
		p.Load(r0, off, 8)
		p.Load(r1, off+8, 8)
		g.elements(s, r1, r0)
	case shapeGrid:
		rank := len(s.words) - 1
		p.Load(r0, off, 8)
		for i := 1; i < rank; i++ {
			p.Load(r1, off+int64(8*i), 8)
			p.ALU(ring.ALUMul, r0, r0, r1)
		}
		p.Load(r1, off+int64(8*rank), 8)
		g.elements(s, r1, r0)
	case shapeChoice:
		g.chosen(s, lists)
	case shapeItems, shapeFormat:
		for i := range s.parts {
			if s.parts[i].s != nil {
				g.follow(s.parts[i].s, lists)
			}
		}
	case shapeList:
		g.list(s)
	}
}

func (g *visualGen) walkOf(t *symbol.Type, view string) uint16 {
	if g.f.dry {
		return 0
	}
	return g.f.tt.walkOf(t, view)
}

func (g *visualGen) recurs(s *shape) bool { return !g.f.dry && g.v.recurs(g.f.tt, s) }

// elements copies n elements at the address in register at.
func (g *visualGen) elements(s *shape, at, n reg) {
	t := s.t
	size := max(sizeOf(t.Strip()), 1)
	walk := uint16(0)
	if !g.f.dry {
		g.f.tt.walk(t)
		walk = g.f.tt.arrayWalk(t)
	}
	g.p.ALUImm(ring.ALUMul, r2, n, size)
	g.p.Node(walk, at, r2, min(size*value.MaxElems, maxObject/size*size), g.recurs(s))
}

// chosen follows the part that a choice has taken.
func (g *visualGen) chosen(s *shape, lists bool) {
	p := g.p
	for i := range s.parts {
		part := s.parts[i].s
		if part.n == 0 && !part.hasList() {
			continue
		}
		next := p.Label()
		p.Load(r1, int64(8*s.slot), 8)
		p.ALUImm(ring.ALUEq, r1, r1, int64(i+1))
		p.JumpZero(r1, next)
		g.follow(part, lists)
		p.Bind(next)
	}
}

// maxWide is how many units of text without a length are looked through.
const maxWide = 300

// wide copies text up to a NUL, of units of several bytes.
func (g *visualGen) wide(s *shape) {
	p, size := g.p, max(sizeOf(s.t.Strip()), 1)
	top, end := p.Label(), p.Label()
	p.Load(r0, int64(8*s.slot), 8)
	p.JumpZero(r0, end)
	p.ALUImm(ring.ALUAdd, r1, r0, 0)
	p.Const(r2, maxWide)
	p.Bind(top)
	p.LoadMem(r3, r1, 0, size)
	done := p.Label()
	p.JumpZero(r3, done)
	p.ALUImm(ring.ALUAdd, r1, r1, size)
	p.ALUImm(ring.ALUSub, r2, r2, 1)
	p.JumpNot(r2, top)
	p.Bind(done)
	p.ALU(ring.ALUSub, r1, r1, r0)
	p.Node(value.WalkBytes, r0, r1, maxString, false)
	p.Bind(end)
}
