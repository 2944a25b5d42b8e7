package symbol

import "bytes"

// ExprUnit is what DWARF expressions of one unit refer to besides registers and memory.
type ExprUnit struct {
	m *Module
	u *unit
}

// AddrAt returns entry i of the unit's address table (DW_OP_addrx): a link-time address.
func (e *ExprUnit) AddrAt(i uint64) (a Addr, ok bool) {
	if e == nil {
		return 0, false
	}
	_ = e.m.guarded(func() error {
		v := e.u.addrAt(i)
		a, ok = Addr(v), v != 0
		return nil
	})
	return a, ok
}

// BaseType returns the base type at an offset of the unit (DW_OP_convert and the like), or nil.
func (e *ExprUnit) BaseType(off uint64) (t *Type) {
	if e == nil {
		return nil
	}
	_ = e.m.guarded(func() error {
		if d := e.m.dwarf(); d != nil && off < e.u.end-e.u.off {
			if at := d.typeAt(e.m, e.u.ref(e.u.off+off), 0); at.Kind == KindBase {
				t = at
			}
		}
		return nil
	})
	return t
}

// callSite is a call that is looked for, by its return address.
type callSite struct {
	reg   int
	expr  []byte
	found bool
}

// CallValue returns the expression for what the caller had put into a parameter register (a DWARF
// number) at the call that returns to ret. It is to be evaluated in the caller's frame. ok is
// false where the compiler did not write it down.
func (m *Module) CallValue(ret Addr, reg int) (expr []byte, unit *ExprUnit, ok bool) {
	_ = m.guarded(func() error {
		d := m.dwarf()
		if d == nil || ret == 0 {
			return nil
		}
		ref := d.subprogramAt(m, uint64(ret)-1)
		u, ab, r := d.die(ref)
		if ref == 0 || ab == nil || !ab.children {
			return nil
		}
		w := scopeWalk{d: d, m: m, pc: uint64(ret) - 1, call: &callSite{reg: reg}, scopes: make([]Scope, 1)}
		ab.skipAttrs(&r)
		w.descend(u, &r, 0, 0)
		if w.call.found {
			expr, unit, ok = bytes.Clone(w.call.expr), &ExprUnit{m: m, u: u}, true
		}
		return nil
	})
	return expr, unit, ok
}

// callSite reads a call site and its parameters where it is the one looked for.
func (w *scopeWalk) callSite(u *unit, ab *abbrev, r *reader) {
	var ret uint64
	for _, at := range ab.attrs {
		switch {
		case at.name == atCallReturnPC, at.name == atLowPC && ab.tag == tagGNUCallSite:
			ret = u.value(r, at).u
		default:
			u.skip(r, at.form)
		}
	}
	if !ab.children {
		return
	}
	if w.call == nil || w.call.found || ret != w.pc+1 {
		w.skipTree(u, r, 0)
		return
	}
	inner := *r
	w.d.children(u, inner, func(c *abbrev, cr *reader, _ uint64) {
		var loc, val value
		for _, at := range c.attrs {
			switch at.name {
			case atLocation:
				loc = u.value(cr, at)
			case atCallValue, atGNUCallSiteValue:
				val = u.value(cr, at)
			default:
				u.skip(cr, at.form)
			}
		}
		const opReg0 = 0x50
		if len(loc.b) == 1 && int(loc.b[0]) == opReg0+w.call.reg && val.class == clsBlock && len(val.b) > 0 {
			w.call.expr, w.call.found = val.b, true
		}
	})
	w.skipTree(u, r, 0)
}
