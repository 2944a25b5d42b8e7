package query

import (
	"cmp"
	"strings"

	"github.com/strobe-debug/strobe/internal/columns"
	"github.com/strobe-debug/strobe/internal/sorting"
)

// maxMade bounds the functions that are told to have made new values.
const maxMade = 8

// maker is a function that gave values which the other session has not, and which it was not given either: they were
// neither in its arguments nor what its own calls gave. Where another input flows through a program it is at these
// places that something is computed from it; all others hand it on.
type maker struct {
	c      *calls
	row    int // the first that did
	what   string
	number bool // else texts alone, which an input brings with it
	calls  int
}

// makers are such functions, those that made numbers first, then by when they did. Functions that the other session
// hardly called are left out: all that they give is new.
func (g *gathered) makers(learned map[*calls]int, shared map[string]bool) (out []maker) {
	news := map[*calls]map[int]map[columns.Cell]string{} // by row: new values and where they were
	for _, c := range g.all {
		if learned[c] > 0 {
			news[c] = newValues(c, learned[c], shared)
		}
	}
	given := map[keptRow]map[columns.Cell]bool{} // what a row's own calls gave
	for _, c := range g.all {
		for row, cells := range news[c] {
			up := c.ways.parent[row]
			if given[up] == nil {
				given[up] = map[columns.Cell]bool{}
			}
			for cell := range cells {
				given[up][cell] = true
			}
		}
	}
	for _, c := range g.all {
		if learned[c] < learnedCalls {
			continue
		}
		m := maker{c: c, row: -1}
		for row := learned[c]; row < len(c.table.Rows); row++ {
			what, number := madeIn(c.table, row, news[c][row], given[keptRow{c, row}])
			if what == "" {
				continue
			}
			m.calls++
			if m.row < 0 || number && !m.number {
				m.row, m.what, m.number = row, what, number
			}
		}
		if m.row >= 0 {
			out = append(out, m)
		}
	}
	sorting.By(out, func(x, y maker) int {
		if x.number != y.number {
			return cmp.Compare(btoi(y.number), btoi(x.number))
		}
		return cmp.Compare(x.c.table.Rows[x.row].Exit, y.c.table.Rows[y.row].Exit)
	})
	return out
}

// newValues are numbers and texts that rows behind the learned ones gave and none of these did.
func newValues(c *calls, learned int, shared map[string]bool) map[int]map[columns.Cell]string {
	out := map[int]map[columns.Cell]string{}
	t := c.table
	for _, col := range t.Columns() {
		if col.Place != columns.Result && col.Place != columns.Out || col.Inner() ||
			shared[strings.TrimPrefix(col.Path, outPrefix)] || c.isNoise(col) || isSetting(t, col, learned) {
			continue
		}
		seen := map[columns.Cell]bool{}
		for row := range learned {
			seen[col.At(row)] = true
		}
		for row := learned; row < len(t.Rows); row++ {
			cell := col.At(row)
			if seen[cell] || !cell.Number() && cell.Kind != columns.Text {
				continue
			}
			if out[row] == nil {
				out[row] = map[columns.Cell]string{}
			}
			if _, ok := out[row][cell]; !ok {
				out[row][cell] = col.Path
			}
		}
	}
	return out
}

// madeIn is a new value of a row that was neither given to it nor handed up; "": there is none.
func madeIn(t *columns.Table, row int, news map[columns.Cell]string, fromCalls map[columns.Cell]bool) (what string,
	number bool) {
	if len(news) == 0 {
		return "", false
	}
	had := map[columns.Cell]bool{}
	for _, col := range t.Columns() {
		if col.Place == columns.Argument {
			had[col.At(row)] = true
		}
	}
	for _, col := range t.Columns() { // in their order, so that the answer is the same each time
		cell := col.At(row)
		if news[cell] != col.Path || had[cell] || fromCalls[cell] || what != "" && (number || !cell.Number()) {
			continue
		}
		what, number = col.Path+"="+cut(t.Show(cell), cellWidth), cell.Number()
	}
	return what, number
}

// makersText tells of the first of them.
func makersText(all []maker) string {
	return firstOf("made in a, not in b, and not given", len(all), maxMade, func(i int) (*calls, int, string, int) {
		return all[i].c, all[i].row, all[i].what, all[i].calls
	})
}
