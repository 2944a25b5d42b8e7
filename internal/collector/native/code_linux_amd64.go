package native

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/strobe-debug/strobe/internal/sorting"
	"github.com/strobe-debug/strobe/internal/symbol"
)

// Values are not looked into when records are read: that costs a hundred times what the record did. What is looked for
// is words that are addresses of code, of functions whose values may have some: each is named once in the session, and
// shown with the name by who reads the payload.

// codeSeen is the drain goroutine's memory of words that were looked at, of one process.
type codeSeen struct {
	scans  int64 // of the modules, when ranges was made
	ranges []codeRange
	gap    codeRange // the widest between two of ranges: of a program and its libraries, where the heap is
	seen   []uint64  // direct-mapped
}

type codeRange struct{ lo, hi uint64 }

// seenSlots words are remembered; a word that comes again after another took its place is looked up again.
const seenSlots = 1 << 12

// seekCode finds addresses of functions at multiples of step in a payload and names those that are new.
func (d *drainer) seekCode(rs *ringState, payload []byte, step int, ts int64) {
	p := rs.p
	c := &p.drain.code
	if scans := p.scans.Load(); c.seen == nil || scans != c.scans {
		c.reset(p, scans)
	}
	if len(c.ranges) == 0 {
		return
	}
	lo, hi, gap := c.ranges[0].lo, c.ranges[len(c.ranges)-1].hi, c.gap
	for at := 0; at+8 <= len(payload); at += step {
		w := binary.LittleEndian.Uint64(payload[at:])
		if w < lo || w >= hi || w >= gap.lo && w < gap.hi {
			continue
		}
		slot := &c.seen[w*0x9E3779B97F4A7C15>>52]
		if *slot == w || !c.has(w) {
			continue
		}
		*slot = w
		d.t.sink.CodeName(int32(rs.pid), w, ts, p.symbolize(w)) // also that there is none any more
	}
}

// has reports whether an address is one of code.
func (c *codeSeen) has(w uint64) bool {
	i, _ := slices.BinarySearchFunc(c.ranges, w, func(r codeRange, w uint64) int {
		if r.hi <= w {
			return -1
		}
		return 1
	})
	return i < len(c.ranges) && c.ranges[i].lo <= w
}

// reset begins anew with the modules that the process has now: at an address there may be another function than before.
func (c *codeSeen) reset(p *process, scans int64) {
	*c = codeSeen{scans: scans, seen: make([]uint64, seenSlots)}
	p.mu.Lock()
	mods := p.modules
	p.mu.Unlock()
	for _, m := range mods {
		c.ranges = append(c.ranges, codeRange{m.code, m.codeHi})
		if m.mod != nil && m.mod.Go {
			// descriptions of types, which interfaces lead to, and those that instances of generic functions are given
			for _, n := range []*symbol.GoTypeNames{m.mod.GoTypeNames(), m.mod.GoDicts()} {
				if n.Hi > n.Lo {
					c.ranges = append(c.ranges, codeRange{uint64(n.Lo) + m.bias, uint64(n.Hi) + m.bias})
				}
			}
		}
	}
	sorting.By(c.ranges, func(a, b codeRange) int { return cmp.Compare(a.lo, b.lo) })
	for i := 1; i < len(c.ranges); i++ {
		if g := (codeRange{c.ranges[i-1].hi, c.ranges[i].lo}); g.lo < g.hi && g.hi-g.lo > c.gap.hi-c.gap.lo {
			c.gap = g
		}
	}
}

// symbolize names the function that begins at an address, "" if none is known to.
func (p *process) symbolize(addr uint64) string {
	p.mu.Lock()
	mods := p.modules
	p.mu.Unlock()
	for _, m := range mods {
		if addr < m.code || addr >= m.codeHi {
			if m.mod != nil && m.mod.Go {
				if name := m.mod.GoTypeNames().Name[symbol.Addr(addr-m.bias)]; name != "" {
					return name
				}
				if types := m.mod.GoDictTypes(symbol.Addr(addr - m.bias)); types != "" {
					return types
				}
			}
			continue
		}
		if mod, err := p.open(m); err == nil {
			if f, off, ok := mod.Lookup(symbol.Addr(addr - m.bias)); ok && off == 0 {
				return f.Name
			}
		}
	}
	return ""
}
