package symbol

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/strobe-debug/strobe/internal/fault"
)

// Signature decodes a function's parameters and result. It fails with NO_DEBUG_SYMBOLS when the
// function has none.
func (m *Module) Signature(f *Function) (*Signature, error) {
	if m.Go && f.HasDWARF && f.die == 0 {
		var sig *Signature
		g := m.goRuntime()
		if err := m.guarded(func() error { sig = g.methodSignature(f); return nil }); err == nil && sig != nil {
			return sig, nil
		}
		return &Signature{Language: LangGo, Bare: true}, nil
	}
	if !f.HasDWARF || f.die == 0 {
		return nil, fault.New(fault.NoDebugSymbols, "Build with -g to see arguments and results.",
			"%s has no debug information", f.Name)
	}
	var out *Signature
	err := m.guarded(func() error {
		d := m.dwarf()
		if d == nil {
			return fault.New(fault.NoDebugSymbols, "Build with -g, or give symbolsPath.", "the debug information of %s is gone",
				m.Path)
		}
		u, ab, _ := d.die(f.die)
		if ab != nil && ab.tag == tagCompileUnit { // see linesOnly
			out = &Signature{Language: u.lang, Unit: Version(u.version), Producer: string(u.text(u.producer)), Bare: true}
			_, out.Clone = splitClone(f.Raw)
			return nil
		}
		if ab == nil || ab.tag != tagSubprogram {
			return fmt.Errorf("read signature of %s: its debug information is damaged", f.Name)
		}
		out = &Signature{Language: u.lang, Unit: Version(u.version), Noreturn: f.NoReturn,
			Producer: string(u.text(u.producer))}
		_, out.Clone = splitClone(f.Raw)
		out.Optimized = optimizedBy(out.Producer)
		sd := sigDecoder{d: d, m: m, sig: out, pc: uint64(f.Low)}
		sd.function(f.die)
		out.Bare = len(out.Params) == 0 && out.Return == nil && u.isBare()
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// optimizedBy looks for the -O flags that gcc writes into DW_AT_producer.
func optimizedBy(producer string) bool {
	for _, o := range []string{" -O1", " -O2", " -O3", " -Os", " -Og", " -Ofast", " -Oz", " -O "} {
		if strings.Contains(producer, o) {
			return true
		}
	}
	return false
}

type sigDecoder struct {
	d   *dwarfData
	m   *Module
	sig *Signature
	pc  uint64

	entry bool // pc is where a function begins that a thread has entered: see addrRange.covers
}

// subDie is what the signature wants of one subprogram DIE.
type subDie struct {
	typ, frame value
	hasType    bool
	origin     dieRef
	proto      bool
	passing    uint64
	params     []paramDie
	vars       []paramDie // of Rust: variables beside them; of Go: what was captured
	variadic   bool
}

// paramDie is one formal parameter, with its own attributes only.
type paramDie struct {
	off        dieRef
	u          *unit
	name       string
	typ        value
	loc, konst value
	origin     dieRef
	artificial bool
	result     bool
	captured   bool
	at         int64 // of what was captured
}

// function merges the concrete DIE with its abstract instance and declaration: the concrete one says
// where things are, the others how they are called.
func (s *sigDecoder) function(ref dieRef) {
	var chain []subDie
	var units []*unit
	for n := 0; n < maxOrigins && ref != 0; n++ {
		u, ab, r := s.d.die(ref)
		if ab == nil {
			break
		}
		sd := s.readSub(u, ab, r)
		chain, units = append(chain, sd), append(units, u)
		ref = sd.origin
	}
	for i := range chain {
		c := &chain[i]
		if c.hasType && s.sig.Return == nil {
			s.sig.Return = s.d.typeOf(s.m, c.typ, 0)
		}
		if c.frame.class == clsBlock && s.sig.FrameBase == nil {
			s.sig.FrameBase = append([]byte(nil), c.frame.b...)
		}
		s.sig.Prototyped = s.sig.Prototyped || c.proto
		s.sig.Variadic = s.sig.Variadic || c.variadic
		if c.passing == 4 || c.passing == 5 {
			s.sig.Passing = Passing(c.passing - 3)
		}
	}
	if s.sig.Language == LangGo && len(chain) > 0 {
		s.captured(chain)
	}
	if s.sig.Return != nil && s.sig.Return.Kind == KindVoid && s.sig.Return == voidType {
		s.sig.Return = nil
	}
	if s.sig.Language != LangC {
		s.sig.Prototyped = true
	}
	s.params(chain)
}

// captured takes what a function of Go's has from the one around it.
func (s *sigDecoder) captured(chain []subDie) {
	for _, c := range chain {
		for i := range c.vars {
			if v := &c.vars[i]; v.captured && v.at >= 0 && v.at < 1<<20 {
				p := s.param(v, nil)
				s.sig.Captured = append(s.sig.Captured, Captured{p.Name, p.Type, v.at})
			}
		}
		if len(s.sig.Captured) > 0 {
			return
		}
	}
}

// params takes the concrete instance's list where it has one: parameters that the abstract instance
// has and the concrete one lacks were removed and have no location.
func (s *sigDecoder) params(chain []subDie) {
	if len(chain) == 0 {
		return
	}
	concrete := chain[0].params
	var abstract []paramDie
	for _, c := range chain[1:] {
		if len(c.params) > 0 {
			abstract = c.params
			break
		}
	}
	if len(abstract) == 0 {
		for i := range concrete {
			s.sig.Params = append(s.sig.Params, s.param(&concrete[i], nil))
		}
		return
	}
	used := make([]bool, len(concrete))
	byOrigin := map[dieRef]int{}
	for i := range concrete {
		if concrete[i].origin != 0 {
			byOrigin[concrete[i].origin] = i
		}
	}
	positional := len(byOrigin) == 0 && len(concrete) == len(abstract)
	for i := range abstract {
		a := &abstract[i]
		j, ok := byOrigin[a.off]
		if !ok && positional {
			j, ok = i, true
		}
		if !ok {
			if len(byOrigin) == 0 && len(concrete) > 0 {
				continue
			}
			p := s.param(a, nil) // removed from the concrete instance, unless it is a constant there
			if p.Loc.Kind != LocConst {
				p.Loc = Location{Kind: LocNone}
			}
			s.sig.Params = append(s.sig.Params, p)
			continue
		}
		used[j] = true
		s.sig.Params = append(s.sig.Params, s.param(&concrete[j], a))
	}
	for j := range concrete {
		if !used[j] {
			s.sig.Params = append(s.sig.Params, s.param(&concrete[j], nil))
		}
	}
}

// param merges a concrete parameter with its origin, which may be nil.
func (s *sigDecoder) param(p, origin *paramDie) Param {
	name, typ, art, result := p.name, p.typ, p.artificial, p.result
	loc, konst, locUnit := p.loc, p.konst, p.u
	next := p.origin
	for n := 0; ; n++ {
		if origin == nil && next != 0 && n < maxOrigins {
			u, ab, r := s.d.die(next)
			if ab == nil {
				break
			}
			o := s.readParam(u, ab, &r, next)
			origin = &o
		}
		if origin == nil {
			break
		}
		if name == "" {
			name = origin.name
		}
		if typ.class == clsNone {
			typ = origin.typ
		}
		if konst.class == clsNone {
			konst = origin.konst
		}
		art, result = art || origin.artificial, result || origin.result
		next, origin = origin.origin, nil
		if next == 0 {
			break
		}
	}
	t := s.d.typeOf(s.m, typ, 0)
	if s.sig.Language == LangGo && !result {
		name, t = goMoved(name, t)
	}
	return Param{Name: name, Type: t, Artificial: art, Result: result && s.sig.Language == LangGo,
		Loc: s.location(locUnit, loc, konst)}
}

func (s *sigDecoder) location(u *unit, loc, konst value) Location {
	switch loc.class {
	case clsBlock:
		if len(loc.b) == 0 {
			return Location{Kind: LocMissing}
		}
		return Location{Kind: LocExpr, Expr: append([]byte(nil), loc.b...)}
	case clsOffset, clsIndex, clsConst:
		s.sig.Optimized = true
		e, at, ok := u.locEntry(loc, s.pc, s.entry)
		out := Location{Kind: LocMissing, Expr: append([]byte(nil), e...), Lo: Addr(at.lo), Hi: Addr(at.hi)}
		if ok && len(e) > 0 {
			out.Kind = LocEntry
		}
		return out
	}
	switch konst.class {
	case clsConst:
		return Location{Kind: LocConst, Const: binary.LittleEndian.AppendUint64(nil, konst.u)}
	case clsBlock:
		return Location{Kind: LocConst, Const: append([]byte(nil), konst.b...)}
	case clsString:
		return Location{Kind: LocConst, Const: append([]byte(nil), u.text(strRef(konst.u))...)}
	}
	return Location{Kind: LocNone}
}

func (s *sigDecoder) readSub(u *unit, ab *abbrev, r reader) subDie {
	var out subDie
	for _, at := range ab.attrs {
		switch at.name {
		case atType:
			out.typ, out.hasType = u.value(&r, at), true
		case atFrameBase:
			out.frame = u.value(&r, at)
		case atAbstractOrigin, atSpecification:
			if v := u.value(&r, at); v.class == clsRef {
				out.origin = dieRef(v.u)
			}
		case atPrototyped:
			out.proto = u.value(&r, at).u != 0
		case atCallingConvention:
			out.passing = u.value(&r, at).u
		default:
			u.skip(&r, at.form)
		}
	}
	if !ab.children || r.bad {
		return out
	}
	var each func(c *abbrev, cr *reader, off uint64)
	packs := 0
	each = func(c *abbrev, cr *reader, off uint64) {
		switch c.tag {
		case tagGNUParameterPack: // the parameters that a C++ pack expanded to
			c.skipAttrs(cr)
			if packs++; c.children && packs < 16 {
				s.d.children(u, *cr, each)
			}
		case tagFormalParameter:
			out.params = append(out.params, s.readParam(u, c, cr, u.ref(off)))
		case tagVariable:
			if s.sig.Language != LangRust && s.sig.Language != LangGo {
				c.skipAttrs(cr)
				break
			}
			out.vars = append(out.vars, s.readParam(u, c, cr, u.ref(off)))
		case tagUnspecifiedParams:
			out.variadic = true
			c.skipAttrs(cr)
		default:
			c.skipAttrs(cr)
		}
	}
	s.d.children(u, r, each)
	if s.sig.Language == LangRust {
		s.nameEmpty(&out)
	}
	return out
}

// nameEmpty names Rust's parameters that take no room: rustc describes them without a name, and beside them, in the
// same order, as variables of the function's outermost scope, which has nothing else.
func (s *sigDecoder) nameEmpty(sub *subDie) {
	next := 0
	for i := range sub.params {
		p := &sub.params[i]
		if len(sub.vars) == 0 || p.name != "" || p.origin != 0 || p.typ.class == clsNone {
			continue
		}
		if t := s.d.typeOf(s.m, p.typ, 0); t == nil || t.Size != 0 {
			continue
		}
		for k := next; k < len(sub.vars); k++ {
			if v := &sub.vars[k]; v.typ.class == p.typ.class && v.typ.u == p.typ.u {
				p.name, next = v.name, k+1
				break
			}
		}
	}
}

func (s *sigDecoder) readParam(u *unit, ab *abbrev, r *reader, ref dieRef) paramDie {
	p := paramDie{off: ref, u: u}
	for _, at := range ab.attrs {
		switch at.name {
		case atName:
			p.name = string(u.text(u.str(r, at.form)))
		case atType:
			p.typ = u.value(r, at)
		case atLocation:
			p.loc = u.value(r, at)
		case atConstValue:
			p.konst = u.value(r, at)
		case atAbstractOrigin, atSpecification:
			if v := u.value(r, at); v.class == clsRef {
				p.origin = dieRef(v.u)
			}
		case atArtificial:
			p.artificial = u.value(r, at).u != 0
		case atVariableParameter:
			p.result = u.value(r, at).u != 0
		case atGoClosureOffset:
			p.captured, p.at = true, int64(u.value(r, at).u)
		default:
			u.skip(r, at.form)
		}
	}
	return p
}
