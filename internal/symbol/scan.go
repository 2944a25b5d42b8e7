package symbol

// scanClass says what the index wants of a DIE.
type scanClass uint8

const (
	scanSkip  scanClass = iota // nothing
	scanLeaf                   // nothing, and no function can be below: use DW_AT_sibling
	scanScope                  // a namespace, class or module: its name
	scanSub                    // a subprogram
)

func classOf(tag uint16) scanClass {
	switch tag {
	case tagSubprogram:
		return scanSub
	case tagNamespace, tagClassType, tagStructureType, tagUnionType, tagModule, tagInterfaceType, tagEnumerationType:
		return scanScope
	case tagSubroutineType, tagArrayType:
		return scanLeaf
	}
	return scanSkip
}

type subFlags uint16

const (
	subDecl     subFlags = 1 << iota // declaration
	subInlined                       // an abstract instance whose calls were inlined
	subAbstract                      // has DW_AT_inline
	subCode                          // has an address
	subNoreturn
	subCovered // an origin of a subprogram with code
	subZero    // its code was discarded: address 0 or a linker's tombstone
)

// subRec is one subprogram DIE.
type subRec struct {
	die        uint64 // offset in the section
	ref        dieRef // specification or abstract origin, 0 for none
	low, high  uint64
	name, link strRef
	file, line uint32 // file: DW_AT_decl_file + 1, 0 for none
	upFile     uint32 // where the class or function around it is declared: lambdas have no place of their own
	upLine     uint32
	scope      int32
	flags      subFlags
}

// scopeRec is a namespace or type that names are qualified with.
type scopeRec struct {
	name   strRef
	hash   uint64
	parent int32
	anon   bool // an anonymous namespace
}

// typeRec is a defined, named type outside functions.
type typeRec struct {
	hash uint64
	die  dieRef
}

// unitScan is what the index takes from one unit.
type unitScan struct {
	u        *unit
	subs     []subRec // by offset
	scopes   []scopeRec
	types    []typeRec
	extra    []extraRange
	problem  string
	optimize bool
}

// extraRange is a further range of a function that is not contiguous.
type extraRange struct {
	addrRange
	sub int // in subs
}

// bytesPerSub is about how much debug information producers spend per subprogram; a first capacity.
const bytesPerSub = 150

// maxDepth bounds the nesting of DIEs.
const maxDepth = 512

// scanUnit walks all DIEs of a unit once.
func (d *dwarfData) scanUnit(u *unit) *unitScan {
	s := &unitScan{u: u, scopes: []scopeRec{{parent: -1, hash: hashSeed}}}
	s.subs = make([]subRec, 0, (u.end-u.off)/bytesPerSub)
	r := reader{b: u.sec.data[:u.end], off: int(u.dieOff)}
	stack := make([]scanLevel, 0, 32)
	var scope scanLevel
	for r.off < len(r.b) {
		off := r.off
		code := r.uleb()
		if code == 0 {
			if len(stack) == 0 {
				break
			}
			scope = stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if len(stack) == 0 {
				break
			}
			continue
		}
		ab := u.abbrevs.get(code)
		if ab == nil {
			s.problem = "a DIE has an unknown abbreviation"
			break
		}
		inner := scope
		jump := uint64(0)
		switch ab.class {
		case scanSkip:
			ab.skipAttrs(&r)
		case scanLeaf:
			if ab.children && ab.sibling {
				jump = s.sibling(&r, ab)
			} else {
				ab.skipAttrs(&r)
			}
		case scanScope:
			inner, jump = s.scanScope(&r, ab, scope, uint64(off))
		case scanSub:
			inner, jump = s.scanSub(&r, ab, scope, uint64(off))
		}
		if r.bad {
			s.problem = "a DIE runs past its unit"
			break
		}
		if !ab.children {
			if len(stack) == 0 {
				break
			}
			continue
		}
		if jump > uint64(r.off) && jump < uint64(len(r.b)) {
			r.off = int(jump)
			continue
		}
		if len(stack) >= maxDepth {
			s.problem = "DIEs are nested too deeply"
			break
		}
		stack = append(stack, scope)
		scope = inner
	}
	return s
}

// sibling skips a DIE's attributes and returns where its sibling is, or 0.
func (s *unitScan) sibling(r *reader, ab *abbrev) uint64 {
	var to uint64
	for _, at := range ab.attrs {
		if at.name == atSibling {
			if v := s.u.value(r, at); v.class == clsRef {
				to = dieRef(v.u).off()
			}
			continue
		}
		s.u.skip(r, at.form)
	}
	return to
}

// scanLevel is what the children of a DIE inherit.
type scanLevel struct {
	scope      int32
	file, line uint32
}

// functionScope is the scope of DIEs inside functions: types there are local and not indexed.
const functionScope = int32(-2)

