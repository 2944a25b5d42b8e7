package query

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/columns"
	"github.com/strobe-debug/strobe/internal/expr"
	"github.com/strobe-debug/strobe/internal/sorting"
)

// Bounds of view diff.
const (
	maxContrasts = 8    // values of one function that tell its two sides apart
	leastApart   = 0.25 // of what they tell, at least
)

// contrast is how far one column tells calls with the claim from those without.
type contrast struct {
	apart float64 // 0: not at all, 1: altogether
	text  string
}

// contrast is view diff: for each function, how the calls with a claim differ from those without.
func (a *asker) contrast(parts []part, res *Result) (notes []string, err error) {
	g, err := a.gatherValues(parts, newFieldValues(a, []string{a.claim.holds}))
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	limit, untold := a.budget(), 0
	var only [2][]string // functions of which all calls are on the side with the claim, or on that without
	for _, c := range g.all {
		res.TotalCount += c.seen
		text, with, without := a.bothSides(c)
		switch {
		case with+without == 0:
			untold++
		case with == 0 && len(g.all) > 1:
			only[1] = append(only[1], fmt.Sprintf("%s ×%d", cut(c.name, 80), without))
		case without == 0 && len(g.all) > 1:
			only[0] = append(only[0], fmt.Sprintf("%s ×%d", cut(c.name, 80), with))
		default:
			b.WriteString(text)
		}
	}
	for i, names := range only {
		list(&b, []string{"only with it: ", "only without: "}[i], names, maxHeldRules, limit/3)
	}
	if untold > 0 {
		fmt.Fprintf(&b, "not observable in %s: no such values\n", plural(int64(untold), "function"))
	}
	return append(a.paged(res, b.String(), limit), g.notes()...), nil
}

// cutLines takes whole lines off the end until a text has its size, and says how many.
func cutLines(s string, limit int) string {
	lines := strings.SplitAfter(s, "\n")
	n := 0
	for len(lines) > 2 && len(strings.Join(lines, "")) > limit {
		lines = lines[:len(lines)-1]
		n++
	}
	if n > 0 {
		lines = append(lines, fmt.Sprintf("  …+%d lines\n", n))
	}
	return strings.Join(lines, "")
}

// bothSides compares the calls of one function, of which with and without are how many there are.
func (a *asker) bothSides(c *calls) (text string, nWith, nWithout int) {
	t := c.table
	by := t.Find(a.claim.holds)
	if by == nil || by.Len() == 0 {
		return "", 0, 0
	}
	var with, without []int
	for row := range t.Rows {
		switch cell := by.At(row); {
		case cell.Kind == columns.Absent:
		case cell.Word != 0 && cell.Kind != columns.Null:
			with = append(with, row)
		default:
			without = append(without, row)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d with %s, %d without", c.name, len(with), a.claim.holds, len(without))
	if n := len(t.Rows) - len(with) - len(without); n > 0 {
		fmt.Fprintf(&b, ", %d cannot tell", n)
	}
	b.WriteByte('\n')
	if len(with) == 0 || len(without) == 0 {
		return b.String(), len(with), len(without)
	}
	var named []string // what the claim looks at is no news
	if s, err := expr.ParseRecorded(a.claim.holds, ""); err == nil {
		named = s.Paths()
	}
	a.contrasts(&b, t, with, without, func(col *columns.Column) bool {
		return col == by || slices.Contains(named, col.Path)
	})
	return b.String(), len(with), len(without)
}

// contrasts writes which values tell two sets of rows apart.
func (a *asker) contrasts(b *strings.Builder, t *columns.Table, with, without []int, skip func(*columns.Column) bool) {
	var all []contrast
	for _, col := range t.Columns() {
		if col.Place == columns.Took || skip(col) {
			continue
		}
		if one := a.apart(t, col, with, without); one.apart >= leastApart {
			all = append(all, one)
		}
	}
	sorting.By(all, func(x, y contrast) int { return cmp.Compare(y.apart, x.apart) })
	for i, one := range all {
		if i == maxContrasts {
			fmt.Fprintf(b, "  …+%d\n", len(all)-i)
			break
		}
		b.WriteString("  " + a.sided(one.text) + "\n")
	}
	if len(all) == 0 {
		b.WriteString("  no recorded value tells them apart\n")
	}
	few := a.sides != nil && min(len(with), len(without)) < columns.MinCalls // the machine differs, too
	if d := median(t, with) / max(median(t, without), 1); !few && (d >= 3 || d <= 1.0/3) {
		b.WriteString(a.sided(fmt.Sprintf("  took %s with, %s without (median)", duration(int64(median(t, with))),
			duration(int64(median(t, without))))) + "\n")
	}
}

// sided says of two sessions which is which.
func (a *asker) sided(text string) string {
	if a.sides == nil {
		return text
	}
	return a.sides.Replace(text)
}

// median is how long calls took.
func median(t *columns.Table, rows []int) float64 {
	c := t.Find("took")
	var all []float64
	for _, row := range rows {
		if cell := t.Cell(c, row); cell.Kind == columns.Int {
			all = append(all, float64(int64(cell.Word)))
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// apart finds by which value, or by which range, a column tells the sides apart.
func (a *asker) apart(t *columns.Table, c *columns.Column, with, without []int) contrast {
	in, out := t.Count(c, with), t.Count(c, without)
	var best contrast
	for cell, n := range in.Values {
		best = best.or(hasValue(t, c, cell, n, len(with), out.Values[cell], len(without)))
	}
	for cell, n := range out.Values {
		if in.Values[cell] == 0 {
			best = best.or(hasValue(t, c, cell, 0, len(with), n, len(without)))
		}
	}
	if in.Numbers == 0 || out.Numbers == 0 {
		return best
	}
	for _, side := range []struct{ own, other columns.Counted }{{in, out}, {out, in}} {
		outside := 0
		for cell, n := range side.other.All {
			lo, _ := columns.Compare(cell, side.own.Least)
			hi, _ := columns.Compare(cell, side.own.Most)
			if lo < 0 || hi > 0 {
				outside += n
			}
		}
		share := float64(outside) / float64(side.other.Numbers)
		if side.own.Numbers < columns.MinCalls { // a few are close to each other by chance
			share *= 0.8
		}
		if len(in.All)+len(out.All) > (in.Numbers+out.Numbers)*9/10 { // a number of the call, which tells it by itself
			share *= 0.6
		}
		best = best.or(contrast{share, fmt.Sprintf("%s in %s with, %s without", c.Path, spanOf(t, in), spanOf(t, out))})
	}
	return best
}

// spanOf is the range of numbers, or the one that they all are.
func spanOf(t *columns.Table, n columns.Counted) string {
	if n.Least == n.Most {
		return t.Show(n.Least)
	}
	return t.Show(n.Least) + ".." + t.Show(n.Most)
}

// or is the one of two that tells more.
func (c contrast) or(d contrast) contrast {
	if d.apart > c.apart || d.apart == c.apart && d.text < c.text {
		return d
	}
	return c
}

// hasValue is how far having a value tells.
func hasValue(t *columns.Table, c *columns.Column, cell columns.Cell, in, with, out, without int) contrast {
	apart := math.Abs(float64(in)/float64(with) - float64(out)/float64(without))
	what := c.Path + "=" + cut(t.Show(cell), cellWidth)
	if cell.Kind == columns.Absent {
		what = c.Path + " has no value"
	}
	return contrast{apart, fmt.Sprintf("%s in %d of %d with, %d of %d without", what, in, with, out, without)}
}
