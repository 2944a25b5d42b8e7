package query

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/strobe-debug/strobe/internal/columns"
	"github.com/strobe-debug/strobe/internal/sorting"
)

// Bounds of what is told as new.
const (
	leastBits = 2.0 // how unlikely it was, as a power of two
	maxNovel  = 12  // functions
)

// novelty is how unlikely what calls were given and did was to be new, in bits, by how often something new came in the
// learned rows: the share of what came once is the chance that the next is new (Good and Turing).
type novelty struct {
	given, did []float64 // of each row behind the learned ones
	what       []string  // of each: what was the least likely that it did
	learned    int
}

// bitsOfNew returns the cells of n rows and how unlikely another one is.
func bitsOfNew[K comparable](n int, at func(row int) K) (seen map[K]int, bits float64) {
	seen = map[K]int{}
	for row := range n {
		seen[at(row)]++
	}
	once := 0
	for _, k := range seen {
		if k == 1 {
			once++
		}
	}
	return seen, max(0, -math.Log2((float64(once)+0.5)/float64(n+1)))
}

// noveltyOf compares the rows behind the learned ones with these.
func noveltyOf(c *calls, learned int, shared map[string]bool) *novelty {
	t, rows := c.table, len(c.table.Rows)
	out := &novelty{learned: learned, given: make([]float64, rows-learned), did: make([]float64, rows-learned),
		what: make([]string, rows-learned)}
	if learned < learnedCalls {
		return out
	}
	for _, col := range t.Columns() {
		if col.Place == columns.Took || col.Place == columns.Computed || col.Inner() ||
			shared[strings.TrimPrefix(col.Path, outPrefix)] || c.isNoise(col) {
			continue
		}
		at := func(row int) columns.Cell { return anyAddress(col.At(row)) }
		seen, bits := bitsOfNew(learned, at)
		if isSetting(t, col, learned) {
			continue
		}
		given := col.Place == columns.Argument || col.Place == columns.Watch
		for row := learned; row < rows; row++ {
			cell := at(row)
			switch at := row - learned; {
			case seen[cell] > 0 || cell.Kind == columns.Absent && t.Rows[row].Exit == 0:
			case given:
				out.given[at] = max(out.given[at], bits)
			case bits > out.did[at]:
				out.did[at], out.what[at] = bits, col.Path+"="+cut(t.Show(cell), cellWidth)
			}
		}
	}
	if c.noise.ways {
		return out
	}
	seen, bits := bitsOfNew(learned, func(row int) uint64 { return c.ways.way[row] })
	for row := learned; row < rows; row++ {
		if at := row - learned; seen[c.ways.way[row]] == 0 && bits > out.did[at] {
			out.did[at], out.what[at] = bits, "the calls that it made"
		}
	}
	return out
}

// anyAddress makes all addresses one.
func anyAddress(c columns.Cell) columns.Cell {
	if c.Kind == columns.Address || c.Kind == columns.Marker || c.Kind == columns.Whole {
		c = columns.Cell{Kind: columns.Address}
	}
	return c
}

// isSetting reports a column with one value in the learned rows and one other behind them: what a run has from its
// machine, time or input.
func isSetting(t *columns.Table, c *columns.Column, learned int) bool {
	for row := range t.Rows {
		if row != 0 && row != learned && c.At(row) != c.At(row-1) {
			return false
		}
	}
	return c.At(0) != c.At(learned) && c.At(0).Kind != columns.Absent
}

// origin is a call that did what is new though nothing that it was given was, nor what its own calls did.
type origin struct {
	c    *calls
	row  int
	bits float64
	what string
	more int
}

// origins are where what is new in this session came from, the least likely first, one for each function.
func (g *gathered) origins(learned map[*calls]int, shared map[string]bool) (out []origin) {
	all := map[*calls]*novelty{}
	for _, c := range g.all {
		all[c] = noveltyOf(c, learned[c], shared)
	}
	// What a call's own calls did new was given to it.
	for _, c := range g.all {
		n := all[c]
		for at := range n.did {
			up := c.ways.parent[at+n.learned]
			if up.calls == nil || up.calls == c {
				continue
			}
			if m := all[up.calls]; up.row >= m.learned {
				m.given[up.row-m.learned] = max(m.given[up.row-m.learned], n.did[at])
			}
		}
	}
	for _, c := range g.all {
		n, best := all[c], origin{}
		for at := range n.did {
			bits := n.did[at] - n.given[at]
			if bits < leastBits {
				continue
			}
			best.more++
			if bits > best.bits {
				best.c, best.row, best.bits, best.what = c, at+n.learned, bits, n.what[at]
			}
		}
		if best.c != nil {
			out = append(out, best)
		}
	}
	sorting.By(out, func(x, y origin) int {
		if order := cmp.Compare(y.bits, x.bits); order != 0 {
			return order
		}
		return cmp.Compare(x.c.table.Rows[x.row].Enter, y.c.table.Rows[y.row].Enter)
	})
	return out
}

// originsText tells of the first of them.
func originsText(all []origin) string {
	return firstOf("new in a, from nothing new", len(all), maxNovel, func(i int) (*calls, int, string, int) {
		return all[i].c, all[i].row, all[i].what, all[i].more
	})
}

// firstOf tells of the first of n calls, each with what it did and how many did the same.
func firstOf(head string, n, most int, at func(i int) (c *calls, row int, what string, alike int)) string {
	if n == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(head + ":\n")
	for i := range min(n, most) {
		c, row, what, alike := at(i)
		line := fmt.Sprintf("  %s #%d: %s", cut(c.name, 80), c.table.Rows[row].Enter, what)
		if alike > 1 {
			line += fmt.Sprintf(" …+%d", alike-1)
		}
		b.WriteString(cut(strings.ReplaceAll(line, "\n", " "), 160) + "\n")
	}
	if n > most {
		fmt.Fprintf(&b, "  …+%d\n", n-most)
	}
	return b.String()
}
