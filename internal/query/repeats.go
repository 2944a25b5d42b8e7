package query

import (
	"fmt"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/record"
	"github.com/strobe-debug/strobe/internal/store"
	"github.com/strobe-debug/strobe/internal/value"
)

// repeats are the siblings after a node that look the same, without their subtrees.
type repeats struct {
	n        int64
	calls    int64
	ns       int64
	first    event.ID
	only     *node      // while there is one, and it is a single line
	results  valueRange // of themselves
	args     []argRange // those that are not always as in the line above
	compared int64      // of n: those whose arguments are in args
	below    []belowRange
}

// valueRange sums up values of one place.
type valueRange struct {
	n      int64
	kinds  []valueCount // the first few different ones
	other  bool         // there are more than these
	all    bool         // every one is an integer: lo and hi hold
	lo, hi int64
}

type valueCount struct {
	text string
	n    int64
	id   event.ID
}

type argRange struct {
	name string
	valueRange
}

// belowRange is what one function returned in the subtrees of what was folded.
type belowRange struct {
	fn *record.Function
	valueRange
}

const (
	maxValueKinds = 4 // different values that a fold lists; beyond, it shows their range or says that they vary
	maxBelow      = 4 // functions below of which a fold says the results
)

func (r *valueRange) add(v value.Value, id event.ID) {
	if r.n == 0 {
		r.all = true
	}
	r.n++
	if i, ok := v.Int64(); ok && v.Kind() == value.Int {
		if r.n == 1 {
			r.lo, r.hi = i, i
		}
		r.lo, r.hi = min(r.lo, i), max(r.hi, i)
	} else {
		r.all = false
	}
	r.count(v.Short(40), 1, id)
}

func (r *valueRange) count(s string, n int64, id event.ID) {
	for i := range r.kinds {
		if r.kinds[i].text == s {
			r.kinds[i].n += n
			return
		}
	}
	if len(r.kinds) < maxValueKinds {
		r.kinds = append(r.kinds, valueCount{s, n, id})
		return
	}
	r.other = true
}

// merge adds what another range has seen.
func (r *valueRange) merge(o *valueRange) {
	if o.n == 0 {
		return
	}
	if r.n == 0 {
		r.lo, r.hi, r.all = o.lo, o.hi, true
	}
	r.n += o.n
	r.all = r.all && o.all
	r.lo, r.hi = min(r.lo, o.lo), max(r.hi, o.hi)
	for _, k := range o.kinds {
		r.count(k.text, k.n, k.id)
	}
	r.other = r.other || o.other
}

// String is 4, 2..118, bronze ×3, gold ×1 #71, or "a", "b", ….
func (r *valueRange) String() string {
	switch {
	case len(r.kinds) == 1 && !r.other:
		return r.kinds[0].text
	case r.other && r.all || r.all && r.hi-r.lo+1 == r.n && len(r.kinds) == int(r.n):
		return fmt.Sprintf("%d..%d", r.lo, r.hi)
	case r.other:
		return r.kinds[0].text + ", " + r.kinds[1].text + ", … differ"
	}
	parts := make([]string, len(r.kinds))
	for i, k := range r.kinds {
		parts[i] = fmt.Sprintf("%s ×%d", k.text, k.n)
		if i > 0 && k.n <= 2 {
			parts[i] += fmt.Sprintf(" #%d", k.id) // the rare one is what is looked for
		}
	}
	return strings.Join(parts, ", ")
}

