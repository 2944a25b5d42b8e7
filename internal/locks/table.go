package locks

// Table is what is known of the locks of one process.
type Table struct {
	Edges   []Edge
	Threads []Thread // takers count them from 1 on
	Links   []Link
}

// Edge says that To was taken while From was held.
type Edge struct {
	From, To         uint64
	FromRead, ToRead bool     // to read, which several may at once
	Gates            []uint64 // what was held besides
	By               []Taker
}

// Taker is a thread that made an edge, between two of its segments. A segment begins where a thread makes or joins
// another one.
type Taker struct{ Thread, First, Last int }

// Thread is one that made edges or other threads. FS names it while it lives, and others later; At is a time when it
// did.
type Thread struct {
	FS, At uint64
	TID    int
}

// Link is a thread that another one made, or joined, and began its segment Segment with.
type Link struct {
	Thread, Segment int
	FS, At          uint64 // of the other one
	Join            bool
}

// Inversion is a circle: each edge's To is the next one's From.
type Inversion struct {
	Edges []int // in Table.Edges
	By    []int // the thread of each that may close it, in Table.Threads from 1 on
}

// order answers which threads' segments come before which.
type order struct {
	t     *Table
	child []int // of a link, the thread that it is about, 0 none that did anything
	reach map[[2]int]map[int]int
}

func newOrder(t *Table) *order {
	o := &order{t: t, child: make([]int, len(t.Links)), reach: map[[2]int]map[int]int{}}
	byFS := map[uint64][]int{} // creations
	for i := range t.Links {
		if l := &t.Links[i]; !l.Join {
			byFS[l.FS] = append(byFS[l.FS], i)
		}
	}
	latest := func(fs, at uint64) int { // the creation of the one that has fs at that time
		best := -1
		for _, i := range byFS[fs] {
			if l := &t.Links[i]; l.At <= at && (best < 0 || l.At > t.Links[best].At) {
				best = i
			}
		}
		return best
	}
	for n := range t.Threads {
		if i := latest(t.Threads[n].FS, t.Threads[n].At); i >= 0 {
			o.child[i] = n + 1
		}
	}
	for i := range t.Links {
		if l := &t.Links[i]; l.Join {
			if c := latest(l.FS, l.At); c >= 0 {
				o.child[i] = o.child[c]
			}
		}
	}
	return o
}

// before reports whether all that a thread did up to a segment was over when another one's segment began.
func (o *order) before(thread, last, other, first int) bool {
	key := [2]int{thread, last}
	r := o.reach[key]
	if r == nil {
		r = o.from(thread, last)
		o.reach[key] = r
	}
	s, ok := r[other]
	return ok && s <= first
}

// from is which threads come behind a segment, each from which of its segments on.
func (o *order) from(thread, last int) map[int]int {
	r := map[int]int{}
	type at struct {
		thread, segment int // from the beginning of this one on; of the first, behind it
	}
	todo := []at{{thread, last + 1}}
	for len(todo) > 0 {
		a := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for i := range o.t.Links {
			l := &o.t.Links[i]
			next := at{}
			switch {
			case o.child[i] == 0:
				continue
			case !l.Join && l.Thread == a.thread && l.Segment >= a.segment:
				next = at{o.child[i], 0}
			case l.Join && o.child[i] == a.thread:
				next = at{l.Thread, l.Segment}
			default:
				continue
			}
			if have, ok := r[next.thread]; !ok || next.segment < have {
				r[next.thread] = next.segment
				todo = append(todo, next)
			}
		}
	}
	return r
}

// atOnce reports whether two threads may have made their edges at once.
func (o *order) atOnce(a, b Taker) bool {
	return a.Thread != b.Thread && !o.before(a.Thread, a.Last, b.Thread, b.First) &&
		!o.before(b.Thread, b.Last, a.Thread, a.First)
}
