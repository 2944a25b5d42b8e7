package native

import (
	"cmp"
	"time"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/sorting"
)

// Values that lead far fill rings and disk, and the more often a function is called, the less each call tells. So the
// agent looks at what a thread has recorded of a function within the last moments (ring.Spent): beyond a bound a call's
// values are cut, nearest first, and marked. Functions that are called seldom are recorded in full beside it.

// spares says how much that is, in bytes, and to how much a call is cut then; who asked for a depth has more of it.
func (w want) spares() [2]int {
	if w.given {
		return [2]int{32 * ring.AllowBytes, 512}
	}
	return [2]int{16 * ring.AllowBytes, 256}
}

// cutNames is how many functions the status names of which values were cut.
const cutNames = 3

// tellCut brings the status up to date, with the ticks and for a flush.
func (d *drainer) tellCut(flush bool, now time.Time) {
	if !flush && now.Sub(d.cutAt) < heatTick {
		return
	}
	d.cutAt = now
	c := collector.Cut{Functions: len(d.cut)}
	for _, n := range d.cut {
		c.Calls += n
	}
	if c.Calls == d.cutTold {
		return
	}
	d.cutTold = c.Calls
	most := make([]*function, 0, len(d.cut))
	for fn := range d.cut {
		most = append(most, fn)
	}
	sorting.By(most, func(a, b *function) int {
		return cmp.Or(cmp.Compare(d.cut[b], d.cut[a]), cmp.Compare(a.sym.Name, b.sym.Name))
	})
	for _, fn := range most[:min(len(most), cutNames)] {
		c.Most = append(c.Most, publicName(fn.sym))
	}
	d.t.mu.Lock()
	defer d.t.mu.Unlock()
	d.t.status.Cut = c
}
