package symbol

import (
	"strings"
	"sync/atomic"
)

// NonTrivial reports whether a C++ class is passed and returned through a hidden pointer (Itanium
// ABI: non-trivial for the purposes of calls). clang says so in DWARF 5 (Passing); for gcc, which
// does not, it follows from the class's own destructor, copy and move constructors, its virtual
// functions and bases, and from its members. False for types of other languages.
func (t *Type) NonTrivial() bool {
	return t.once(func(t *Type) *atomic.Int32 { return &t.trivial }, (*Type).nonTrivial)
}

// once answers a question about a class with what was found out before: the same class may be in another many times
// over.
func (t *Type) once(known func(*Type) *atomic.Int32, ask func(*Type) bool) bool {
	t = t.Strip()
	for n := 0; t.Kind == KindArray && n < 16; n++ {
		t = t.Elem().Strip()
	}
	if t.Kind != KindStruct && t.Kind != KindUnion {
		return false
	}
	const no, yes = 1, 2
	k := known(t)
	if k.Load() == 0 {
		answer := int32(no)
		if ask(t) {
			answer = yes
		}
		k.Store(answer)
	}
	return k.Load() == yes
}

func (t *Type) nonTrivial() bool {
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
		if f.Virtual || f.Artificial && strings.HasPrefix(f.Name, "_vptr") || f.Type.NonTrivial() {
			return true
		}
	}
	return false
}

// MayBeNonTrivial reports a class that is trivial as far as its debug information goes, and has, or a member of it has,
// a constructor from its own kind and more: if the rest have defaults, which DWARF does not say, it is a copy
// constructor.
func (t *Type) MayBeNonTrivial() bool {
	return t.once(func(t *Type) *atomic.Int32 { return &t.doubtful }, (*Type).mayBeNonTrivial)
}

func (t *Type) mayBeNonTrivial() bool {
	if t.Passing != PassUnknown {
		return false
	}
	if t.loaded().copying.more {
		return true
	}
	for _, f := range t.Fields() {
		if !f.Static && f.Type.MayBeNonTrivial() {
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
	if !dtor {
		if name != b.class {
			return
		}
		copies, more := b.copies(c, *r)
		if more && !deleted {
			b.body.copying.more = true
		}
		if !copies {
			return
		}
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

// copies reports whether a constructor takes just a reference to its own class, or one and more.
func (b *bodyDecoder) copies(c *abbrev, r reader) (copies, more bool) {
	if !c.children {
		return false, false
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
	return explicit == 1 && self, explicit > 1 && self
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
