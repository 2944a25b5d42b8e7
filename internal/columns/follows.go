package columns

import (
	"fmt"
	"slices"
)

// classes gives every row of a column a small number: its value where there are few different ones, else what it is.
func (f *finder) classes(c *Column) (of func(row int) int, n int, name func(int) string) {
	if c.words == nil && len(c.dict) <= maxValues {
		return func(row int) int {
			if row < len(c.codes) {
				return int(c.codes[row]) - 1
			}
			return -1
		}, len(c.dict), func(i int) string { return c.Path + "=" + f.t.Show(c.dict[i]) }
	}
	names := [...]string{" is null", " < 0", "=0", " > 0", " is text", " is something else"}
	return func(row int) int {
		v := c.At(row)
		switch {
		case v.Kind == Absent:
			return -1
		case v.Kind == Null:
			return 0
		case v.Number():
			x := v.Float()
			switch {
			case x < 0:
				return 1
			case x == 0:
				return 2
			}
			return 3
		case v.Kind == Text:
			return 4
		}
		return 5
	}, len(names), func(i int) string { return c.Path + names[i] }
}

// follows: a value, or whether it is null, negative or zero, that another one decides.
func (f *finder) follows() {
	var all []*Column
	for _, c := range f.t.columns {
		if _, same := c.Same(); !same && c.n >= 2*MinCalls && c.Place != Took && len(all) < maxGuards &&
			!c.Inner() && f.most(c) != Whole && f.most(c) != Address {
			all = append(all, c)
		}
	}
	for _, a := range all {
		for _, b := range all {
			if a != b && !related(a.Path, b.Path) {
				f.decides(a, b)
			}
		}
	}
}

// related reports whether one path lies in the other: a member is null where its object is.
func related(x, y string) bool {
	if len(x) > len(y) {
		x, y = y, x
	}
	return len(y) > len(x) && y[:len(x)] == x && (y[len(x)] == '.' || y[len(x)] == '[') || y == "len("+x+")"
}

// decides finds what b is by what a is.
func (f *finder) decides(a, b *Column) {
	ofA, nA, nameA := f.classes(a)
	ofB, nB, nameB := f.classes(b)
	table := make([]int, nA*nB)
	count := func(rows []int, row int) (x, y int, ok bool) {
		x, y = ofA(row), ofB(row)
		if x < 0 || y < 0 || x >= nA || y >= nB {
			return x, y, false
		}
		rows[x*nB+y]++
		return x, y, true
	}
	for _, row := range f.sample {
		count(table, row)
	}
	all, broken, _ := majorities(table, nA, nB)
	if all < 2*MinCalls || broken > 2*few(all) {
		return
	}
	clear(table)
	for row := range f.t.Rows {
		count(table, row)
	}
	all, broken, most := majorities(table, nA, nB)
	perB := make([]int, nB)
	used, usual := 0, 0
	for x := range nA {
		n := 0
		for y := range nB {
			perB[y] += table[x*nB+y]
			n += table[x*nB+y]
		}
		if n > few(all) {
			used++
		}
	}
	for y := range nB {
		if perB[y] > perB[usual] {
			usual = y
		}
	}
	if used < 2 || all-perB[usual] < 2*baseline*(broken+1) || broken > few(all) {
		return
	}
	var c counter
	for row := range f.t.Rows {
		if x, y := ofA(row), ofB(row); x >= 0 && y >= 0 && x < nA && y < nB {
			c.tell(row, most[x] == y)
		}
	}
	var parts []string
	for x := range nA {
		if most[x] >= 0 && len(parts) < 3 {
			parts = append(parts, nameA(x)+" → "+nameB(most[x]))
		}
	}
	f.keep(&c, joined(parts), 0.8, a, b)
}

// majorities says which column of each row has most, and how many are in the others.
func majorities(table []int, rows, columns int) (all, broken int, most []int) {
	most = make([]int, rows)
	for x := range rows {
		best, sum := -1, 0
		for y := range columns {
			n := table[x*columns+y]
			if sum += n; n > 0 && (best < 0 || n > table[x*columns+best]) {
				best = y
			}
		}
		if most[x] = best; best >= 0 {
			all, broken = all+sum, broken+sum-table[x*columns+best]
		}
	}
	return all, broken, most
}

// repeatable: results that depend on the arguments alone.
func (f *finder) repeatable() (notes []string) {
	var given, results []*Column
	for _, c := range f.t.columns {
		switch {
		case c.Place == Argument:
			given = append(given, c)
		case c.Place == Result && len(results) < 4:
			if _, same := c.Same(); !same {
				results = append(results, c)
			}
		}
	}
	if len(given) == 0 || len(results) == 0 {
		return nil
	}
	groups := map[uint64]int{} // to a dense number
	of := make([]int, len(f.t.Rows))
	for row := range f.t.Rows {
		key := uint64(14695981039346656037)
		for _, c := range given {
			v := c.At(row)
			if v.Kind == Address { // another object each time says nothing
				v.Word = 0
			}
			key = (key ^ v.Word ^ uint64(v.Kind)<<56) * 1099511628211
			key ^= key >> 31
		}
		g, ok := groups[key]
		if !ok {
			if len(groups) == maxGroups {
				return []string{fmt.Sprintf("whether equal arguments give equal results was not looked at: there are more than %d "+
					"different ones", maxGroups)}
			}
			g = len(groups)
			groups[key] = g
		}
		of[row] = g
	}
	for _, c := range results {
		f.repeats(c, of, len(groups))
	}
	return nil
}

// repeats looks at one result of groups of calls with the same arguments.
func (f *finder) repeats(c *Column, of []int, groups int) {
	type result struct {
		group int
		cell  Cell
	}
	counts, size := map[result]int{}, make([]int, groups)
	f.each(c, func(row int, v Cell) {
		counts[result{of[row], v}]++
		size[of[row]]++
	})
	most := make([]Cell, groups)
	best := make([]int, groups)
	first := make([]int, groups)
	f.each(c, func(row int, v Cell) { // in order, so that the first of two that are as many wins
		g := of[row]
		if n := counts[result{g, v}]; n > best[g] {
			best[g], most[g], first[g] = n, v, row
		}
	})
	var count counter
	f.each(c, func(row int, v Cell) {
		if g := of[row]; size[g] > 1 {
			count.against(row, first[g], v == most[g])
		}
	})
	several := slices.ContainsFunc(size, func(n int) bool { return n > 1 })
	if several && count.Calls >= 2*MinCalls {
		f.keep(&count, "equal arguments give equal "+c.Path, 1.5, c)
	}
}
