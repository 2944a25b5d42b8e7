package query

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/strobe-debug/strobe/internal/columns"
	"github.com/strobe-debug/strobe/internal/sorting"
)

// contrastSessions is view diff of two sessions, this one a and the other b: which functions only one called, how often
// both did, and which values tell their calls apart.
func (a *asker) contrastSessions(parts []part, res *Result, env Env) (notes []string, err error) {
	g, others, err := a.bothSessions(parts, env, 0)
	if err != nil {
		return nil, err
	}
	a.sides = strings.NewReplacer(" with, ", " in a, ", " without", " in b")
	var text strings.Builder
	same := 0
	var only [2][]string
	var all []sideBySide
	shared := g.shared()
	for _, c := range g.all {
		nB := others[c]
		nA := len(c.table.Rows) - nB
		res.TotalCount += c.seen
		switch {
		case nB == 0:
			only[0] = append(only[0], fmt.Sprintf("%s ×%d", cut(c.name, 80), nA))
		case nA == 0:
			only[1] = append(only[1], fmt.Sprintf("%s ×%d", cut(c.name, 80), nB))
		default:
			if one := a.oneOfBoth(c, nA, nB, shared); one.text != "" {
				all = append(all, one)
			} else {
				same++
			}
		}
	}
	fmt.Fprintf(&text, "a is %s, b is %s\n", a.st.Meta().SessionID, env.Other.Meta().SessionID)
	for i, names := range only {
		list(&text, []string{"only in a: ", "only in b: "}[i], names, maxHeldRules, a.short()/6)
	}
	text.WriteString(originsText(g.origins(others, shared)))
	text.WriteString(makersText(g.makers(others, shared)))
	sorting.By(all, func(x, y sideBySide) int { return cmp.Compare(y.apart, x.apart) })
	for _, one := range all {
		text.WriteString(one.text)
	}
	if same > 0 {
		fmt.Fprintf(&text, "%s called as often, with values that say nothing\n", plural(int64(same), "function"))
	}
	return append(a.paged(res, text.String(), a.short()), g.notes()...), nil
}

// sideBySide is a function that both sessions called.
type sideBySide struct {
	apart float64
	text  string
}

// maxOfBoth is how many values of a function tell two sessions apart.
const maxOfBoth = 2

// oneOfBoth compares the calls of a function that both sessions called, the other's rows being first; no text where
// nothing is different.
func (a *asker) oneOfBoth(c *calls, nA, nB int, shared map[string]bool) (out sideBySide) {
	t := c.table
	rowsA, rowsB := spread(nB, nA), spread(0, nB)
	var all []contrast
	for _, col := range t.Columns() {
		if col.Place == columns.Took || shared[strings.TrimPrefix(col.Path, outPrefix)] || unchanged(t, col) ||
			c.isNoise(col) {
			continue
		}
		if one := a.apart(t, col, rowsA, rowsB); one.apart >= leastApart {
			if col.Place == columns.Argument { // what a function gave is nearer to the cause than what it was given
				one.apart *= 0.7
			}
			if col.Place == columns.Computed { // how often one called another follows the size of the input
				one.apart *= 0.4
			}
			all = append(all, one)
		}
	}
	sorting.By(all, func(x, y contrast) int { return cmp.Compare(y.apart, x.apart) })
	if len(all) == 0 && (nA == nB || c.noise.calls) {
		return out
	}
	out.apart = math.Abs(float64(nA-nB)) / float64(nA+nB) / 4
	out.text = fmt.Sprintf("%s: %d in a, %d in b\n", cut(c.name, 80), nA, nB)
	for i, one := range all {
		if i == 0 {
			few := float64(min(nA, nB)) // which differ by chance
			out.apart = one.apart * few / (few + 2)
		}
		if i == maxOfBoth {
			out.text += fmt.Sprintf("  …+%d\n", len(all)-i)
			break
		}
		out.text += cut("  "+a.sided(one.text), 200) + "\n"
	}
	return out
}

// unchanged reports what a pointer still led to at the end.
func unchanged(t *columns.Table, c *columns.Column) bool {
	if c.Place != columns.Out {
		return false
	}
	given := t.Find(strings.TrimPrefix(c.Path, outPrefix))
	if given == nil {
		return false
	}
	for row := range t.Rows {
		if at := c.At(row); at.Kind != columns.Absent && at != given.At(row) {
			return false
		}
	}
	return true
}

// spread is n rows from one on, or so many of them that more would not tell more.
func spread(from, n int) (rows []int) {
	for i := 0; i < n; i += max(n/maxSpread, 1) {
		rows = append(rows, from+i)
	}
	return rows
}

// maxSpread rows of a function are compared with those of another session, or a few more.
const maxSpread = 2000
