package symbol

// loadElem decodes what a pointer, function or enum refers to.
func (t *Type) loadElem() {
	if t.described != 0 {
		g := t.m.goRuntime()
		_ = t.m.guarded(func() error { t.elem = g.elem(t); return nil })
		return
	}
	if t.m == nil || t.die == 0 {
		return
	}
	_ = t.m.guarded(func() error {
		d := t.m.dwarf()
		u, ab, r := d.die(t.die)
		if ab == nil {
			return nil
		}
		h := d.readHead(u, ab, &r)
		if t.Kind == KindEnum && h.elem.class == clsNone {
			return nil
		}
		if t.Kind == KindStruct || t.Kind == KindUnion || t.Kind == KindBase {
			return nil
		}
		t.elem = d.typeOf(t.m, h.elem, 0)
		return nil
	})
}

// loadBody decodes members, enumerators or parameters.
func (t *Type) loadBody() {
	if t.described != 0 {
		g := t.m.goRuntime()
		_ = t.m.guarded(func() error { t.body = g.body(t); return nil })
		return
	}
	if t.m == nil || t.die == 0 {
		return
	}
	switch t.Kind {
	case KindStruct, KindUnion, KindEnum, KindFunction:
	default:
		return
	}
	err := t.m.guarded(func() error {
		d := t.m.dwarf()
		u, ab, r := d.die(t.die)
		if ab == nil || !ab.children {
			return nil
		}
		ab.skipAttrs(&r)
		b := bodyDecoder{d: d, m: t.m, u: u, body: &t.body, class: plainName(t.Name), whole: t.Name}
		d.children(u, r, b.child)
		return nil
	})
	if err != nil {
		t.body = typeBody{}
	}
}

// QualifiedName returns the name with the namespaces and classes around it, separated by "::".
func (t *Type) QualifiedName() string {
	if t == nil || t.m == nil || t.die == 0 || t.Name == "" {
		if t == nil {
			return "void"
		}
		return t.Name
	}
	name, at := t.Name, t.die
	if t.spec != 0 {
		at = t.spec
	}
	_ = t.m.guarded(func() error {
		d := t.m.dwarf()
		if u := d.unitOf(at); u != nil {
			if s := u.enclosing(at.off()); s != nil {
				name = u.prefix(s) + t.Name
			}
		}
		return nil
	})
	return name
}

// bodyDecoder collects the children of one type DIE.
type bodyDecoder struct {
	d    *dwarfData
	m    *Module
	u    *unit
	body *typeBody

	class string // the name that constructors have
	whole string // the name with template arguments
}

func (b *bodyDecoder) child(c *abbrev, r *reader, off uint64) {
	switch c.tag {
	case tagMember, tagInheritance:
		if f, static := b.field(c, r); !r.bad {
			f.Static = static
			b.body.fields = append(b.body.fields, f)
		}
	case tagVariable: // a static data member in DWARF 5
		if f, _ := b.field(c, r); !r.bad {
			f.Static = true
			b.body.fields = append(b.body.fields, f)
		}
	case tagEnumerator:
		b.enumerator(c, r)
	case tagFormalParameter:
		var typ value
		for _, at := range c.attrs {
			if at.name == atType {
				typ = b.u.value(r, at)
				continue
			}
			b.u.skip(r, at.form)
		}
		b.body.params = append(b.body.params, b.d.typeOf(b.m, typ, 0))
	case tagUnspecifiedParams:
		b.body.variadic = true
		c.skipAttrs(r)
	case tagSubprogram:
		b.method(c, r)
	case tagVariantPart:
		start := *r
		c.skipAttrs(r)
		b.body.variants = b.variantPart(c, start)
	default:
		c.skipAttrs(r)
	}
}

// field decodes a member or base.
func (b *bodyDecoder) field(c *abbrev, r *reader) (f Field, static bool) {
	u := b.u
	var typ value
	var byteSize, oldBitOff int64
	hasOldBits, hasNewBits, hasLoc, external, decl := false, false, false, false, false
	for _, at := range c.attrs {
		switch at.name {
		case atName:
			f.Name = string(u.text(u.str(r, at.form)))
		case atType:
			typ = u.value(r, at)
		case atMemberLocation:
			v := u.value(r, at)
			hasLoc = true
			f.Off, f.VBase, f.Virtual = memberOffset(v)
		case atDataBitOffset:
			f.BitOff, hasNewBits = int64(u.value(r, at).u), true
		case atBitSize:
			f.BitSize = int64(u.value(r, at).u)
		case atBitOffset:
			oldBitOff, hasOldBits = int64(u.value(r, at).u), true
		case atByteSize:
			byteSize = int64(u.value(r, at).u)
		case atArtificial:
			f.Artificial = u.value(r, at).u != 0
		case atExternal:
			external = u.value(r, at).u != 0
		case atDeclaration:
			decl = u.value(r, at).u != 0
		case atVirtuality:
			virtual := u.value(r, at).u != 0
			f.Virtual = f.Virtual || virtual
		default:
			u.skip(r, at.form)
		}
	}
	f.Type = b.d.typeOf(b.m, typ, 0)
	if c.tag == tagInheritance {
		f.Base = true
		f.Name = f.Type.Name
	}
	if f.BitSize > 0 {
		switch {
		case hasNewBits:
			f.Off = f.BitOff / 8
		case hasOldBits:
			// DWARF 3: counted from the most significant bit of a storage unit of byteSize bytes.
			if byteSize == 0 {
				byteSize = max(f.Type.Strip().Size, 0)
			}
			f.BitOff = f.Off*8 + byteSize*8 - oldBitOff - f.BitSize
			f.Off = f.BitOff / 8
		default:
			f.BitOff = f.Off * 8
		}
	}
	return f, (external || decl) && !hasLoc && !hasNewBits
}

