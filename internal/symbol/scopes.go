package symbol

import (
	"cmp"
	"strings"
)

// Scope is one function at an address: the innermost inlined call there, the function that it was
// inlined into, and so on out to the function that has the code.
type Scope struct {
	Function  string // as Function.Name
	Raw       string // as linked, or Function
	Inlined   bool
	Block     uint64 // tells one function or inlined call of a module from another
	File      string // where the address is in this function: of its own code, or of the call that was inlined into it
	Line      int    // 1-based, or 0
	Language  Language
	FrameBase Location // of the function that has the code, also for those inlined into it
	Unit      *ExprUnit
	Locals    []Local // filled by LocalsAt only, parameters first, then by block from the outside
}

// Local is a parameter or local variable that is in scope at an address.
type Local struct {
	Name       string
	Type       *Type
	Loc        Location // at the address; LocNone and LocMissing: optimized out there
	Param      bool
	Artificial bool
	Depth      int    // blocks around it within its function
	File       string // of the declaration
	Line       int

	origin dieRef // the declaration in the abstract instance, or itself
}

// InlinedAt returns the functions whose code is at a, innermost first; the last one is the function
// proper, the others were inlined. Nil without debug information.
func (m *Module) InlinedAt(a Addr) []Scope { return m.scopesAt(a, false) }

// LocalsAt is InlinedAt with the parameters and variables of each function that are in scope at a.
func (m *Module) LocalsAt(a Addr) []Scope { return m.scopesAt(a, true) }

func (m *Module) scopesAt(a Addr, locals bool) (out []Scope) {
	_ = m.guarded(func() error {
		d := m.dwarf()
		if d == nil {
			return nil
		}
		ref := d.subprogramAt(m, uint64(a))
		if ref == 0 {
			if u := d.unitAt(uint64(a)); u != nil { // assembly: lines without functions
				if file, line := u.lineAt(uint64(a), uint64(a)); line > 0 {
					out = []Scope{{File: m.sources.locate(file), Line: line, Language: u.lang}}
				}
			}
			return nil
		}
		w := scopeWalk{d: d, m: m, pc: uint64(a), locals: locals}
		out = w.function(ref)
		return nil
	})
	return out
}

// scopeWalk descends from a subprogram to the blocks around pc.
type scopeWalk struct {
	d      *dwarfData
	m      *Module
	pc     uint64
	locals bool
	call   *callSite // looked for, or nil
	entry  bool      // pc is the function's first address
	steps  int
	scopes []Scope // outermost first
	calls  []callPos
	told   []map[dieRef]bool // of each scope: what of the abstract instance it has
}

type callPos struct {
	file string
	line int
}

// block is what the DIE of a unit, subprogram, inlined call or lexical block says of its code.
type block struct {
	low, high, rng, entry value
	frame                 value
	origin                dieRef
	abstract              bool // origin is the abstract instance
	callFile, callLine    uint64
	sibling               uint64
}

func (u *unit) readBlock(ab *abbrev, r *reader) (b block) {
	for _, at := range ab.attrs {
		switch at.name {
		case atLowPC:
			b.low = u.value(r, at)
		case atHighPC:
			b.high = u.value(r, at)
		case atRanges:
			b.rng = u.value(r, at)
		case atFrameBase:
			b.frame = u.value(r, at)
		case atAbstractOrigin, atSpecification:
			if v := u.value(r, at); v.class == clsRef {
				b.origin, b.abstract = dieRef(v.u), at.name == atAbstractOrigin
			}
		case atCallFile:
			b.callFile = u.value(r, at).u
		case atCallLine:
			b.callLine = u.value(r, at).u
		case atSibling:
			b.sibling = dieRef(u.value(r, at).u).off()
		default:
			u.skip(r, at.form)
		}
	}
	return b
}

func (b *block) ranges(u *unit) []addrRange {
	if b.low.class == clsAddr && b.high.class != clsNone {
		hi := b.high.u
		if b.high.class != clsAddr {
			hi += b.low.u
		}
		if b.low.u != 0 && hi > b.low.u {
			return []addrRange{{b.low.u, hi}}
		}
		return nil
	}
	if b.rng.class == clsNone {
		return nil
	}
	return u.ranges(b.rng)
}

// start returns where the part of the code that holds pc begins; pc if none does.
func (b *block) start(u *unit, pc uint64) uint64 {
	for _, a := range b.ranges(u) {
		if pc >= a.lo && pc < a.hi {
			return a.lo
		}
	}
	return pc
}

// everywhere reports a block without addresses, which counts as part of what is around it: the compiler left no code of
// it alone.
func (b *block) everywhere() bool {
	return b.low.class == clsNone && b.high.class == clsNone && b.rng.class == clsNone
}

