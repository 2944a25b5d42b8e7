package symbol

import (
	"bytes"
	"cmp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync/atomic"
)

// nameTable returns the table of names, built on the first use.
func (m *Module) nameTable() *nameTable {
	m.namesOnce.Do(func() {
		m.named = &nameTable{}
		_ = m.guarded(func() error {
			if d := m.dwarf(); d != nil {
				b := &nameBuilder{m: m, d: d, t: m.named, byUnit: map[*unit]*nameScan{}}
				b.build()
			}
			return nil
		})
	})
	return m.named
}

// nameBuilder builds a nameTable. It lives as long as build runs.
type nameBuilder struct {
	m      *Module
	d      *dwarfData
	t      *nameTable
	scans  []*nameScan
	byUnit map[*unit]*nameScan

	pathIDs map[pathSeg]int32
	text    map[string]string
	bytes   int // of names kept
	seen    map[varKey]bool
	syms    map[string]elfSym
	zeroTLS []string          // symbols at the start of the TLS segment
	locals  map[uint64]string // symbols of statics whose functions have no name
	symtab  bool              // a full symbol table is there
}

// varKey tells variables apart.
type varKey struct {
	path  int32
	name  string
	kind  placeKind
	val   uint64
	konst string
}

func (b *nameBuilder) build() {
	b.t.paths = []pathSeg{{}}
	b.pathIDs, b.text, b.seen = map[pathSeg]int32{}, map[string]string{}, map[varKey]bool{}
	var quota atomic.Int64
	quota.Store(maxNameRecords)
	for _, s := range b.d.secs {
		for _, u := range s.units {
			sc := &nameScan{u: u, sigs: b.d.sigs, quota: &quota}
			b.scans = append(b.scans, sc)
			b.byUnit[u] = sc
		}
	}
	_ = parallelN(len(b.scans), func(i int) { b.scans[i].scanNames() }) // of a damaged unit what was read is kept
	b.readSymbols()
	_ = protect(func() error { b.addVariables(); return nil })
	_ = protect(func() error { b.addTypes(); return nil })
	b.sort()
}

func (b *nameBuilder) sort() {
	for _, vars := range [][]varEntry{b.t.vars, b.t.removed} {
		slices.SortStableFunc(vars, func(x, y varEntry) int { return cmp.Compare(x.key, y.key) })
	}
}

// intern returns a copy of mapped text; equal texts share one. ok is false when too much was kept.
func (b *nameBuilder) intern(s []byte) (string, bool) {
	if t, ok := b.text[string(s)]; ok {
		return t, true
	}
	if len(s) > maxSymbolName || b.bytes+len(s) > maxNameBytes {
		return "", false
	}
	b.bytes += len(s)
	t := strings.ToValidUTF8(string(s), "\uFFFD")
	b.text[string(s)] = t
	return t, true
}

// pathOf returns the path of a scope. Functions are named where they are declared.
func (b *nameBuilder) pathOf(s *nameScan, i int32, depth int) int32 {
	if i <= 0 || depth > maxDepth {
		return 0
	}
	sc := &s.scopes[i]
	if sc.path != 0 {
		return sc.path
	}
	if sc.ref != 0 {
		if o, j := b.scopeAt(sc.ref); o != nil {
			sc.path = b.pathOf(o, j, depth+1)
			return sc.path
		}
	}
	parent := b.pathOf(s, sc.parent, depth+1)
	name := s.u.text(sc.name)
	if sc.anon {
		name = []byte("(anonymous namespace)")
	}
	text, ok := b.intern(name)
	if text == "" || !ok {
		return parent
	}
	sc.path = b.path(pathSeg{parent, sc.skipped, text})
	return sc.path
}

func (b *nameBuilder) path(p pathSeg) int32 {
	id, ok := b.pathIDs[p]
	if !ok {
		id = int32(len(b.t.paths))
		b.t.paths = append(b.t.paths, p)
		b.pathIDs[p] = id
	}
	return id
}

// scopeAt returns the scope that starts at ref.
func (b *nameBuilder) scopeAt(ref dieRef) (*nameScan, int32) {
	u := b.d.unitOf(ref)
	if u == nil {
		return nil, 0
	}
	s := b.byUnit[u]
	i := sort.Search(len(s.scopes), func(i int) bool { return s.scopes[i].off >= ref.off() })
	if i == 0 || i == len(s.scopes) || s.scopes[i].off != ref.off() {
		return nil, 0
	}
	return s, int32(i)
}

// varAt returns the variable at ref.
func (b *nameBuilder) varAt(ref dieRef) (*nameScan, *varDie) {
	u := b.d.unitOf(ref)
	if u == nil || ref == 0 {
		return nil, nil
	}
	s := b.byUnit[u]
	i := sort.Search(len(s.vars), func(i int) bool { return s.vars[i].off >= ref.off() })
	if i == len(s.vars) || s.vars[i].off != ref.off() {
		return nil, nil
	}
	return s, &s.vars[i]
}

// addVariables adds what has an address first, then constants, then what only a symbol knows: each makes
// the weaker claims to the same name needless.
func (b *nameBuilder) addVariables() {
	for pass := range 3 {
		for _, s := range b.scans {
			for i := range s.vars {
				v := &s.vars[i]
				placed := v.place.kind == placeAddr || v.place.kind == placeTLS
				if placed != (pass == 0) || pass > 0 && v.covered || (v.place.kind == placeConst) != (pass == 1) && pass > 0 {
					continue
				}
				b.addVariable(s, v)
			}
		}
	}
}

