package symbol

// DWARF's tags of template arguments.
const (
	tagTemplateType  = 0x2f
	tagTemplateValue = 0x30
)

// TemplateParam is one argument of a class template or of a generic type, as the debug information names it.
type TemplateParam struct {
	Name  string // as in the source: "T"; "" where the producer leaves it out
	Type  *Type  // the type, or of a value parameter the value's; void for void
	Value int64  // of a value parameter, e.g. of array<T, 4>
	Const bool   // Value is known
}

// TemplateParams returns the arguments of a struct, class or union in their order; those of a parameter pack stand in
// the pack's place. They are decoded once; do not change them.
func (t *Type) TemplateParams() []TemplateParam {
	if t == nil || t.m == nil || t.die == 0 || t.Kind != KindStruct && t.Kind != KindUnion {
		return nil
	}
	if known := t.template.Load(); known != nil {
		return *known
	}
	var out []TemplateParam
	err := t.m.guarded(func() error {
		d := t.m.dwarf()
		u, ab, r := d.die(t.die)
		if ab == nil || !ab.children {
			return nil
		}
		ab.skipAttrs(&r)
		one := func(c *abbrev, cr *reader, _ uint64) {
			if c.tag == tagTemplateType || c.tag == tagTemplateValue {
				out = append(out, d.templateParam(t.m, u, c, cr))
				return
			}
			c.skipAttrs(cr)
		}
		d.children(u, r, func(c *abbrev, cr *reader, off uint64) {
			one(c, cr, off)
			if c.tag == tagGNUParameterPack && c.children {
				d.children(u, *cr, one)
			}
		})
		return nil
	})
	if err != nil {
		return nil
	}
	t.template.Store(&out)
	return out
}

// Compiler names what compiled the module that the type is described in, as Module.Compiler.
func (t *Type) Compiler() string {
	if t == nil || t.m == nil {
		return ""
	}
	return t.m.Compiler
}

func (d *dwarfData) templateParam(m *Module, u *unit, c *abbrev, r *reader) TemplateParam {
	var p TemplateParam
	var typ value
	for _, at := range c.attrs {
		switch at.name {
		case atName:
			p.Name = string(u.text(u.str(r, at.form)))
		case atType:
			typ = u.value(r, at)
		case atConstValue:
			v := u.value(r, at)
			p.Value, p.Const = constInt(v, at.form), true
		default:
			u.skip(r, at.form)
		}
	}
	p.Type = d.typeOf(m, typ, 0)
	return p
}