func (b *block) holds(u *unit, pc uint64) bool {
	for _, a := range b.ranges(u) {
		if pc >= a.lo && pc < a.hi {
			return true
		}
	}
	return false
}

// function walks the subprogram and returns its scopes, innermost first.
func (w *scopeWalk) function(ref dieRef) []Scope {
	u, ab, r := w.d.die(ref)
	if ab == nil || ab.tag != tagSubprogram {
		return nil
	}
	b := u.readBlock(ab, &r)
	unit := &ExprUnit{m: w.m, u: u}
	if rs := b.ranges(u); len(rs) > 0 {
		w.entry = rs[0].lo == w.pc
	}
	sc := Scope{Block: ref.off(), Language: u.lang, Unit: unit, FrameBase: w.location(u, b.frame, value{})}
	if f, _, ok := w.m.Lookup(Addr(w.pc)); ok {
		sc.Function, sc.Raw = f.Name, f.Raw
	}
	if sc.Function == "" {
		sc.Function, sc.Raw = w.name(ref)
	}
	w.open(sc, callPos{})
	if ab.children && !r.bad {
		w.descend(u, &r, 0, 0, 0)
	}
	w.inherit(0, &b)
	for i := range w.scopes {
		w.scopes[i].Locals = dropDoubles(w.scopes[i].Locals)
	}
	// Each function is at the call of the one inlined into it; the innermost one is where pc is.
	n := len(w.scopes)
	out := make([]Scope, n)
	for i := range w.scopes {
		s := w.scopes[i]
		if i == n-1 {
			s.File, s.Line = u.lineAt(w.pc, b.start(u, w.pc))
			s.File = w.m.sources.locate(s.File)
		} else {
			s.File, s.Line = w.calls[i+1].file, w.calls[i+1].line
		}
		out[n-1-i] = s
	}
	return out
}

func (w *scopeWalk) open(sc Scope, from callPos) (scope int) {
	w.scopes, w.calls, w.told = append(w.scopes, sc), append(w.calls, from), append(w.told, map[dieRef]bool{})
	return len(w.scopes) - 1
}

// descend walks the children of a DIE that holds pc, which belong to a scope, and moves r behind them.
func (w *scopeWalk) descend(u *unit, r *reader, scope, depth, blocks int) {
	for r.off < len(r.b) && !r.bad && w.steps < maxChildren && depth < maxDepth {
		w.steps++
		off := uint64(r.off)
		code := r.uleb()
		if code == 0 {
			return
		}
		ab := u.abbrevs.get(code)
		if ab == nil {
			r.fail()
			return
		}
		switch ab.tag {
		case tagLexicalBlock, tagInlinedSubroutine, tagTryBlock, tagCatchBlock:
			b := u.readBlock(ab, r)
			inlined := ab.tag == tagInlinedSubroutine
			if !inlined {
				w.tell(scope, b.origin)
			}
			switch {
			case !b.holds(u, w.pc) && (inlined || !b.everywhere()):
				if ab.children {
					w.skipTree(u, r, b.sibling)
				}
			case inlined:
				in := w.enter(u, &b, off)
				if ab.children {
					w.descend(u, r, in, depth+1, 0)
				}
				w.inherit(in, &b)
			case ab.children && b.everywhere():
				w.descend(u, r, scope, depth+1, blocks)
			case ab.children:
				w.descend(u, r, scope, depth+1, blocks+1)
			}
		case tagVariable, tagFormalParameter:
			if w.locals {
				w.local(u, ab, r, u.ref(off), scope, blocks)
			} else {
				ab.skipAttrs(r)
			}
			if ab.children {
				w.skipTree(u, r, 0)
			}
		case tagGNUParameterPack:
			ab.skipAttrs(r)
			if ab.children {
				w.descend(u, r, scope, depth+1, blocks)
			}
		case tagCallSite, tagGNUCallSite:
			w.callSite(u, ab, r)
		default:
			b := siblingOf(u, ab, r)
			if ab.children {
				w.skipTree(u, r, b)
			}
		}
	}
}

// siblingOf skips a DIE's attributes and returns where its sibling is, or 0.
func siblingOf(u *unit, ab *abbrev, r *reader) (to uint64) {
	if !ab.children || !ab.sibling {
		ab.skipAttrs(r)
		return 0
	}
	for _, at := range ab.attrs {
		if at.name == atSibling {
			to = dieRef(u.value(r, at).u).off()
			continue
		}
		u.skip(r, at.form)
	}
	return to
}

// skipTree moves r behind the children of a DIE.
func (w *scopeWalk) skipTree(u *unit, r *reader, sibling uint64) {
	if sibling > uint64(r.off) && sibling < uint64(len(r.b)) {
		r.off = int(sibling)
		return
	}
	for depth := 1; r.off < len(r.b) && !r.bad && w.steps < maxChildren; {
		w.steps++
		code := r.uleb()
		if code == 0 {
			if depth--; depth == 0 {
				return
			}
			continue
		}
		ab := u.abbrevs.get(code)
		if ab == nil {
			r.fail()
			return
		}
		ab.skipAttrs(r)
		if ab.children {
			depth++
		}
	}
}

