package query

import (
	"maps"

	"github.com/strobe-debug/strobe/internal/columns"
)

// noise is what differs between two sessions that ended alike: memory that nobody has written, addresses, times, the
// order of threads. It explains no other end.
type noise struct {
	paths map[string]bool
	ways  bool // what calls called
	calls bool // how often it is called
}

// isNoise reports a column whose values say nothing of what a session did that another did not.
func (c *calls) isNoise(col *columns.Column) bool {
	return c.noise.paths[col.Path] || runsOwn(c.table, col)
}

// findNoise compares what was gathered of one session with that of another that ended alike.
func (g *gathered) findNoise(like *gathered) {
	g.putCallees()
	for _, c := range g.all {
		l := like.byName[c.name]
		if l == nil {
			c.noise.calls = true
			continue
		}
		n, m := len(c.table.Rows), len(l.table.Rows)
		c.noise = noise{calls: n != m, paths: map[string]bool{},
			ways: !alike(n, m, func(i int) uint64 { return c.ways.way[i] }, func(i int) uint64 { return l.ways.way[i] })}
		theirs := map[string]*columns.Column{}
		for _, col := range l.table.Columns() {
			theirs[col.Path] = col
			c.noise.paths[col.Path] = true // until it is found here
		}
		for _, col := range c.table.Columns() {
			other := theirs[col.Path]
			c.noise.paths[col.Path] = other == nil || !alike(n, m, col.At, other.At)
		}
	}
}

// alike reports whether two sessions' rows have the same, in whatever order: threads may take turns otherwise.
func alike[K comparable](n, m int, x, y func(row int) K) bool {
	have, other := map[K]int{}, map[K]int{}
	for i := range n {
		have[x(i)]++
	}
	for i := range m {
		other[y(i)]++
	}
	if n != m { // how often a value comes follows from how many calls there were
		for k := range have {
			have[k] = 0
		}
		for k := range other {
			other[k] = 0
		}
	}
	return maps.Equal(have, other)
}
