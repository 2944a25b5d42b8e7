package symbol

import "hash/maphash"

var ghostSeed = maphash.MakeSeed()

// maxGhosts bounds the functions without code that are remembered; declarations go first.
const maxGhosts = 1 << 20

// ghostCand is a subprogram without code, by the hash of its linkage or qualified name.
type ghostCand struct {
	hash   uint64
	scan   *unitScan
	sub    *subRec
	reason ghostReason
}

// collectGhosts lists what DWARF knows and no address has, the best explanation first.
func (x *indexer) collectGhosts() {
	have := make(map[uint64]bool, 2*len(x.ix.funcs)+len(x.syms))
	for i := range x.ix.funcs {
		f := &x.ix.funcs[i]
		base, _ := splitClone(f.Raw)
		have[maphash.String(ghostSeed, base)] = true
		have[maphash.String(ghostSeed, f.Name)] = true
	}
	for _, s := range x.syms {
		have[maphash.Bytes(ghostSeed, s.name)] = true
	}
	found := make([][]ghostCand, len(x.scans))
	if err := parallelN(len(x.scans), func(i int) { found[i] = x.ghostsOf(x.scans[i], have) }); err != nil {
		x.ix.problems = append(x.ix.problems, err.Error())
	}
	var picked []ghostCand
	for _, want := range []ghostReason{ghostInlined, ghostDiscarded, ghostDeclared} {
		for _, list := range found {
			for _, c := range list {
				if c.reason == want && !have[c.hash] && len(picked) < maxGhosts {
					have[c.hash] = true
					picked = append(picked, c)
				}
			}
		}
	}
	x.ix.ghosts = make([]ghost, len(picked))
	const chunk = 1024
	if err := parallelN((len(picked)+chunk-1)/chunk, func(c int) {
		for i := c * chunk; i < min((c+1)*chunk, len(picked)); i++ {
			x.ix.ghosts[i] = x.ghost(picked[i])
		}
	}); err != nil {
		x.ix.problems = append(x.ix.problems, err.Error())
	}
}

// ghostsOf lists one unit's subprograms without code whose names are not in have.
func (x *indexer) ghostsOf(s *unitScan, have map[uint64]bool) []ghostCand {
	var out []ghostCand
	for i := range s.subs {
		sub := &s.subs[i]
		reason := sub.ghostly()
		if reason == 0 {
			continue
		}
		var h uint64
		if link := s.u.text(sub.link); len(link) > 0 {
			h = maphash.Bytes(ghostSeed, link)
		} else {
			res := x.resolve(s, sub)
			name := string(res.link)
			if name == "" {
				name = x.qualified(res)
			}
			if name == "" {
				continue
			}
			h = maphash.String(ghostSeed, name)
		}
		if !have[h] {
			out = append(out, ghostCand{h, s, sub, reason})
		}
	}
	return out
}

func (sub *subRec) ghostly() ghostReason {
	switch {
	case sub.flags&(subCode|subCovered) != 0:
		return 0
	case sub.flags&subAbstract != 0:
		return ghostInlined
	case sub.flags&subZero != 0:
		return ghostDiscarded
	case sub.flags&subDecl != 0:
		return ghostDeclared
	}
	return 0
}

func (x *indexer) ghost(c ghostCand) ghost {
	res := x.resolve(c.scan, c.sub)
	g := ghost{raw: string(res.link), line: int(res.line), reason: c.reason}
	if g.raw == "" {
		g.raw = x.qualified(res)
	}
	if c.reason != ghostDeclared {
		g.file = res.path()
	}
	return g
}