// enter opens the scope of an inlined call.
func (w *scopeWalk) enter(u *unit, b *block, off uint64) (scope int) {
	outer := w.scopes[0]
	sc := Scope{Inlined: true, Block: off, Language: u.lang, Unit: outer.Unit, FrameBase: outer.FrameBase}
	sc.Function, sc.Raw = w.name(b.origin)
	return w.open(sc, callPos{u.filePath(b.callFile), int(min(b.callLine, 1<<30))})
}

// name returns what a subprogram is called, by its origins.
func (w *scopeWalk) name(ref dieRef) (name, raw string) {
	prefix := ""
	for n := 0; n < maxOrigins && ref != 0; n++ {
		u, ab, r := w.d.die(ref)
		if ab == nil {
			break
		}
		next := dieRef(0)
		link := ""
		for _, at := range ab.attrs {
			switch at.name {
			case atName:
				name = string(u.text(u.str(&r, at.form)))
			case atLinkageName, atMIPSLinkageName:
				link = string(u.text(u.str(&r, at.form)))
			case atAbstractOrigin, atSpecification:
				if v := u.value(&r, at); v.class == clsRef {
					next = dieRef(v.u)
				}
			default:
				u.skip(&r, at.form)
			}
		}
		if link != "" {
			if full, _, ok := demangled(link); ok {
				return full, link
			}
		}
		if next == 0 && u.lang != LangC && name != "" { // the last one stands in the namespace or class
			if sp := u.enclosing(ref.off()); sp != nil {
				prefix = u.prefix(sp)
			}
		}
		ref = next
	}
	return prefix + name, name
}

func (w *scopeWalk) location(u *unit, loc, konst value) Location {
	s := sigDecoder{d: w.d, m: w.m, sig: &Signature{}, pc: w.pc, entry: w.entry}
	return s.location(u, loc, konst)
}

// local reads a variable or parameter into a scope.
func (w *scopeWalk) local(u *unit, ab *abbrev, r *reader, ref dieRef, scope, blocks int) {
	l := Local{Param: ab.tag == tagFormalParameter, Depth: blocks}
	var loc, konst, typ value
	konstUnit := u
	declared := false
	read := func(u *unit, ab *abbrev, r *reader, concrete bool) (origin dieRef) {
		for _, at := range ab.attrs {
			switch at.name {
			case atName:
				if s := u.text(u.str(r, at.form)); l.Name == "" {
					l.Name = string(s)
				}
			case atType:
				if v := u.value(r, at); typ.class == clsNone {
					typ = v
				}
			case atLocation:
				if v := u.value(r, at); concrete {
					loc = v
				}
			case atConstValue:
				if v := u.value(r, at); konst.class == clsNone {
					konst, konstUnit = v, u
				}
			case atDeclFile:
				if v := u.value(r, at).u; l.File == "" {
					l.File = u.filePath(v)
				}
			case atDeclLine:
				if v := u.value(r, at).u; l.Line == 0 {
					l.Line = int(min(v, 1<<30))
				}
			case atArtificial:
				l.Artificial = u.value(r, at).u != 0 || l.Artificial
			case atVariableParameter: // a result of Go's
				l.Param = l.Param && u.value(r, at).u == 0
			case atDeclaration:
				declared = u.value(r, at).u != 0
			case atAbstractOrigin, atSpecification:
				if v := u.value(r, at); v.class == clsRef {
					origin = dieRef(v.u)
				}
			default:
				u.skip(r, at.form)
			}
		}
		return origin
	}
	next := read(u, ab, r, true)
	l.origin = cmp.Or(next, ref)
	w.tell(scope, next)
	if declared || r.bad || strings.HasPrefix(l.Name, "~") { // a result of Go's without a name
		return
	}
	for n := 0; n < maxOrigins && next != 0; n++ {
		ou, oab, or := w.d.die(next)
		if oab == nil {
			break
		}
		next = read(ou, oab, &or, false)
	}
	l.Type = w.d.typeOf(w.m, typ, 0)
	if u.lang == LangGo {
		if strings.HasPrefix(l.Name, ".") { // the compiler's own
			return
		}
		l.Name, l.Type = goMoved(l.Name, l.Type)
	}
	if loc.class == clsNone {
		l.Loc = w.location(konstUnit, value{}, konst)
	} else {
		l.Loc = w.location(u, loc, value{})
	}
	sc := &w.scopes[scope]
	sc.Locals = append(sc.Locals, l)
}
