package symbol

import (
	"slices"
	"sort"
	"strconv"
	"strings"
)

// maxOrigins bounds the chain concrete instance -> abstract instance -> declaration.
const maxOrigins = 6

// resolved is a subprogram with what its origins say.
type resolved struct {
	link, name []byte
	nameScan   *unitScan // whose scopes qualify name
	scope      int32
	fileUnit   *unit
	file, line uint32
	flags      subFlags
	chain      [maxOrigins]*subRec // the origins
}

// path is as the debug information has it.
func (r *resolved) path() string {
	if r.fileUnit == nil {
		return ""
	}
	return r.fileUnit.writtenPath(uint64(r.file) - 1)
}

// resolve follows specification and abstract origin, also into other units and files.
func (x *indexer) resolve(s *unitScan, sub *subRec) (out resolved) {
	var up *subRec
	var upUnit *unit
	for n := 0; ; n++ {
		if sub.upFile != 0 {
			up, upUnit = sub, s.u
		}
		out.flags |= sub.flags & (subNoreturn | subInlined)
		if out.link == nil && sub.link != 0 {
			out.link = s.u.text(sub.link)
		}
		if out.name == nil && sub.name != 0 {
			out.name = s.u.text(sub.name)
		}
		if sub.name != 0 || sub.link != 0 {
			// The last one, the declaration, stands in the namespace or class.
			out.nameScan, out.scope = s, sub.scope
		}
		if out.line == 0 && sub.line != 0 {
			out.line = sub.line
		}
		if out.fileUnit == nil && sub.file != 0 {
			out.file, out.fileUnit = sub.file, s.u
		}
		if n == maxOrigins {
			break
		}
		if s, sub = x.origin(sub.ref); sub == nil {
			break
		}
		out.chain[n] = sub
	}
	if out.fileUnit == nil && up != nil {
		out.file, out.line, out.fileUnit = up.upFile, up.upLine, upUnit
	}
	return out
}

// origin returns the subprogram that ref names, or nil.
func (x *indexer) origin(ref dieRef) (*unitScan, *subRec) {
	if ref == 0 {
		return nil, nil
	}
	u := x.d.unitOf(ref)
	if u == nil {
		return nil, nil
	}
	s := x.byUnit[u]
	i := sort.Search(len(s.subs), func(i int) bool { return s.subs[i].die >= ref.off() })
	if i == len(s.subs) || s.subs[i].die != ref.off() {
		return nil, nil
	}
	return s, &s.subs[i]
}

// qualified builds a name from the namespaces and classes around a declaration.
func (x *indexer) qualified(r resolved) string {
	if len(r.name) == 0 || r.nameScan == nil {
		return string(r.name)
	}
	parts := []string{string(r.name)}
	for n, i := 0, r.scope; i > 0 && n < maxDepth; n++ {
		sc := r.nameScan.scopes[i]
		switch {
		case sc.anon:
			parts = append(parts, "(anonymous namespace)")
		case sc.name != 0:
			parts = append(parts, string(r.nameScan.u.text(sc.name)))
		}
		i = sc.parent
	}
	slices.Reverse(parts)
	return strings.Join(parts, "::")
}

// resolveGroup makes one function of all candidates at an address.
func (x *indexer) resolveGroup(g *entryGroup) {
	var syms []*elfSym
	for _, c := range g.cands {
		if c.sym != nil {
			syms = append(syms, c.sym)
		}
	}
	slices.SortStableFunc(syms, func(a, b *elfSym) int { return symRank(a) - symRank(b) })
	f := &g.fn
	f.Low = Addr(g.cands[0].addr)
	raw := ""
	if res, c := x.pickSub(g, syms); c.sub != nil {
		f.High, f.HasDWARF, f.die = Addr(c.sub.high), true, c.scan.u.ref(c.sub.die)
		f.Language = c.scan.u.lang
		if f.File, f.Line = res.path(), int(res.line); f.File == "" && f.Language != LangAsm && c.scan.u.isBare() {
			// Built with line tables only; else it is a function of the compiler's. Assembly has conventions of its own: no
			// pattern of files is to select it.
			f.File, f.Line = c.scan.u.lineAt(c.sub.low, c.sub.low)
		}
		f.NoReturn = res.flags&subNoreturn != 0
		f.Inlined = res.flags&subInlined != 0
		g.chain = res.chain
		raw = x.nameFrom(f, res, syms)
	}
	if raw == "" && len(syms) > 0 {
		raw = string(syms[0].name)
		f.name(raw)
	}
	f.Raw = raw
	if !f.HasDWARF {
		x.sizeFrom(f, syms)
		x.linesOnly(f)
	}
	g.frag = len(syms) > 0
	for _, s := range syms {
		if s.typ == sttGNUIfunc {
			f.Ifunc = true
		}
		g.frag = g.frag && isFragment(string(s.name))
		x.alias(f, string(s.name))
	}
	f.Fragment = g.frag
}

