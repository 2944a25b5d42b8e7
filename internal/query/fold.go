package query

import (
	"encoding/binary"
	"hash/maphash"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/record"
	"github.com/strobe-debug/strobe/internal/value"
)

// node is a line of the tree and what is below it.
//
// Siblings that look the same fold: of each way in which they ended the first is a line with its subtree, the others
// are counted below it. What ended in another way is never behind such a count: a result of another class (negative,
// zero, null, another variant), an exit by an exception, or a callee of which that is true.
type node struct {
	id      event.ID
	end     event.ID // the exit, 0 while open
	last    event.ID // the newest event of the subtree and its repeats
	fn      *record.Function
	enter   []byte // payload, rendered when the line is written
	flags   event.Flags
	ns      int64
	result  value.Value
	out     value.Object
	watched value.Object
	has     bool   // result is known
	thrown  string // what left it, where that is known
	orphan  bool   // an exit whose enter is not in view
	text    string
	made    *makers // of a line of constructors and the like
	kids    []*node
	shape   uint64 // what siblings that fold share: the functions in the subtree and how they were left
	kind    uint64 // the classes of the results in the subtree
	lines   int    // of the subtree, its repeats' lines and its variants included
	calls   int64  // in the subtree without repeats and variants
	repeats repeats

	variants []*node // siblings of the same shape and other kinds, in order of id
	rest     repeats // those beyond maxVariants
	of       *node   // what this is a variant of

	shownArgs value.Object // what arguments returned
	rows      *callRows    // where fields are asked for

	// Of trees with lanes, whose calls end in another order than they begin.
	up      *node      // of the first call of a lane: who ran it
	over    bool       // it is below its parent: nothing can be put below it any more
	running []event.ID // calls of lanes below it that are open
	waiting []*node    // what ended and began later than one of them
}

// Bounds of one fold.
const (
	maxVariants     = 8  // lines of single calls that ended in different ways
	maxTallVariants = 3  // the same of calls with something below
	lookBack        = 8  // siblings of one function among which a fold is looked for
	maxFoldedArgs   = 20 // arguments of which a fold says the range
)

// maxComparedCalls bounds the folded calls of a tree whose arguments are read, which is dear: the rest is only counted.
const maxComparedCalls = 50_000

var shapeSeed = maphash.MakeSeed()

// seal computes what a finished node looks like: the function, how it ended and what is below, the counts of
// repeats aside.
func (n *node) seal() {
	var shape, kind maphash.Hash
	shape.SetSeed(shapeSeed)
	kind.SetSeed(shapeSeed)
	word := func(h *maphash.Hash, v uint64) {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], v)
		h.Write(b[:])
	}
	n.lines, n.calls = 1, 0
	if n.fn != nil {
		shape.WriteString(n.fn.Name)
		shape.WriteByte(0)
		shape.WriteString(n.fn.Raw)
		n.calls = 1
		if n.orphan {
			n.calls = 0
		}
	}
	open := byte(0)
	if n.fn != nil && n.end == 0 || n.orphan {
		open = 1
		word(&shape, uint64(n.id)) // never the same as another
	}
	shape.WriteByte(open)
	shape.WriteByte(byte(n.flags & (event.Unwound | event.Lost | event.TailCall | event.AtEnd)))
	shape.WriteString(n.text)
	if n.has {
		kind.WriteString(classOf(n.result))
	}
	for _, k := range n.kids {
		word(&shape, k.shape)
		kinds := k.kind // of a fold: which there are, in whatever order they came
		for _, v := range k.variants {
			kinds ^= v.kind
		}
		if k.rest.n > 0 {
			kinds++
		}
		word(&kind, kinds)
		n.lines += k.lines
		n.calls += k.allCalls()
	}
	n.shape, n.kind = shape.Sum64(), kind.Sum64()
}

// allCalls is how many calls the subtree, its repeats and its variants have.
func (n *node) allCalls() int64 {
	all := n.calls + n.repeats.calls + n.rest.calls
	for _, v := range n.variants {
		all += v.allCalls()
	}
	return all
}

// classOf is what of a result matters for folding: two calls whose results are of one class are alike.
func classOf(v value.Value) string {
	switch v.Kind() {
	case value.Int:
		if i, ok := v.Int64(); ok && i <= 0 {
			if i == 0 {
				return "0"
			}
			return "-"
		}
		return "+"
	case value.Float:
		s := v.Short(40)
		switch {
		case s[0] == '-', s[0] == 'N', s == "0":
			return s[:1]
		}
		return "+"
	case value.Bool, value.Null, value.Marker:
		return v.Short(40)
	case value.Text:
		if s := v.Short(40); s[0] != '"' && (len(s) < 2 || s[:2] != "0x") { // an enumerator, a variant without data
			return s
		}
		if v.Text() == "" {
			return `""`
		}
	case value.Array:
		if e, more := v.Elems(); len(e) == 0 && more == 0 {
			return "[]"
		}
	case value.Obj:
		if o := v.Object(); len(o) == 1 { // a variant with data, or an object of one member
			return o[0].Name + ":" + classOf(o[0].Value)
		}
	}
	return v.TypeName()
}

// add appends kid, whose lines were counted, or folds it into an earlier one. It returns how many lines that
// adds to the count.
func (n *node) add(kid *node, compare *int) int {
	like := n.alike(kid)
	if like == nil {
		n.kids = append(n.kids, kid)
		return 0
	}
	was := like.lines
	defer func() { like.last = max(like.last, kid.last) }()
	into := like
	if kid.kind != like.kind {
		into = nil
		for _, v := range like.variants {
			if v.kind == kid.kind {
				into = v
				break
			}
		}
	}
	most := maxVariants
	if kid.lines > 1 {
		most = maxTallVariants
	}
	switch {
	case into != nil:
		into.repeats.add(kid, into, compare)
		if into.repeats.n == 1 {
			like.lines++
		}
	case len(like.variants) < most:
		kid.of = like
		like.variants = append(like.variants, kid)
		like.lines += kid.lines
	default:
		like.rest.add(kid, like, compare)
		if like.rest.n == 1 {
			like.lines++
		}
	}
	return like.lines - was - kid.lines
}

// alike returns the sibling that kid folds into: one of the last that the same function is called by, with nothing else
// in between.
func (n *node) alike(kid *node) *node {
	for i := len(n.kids) - 1; i >= max(0, len(n.kids)-lookBack); i-- {
		k := n.kids[i]
		if k.made != nil {
			continue
		}
		if k.shape == kid.shape {
			return k
		}
		if k.fn == nil || kid.fn == nil || k.fn.Name != kid.fn.Name || k.fn.Raw != kid.fn.Raw || k.end == 0 {
			return nil
		}
	}
	return nil
}
