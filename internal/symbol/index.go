package symbol

import (
	"bytes"
	"slices"
	"sort"
	"strings"
)

// index is what Open needs of a module and what the cache keeps.
type index struct {
	funcs    []Function // by Low, one per address, no fragments
	frags    []Function // by Low
	ghosts   []ghost
	types    []typeRec // by hash, one per hash
	hasDWARF bool
	compiler string
	language Language
	problems []string
}

// ghost is a function without code, not yet demangled.
type ghost struct {
	raw    string // linkage name, or qualified name
	file   string
	line   int
	reason ghostReason
}

type ghostReason uint8

const (
	ghostInlined ghostReason = iota + 1
	ghostDiscarded
	ghostDeclared
)

func (r ghostReason) String() string {
	switch r {
	case ghostInlined:
		return "it has no code of its own: every call was inlined, or it is never called (build with -O0, or mark " +
			"it noinline)"
	case ghostDiscarded:
		return "it has address 0: the linker discarded its code as unused"
	}
	return OnlyDeclared
}

// indexer builds an index. It lives as long as buildIndex runs.
type indexer struct {
	text   *image // the module: code is here
	syms   []elfSym
	d      *dwarfData // nil without debug information
	scans  []*unitScan
	byUnit map[*unit]*unitScan
	ix     *index
	intern map[string]string
}

// buildIndex reads everything once. symFiles are the files whose symbol tables count; d may be nil.
func buildIndex(text *image, symFiles []*image, d *dwarfData) *index {
	x := &indexer{text: text, d: d, ix: &index{}, byUnit: map[*unit]*unitScan{}, intern: map[string]string{}}
	var fns []func()
	fns = append(fns, func() {
		for _, im := range symFiles {
			x.syms = append(x.syms, im.funcSyms(text)...)
		}
	})
	if d != nil {
		for _, s := range d.secs {
			for _, u := range s.units {
				sc := &unitScan{u: u}
				x.scans = append(x.scans, sc)
				x.byUnit[u] = sc
				fns = append(fns, func() { *sc = *d.scanUnit(u) })
			}
		}
	}
	if err := parallelN(len(fns), func(i int) { fns[i]() }); err != nil {
		x.ix.problems = append(x.ix.problems, err.Error())
	}
	x.reportScans()
	cands := x.candidates()
	x.assemble(cands)
	x.collectGhosts()
	x.collectTypes()
	x.describe()
	return x.ix
}

func (x *indexer) reportScans() {
	bad, last := 0, ""
	for _, s := range x.scans {
		if s.problem != "" {
			bad, last = bad+1, s.problem
		}
		if len(s.subs) > 0 {
			x.ix.hasDWARF = true
		}
	}
	if bad > 0 {
		x.ix.problems = append(x.ix.problems, plural(bad, "unit")+" of the debug information could be read only in part: "+
			last)
	}
}

// cand is one claim that a function starts at an address.
type cand struct {
	addr uint64
	sym  *elfSym
	scan *unitScan
	sub  *subRec
}

// candidates lists symbols and subprograms with code, by address.
func (x *indexer) candidates() []cand {
	n := len(x.syms)
	for _, s := range x.scans {
		n += len(s.subs) / 2
	}
	out := make([]cand, 0, n)
	for i := range x.syms {
		out = append(out, cand{addr: x.syms[i].value, sym: &x.syms[i]})
	}
	for _, s := range x.scans {
		for i := range s.subs {
			sub := &s.subs[i]
			if sub.flags&subCode == 0 {
				continue
			}
			if !x.text.isText(sub.low) {
				sub.flags = sub.flags&^subCode | subZero
				continue
			}
			out = append(out, cand{addr: sub.low, scan: s, sub: sub})
		}
	}
	slices.SortStableFunc(out, func(a, b cand) int {
		switch {
		case a.addr < b.addr:
			return -1
		case a.addr > b.addr:
			return 1
		}
		return 0
	})
	return out
}

// entryGroup is all candidates of one address and what became of them.
type entryGroup struct {
	cands []cand
	fn    Function
	frag  bool
	chain [maxOrigins]*subRec
}

