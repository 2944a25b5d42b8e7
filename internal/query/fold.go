package query

import (
	"fmt"
	"hash/maphash"
	"strings"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/value"
)

// node is a line of the tree and what is below it.
type node struct {
	id      event.ID
	end     event.ID // the exit, 0 while open
	last    event.ID // the newest event of the subtree and its repeats
	fn      *function
	enter   []byte // payload, rendered when the line is written
	flags   event.Flags
	ns      int64
	result  value.Value
	out     value.Object
	watched value.Object
	has     bool // result is known
	orphan  bool // an exit whose enter is not in view
	text    string
	kids    []*node
	shape   uint64
	lines   int   // of the subtree, its repeats' line included
	calls   int64 // in the subtree without repeats
	repeats repeats
}

// repeats are the siblings after a node that look the same, without their subtrees.
type repeats struct {
	n      int64
	calls  int64
	ns     int64
	voids  int64
	kinds  []resultCount // the first few different results
	other  bool          // there are more than these
	all    bool          // every result is an integer: lo and hi hold
	lo, hi int64
	first  event.ID
}

type resultCount struct {
	text string
	n    int64
	id   event.ID
}

// maxResultKinds bounds the results that a fold lists; beyond, it shows their range or says that they vary.
const maxResultKinds = 4

var shapeSeed = maphash.MakeSeed()

// seal computes what a finished node looks like: the function, how it ended and what is below, the counts of
// repeats aside.
func (n *node) seal() {
	var h maphash.Hash
	h.SetSeed(shapeSeed)
	word := func(v uint64) {
		var b [8]byte
		for i := range b {
			b[i] = byte(v >> (8 * i))
		}
		h.Write(b[:])
	}
	n.lines, n.calls = 1, 0
	if n.fn != nil {
		h.WriteString(n.fn.Name)
		h.WriteByte(0)
		h.WriteString(n.fn.Raw)
		n.calls = 1
		if n.orphan {
			n.calls = 0
		}
	}
	open := byte(0)
	if n.fn != nil && n.end == 0 || n.orphan {
		open = 1
		word(uint64(n.id)) // never the same as another
	}
	h.WriteByte(open)
	h.WriteByte(byte(n.flags & (event.Unwound | event.Lost | event.TailCall)))
	h.WriteString(n.text)
	for _, k := range n.kids {
		word(k.shape)
		n.lines += k.lines
		n.calls += k.calls + k.repeats.calls
	}
	n.shape = h.Sum64()
}

// add appends kid, whose lines were counted, or folds it into the one before it. It returns how many lines that
// adds to the count.
func (n *node) add(kid *node) int {
	if i := len(n.kids) - 1; i >= 0 && n.kids[i].shape == kid.shape {
		prev := n.kids[i]
		first := prev.repeats.n == 0
		prev.repeats.add(kid)
		prev.last = max(prev.last, kid.last)
		if first {
			prev.lines++
			return 1 - kid.lines
		}
		return -kid.lines
	}
	n.kids = append(n.kids, kid)
	return 0
}

func (r *repeats) add(n *node) {
	if r.n == 0 {
		r.first, r.all = n.id, true
	}
	r.n++
	r.calls += n.calls
	r.ns += n.ns
	if !n.has {
		r.voids++
		return
	}
	if v, ok := n.result.Int64(); ok && n.result.Kind() == value.Int {
		if r.n-r.voids == 1 {
			r.lo, r.hi = v, v
		}
		r.lo, r.hi = min(r.lo, v), max(r.hi, v)
	} else {
		r.all = false
	}
	s := n.result.Short(40)
	for i := range r.kinds {
		if r.kinds[i].text == s {
			r.kinds[i].n++
			return
		}
	}
	if len(r.kinds) < maxResultKinds {
		r.kinds = append(r.kinds, resultCount{s, 1, n.id})
		return
	}
	r.other = true
}

// line is "×37 more like this (total 1.2ms, results 1..37)".
func (r *repeats) line(calls bool) string {
	out := fmt.Sprintf("×%d more like this", r.n)
	if !calls {
		return out
	}
	out += fmt.Sprintf(" (total %s", duration(r.ns))
	switch {
	case len(r.kinds) == 0:
	case len(r.kinds) == 1 && !r.other:
		out += ", result " + r.kinds[0].text
	case r.other && r.all || r.all && r.hi-r.lo+1 == r.n && r.hi > r.lo && len(r.kinds) == int(r.n):
		out += fmt.Sprintf(", results %d..%d", r.lo, r.hi)
	case r.other:
		out += ", results differ: " + r.kinds[0].text + ", " + r.kinds[1].text + ", …"
	default:
		var parts []string
		for i, k := range r.kinds {
			s := fmt.Sprintf("%s ×%d", k.text, k.n)
			if i > 0 {
				s += fmt.Sprintf(" #%d", k.id)
			}
			parts = append(parts, s)
		}
		out += ", results " + strings.Join(parts, ", ")
	}
	return out + fmt.Sprintf(") from #%d", r.first)
}
