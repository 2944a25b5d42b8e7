package capture

import (
	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/value"
)

func hasVirtualBase(t *symbol.Type) bool {
	for _, f := range t.Fields() {
		if f.Base && f.Virtual && f.VBase > 0 {
			return true
		}
	}
	return false
}

// virtualBase returns the form of a virtual base, which lies where the object's table of virtual functions says.
func (tt *typeTable) virtualBase(base *symbol.Type, level int) int32 {
	s := base.Strip()
	if len(tt.types) >= maxLayoutTypes || s == nil || sizeOf(s) < 0 {
		return tt.at(base, level)
	}
	return tt.add(value.Type{Class: value.ClassVirtualBase, Name: s.Name, Elem: tt.at(s, level),
		Discr: value.TypeField{Type: -1},
		Walk:  tt.walks.id(s, walkBase), ElemWalk: tt.walks.id(s, walkObject)})
}

// virtualBases emits the walks of a class's virtual bases. They come last: an object that is not made yet may have
// anything there, and an address that cannot be read ends the walk.
func (tt *typeTable) virtualBases(p *prog, t *symbol.Type) {
	for _, f := range t.Fields() {
		s := f.Type.Strip()
		if !f.Base || !f.Virtual || f.VBase <= 0 || s == nil || sizeOf(s) <= 0 {
			continue
		}
		none := p.Label()
		p.Load(r0, 0, 8)
		p.JumpZero(r0, none)
		p.LoadMem(r1, r0, -f.VBase, 8)
		p.Addr(r2, 0)
		p.ALU(ring.ALUAdd, r2, r2, r1)
		p.Open(tt.walks.id(s, walkBase))
		p.Push(r2)
		p.Close()
		p.Node(tt.walk(s), r2, noReg, sizeOf(s), false)
		p.Bind(none)
	}
}
