package columns

import (
	"slices"

	"github.com/strobe-debug/strobe/internal/sorting"
)

// order: numbers that only grow, or only fall, in the order in which calls began: of all, of each thread, or of each
// value of another column.
func (f *finder) order(c *Column) {
	if c.n < MinCalls || c.words == nil && len(c.dict) < MinCalls/2 || c.Place == Took {
		return
	}
	if f.t.Recursive && c.Place != Argument && c.Place != Watch { // ends come in another order
		return
	}
	if !f.grows(c) {
		return
	}
	all := f.steps(c, "", func(int) (uint64, bool) { return 0, true })
	threads := map[uint32]bool{}
	for i := range f.t.Rows {
		threads[f.t.Rows[i].Thread] = true
	}
	if len(threads) > 1 && (all == nil || all.Broken > 0) {
		each := f.steps(c, " per thread", func(row int) (uint64, bool) { return uint64(f.t.Rows[row].Thread), true })
		if all == nil || each != nil && each.Broken < all.Broken { // threads that come one behind the other
			all = each
		}
	}
	if all != nil {
		f.rules = append(f.rules, *all)
		return
	}
	guards := 0
	for _, g := range f.t.columns {
		if g == c || g.words != nil || len(g.dict) < 2 || len(g.dict) > 64 || g.Place != Argument || g.n < c.n {
			continue
		}
		if guards++; guards > maxGuards {
			return
		}
		found := f.steps(c, " per "+g.Path, func(row int) (uint64, bool) {
			if row >= len(g.codes) {
				return 0, false
			}
			return uint64(g.codes[row]), g.codes[row] != 0
		})
		if found != nil {
			f.rules = append(f.rules, *found)
			return
		}
	}
}

// grows reports whether a column has numbers, at least MinCalls/2 different ones.
func (f *finder) grows(c *Column) bool {
	var seen []Cell
	for _, row := range f.sample {
		if v := c.At(row); v.Number() && !slices.Contains(seen, v) {
			if seen = append(seen, v); len(seen) >= MinCalls/2 {
				return true
			}
		}
	}
	return false
}

// steps looks from call to call of one group; nil: neither direction holds.
func (f *finder) steps(c *Column, of string, group func(row int) (uint64, bool)) *Rule {
	var up, down counter // rules broken by a step up, and by one down
	equal, again := 0, 0 // again: steps back to where a group began, as a loop's counter takes them
	last, first := map[uint64]int{}, map[uint64]Cell{}
	n := max(len(c.codes), len(c.words))
	for row := range n {
		v := c.At(row)
		g, ok := group(row)
		if !v.Number() || !ok {
			continue
		}
		before, had := last[g]
		last[g] = row
		if !had {
			first[g] = v
			continue
		}
		order, _ := Compare(v, c.At(before))
		if order != 0 && v == first[g] {
			again++
		}
		if order == 0 {
			equal++
		}
		up.against(row, before, order <= 0)
		down.against(row, before, order >= 0)
		if row > sampleRows && up.Broken > 2*few(row) && down.Broken > 2*few(row) {
			return nil
		}
	}
	if len(last) > 1 && down.Calls < 2*len(last) {
		return nil // groups of a call or two are in order by themselves
	}
	weight := 1.4
	if of != "" {
		weight = 1.3
	}
	if again > 0 && again <= min(up.Broken, down.Broken) {
		if weight *= 0.4; again > 1 {
			return nil
		}
	}
	if f.wraps(c, &up) || f.wraps(c, &down) {
		if weight *= 0.3; min(up.Broken, down.Broken) > 1 {
			return nil
		}
	}
	switch {
	case up.Broken >= MinCalls/2 && down.Broken*4 <= up.Broken:
		text := " never decreases"
		if equal == 0 && down.Broken == 0 {
			text = " always grows"
		}
		return down.made(c.Path+text+of, weight, c)
	case down.Broken >= MinCalls/2 && up.Broken*4 <= down.Broken:
		text := " never grows"
		if equal == 0 && up.Broken == 0 {
			text = " always falls"
		}
		return up.made(c.Path+text+of, weight, c)
	}
	return nil
}

// wraps reports whether all breaks lead from one end of a column's numbers to the other: it goes round.
func (f *finder) wraps(c *Column, rule *counter) bool {
	lo, hi, ok := c.Range()
	if !ok || rule.Broken == 0 || rule.Broken > len(rule.Breaks) {
		return false
	}
	span := hi.Float() - lo.Float()
	for _, b := range rule.Breaks {
		from, to := c.At(b.Before).Float(), c.At(b.Row).Float()
		if max(from, to) < hi.Float()-span*nearEnd || min(from, to) > lo.Float()+span*nearEnd {
			return false
		}
	}
	return true
}

// nearEnd is which part of a column's numbers is an end of them.
const nearEnd = 0.15

// distinct: values that come once.
func (f *finder) distinct(c *Column) {
	if c.n < MinCalls || c.Place == Took || c.Place == Thrown {
		return
	}
	if c.words == nil && len(c.dict) < c.n-few(c.n) {
		return
	}
	type at struct {
		cell Cell
		row  int
	}
	seen := map[Cell]bool{}
	for _, row := range f.sample {
		if v := c.At(row); v.Kind == Int || v.Kind == Uint || v.Kind == Text {
			seen[v] = true
		}
	}
	if len(seen) < len(f.sample)-few(len(f.sample)) || len(seen) < MinCalls {
		return
	}
	all := make([]at, 0, c.n)
	f.each(c, func(row int, v Cell) { all = append(all, at{v, row}) })
	sorting.By(all, func(x, y at) int {
		switch {
		case x.cell.Word < y.cell.Word:
			return -1
		case x.cell.Word > y.cell.Word:
			return 1
		case x.cell.Kind != y.cell.Kind:
			return int(x.cell.Kind) - int(y.cell.Kind)
		}
		return x.row - y.row
	})
	var breaks []Break
	for i := 1; i < len(all); i++ {
		if all[i].cell == all[i-1].cell {
			breaks = append(breaks, Break{all[i].row, all[i-1].row})
		}
	}
	sorting.By(breaks, func(x, y Break) int { return x.Row - y.Row })
	count := counter{Rule{Calls: len(all), Broken: len(breaks), Breaks: breaks[:min(len(breaks), maxBreaks)]}}
	f.keep(&count, c.Path+" never repeats", 1.1, c)
}