func (x *indexer) assemble(cands []cand) {
	starts := 0
	for i := range cands {
		if i == 0 || cands[i].addr != cands[i-1].addr {
			starts++
		}
	}
	groups := make([]entryGroup, 0, starts)
	for i := 0; i < len(cands); {
		j := i + 1
		for j < len(cands) && cands[j].addr == cands[i].addr {
			j++
		}
		groups = append(groups, entryGroup{cands: cands[i:j]})
		i = j
	}
	const chunk = 128
	if err := parallelN((len(groups)+chunk-1)/chunk, func(c int) {
		for i := c * chunk; i < min((c+1)*chunk, len(groups)); i++ {
			x.resolveGroup(&groups[i])
		}
	}); err != nil {
		x.ix.problems = append(x.ix.problems, err.Error())
	}
	x.ix.funcs = make([]Function, 0, starts)
	for i := range groups {
		g := &groups[i]
		for _, sub := range g.chain {
			if sub != nil {
				sub.flags |= subCovered
			}
		}
		if g.fn.Raw == "" && g.fn.Name == "" {
			continue
		}
		x.ix.hasDWARF = x.ix.hasDWARF || g.fn.HasDWARF
		if p, ok := x.intern[g.fn.File]; ok {
			g.fn.File = p
		} else {
			x.intern[g.fn.File] = g.fn.File
		}
		if g.frag {
			x.ix.frags = append(x.ix.frags, g.fn)
		} else {
			x.ix.funcs = append(x.ix.funcs, g.fn)
		}
	}
	x.addExtraRanges()
	x.fixSizes()
}

// addExtraRanges adds the split-off parts of functions that no symbol names.
func (x *indexer) addExtraRanges() {
	known := func(a Addr, in []Function) bool {
		i := sort.Search(len(in), func(i int) bool { return in[i].Low >= a })
		return i < len(in) && in[i].Low == a
	}
	frags := x.ix.frags
	for _, s := range x.scans {
		for _, e := range s.extra {
			sub := &s.subs[e.sub]
			i := sort.Search(len(x.ix.funcs), func(i int) bool { return x.ix.funcs[i].Low >= Addr(sub.low) })
			if i == len(x.ix.funcs) || x.ix.funcs[i].Low != Addr(sub.low) || !x.text.isText(e.lo) ||
				known(Addr(e.lo), frags) || known(Addr(e.lo), x.ix.funcs) {
				continue
			}
			f := x.ix.funcs[i]
			f.Low, f.High, f.Fragment = Addr(e.lo), Addr(e.hi), true
			x.ix.frags = append(x.ix.frags, f)
		}
	}
	slices.SortFunc(x.ix.frags, func(a, b Function) int { return int(int64(a.Low) - int64(b.Low)) })
}

// fixSizes gives functions without a size the room up to the next one, and drops untyped symbols
// inside other functions: they are labels.
func (x *indexer) fixSizes() {
	fs := x.ix.funcs
	out := fs[:0]
	var end Addr
	for i := range fs {
		f := fs[i]
		if f.SizeGuessed {
			if f.Low < end {
				continue
			}
			f.High = Addr(x.text.textEnd(uint64(f.Low)))
			if i+1 < len(fs) && fs[i+1].Low < f.High {
				f.High = fs[i+1].Low
			}
		} else {
			end = max(end, f.High)
		}
		out = append(out, f)
	}
	x.ix.funcs = out
}

// describe settles compiler and language from the unit of main, or the first with code.
func (x *indexer) describe() {
	var pick *unitScan
	for _, s := range x.scans {
		for i := range s.subs {
			sub := &s.subs[i]
			if sub.flags&subCode == 0 {
				continue
			}
			if pick == nil {
				pick = s
			}
			if sub.name != 0 && bytes.Equal(s.u.text(sub.name), []byte("main")) {
				x.setCompiler(s.u)
				return
			}
		}
	}
	if pick != nil {
		x.setCompiler(pick.u)
	}
}

func (x *indexer) setCompiler(u *unit) {
	x.ix.language = u.lang
	x.ix.compiler = shortProducer(string(u.text(u.producer)))
}

// shortProducer cuts the flags off DW_AT_producer.
func shortProducer(p string) string {
	if i := strings.Index(p, " -"); i > 0 {
		p = p[:i]
	}
	if len(p) > 80 {
		p = strings.ToValidUTF8(p[:80], "")
	}
	return p
}

func (x *indexer) collectTypes() {
	n := 0
	for _, s := range x.scans {
		n += len(s.types)
	}
	all := make([]typeRec, 0, n)
	for _, s := range x.scans {
		all = append(all, s.types...)
	}
	slices.SortStableFunc(all, func(a, b typeRec) int {
		switch {
		case a.hash < b.hash:
			return -1
		case a.hash > b.hash:
			return 1
		}
		return 0
	})
	x.ix.types = slices.CompactFunc(all, func(a, b typeRec) bool { return a.hash == b.hash })
}
