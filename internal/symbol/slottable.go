package symbol

import (
	"github.com/strobe-debug/strobe/internal/sorting"
)

// SlotTables finds tables of functions by one of their words: those in which the word at slot is the entry of a
// function of this name, each instance of a generic function with a table of its own. Libraries of Rust that erase
// types by hand make such tables, which no debug information describes. Of a table, Params are the instance's generic
// arguments; Anchor is slot. They are looked for once.
func (t *Type) SlotTables(function string, slot int64) []Vtable {
	if t == nil || t.m == nil {
		return nil
	}
	type key struct {
		function string
		slot     int64
	}
	found := t.m.Memo(key{function, slot}, func() any {
		var out []Vtable
		_ = t.m.guarded(func() error {
			out = t.m.slotTables(function, slot)
			return nil
		})
		return out
	})
	return found.([]Vtable)
}

func (m *Module) slotTables(function string, slot int64) []Vtable {
	instances := map[uint64]*Function{}
	for i := range m.ix.funcs {
		if f := &m.ix.funcs[i]; f.HasDWARF && f.die != 0 && f.Name == function {
			instances[uint64(f.Low)] = f
		}
	}
	var out []Vtable
	if len(instances) == 0 {
		return nil
	}
	m.im.relocations(func(at, info, addend uint64) {
		f := instances[addend]
		if f == nil || info != relocRelative || len(out) >= maxVtables || int64(at) < slot {
			return
		}
		v := Vtable{Addr: Addr(at) - Addr(slot), Anchor: slot}
		v.Delta = int64(addend) - int64(v.Addr)
		v.Params = m.functionParams(f.die)
		out = append(out, v)
	})
	sorting.By(out, func(a, b Vtable) int { return int(a.Addr - b.Addr) })
	return out
}

// functionParams returns the generic arguments of a function, which stand where it is described first.
func (m *Module) functionParams(at dieRef) []*Type {
	d := m.dwarf()
	for range 3 {
		u, ab, r := d.die(at)
		if ab == nil {
			return nil
		}
		origin := dieRef(0)
		for _, a := range ab.attrs {
			if a.name == atAbstractOrigin || a.name == atSpecification {
				if v := u.value(&r, a); v.class == clsRef {
					origin = dieRef(v.u)
				}
				continue
			}
			u.skip(&r, a.form)
		}
		var out []*Type
		if ab.children {
			d.children(u, r, func(c *abbrev, cr *reader, _ uint64) {
				if c.tag != tagTemplateType {
					c.skipAttrs(cr)
					return
				}
				out = append(out, d.templateParam(m, u, c, cr).Type)
			})
		}
		if len(out) > 0 || origin == 0 {
			return out
		}
		at = origin
	}
	return nil
}
