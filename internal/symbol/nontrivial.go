package symbol

import "strings"

// NonTrivial reports whether a C++ class is passed and returned through a hidden pointer (Itanium
// ABI: non-trivial for the purposes of calls). clang says so in DWARF 5 (Passing); for gcc, which
// does not, it follows from the class's own destructor, copy and move constructors, its virtual
// functions and bases, and from its members. False for types of other languages.
func (t *Type) NonTrivial() bool { return t.nonTrivial(0) }

// maxMemberDepth bounds nesting of members by value; a real class cannot contain itself.
const maxMemberDepth = 32

func (t *Type) nonTrivial(depth int) bool {
	t = t.Strip()
	for n := 0; t.Kind == KindArray && n < 16; n++ {
		t = t.Elem().Strip()
	}
	if t.Kind != KindStruct && t.Kind != KindUnion || depth > maxMemberDepth {
		return false
	}
	if t.Passing != PassUnknown {
		return t.Passing == PassByReference
	}
	c := t.loaded().copying
	if c.own || c.deleted && !c.ok {
		return true
	}
	for _, f := range t.Fields() {
		if f.Static {
			continue
		}
		if f.Virtual || f.Artificial && strings.HasPrefix(f.Name, "_vptr") || f.Type.nonTrivial(depth+1) {
			return true
		}
	}
	return false
}

// method notes what a member function says about copying.
func (b *bodyDecoder) method(c *abbrev, r *reader) {
	const atDeleted, atDefaulted = 0x8a, 0x8b
	u := b.u
	var name string
	deleted, defaulted, artificial := false, false, false
	for _, at := range c.attrs {
		switch at.name {
		case atName:
			name = string(u.text(u.str(r, at.form)))
		case atDeleted:
			deleted = u.value(r, at).u != 0
		case atDefaulted:
			defaulted = u.value(r, at).u == 1 // in class
		case atArtificial:
			artificial = u.value(r, at).u != 0
		default:
			u.skip(r, at.form)
		}
	}
	// Implicit ones are as trivial as the members are.
	if artificial || b.class == "" {
		return
	}
	dtor := name == "~"+b.class
	if !dtor && (name != b.class || !b.copies(c, *r)) {
		return
	}
	switch {
	case deleted:
		b.body.copying.deleted = true
	case !defaulted:
		b.body.copying.own = true
	case !dtor:
		b.body.copying.ok = true
	}
}

// copies reports whether a constructor takes just a reference to its own class.
func (b *bodyDecoder) copies(c *abbrev, r reader) bool {
	if !c.children {
		return false
	}
	explicit, self := 0, false
	b.d.children(b.u, r, func(c *abbrev, cr *reader, off uint64) {
		if c.tag != tagFormalParameter {
			c.skipAttrs(cr)
			return
		}
		var typ value
		artificial := false
		for _, at := range c.attrs {
			switch at.name {
			case atType:
				typ = b.u.value(cr, at)
			case atArtificial:
				artificial = b.u.value(cr, at).u != 0
			default:
				b.u.skip(cr, at.form)
			}
		}
		if artificial {
			return
		}
		if explicit++; explicit == 1 && typ.class == clsRef {
			self = b.refersToClass(dieRef(typ.u))
		}
	})
	return explicit == 1 && self
}

// refersToClass follows reference, qualifiers and name without building types: the class's own
// type is being decoded.
func (b *bodyDecoder) refersToClass(ref dieRef) bool {
	isRef := false
	for n := 0; n < 8; n++ {
		u, ab, r := b.d.die(ref)
		if ab == nil {
			return false
		}
		h := b.d.readHead(u, ab, &r)
		switch ab.tag {
		case tagReferenceType, tagRvalueReferenceTyp:
			isRef = true
		case tagConstType, tagVolatileType, tagTypedef:
		default:
			return isRef && h.name == b.whole
		}
		if h.elem.class != clsRef {
			return false
		}
		ref = dieRef(h.elem.u)
	}
	return false
}
