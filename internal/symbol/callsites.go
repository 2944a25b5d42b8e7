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

// OffsetSize is how many bytes a reference to another section takes in the unit's expressions.
func (e *ExprUnit) OffsetSize() uint64 {
	if e == nil {
		return 4
	}
	return uint64(e.u.offSize)
}

// Variable returns the variable that is described at an offset of the debug information (DW_OP_implicit_pointer), as it
// is at a.
func (e *ExprUnit) Variable(off uint64, a Addr) (l Local, ok bool) {
	if e == nil {
		return l, false
	}
	_ = e.m.guarded(func() error {
		d := e.m.dwarf()
		if d == nil {
			return nil
		}
		ref := e.u.ref(off)
		u, ab, r := d.die(ref)
		if ab == nil || ab.tag != tagVariable && ab.tag != tagFormalParameter {
			return nil
		}
		_, into, found := e.m.Lookup(a)
		w := scopeWalk{d: d, m: e.m, pc: uint64(a), locals: true, entry: found && into == 0}
		scope := w.open(Scope{}, callPos{})
		w.local(u, ab, &r, ref, scope, 0)
		if ls := w.scopes[scope].Locals; len(ls) > 0 {
			l, ok = ls[0], true
		}
		return nil
	})
	return l, ok
}

// callSite is a call that is looked for, by its return address.
type callSite struct {
	reg   int    // the parameter in this register, or
	param dieRef // that one
	expr  []byte
	found bool
}

// CallValue returns the expression for what the caller had put into a parameter register (a DWARF
// number) at the call that returns to ret. It is to be evaluated in the caller's frame. ok is
// false where the compiler did not write it down.
func (m *Module) CallValue(ret Addr, reg int) (expr []byte, unit *ExprUnit, ok bool) {
	return m.callValue(ret, callSite{reg: reg})
}

// CallArgument is CallValue for the parameter that is described at an offset of a unit of the same module
// (DW_OP_GNU_parameter_ref).
func (m *Module) CallArgument(ret Addr, of *ExprUnit, off uint64) (expr []byte, unit *ExprUnit, ok bool) {
	if of == nil || of.m != m || off >= of.u.end-of.u.off {
		return nil, nil, false
	}
	return m.callValue(ret, callSite{reg: -1, param: of.u.ref(of.u.off + off)})
}

func (m *Module) callValue(ret Addr, site callSite) (expr []byte, unit *ExprUnit, ok bool) {
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
		w := scopeWalk{d: d, m: m, pc: uint64(ret) - 1, call: &site, scopes: make([]Scope, 1),
			told: make([]map[dieRef]bool, 1)}
		ab.skipAttrs(&r)
		w.descend(u, &r, 0, 0, 0)
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
		var loc, val, param value
		for _, at := range c.attrs {
			switch at.name {
			case atLocation:
				loc = u.value(cr, at)
			case atCallValue, atGNUCallSiteValue:
				val = u.value(cr, at)
			case atCallParameter, atAbstractOrigin:
				param = u.value(cr, at)
			default:
				u.skip(cr, at.form)
			}
		}
		const opReg0 = 0x50
		same := len(loc.b) == 1 && int(loc.b[0]) == opReg0+w.call.reg
		if w.call.param != 0 {
			same = param.class == clsRef && dieRef(param.u) == w.call.param
		}
		if same && val.class == clsBlock && len(val.b) > 0 {
			w.call.expr, w.call.found = val.b, true
		}
	})
	w.skipTree(u, r, 0)
}
