package symbol

import (
	"cmp"
	"slices"
	"sort"
	"sync"
)

// codeUnits finds the unit and the subprogram of an address where no function record leads to
// them: split-off parts of functions, and assembly with lines only. Built when somebody asks.
type codeUnits struct {
	once  sync.Once
	spans []unitSpan // by lo

	mu   sync.Mutex // guards subs
	subs map[*unit][]subSpan
}

type unitSpan struct {
	addrRange
	u *unit
}

type subSpan struct {
	addrRange
	die dieRef
}

// unitAt returns the unit whose root says that it has the code at pc, or nil.
func (d *dwarfData) unitAt(pc uint64) *unit {
	d.code.once.Do(func() {
		for _, s := range d.secs {
			if s.file != d.main || s.types {
				continue
			}
			for _, u := range s.units {
				for _, a := range u.rootRanges() {
					d.code.spans = append(d.code.spans, unitSpan{a, u})
				}
			}
		}
		slices.SortStableFunc(d.code.spans, func(a, b unitSpan) int { return cmp.Compare(a.lo, b.lo) })
	})
	in := d.code.spans
	i := sort.Search(len(in), func(i int) bool { return in[i].lo > pc }) - 1
	const overlaps = 8 // units do not overlap; damaged or discarded ones do
	for n := 0; i >= 0 && n < overlaps; i, n = i-1, n+1 {
		if pc < in[i].hi {
			return in[i].u
		}
	}
	return nil
}

// rootRanges returns the code that the root DIE claims.
func (u *unit) rootRanges() []addrRange {
	r := reader{b: u.sec.data[:u.end], off: int(u.dieOff)}
	ab := u.abbrevs.root(r.uleb())
	if ab == nil {
		return nil
	}
	b := u.readBlock(ab, &r)
	return b.ranges(u)
}

// content returns the unit that has the DIEs: the split one of a skeleton.
func (u *unit) content() *unit {
	if u.split != nil {
		return u.split
	}
	return u
}

// subprogramAt returns the concrete subprogram whose code pc is in, or 0.
func (d *dwarfData) subprogramAt(m *Module, pc uint64) dieRef {
	if f, _, ok := m.Lookup(Addr(pc)); ok && f.die != 0 {
		if _, ab, _ := d.die(f.die); ab != nil && ab.tag == tagSubprogram {
			return f.die
		}
	}
	u := d.unitAt(pc)
	if u == nil {
		return 0
	}
	u = u.content()
	d.code.mu.Lock()
	defer d.code.mu.Unlock()
	subs, ok := d.code.subs[u]
	if !ok {
		s := d.scanUnit(u)
		for i := range s.subs {
			if sub := &s.subs[i]; sub.flags&subCode != 0 {
				subs = append(subs, subSpan{addrRange{sub.low, sub.high}, u.ref(sub.die)})
			}
		}
		for _, e := range s.extra {
			subs = append(subs, subSpan{e.addrRange, u.ref(s.subs[e.sub].die)})
		}
		if d.code.subs == nil {
			d.code.subs = map[*unit][]subSpan{}
		}
		d.code.subs[u] = subs
	}
	best := subSpan{}
	for _, s := range subs {
		if pc >= s.lo && pc < s.hi && (best.die == 0 || s.hi-s.lo < best.hi-best.lo) {
			best = s
		}
	}
	return best.die
}

// maxLineSteps bounds the rows that are looked at for one with a line.
const maxLineSteps = 100

// lineAt returns the source position of pc by the line program of u, the file as it is written there. Optimizers give
// code that they merged line 0: it gets the position of the code before it, no further back than floor.
func (u *unit) lineAt(pc, floor uint64) (file string, line int) {
	t := u.lineTable()
	if t == nil {
		return "", 0
	}
	row, ok := t.find(pc)
	for steps := 0; ok && row.line == 0 && row.addr > floor && steps < maxLineSteps; steps++ {
		row, ok = t.find(row.addr - 1)
	}
	if !ok || row.line == 0 {
		return "", 0
	}
	return t.written(u, uint64(row.file)), int(row.line)
}
