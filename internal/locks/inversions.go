package locks

import "slices"

// maxSteps bounds what is looked at in a table that is full.
const maxSteps = 1 << 25

// Inversions finds the circles of two and three locks, each set of locks once, those of two first. Not all are looked
// at where there are very many.
func (t *Table) Inversions() (out []Inversion, all bool) {
	o := newOrder(t)
	from, between := map[uint64][]int{}, map[[2]uint64][]int{}
	for i := range t.Edges {
		e := &t.Edges[i]
		from[e.From] = append(from[e.From], i)
		between[[2]uint64{e.From, e.To}] = append(between[[2]uint64{e.From, e.To}], i)
	}
	seen := map[[3]uint64]bool{}
	try := func(edges ...int) {
		var set [3]uint64
		for k, i := range edges {
			set[k] = t.Edges[i].From
		}
		slices.Sort(set[:])
		if seen[set] || !t.closes(edges) {
			return
		}
		if by := t.takers(o, edges, nil); by != nil {
			seen[set] = true
			out = append(out, Inversion{Edges: edges, By: by})
		}
	}
	for i := range t.Edges {
		if e := &t.Edges[i]; e.From < e.To {
			for _, j := range between[[2]uint64{e.To, e.From}] {
				try(i, j)
			}
		}
	}
	steps := 0
	for i := range t.Edges {
		e := &t.Edges[i]
		if steps += len(from[e.To]); steps > maxSteps {
			return out, false
		}
		for _, j := range from[e.To] {
			f := &t.Edges[j]
			if f.To <= e.From || e.To <= e.From { // it begins at its lowest lock
				continue
			}
			for _, k := range between[[2]uint64{f.To, e.From}] {
				if !within(seen, e.From, e.To, f.To) {
					try(i, j, k)
				}
			}
		}
	}
	return out, true
}

// within reports whether two of three locks are a circle already.
func within(seen map[[3]uint64]bool, a, b, c uint64) bool {
	for _, p := range [][2]uint64{{a, b}, {b, c}, {a, c}} {
		set := [3]uint64{0, p[0], p[1]}
		slices.Sort(set[:])
		if seen[set] {
			return true
		}
	}
	return false
}

// closes reports whether each edge of a circle can wait for the next one: readers do not wait for each other, and what
// is held at both of two edges keeps their threads apart.
func (t *Table) closes(edges []int) bool {
	for k, i := range edges {
		e := &t.Edges[i]
		next := &t.Edges[edges[(k+1)%len(edges)]]
		if e.ToRead && next.FromRead {
			return false
		}
		for _, j := range edges[k+1:] {
			for _, g := range e.Gates {
				if slices.Contains(t.Edges[j].Gates, g) {
					return false
				}
			}
		}
	}
	return true
}

// takers finds different threads that may be at the edges of a circle at once.
func (t *Table) takers(o *order, edges []int, have []Taker) []int {
	if len(have) == len(edges) {
		var by []int
		for _, h := range have {
			by = append(by, h.Thread)
		}
		return by
	}
	for _, b := range t.Edges[edges[len(have)]].By {
		if slices.ContainsFunc(have, func(h Taker) bool { return !o.atOnce(h, b) }) {
			continue
		}
		if by := t.takers(o, edges, append(slices.Clip(have), b)); by != nil {
			return by
		}
	}
	return nil
}