func (s *unitScan) scanScope(r *reader, ab *abbrev, level scanLevel, off uint64) (inner scanLevel, jump uint64) {
	u := s.u
	var rec scopeRec
	decl := false
	scope := level.scope
	for _, at := range ab.attrs {
		switch at.name {
		case atName:
			rec.name = u.str(r, at.form)
		case atDeclaration:
			decl = u.value(r, at).u != 0
		case atDeclFile:
			level.file = u.fileNumber(r, at)
		case atDeclLine:
			level.line = uint32(u.value(r, at).u)
		case atSibling:
			if ab.tag == tagEnumerationType {
				jump = dieRef(u.value(r, at).u).off()
				continue
			}
			u.skip(r, at.form)
		default:
			u.skip(r, at.form)
		}
	}
	if scope == functionScope {
		return level, jump
	}
	rec.parent = scope
	rec.anon = rec.name == 0 && ab.tag == tagNamespace
	parent := s.scopes[scope].hash
	rec.hash = hashName(parent, u.text(rec.name))
	if !decl && rec.name != 0 && ab.tag != tagNamespace && ab.tag != tagModule {
		s.types = append(s.types, typeRec{rec.hash, u.ref(off)})
	}
	if !ab.children {
		return level, jump
	}
	s.scopes = append(s.scopes, rec)
	level.scope = int32(len(s.scopes) - 1)
	return level, jump
}

func (s *unitScan) scanSub(r *reader, ab *abbrev, level scanLevel, off uint64) (inner scanLevel, jump uint64) {
	u := s.u
	rec := subRec{die: off, scope: max(level.scope, 0), upFile: level.file, upLine: level.line}
	var low, high, entry, rng value
	for _, at := range ab.attrs {
		switch at.name {
		case atName:
			rec.name = u.str(r, at.form)
		case atLinkageName, atMIPSLinkageName:
			rec.link = u.str(r, at.form)
		case atSpecification, atAbstractOrigin:
			if v := u.value(r, at); v.class == clsRef {
				rec.ref = dieRef(v.u)
			}
		case atLowPC:
			low = u.value(r, at)
		case atHighPC:
			high = u.value(r, at)
		case atEntryPC:
			entry = u.value(r, at)
		case atRanges:
			rng = u.value(r, at)
		case atDeclFile:
			rec.file = u.fileNumber(r, at)
		case atDeclLine:
			rec.line = uint32(u.value(r, at).u)
		case atDeclaration:
			rec.set(subDecl, u.value(r, at).u != 0)
		case atInline:
			v := u.value(r, at).u
			rec.set(subAbstract, true)
			rec.set(subInlined, v == 1 || v == 3)
		case atNoreturn:
			rec.set(subNoreturn, u.value(r, at).u != 0)
		case atSibling:
			jump = dieRef(u.value(r, at).u).off()
		default:
			u.skip(r, at.form)
		}
	}
	s.place(&rec, low, high, entry, rng)
	s.subs = append(s.subs, rec)
	if rec.flags&(subCode|subAbstract|subZero) != 0 {
		jump = 0 // local classes and nested functions are inside
	}
	inner = scanLevel{functionScope, level.file, level.line}
	if rec.file != 0 {
		inner.file, inner.line = rec.file, rec.line
	}
	return inner, jump
}

// fileNumber reads DW_AT_decl_file as number + 1: 0 is a file in DWARF 5.
func (u *unit) fileNumber(r *reader, at abbrevAttr) uint32 {
	n := u.value(r, at).u
	if n == 0 && u.version < 5 || n > maxLineFiles {
		return 0
	}
	return uint32(n) + 1
}

func (rec *subRec) set(f subFlags, on bool) {
	if on {
		rec.flags |= f
	}
}

// place settles the addresses of a subprogram.
func (s *unitScan) place(rec *subRec, low, high, entry, rng value) {
	if low.class == clsAddr && high.class != clsNone {
		rec.low, rec.high = low.u, high.u
		if high.class != clsAddr {
			rec.high = low.u + high.u
		}
		if low.u == 0 || low.u >= ^uint64(1) || rec.high < rec.low {
			rec.flags |= subZero
			return
		}
		rec.flags |= subCode
		return
	}
	if rng.class == clsNone {
		return
	}
	rs := s.u.ranges(rng)
	if len(rs) == 0 || rs[0].lo == 0 {
		rec.flags |= subZero
		return
	}
	first := 0
	if entry.class == clsAddr {
		for i, a := range rs {
			if a.lo == entry.u {
				first = i
			}
		}
	}
	rec.low, rec.high = rs[first].lo, rs[first].hi
	rec.flags |= subCode
	for i, a := range rs {
		if i != first {
			s.extra = append(s.extra, extraRange{a, len(s.subs)})
		}
	}
}

// hashSeed starts the hash of a qualified name.
const hashSeed = 14695981039346656037

// hashName adds one segment to the hash of a qualified name (FNV-1a: stable across runs, since it is cached).
func hashName(h uint64, name []byte) uint64 {
	h = (h ^ 0xff) * 1099511628211
	for _, c := range name {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h
}