func (b *nameBuilder) addVariable(s *nameScan, v *varDie) {
	e, link, declared, ok := b.resolve(s, v)
	if !ok {
		return
	}
	switch e.place.kind {
	case placeAddr:
		if !b.m.im.holdsData(e.place.val) {
			e.place = fixedPlace{}
		} else if e.local && e.path == 0 {
			b.nameLocal(&e)
		}
	case placeTLS:
		if e.place.val, ok = b.tlsOffset(e.place.val, link, e.name); !ok {
			e.place = fixedPlace{}
		}
	}
	if e.place.kind == placeTLS && e.u.lang == LangRust {
		b.nameThreadLocal(&e)
	}
	anywhere := varKey{path: e.path, name: e.name} // an external variable of that name is known
	if e.external && b.seen[anywhere] && (e.place.kind == placeNone || e.place.kind == placeConst && declared) {
		return
	}
	if e.external && (e.place.kind == placeNone || e.place.kind == placeConst && declared) {
		// clang gives inline members that are not constant their first value.
		if p := b.symbolPlace(&e, link); p.kind != placeNone {
			e.place = p
		}
	}
	e.key = nameKey([]byte(e.name))
	if e.place.kind == placeNone {
		if !declared && len(b.t.removed) < maxVariables {
			b.t.removed = append(b.t.removed, e)
		}
		return
	}
	k := varKey{e.path, e.name, e.place.kind, e.place.val, string(e.place.b)}
	if b.seen[k] {
		return
	}
	b.seen[k] = true
	b.seen[anywhere] = b.seen[anywhere] || e.external
	if len(b.t.vars) < maxVariables {
		b.t.vars = append(b.t.vars, e)
	}
}

// resolve follows specification and abstract origin: the first DIE says where the variable is, the
// last one stands in the namespace or class that qualifies its name.
func (b *nameBuilder) resolve(s *nameScan, v *varDie) (e varEntry, link []byte, declared, ok bool) {
	e = varEntry{u: s.u, place: v.place, local: v.local}
	declared = v.declared
	where, scope := s, v.scope
	var name []byte
	for n := 0; n < maxOrigins; n++ {
		if name == nil && v.name != 0 {
			name = s.u.text(v.name)
		}
		if link == nil && v.link != 0 {
			link = s.u.text(v.link)
		}
		if e.typ.class == clsNone && v.typ.class != clsNone {
			e.typ = v.typ
		}
		if e.file == 0 && v.file != 0 {
			e.file, e.fileUnit = v.file, s.u
		}
		if e.line == 0 {
			e.line = v.line
		}
		e.external = e.external || v.external
		if !e.local {
			where, scope = s, v.scope
		}
		if v.ref == 0 {
			break
		}
		os, o := b.varAt(v.ref)
		if o == nil {
			os, o = b.readVar(v.ref)
		} else {
			o.covered = true
		}
		if o == nil {
			break
		}
		if !e.local && o.local {
			e.local = true
			where, scope = os, o.scope
		}
		s, v = os, o
	}
	text, kept := b.intern(name)
	if text == "" || !kept || strings.HasSuffix(text, "::{vtable}") {
		return e, nil, false, false
	}
	if bytes.Contains(link, []byte(strconv.Itoa(len(text))+text+"I")) {
		if text, kept = b.intern([]byte(instance(text, link))); !kept {
			return e, nil, false, false
		}
	}
	e.name, e.path = text, b.pathOf(where, scope, 0)
	e.typ.b = nil
	return e, link, declared, true
}

// readVar reads a variable's DIE that no scan kept: a static in a function's abstract instance.
func (b *nameBuilder) readVar(ref dieRef) (*nameScan, *varDie) {
	u, ab, r := b.d.die(ref)
	if ab == nil || ab.tag != tagVariable && ab.tag != tagMember {
		return nil, nil
	}
	quota := &atomic.Int64{}
	quota.Store(quotaStep)
	one := nameScan{u: u, quota: quota}
	one.variable(&r, ab, scanFrame{}, ref.off())
	if len(one.vars) == 0 {
		return nil, nil
	}
	return b.byUnit[u], &one.vars[0]
}

// addTypes merges the types of all units: equal ones are one.
func (b *nameBuilder) addTypes() {
	n := 0
	for _, s := range b.scans {
		n += len(s.types)
	}
	all := make([]typeEntry, 0, n)
	for _, s := range b.scans {
		for i := range s.types {
			e := s.types[i]
			e.path = b.typePath(s, &e)
			e.id = hashName(e.id, []byte{byte(e.path), byte(e.path >> 8), byte(e.path >> 16), byte(e.path >> 24)})
			all = append(all, e)
		}
		s.types = nil
	}
	slices.SortStableFunc(all, func(x, y typeEntry) int {
		return cmp.Or(cmp.Compare(x.key, y.key), cmp.Compare(x.id, y.id), falseFirst(x.declared, y.declared))
	})
	same := func(x, y typeEntry) bool {
		return x.id == y.id && x.declared == y.declared && bytes.Equal(x.u.text(x.name), y.u.text(y.name))
	}
	b.t.types = slices.Clip(slices.CompactFunc(all, same))
}

// typePath returns the path of a type. One with a specification or signature has the path of that.
func (b *nameBuilder) typePath(s *nameScan, e *typeEntry) int32 {
	if e.spec != 0 {
		if o, i := b.scopeAt(e.spec); o != nil {
			return b.t.paths[b.pathOf(o, i, 0)].parent
		}
	}
	return b.pathOf(s, e.path, 0)
}
