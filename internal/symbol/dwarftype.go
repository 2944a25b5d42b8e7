package symbol

import (
	"slices"
	"sort"
)

// typeAt returns the type of a DIE. Heads are decoded at once, contents when walked. The caller is
// inside guarded.
func (d *dwarfData) typeAt(m *Module, ref dieRef, depth int) *Type {
	d.mu.Lock()
	t, ok := d.types[ref]
	d.mu.Unlock()
	if ok {
		return t
	}
	t = d.decodeHead(m, ref, depth)
	d.mu.Lock()
	defer d.mu.Unlock()
	if old, ok := d.types[ref]; ok {
		return old
	}
	d.types[ref] = t
	return t
}

// typeHead is what one type DIE's attributes say.
type typeHead struct {
	name               string
	size, align        int64
	bitSize            int64
	encoding, passing  uint64
	elem               value
	sig                value
	spec               dieRef
	decl, vector       bool
	scoped, artificial bool
}

func (d *dwarfData) readHead(u *unit, ab *abbrev, r *reader) typeHead {
	h := typeHead{size: -1}
	for _, at := range ab.attrs {
		switch at.name {
		case atName:
			h.name = string(u.text(u.str(r, at.form)))
		case atByteSize:
			if v := u.value(r, at); v.class == clsConst {
				h.size = int64(v.u)
			}
		case atBitSize:
			h.bitSize = int64(u.value(r, at).u)
		case atAlignment:
			h.align = int64(u.value(r, at).u)
		case atEncoding:
			h.encoding = u.value(r, at).u
		case atCallingConvention:
			h.passing = u.value(r, at).u
		case atType:
			h.elem = u.value(r, at)
		case atSignature:
			h.sig = u.value(r, at)
		case atSpecification:
			if v := u.value(r, at); v.class == clsRef {
				h.spec = dieRef(v.u)
			}
		case atDeclaration:
			h.decl = u.value(r, at).u != 0
		case atGNUVector:
			h.vector = u.value(r, at).u != 0
		case atEnumClass:
			h.scoped = u.value(r, at).u != 0
		case atArtificial:
			h.artificial = u.value(r, at).u != 0
		default:
			u.skip(r, at.form)
		}
	}
	return h
}

var kindOfTag = map[uint16]Kind{
	tagBaseType: KindBase, tagPointerType: KindPointer, tagReferenceType: KindReference,
	tagRvalueReferenceTyp: KindRValueReference, tagPtrToMemberType: KindMemberPointer,
	tagStructureType: KindStruct, tagClassType: KindStruct, tagInterfaceType: KindStruct, tagUnionType: KindUnion,
	tagEnumerationType: KindEnum, tagArrayType: KindArray, tagSubroutineType: KindFunction, tagSubprogram: KindFunction,
	tagTypedef: KindTypedef, tagTemplateAlias: KindTypedef, tagConstType: KindConst, tagVolatileType: KindVolatile,
	tagRestrictType: KindOther, tagAtomicType: KindOther, tagPackedType: KindOther, tagSharedType: KindOther,
	tagImmutableType: KindOther, tagUnspecifiedType: KindVoid,
}

var tagNames = map[uint16]string{tagStructureType: "struct", tagClassType: "class", tagUnionType: "union",
	tagEnumerationType: "enum", tagInterfaceType: "interface"}

var encodingOf = map[uint64]Encoding{
	0x01: EncAddress, 0x02: EncBool, 0x03: EncComplex, 0x04: EncFloat, 0x05: EncSigned, 0x06: EncSignedChar,
	0x07: EncUnsigned, 0x08: EncUnsignedChar, 0x09: EncImaginaryFloat, 0x0f: EncDecimalFloat, 0x10: EncUTF, 0x12: EncUTF,
}

func (d *dwarfData) decodeHead(m *Module, ref dieRef, depth int) *Type {
	u, ab, r := d.die(ref)
	if ab == nil || depth > maxTypeChain {
		return unknownType
	}
	kind, ok := kindOfTag[ab.tag]
	if !ok {
		return unknownType
	}
	h := d.readHead(u, ab, &r)
	if r.bad {
		return unknownType
	}
	if h.sig.class == clsSig {
		if tu := d.sigs[h.sig.u]; tu != nil {
			if to := tu.ref(tu.off + tu.typeOff); to != ref {
				return d.typeAt(m, to, depth+1)
			}
		}
		h.decl = true
	}
	t := &Type{Kind: kind, Tag: tagNames[ab.tag], Name: h.name, Size: h.size, Align: h.align, Vector: h.vector,
		Scoped: h.scoped, Artificial: h.artificial, m: m, die: ref, spec: h.spec}
	switch kind {
	case KindBase:
		t.Encoding = encodingOf[h.encoding]
		if h.bitSize > 0 && t.Size < 0 {
			t.Size = (h.bitSize + 7) / 8
		}
	case KindPointer, KindReference, KindRValueReference:
		if t.Size < 0 {
			t.Size = 8
		}
	case KindMemberPointer:
		d.setElem(t, d.typeOf(m, h.elem, depth+1))
		if t.Size < 0 {
			t.Size = 8 // Itanium ABI: an offset; a method is a pair of pointer and adjustment
			if t.elem.Strip().Kind == KindFunction {
				t.Size = 16
			}
		}
	case KindStruct, KindUnion, KindEnum:
		if h.decl {
			if def := d.definition(m, u, ref, depth); def != nil {
				return def
			}
			t.Declared, t.Size = true, -1
		}
		if h.passing == 4 || h.passing == 5 {
			t.Passing = Passing(h.passing - 3)
		}
	case KindTypedef, KindConst, KindVolatile, KindOther:
		d.setElem(t, d.typeOf(m, h.elem, depth+1))
		if t.Size < 0 && t.elem != nil {
			t.Size = t.elem.Size
		}
	case KindArray:
		d.decodeArray(m, t, u, ab, r, h, depth)
	}
	return t
}

