package symbol

import (
	"encoding/binary"
	"sync/atomic"
)

// DWARF numbers of variables that nothing else in the package reads.
const (
	tagLexicalBlock      = 0x0b
	tagInlinedSubroutine = 0x1d
	atDeclColumn         = 0x39
	atExportSymbols      = 0x89
)

// nameScan is what the table of names takes from one unit.
type nameScan struct {
	u      *unit
	scopes []nameScope // by offset; the first is the outside
	vars   []varDie    // by offset
	types  []typeEntry

	sigs  map[uint64]*unit
	quota *atomic.Int64 // records that may still be kept, of all units
	room  int64         // taken from quota
}

// nameScope is a namespace, type or function that names are qualified with.
type nameScope struct {
	off     uint64
	ref     dieRef // of a function or type: where it is declared, or 0
	name    strRef
	parent  int32
	path    int32 // in nameTable.paths; 0 not yet known
	skipped bool
	anon    bool // an anonymous namespace
}

// varDie is a variable's DIE: one outside of functions, or one inside with a fixed place.
type varDie struct {
	off        uint64
	ref        dieRef // specification or abstract origin
	typ        value
	name, link strRef
	file, line uint32
	scope      int32
	place      fixedPlace
	external   bool
	declared   bool
	local      bool
	covered    bool // another DIE completes this one
}

// scanFrame is what the children of a DIE inherit.
type scanFrame struct {
	scope   int32
	local   bool
	inlined uint64 // an inlined call around, not yet a scope
}

// scanNames walks all DIEs of a unit once.
func (s *nameScan) scanNames() {
	u := s.u
	s.scopes = append(s.scopes, nameScope{parent: -1})
	r := reader{b: u.sec.data[:u.end], off: int(u.dieOff)}
	var stack []scanFrame
	var cur scanFrame
	for r.off < len(r.b) && !r.bad {
		off := r.off
		code := r.uleb()
		if code == 0 {
			if len(stack) == 0 {
				return
			}
			cur = stack[len(stack)-1]
			if stack = stack[:len(stack)-1]; len(stack) == 0 {
				return
			}
			continue
		}
		ab := u.abbrevs.get(code)
		if ab == nil {
			return
		}
		inner := s.scanDie(&r, ab, cur, uint64(off))
		if r.bad || !ab.children && len(stack) == 0 || len(stack) >= maxDepth {
			return
		}
		if ab.children {
			stack = append(stack, cur)
			cur = inner
		}
	}
}

// scanDie reads one DIE's attributes and returns what its children inherit.
func (s *nameScan) scanDie(r *reader, ab *abbrev, cur scanFrame, off uint64) scanFrame {
	switch ab.tag {
	case tagVariable:
		s.variable(r, ab, cur, off)
	case tagMember:
		if ab.has(atExternal) || ab.has(atDeclaration) { // a static member before DWARF 5
			s.variable(r, ab, cur, off)
		} else {
			ab.skipAttrs(r)
		}
	case tagNamespace, tagModule, tagClassType, tagStructureType, tagUnionType, tagInterfaceType, tagEnumerationType,
		tagSubprogram, tagBaseType, tagTypedef, tagTemplateAlias:
		return s.named(r, ab, cur, off)
	case tagInlinedSubroutine:
		ab.skipAttrs(r)
		cur.inlined = off
	default:
		ab.skipAttrs(r)
	}
	return cur
}

func (a *abbrev) has(name uint16) bool {
	for i := range a.attrs {
		if a.attrs[i].name == name {
			return true
		}
	}
	return false
}

// quotaStep is how many records a scan takes from the common quota at once.
const quotaStep = 4096

// take reports whether one more record may be kept.
func (s *nameScan) take() bool {
	if s.room == 0 {
		if s.quota.Add(-quotaStep) < 0 {
			return false
		}
		s.room = quotaStep
	}
	s.room--
	return true
}