// memberOffset reads DW_AT_data_member_location: a constant, or the expression DW_OP_plus_uconst.
// Anything longer is the location of a virtual base, whose offset stands in the table that the object's first word
// leads to.
func memberOffset(v value) (off, vbase int64, virtual bool) {
	if v.class != clsBlock {
		return int64(v.u), 0, false
	}
	const opPlusUconst, opDup, opDeref, opConst1u, opConstu, opLit0, opLit31, opMinus, opPlus = 0x23, 0x12, 0x06, 0x08,
		0x10, 0x30, 0x4f, 0x1c, 0x22
	r := newReader(v.b, 0)
	if r.u8() == opPlusUconst {
		off = int64(r.uleb())
		if !r.bad && r.left() == 0 {
			return off, 0, false
		}
	}
	r = newReader(v.b, 0)
	if r.u8() != opDup || r.u8() != opDeref {
		return 0, 0, true
	}
	switch op := r.u8(); {
	case op == opConst1u:
		vbase = int64(r.u8())
	case op == opConstu:
		vbase = int64(r.uleb())
	case op >= opLit0 && op <= opLit31:
		vbase = int64(op - opLit0)
	}
	if r.u8() != opMinus || r.u8() != opDeref || r.u8() != opPlus || r.bad || r.left() != 0 || vbase <= 0 ||
		vbase > 1<<20 {
		return 0, 0, true
	}
	return 0, vbase, true
}

func (b *bodyDecoder) enumerator(c *abbrev, r *reader) {
	var e Enumerator
	for _, at := range c.attrs {
		switch at.name {
		case atName:
			e.Name = string(b.u.text(b.u.str(r, at.form)))
		case atConstValue:
			v := b.u.value(r, at)
			e.Val, e.Unsigned = constInt(v, at.form), at.form == formUdata
		default:
			b.u.skip(r, at.form)
		}
	}
	b.body.enumerators = append(b.body.enumerators, e)
}

// constInt widens a constant. The fixed-size forms carry no sign: the reader of the value cuts it
// to the type's size, so zero extension loses nothing.
func constInt(v value, form uint16) int64 {
	if v.class == clsBlock {
		r := newReader(v.b, 0)
		return int64(r.u64())
	}
	return int64(v.u)
}

// variantPart decodes the tagged part of a Rust enum. r is behind the abbreviation code.
func (b *bodyDecoder) variantPart(c *abbrev, r reader) *VariantPart {
	vp := &VariantPart{}
	var discr dieRef
	for _, at := range c.attrs {
		if at.name == atDiscr {
			if v := b.u.value(&r, at); v.class == clsRef {
				discr = dieRef(v.u)
			}
			continue
		}
		b.u.skip(&r, at.form)
	}
	if !c.children {
		return vp
	}
	b.d.children(b.u, r, func(c *abbrev, cr *reader, off uint64) {
		switch c.tag {
		case tagMember:
			if f, _ := b.field(c, cr); b.u.ref(off) == discr {
				vp.Discr = &f
			}
		case tagVariant:
			vp.Variants = append(vp.Variants, b.variant(c, cr))
		default:
			c.skipAttrs(cr)
		}
	})
	return vp
}

func (b *bodyDecoder) variant(c *abbrev, r *reader) Variant {
	v := Variant{Default: true}
	for _, at := range c.attrs {
		switch at.name {
		case atDiscrValue:
			n := b.u.value(r, at)
			bits := uint64(constInt(n, at.form))
			v.Discr, v.Default = append(v.Discr, VariantSpan{bits, bits}), false
		case atDiscrList:
			v.Discr, v.Default = append(v.Discr, discrList(b.u.value(r, at).b)...), false
		default:
			b.u.skip(r, at.form)
		}
	}
	if !c.children {
		return v
	}
	b.d.children(b.u, *r, func(c *abbrev, cr *reader, off uint64) {
		if c.tag != tagMember {
			c.skipAttrs(cr)
			return
		}
		if f, _ := b.field(c, cr); !cr.bad {
			v.Fields = append(v.Fields, f)
			if v.Name == "" {
				v.Name = f.Name
			}
		}
	})
	return v
}

// discrList decodes DW_AT_discr_list: labels and ranges, as unsigned LEB numbers.
func discrList(b []byte) []VariantSpan {
	var out []VariantSpan
	for r := newReader(b, 0); r.left() > 0 && !r.bad && len(out) < 256; {
		isRange := r.u8() == 1
		lo := r.uleb()
		hi := lo
		if isRange {
			hi = r.uleb()
		}
		out = append(out, VariantSpan{lo, hi})
	}
	return out
}