// add counts n, which is like the line above; compare is how many more may have their arguments read.
func (r *repeats) add(n, above *node, compare *int) {
	r.n++
	switch {
	case r.n == 1:
		r.first = n.id
		if n.lines == 1 && len(n.variants) == 0 {
			r.only = n
		}
	case r.only != nil:
		r.compareArgs(r.only, above, compare)
		r.only = nil
		r.compareArgs(n, above, compare)
	default:
		r.compareArgs(n, above, compare)
	}
	if r.n == 1 && r.only == nil {
		r.compareArgs(n, above, compare)
	}
	r.calls += n.allCalls()
	r.ns += n.ns
	if n.has {
		r.results.add(n.result, n.id)
	}
	n.eachBelow(func(fn *record.Function, seen *valueRange) {
		i := slices.IndexFunc(r.below, func(b belowRange) bool { return b.fn == fn })
		if i < 0 && len(r.below) < maxBelow {
			i, r.below = len(r.below), append(r.below, belowRange{fn: fn})
		}
		if i >= 0 {
			r.below[i].merge(seen)
		}
	})
}

// compareArgs keeps the range of the arguments that differ from those of the line above.
func (r *repeats) compareArgs(n, above *node, compare *int) {
	if n.fn == nil || !n.fn.Known() || *compare <= 0 {
		return
	}
	*compare--
	r.compared++
	if string(n.enter) == string(above.enter) && r.args == nil {
		return
	}
	theirs := above.arguments()
	for i, m := range n.arguments() {
		if i >= maxFoldedArgs {
			return
		}
		at := slices.IndexFunc(r.args, func(a argRange) bool { return a.name == m.Name })
		if at < 0 {
			if i < len(theirs) && theirs[i].Value.Short(40) == m.Value.Short(40) {
				continue
			}
			at = len(r.args)
			a := argRange{name: m.Name}
			if i < len(theirs) && r.compared > 1 { // until now it was as above
				a.add(theirs[i].Value, n.id)
				a.n, a.kinds[0].n = r.compared-1, r.compared-1
			}
			r.args = append(r.args, a)
		}
		r.args[at].add(m.Value, n.id)
	}
}

// arguments renders a call's arguments, once where they are asked for again.
func (n *node) arguments() value.Object {
	if n.shownArgs == nil && n.fn != nil {
		n.shownArgs = n.fn.Arguments(n.row())
	}
	return n.shownArgs
}

// row is the call's enter as far as its values need it.
func (n *node) row() *store.Row { return &store.Row{Kind: event.FunctionEnter, Payload: n.enter} }

// eachBelow calls f with the results of every call below n, folded ones included.
func (n *node) eachBelow(f func(*record.Function, *valueRange)) {
	for _, k := range n.kids {
		k.each(f)
	}
}

func (n *node) each(f func(*record.Function, *valueRange)) {
	if n.fn != nil && n.has {
		var one valueRange
		one.add(n.result, n.id)
		f(n.fn, &one)
	}
	for _, r := range []*repeats{&n.repeats, &n.rest} {
		if r.results.n > 0 {
			f(n.fn, &r.results)
		}
		for i := range r.below {
			f(r.below[i].fn, &r.below[i].valueRange)
		}
	}
	n.eachBelow(f)
	for _, v := range n.variants {
		v.each(f)
	}
}

// line is "×37 more like this (total 1.2ms, id=2..38, results 1..37; below: check → 0..9) from #6". like says what they
// are like.
func (r *repeats) line(calls bool, like string) string {
	out := fmt.Sprintf("×%d more%s", r.n, like)
	if !calls {
		return out
	}
	out += fmt.Sprintf(" (total %s", duration(r.ns))
	for i := range r.args {
		out += ", " + r.args[i].name + "=" + r.args[i].valueRange.String()
	}
	if len(r.args) > 0 && r.compared < r.n {
		out += fmt.Sprintf(" in the first %d", r.compared)
	}
	switch {
	case r.results.n == 0:
	case len(r.results.kinds) == 1 && !r.results.other:
		out += ", result " + r.results.String()
	default:
		out += ", results " + r.results.String()
	}
	for i := range r.below {
		sep := ", "
		if i == 0 {
			sep = "; below: "
		}
		out += sep + event.ShortName(r.below[i].fn.Name, 40) + " → " + r.below[i].valueRange.String()
	}
	return out + fmt.Sprintf(") from #%d", r.first)
}