// pickSub chooses the subprogram whose linkage name is a symbol here; identical code folding and
// COMDAT duplicates put several at one address.
func (x *indexer) pickSub(g *entryGroup, syms []*elfSym) (resolved, cand) {
	var first resolved
	var pick cand
	for _, c := range g.cands {
		if c.sub == nil {
			continue
		}
		res := x.resolve(c.scan, c.sub)
		if pick.sub == nil {
			first, pick = res, c
		}
		name := string(res.link)
		if name == "" {
			name = string(res.name)
		}
		for _, s := range syms {
			base, _ := splitClone(string(s.name))
			if base == name {
				return res, c
			}
		}
	}
	return first, pick
}

// nameFrom names a function that DWARF describes and returns its raw name.
func (x *indexer) nameFrom(f *Function, res resolved, syms []*elfSym) string {
	plain := string(res.name)
	want := string(res.link)
	if want == "" {
		want = plain
	}
	raw := ""
	for _, s := range syms {
		name := string(s.name)
		base, _ := splitClone(name)
		if base == want || trimNumber(base) == want {
			raw = name
			break
		}
	}
	if raw == "" && (want != "" && len(res.link) > 0 || len(syms) == 0) {
		raw = want
	}
	if raw == "" && len(syms) > 0 && isMangled(string(syms[0].name)) {
		raw = string(syms[0].name)
	}
	if isMangled(raw) && (f.Language != LangC || len(res.link) > 0) {
		f.name(raw)
		return raw
	}
	// Not mangled: C (where _Zgetc is a name like any other), Go, extern "C", or a producer without linkage names.
	f.Name = x.qualified(res)
	if f.Name == "" {
		if raw == "" && len(syms) > 0 { // damaged: not even its origin has a name
			raw = string(syms[0].name)
		}
		f.name(raw)
	}
	if raw == "" {
		raw = plain
	}
	if raw == "" && len(syms) > 0 {
		raw = string(syms[0].name)
	}
	return raw
}

// trimNumber removes ".1234", which producers add to local functions of one name.
func trimNumber(s string) string {
	i := strings.LastIndexByte(s, '.')
	if i <= 0 {
		return s
	}
	if _, err := strconv.ParseUint(s[i+1:], 10, 32); err != nil {
		return s
	}
	return s[:i]
}

// name sets Name, and Language where the mangling tells.
func (f *Function) name(raw string) {
	name, lang, ok := demangled(raw)
	if !ok {
		base, _ := splitClone(raw)
		f.Name = base
		return
	}
	f.Name = name
	if f.Language == LangUnknown {
		f.Language = lang
	}
}

// alias adds the name of another symbol at f's address.
func (x *indexer) alias(f *Function, raw string) {
	if raw == f.Raw {
		return
	}
	base, _ := splitClone(raw)
	name, _, _ := demangled(base)
	if name != f.Name && !slices.Contains(f.Aliases, name) && len(f.Aliases) < 16 {
		f.Aliases = append(f.Aliases, name)
	}
}

// sizeFrom takes the size from the symbols.
func (x *indexer) sizeFrom(f *Function, syms []*elfSym) {
	for _, s := range syms {
		if s.size > 0 && s.size <= uint64(len(x.text.data)) {
			f.High = max(f.High, f.Low+Addr(s.size))
		}
	}
	if end := Addr(x.text.textEnd(uint64(f.Low))); f.High > end {
		f.High = end
	}
	f.SizeGuessed = f.High == 0
	if f.SizeGuessed {
		f.High = f.Low
	}
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

func countText(n int64) string {
	if n < 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}
