package query

import (
	"slices"

	"github.com/strobe-debug/strobe/internal/columns"
	"github.com/strobe-debug/strobe/internal/value"
)

// maxWays bounds the functions whose calls are counted in those of one.
const maxWays = 32

// ways is what the calls of one function called themselves.
type ways struct {
	callees []callee
	way     []uint64  // of a row: which functions it called, in which order, without how often one by one
	last    []*calls  // of a row: what it called last
	parent  []keptRow // of a row; nil calls: none that was read
}

// callee is a function that was called, and how often in each row.
type callee struct {
	calls *calls
	n     []uint32
}

// begin notes that a row begins in a call of another function, or of none.
func (w *ways) begin(row int, parent keptRow) {
	for len(w.parent) <= row {
		w.way, w.last, w.parent = append(w.way, 0), append(w.last, nil), append(w.parent, keptRow{})
	}
	w.parent[row] = parent
}

// called notes that a row called another function, whose number is its place among all.
func (w *ways) called(row int, c *calls, number int) {
	if w.last[row] != c {
		w.last[row] = c
		w.way[row] = (w.way[row] ^ uint64(number+1)) * 0x9E3779B97F4A7C15
		w.way[row] ^= w.way[row] >> 29
	}
	i := slices.IndexFunc(w.callees, func(have callee) bool { return have.calls == c })
	if i < 0 {
		if i = len(w.callees); i == maxWays {
			return
		}
		w.callees = append(w.callees, callee{calls: c})
	}
	n := &w.callees[i].n
	for len(*n) <= row {
		*n = append(*n, 0)
	}
	(*n)[row]++
}

// putCallees makes columns of how often each call made others.
func (g *gathered) putCallees() {
	for _, c := range g.all {
		for _, to := range c.ways.callees {
			name := "calls(" + cut(to.calls.name, 60) + ")"
			for row := range c.table.Rows {
				n := int64(0)
				if row < len(to.n) {
					n = int64(to.n[row])
				}
				c.table.Put(row, columns.Computed, name, value.NewInt(n))
			}
		}
	}
}