func (d *dwarfData) setElem(t, e *Type) { t.elemOnce.Do(func() { t.elem = e }) }

// typeOf returns the type that a DW_AT_type refers to; void without one.
func (d *dwarfData) typeOf(m *Module, v value, depth int) *Type {
	switch v.class {
	case clsRef:
		return d.typeAt(m, dieRef(v.u), depth)
	case clsSig:
		if tu := d.sigs[v.u]; tu != nil {
			return d.typeAt(m, tu.ref(tu.off+tu.typeOff), depth)
		}
		return unknownType
	case clsNone:
		return voidType
	}
	return unknownType
}

// decodeArray reads the dimensions and makes one nested type per dimension.
func (d *dwarfData) decodeArray(m *Module, t *Type, u *unit, ab *abbrev, r reader, h typeHead, depth int) {
	var dims []int64
	var bounds []bound
	if ab.children {
		d.children(u, r, func(c *abbrev, cr *reader, off uint64) {
			if c.tag != tagSubrangeType && c.tag != tagEnumerationType || len(dims) >= 16 {
				c.skipAttrs(cr)
				return
			}
			n, lower, upper := int64(-1), int64(0), int64(-1)
			known := false
			var b bound
			for _, at := range c.attrs {
				switch at.name {
				case atCount:
					if v := u.value(cr, at); v.class == clsConst {
						n, known = int64(v.u), true
					} else {
						b = boundOf(v, false)
					}
				case atUpperBound:
					if v := u.value(cr, at); v.class == clsConst {
						upper = int64(v.u)
						// gcc writes the bound of int[0] as -1 of the index type's width.
						if upper == 1<<32-1 || upper == 1<<8-1 && at.form == formData1 && h.size == 0 {
							upper = -1
						}
						known = true
					} else {
						b = boundOf(v, true)
					}
				case 0x22: // DW_AT_lower_bound
					lower = int64(u.value(cr, at).u)
				default:
					u.skip(cr, at.form)
				}
			}
			if n < 0 && known {
				n = upper - lower + 1
			}
			dims, bounds = append(dims, n), append(bounds, b)
		})
	}
	if len(dims) == 0 {
		dims = []int64{-1}
	}
	elem := d.typeOf(m, h.elem, depth+1)
	for i := len(dims) - 1; i > 0; i-- {
		inner := &Type{Kind: KindArray, Count: dims[i], Size: arraySize(dims[i], elem), m: m, bound: bounds[i]}
		d.setElem(inner, elem)
		elem = inner
	}
	t.Count = dims[0]
	if len(bounds) > 0 {
		t.bound = bounds[0]
	}
	if t.Size < 0 {
		t.Size = arraySize(dims[0], elem)
	}
	if t.Count < 0 && t.Size >= 0 && elem.Size > 0 {
		t.Count = t.Size / elem.Size
	}
	d.setElem(t, elem)
}

func arraySize(n int64, elem *Type) int64 {
	if n < 0 || elem == nil || elem.Size < 0 || elem.Size > 0 && n > (1<<47)/elem.Size {
		return -1
	}
	return n * elem.Size
}

// definition finds the definition of a declared type elsewhere in the module, by qualified name.
func (d *dwarfData) definition(m *Module, u *unit, ref dieRef, depth int) *Type {
	if m == nil || m.ix == nil {
		return nil
	}
	h, ok := u.qualifiedHash(ref.off())
	if !ok {
		return nil
	}
	ts := m.ix.types
	i := sort.Search(len(ts), func(i int) bool { return ts[i].hash >= h })
	if i == len(ts) || ts[i].hash != h || ts[i].die == ref {
		return nil
	}
	t := d.typeAt(m, ts[i].die, depth+1)
	if t.Kind != KindStruct && t.Kind != KindUnion && t.Kind != KindEnum || t.Declared {
		return nil
	}
	return t
}

