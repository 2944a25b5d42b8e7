package symbol

// Nested returns what a class names inside itself: a type, a typedef's with it. Bases are looked through, too. It is
// decoded anew with every call; nil where there is none.
func (t *Type) Nested(name string) *Type {
	var found *Type
	t.inside(0, func(d *dwarfData, u *unit, c *abbrev, r *reader, off uint64) bool {
		switch c.tag {
		case tagTypedef, tagTemplateAlias, tagStructureType, tagClassType, tagUnionType, tagEnumerationType:
		default:
			c.skipAttrs(r)
			return false
		}
		if u.named(c, r) == name {
			found = d.typeAt(t.m, u.ref(off), 0)
		}
		return found != nil
	})
	return found
}

// Constant returns a number that a class names inside itself: an enumerator, or a static member whose value is written
// there.
func (t *Type) Constant(name string) (v int64, of *Type, ok bool) {
	var enums []*Type
	t.inside(0, func(d *dwarfData, u *unit, c *abbrev, r *reader, off uint64) bool {
		switch c.tag {
		case tagMember, tagVariable:
			p := d.templateParam(t.m, u, c, r) // a name, a type and a value, too
			if p.Name == name && p.Const {
				v, of, ok = p.Value, p.Type, true
			}
		case tagEnumerationType:
			c.skipAttrs(r)
			enums = append(enums, d.typeAt(t.m, u.ref(off), 0))
		default:
			c.skipAttrs(r)
		}
		return ok
	})
	for i := 0; i < len(enums) && !ok; i++ {
		if e := enums[i]; e != nil && e.Kind == KindEnum && !e.Scoped {
			for _, one := range e.Enumerators() {
				if one.Name == name {
					return one.Val, e, true
				}
			}
		}
	}
	return v, of, ok
}

// Namesakes returns the types of t's module that a name means, as Module.TypesNamed.
func (t *Type) Namesakes(name string) []*Type {
	if t == nil || t.m == nil {
		return nil
	}
	return t.m.TypesNamed(name)
}

// maxBases bounds how many levels of bases are looked through.
const maxBases = 16

// inside calls f for what a class and its bases have inside, until it returns true. f moves the reader behind the
// entry's attributes.
func (t *Type) inside(depth int, f func(d *dwarfData, u *unit, c *abbrev, r *reader, off uint64) bool) bool {
	if t == nil {
		return false
	}
	if t = t.Strip(); t.m == nil || t.die == 0 || t.Kind != KindStruct && t.Kind != KindUnion || depth > maxBases {
		return false
	}
	done := false
	err := t.m.guarded(func() error {
		d := t.m.dwarf()
		u, ab, r := d.die(t.die)
		if ab == nil || !ab.children {
			return nil
		}
		ab.skipAttrs(&r)
		d.children(u, r, func(c *abbrev, cr *reader, off uint64) {
			if done {
				c.skipAttrs(cr)
				return
			}
			done = f(d, u, c, cr, off)
		})
		return nil
	})
	if err != nil {
		return false
	}
	if done {
		return true
	}
	for _, b := range t.Fields() {
		if b.Base && b.Type.inside(depth+1, f) {
			return true
		}
	}
	return false
}

// named reads an entry's name.
func (u *unit) named(c *abbrev, r *reader) (name string) {
	for _, at := range c.attrs {
		if at.name == atName {
			name = string(u.text(u.str(r, at.form)))
			continue
		}
		u.skip(r, at.form)
	}
	return name
}