// named reads a type or a scope.
func (s *nameScan) named(r *reader, ab *abbrev, cur scanFrame, off uint64) scanFrame {
	u := s.u
	sc := nameScope{off: off, parent: cur.scope}
	declared := false
	var size, line, column uint64
	for _, at := range ab.attrs {
		switch at.name {
		case atName:
			sc.name = u.str(r, at.form)
		case atSpecification, atAbstractOrigin:
			if v := u.value(r, at); v.class == clsRef {
				sc.ref = dieRef(v.u)
			}
		case atSignature:
			if tu := s.sigs[u.value(r, at).u]; tu != nil && sc.ref == 0 {
				sc.ref = tu.ref(tu.off + tu.typeOff)
			}
		case atDeclaration:
			declared = u.value(r, at).u != 0
		case atExportSymbols:
			sc.skipped = u.value(r, at).u != 0
		case atByteSize:
			size = u.value(r, at).u
		case atDeclLine:
			line = u.value(r, at).u
		case atDeclColumn:
			column = u.value(r, at).u
		default:
			u.skip(r, at.form)
		}
	}
	if r.bad {
		return cur
	}
	isScope, isType := ab.children, true
	switch ab.tag {
	case tagNamespace, tagModule:
		isType = false
		sc.anon = sc.name == 0
		sc.skipped = sc.skipped || sc.anon
	case tagSubprogram:
		isType = false
	}
	isScope = isScope || declared // what is declared here may be defined elsewhere
	if isType && sc.name != 0 && s.take() {
		name := u.text(sc.name)
		h := hashName(hashName(hashSeed, name), binary.AppendUvarint(binary.AppendUvarint(binary.AppendUvarint(
			[]byte{byte(ab.tag)}, size), line), column))
		s.types = append(s.types, typeEntry{key: nameKey(name), id: h, u: u, die: u.ref(off), name: sc.name, path: cur.scope,
			spec:     sc.ref,
			declared: declared, local: cur.local, typedef: ab.tag == tagTypedef})
	}
	if !isScope || !s.take() {
		return cur
	}
	s.scopes = append(s.scopes, sc)
	return scanFrame{scope: int32(len(s.scopes) - 1), local: cur.local || ab.tag == tagSubprogram}
}

// variable reads a variable or a static member.
func (s *nameScan) variable(r *reader, ab *abbrev, cur scanFrame, off uint64) {
	u := s.u
	v := varDie{off: off, scope: cur.scope, local: cur.local}
	var konst value
	inObject := false
	for _, at := range ab.attrs {
		switch at.name {
		case atName:
			v.name = u.str(r, at.form)
		case atLinkageName, atMIPSLinkageName:
			v.link = u.str(r, at.form)
		case atSpecification, atAbstractOrigin:
			if to := u.value(r, at); to.class == clsRef {
				v.ref = dieRef(to.u)
			}
		case atType:
			v.typ = u.value(r, at)
		case atLocation:
			if loc := u.value(r, at); loc.class == clsBlock {
				v.place = u.fixedPlace(loc.b)
			}
		case atConstValue:
			konst = u.value(r, at)
		case atDeclFile:
			v.file = u.fileNumber(r, at)
		case atDeclLine:
			v.line = uint32(u.value(r, at).u)
		case atExternal:
			v.external = u.value(r, at).u != 0
		case atDeclaration:
			v.declared = u.value(r, at).u != 0
		case atMemberLocation, atDataBitOffset:
			inObject = true
			u.skip(r, at.form)
		default:
			u.skip(r, at.form)
		}
	}
	if r.bad || inObject || ab.tag == tagMember && !v.external && !v.declared || v.name == 0 && v.ref == 0 {
		return
	}
	fixed := v.place.kind == placeAddr || v.place.kind == placeTLS
	if cur.local && !fixed {
		// What has no place of its own here is a parameter's neighbour on the stack, or extern int x.
		if !v.declared || !v.external {
			return
		}
		v.scope, v.local = 0, false
	}
	if v.place.kind == placeNone && konst.class != clsNone {
		v.place = constPlace(u, konst)
	}
	if !s.take() {
		return
	}
	if cur.inlined != 0 && v.local {
		v.scope = s.inlinedScope(cur)
	}
	s.vars = append(s.vars, v)
}

// inlinedScope makes a scope of the inlined call around a static: the function that was inlined.
func (s *nameScan) inlinedScope(cur scanFrame) int32 {
	for i := len(s.scopes) - 1; i > 0 && s.scopes[i].off >= cur.inlined; i-- {
		if s.scopes[i].off == cur.inlined {
			return int32(i)
		}
	}
	r := reader{b: s.u.sec.data[:s.u.end], off: int(cur.inlined)}
	ab := s.u.abbrevs.get(r.uleb())
	if ab == nil {
		return cur.scope
	}
	for _, at := range ab.attrs {
		if at.name != atAbstractOrigin {
			s.u.skip(&r, at.form)
			continue
		}
		v := s.u.value(&r, at)
		if v.class != clsRef || len(s.scopes) > 1 && s.scopes[len(s.scopes)-1].off >= cur.inlined {
			return cur.scope // scopes stay in order
		}
		s.scopes = append(s.scopes, nameScope{off: cur.inlined, ref: dieRef(v.u), parent: cur.scope})
		return int32(len(s.scopes) - 1)
	}
	return cur.scope
}