// children calls fn for each direct child of a DIE, r being behind the parent's attributes. fn must
// consume the child's attributes; the child's own children are skipped.
func (d *dwarfData) children(u *unit, r reader, fn func(c *abbrev, cr *reader, off uint64)) {
	depth := 0
	for n := 0; r.off < len(r.b) && !r.bad && n < maxChildren; n++ {
		off := r.off
		code := r.uleb()
		if code == 0 {
			if depth == 0 {
				return
			}
			depth--
			continue
		}
		c := u.abbrevs.get(code)
		if c == nil {
			return
		}
		if depth == 0 {
			fn(c, &r, uint64(off))
		} else {
			c.skipAttrs(&r)
		}
		if c.children {
			depth++
		}
	}
}

// maxChildren bounds the DIEs below one DIE that are walked.
const maxChildren = 1 << 20

// scopeSpan is a namespace or type, or a function that has types, and the offsets of the DIEs inside it.
type scopeSpan struct {
	lo, hi uint64
	hash   uint64 // not of what is local
	in     int32  // the one around it, -1 for none
	local  bool   // inside a function
}

// spans returns the unit's named scopes by start; inner ones follow outer ones.
func (u *unit) spans() []scopeSpan {
	u.scopeOnce.Do(func() { u.scopes = u.findSpans() })
	return u.scopes
}

func (u *unit) findSpans() []scopeSpan {
	var out []scopeSpan
	type open struct {
		span int32 // the innermost one here
		own  bool  // begins here
		bare bool  // a function that nothing was found in so far
	}
	var stack []open
	r := reader{b: u.sec.data[:u.end], off: int(u.dieOff)}
	for r.off < len(r.b) && !r.bad {
		off := r.off
		code := r.uleb()
		top := len(stack) - 1
		if code == 0 {
			if top < 0 {
				break
			}
			switch s := &stack[top]; {
			case s.bare && int(s.span) == len(out)-1:
				out = out[:s.span]
			case s.own:
				out[s.span].hi = uint64(r.off)
			}
			if stack = stack[:top]; top == 0 {
				break
			}
			continue
		}
		ab := u.abbrevs.get(code)
		if ab == nil || len(stack) >= maxDepth {
			break
		}
		at := open{span: -1}
		if top >= 0 {
			at.span = stack[top].span
		}
		scope := ab.class == scanScope || ab.class == scanSub
		if _, ok := kindOfTag[ab.tag]; ok || scope {
			for k := top; k >= 0; k-- { // blocks of a function are no scopes
				if stack[k].own {
					stack[k].bare = false
					break
				}
			}
		}
		if scope && ab.children {
			sp := scopeSpan{lo: uint64(off), hi: u.end, hash: hashSeed, in: at.span, local: ab.class == scanSub}
			if sp.in >= 0 {
				sp.hash, sp.local = out[sp.in].hash, sp.local || out[sp.in].local
			}
			if sp.local {
				ab.skipAttrs(&r)
			} else {
				sp.hash = hashName(sp.hash, u.nameOf(ab, &r))
			}
			out = append(out, sp)
			at = open{span: int32(len(out) - 1), own: true, bare: ab.class == scanSub}
		} else {
			ab.skipAttrs(&r)
		}
		if ab.children {
			stack = append(stack, at)
		} else if len(stack) == 0 {
			break
		}
	}
	return slices.Clip(out)
}

// prefix is what the names of what lies in a scope begin with.
func (u *unit) prefix(s *scopeSpan) string {
	if known, ok := u.prefixes.Load(s.lo); ok {
		return known.(string)
	}
	out := ""
	if s.in >= 0 {
		out = u.prefix(&u.spans()[s.in])
	}
	r := reader{b: u.sec.data[:u.end], off: int(s.lo)}
	if ab := u.abbrevs.get(r.uleb()); ab != nil {
		if name := string(u.nameOf(ab, &r)); name != "" {
			out += name + "::"
		} else if ab.tag == tagNamespace {
			out += "(anonymous namespace)::"
		}
	}
	u.prefixes.Store(s.lo, out)
	return out
}

func (u *unit) nameOf(ab *abbrev, r *reader) (name []byte) {
	for _, at := range ab.attrs {
		if at.name == atName {
			name = u.text(u.str(r, at.form))
			continue
		}
		u.skip(r, at.form)
	}
	return name
}

// enclosing returns the innermost scope around off, excluding one that starts there.
func (u *unit) enclosing(off uint64) *scopeSpan {
	ss := u.spans()
	i := int32(sort.Search(len(ss), func(i int) bool { return ss[i].lo >= off }) - 1)
	for ; i >= 0; i = ss[i].in {
		if ss[i].hi > off {
			return &ss[i]
		}
	}
	return nil
}

// qualifiedHash returns the hash that the index has for the type DIE at off.
func (u *unit) qualifiedHash(off uint64) (uint64, bool) {
	r := reader{b: u.sec.data[:u.end], off: int(off)}
	ab := u.abbrevs.get(r.uleb())
	if ab == nil {
		return 0, false
	}
	name := slices.Clone(u.nameOf(ab, &r))
	if len(name) == 0 || r.bad {
		return 0, false
	}
	h := uint64(hashSeed)
	if s := u.enclosing(off); s != nil {
		if s.local {
			return 0, false
		}
		h = s.hash
	}
	return hashName(h, name), true
}
