package tracediff

// item is what alignment knows of a call: the hashes of all that it caused, of what it was given, and its function.
type item struct {
	sub, in uint64
	name    int32
}

// pair are positions in two lists.
type pair struct{ a, b int }

// Levels of likeness, in the order in which counterparts are looked for: the same call with all that it caused, the
// same function with the same arguments, the same function.
const (
	levelSub = iota
	levelIn
	levelName
	levels
)

// align finds counterparts: ascending on both sides, each of the same function. It is the same for (a, b) and (b, a).
func align(a, b []item) []pair {
	if after(a, b) { // where several alignments are as good, the choice must not depend on the side
		out := align(b, a)
		for i, p := range out {
			out[i] = pair{p.b, p.a}
		}
		return out
	}
	l := &aligner{a: a, b: b}
	l.gap(0, len(a), 0, len(b), levelSub)
	return l.out
}

// after orders lists: by length, then by their first difference.
func after(a, b []item) bool {
	if len(a) != len(b) {
		return len(a) > len(b)
	}
	for i := range a {
		x, y := a[i], b[i]
		switch {
		case x.sub != y.sub:
			return x.sub > y.sub
		case x.in != y.in:
			return x.in > y.in
		case x.name != y.name:
			return x.name > y.name
		}
	}
	return false
}

type aligner struct {
	a, b []item
	out  []pair
}

// gap aligns two ranges between counterparts.
func (l *aligner) gap(alo, ahi, blo, bhi, level int) {
	for alo < ahi && blo < bhi && l.a[alo].sub == l.b[blo].sub && l.a[alo].name == l.b[blo].name {
		l.out = append(l.out, pair{alo, blo})
		alo, blo = alo+1, blo+1
	}
	tail := 0
	for alo < ahi && blo < bhi && l.a[ahi-1].sub == l.b[bhi-1].sub && l.a[ahi-1].name == l.b[bhi-1].name {
		ahi, bhi, tail = ahi-1, bhi-1, tail+1
	}
	switch {
	case alo == ahi || blo == bhi:
	case l.sameNames(alo, ahi, blo, bhi):
		// The same functions in the same order: what a loop's n-th call got is compared with the n-th, also where each got
		// what the next one gets on the other side.
		for i := range ahi - alo {
			l.out = append(l.out, pair{alo + i, blo + i})
		}
	case level < levels:
		fromA, fromB := alo, blo
		for _, p := range common(l.keys(l.a[alo:ahi], level), l.keys(l.b[blo:bhi], level)) {
			p.a, p.b = p.a+alo, p.b+blo
			l.gap(fromA, p.a, fromB, p.b, level+1)
			l.out = append(l.out, p)
			fromA, fromB = p.a+1, p.b+1
		}
		l.gap(fromA, ahi, fromB, bhi, level+1)
	}
	for i := range tail {
		l.out = append(l.out, pair{ahi + i, bhi + i})
	}
}

// sameNames reports whether two ranges have the same functions in the same order.
func (l *aligner) sameNames(alo, ahi, blo, bhi int) bool {
	if ahi-alo != bhi-blo {
		return false
	}
	for i := range ahi - alo {
		if l.a[alo+i].name != l.b[blo+i].name {
			return false
		}
	}
	return true
}

// keys are what items are compared by at a level.
func (l *aligner) keys(items []item, level int) []uint64 {
	out := make([]uint64, len(items))
	for i, it := range items {
		out[i] = uint64(it.name)
		switch level {
		case levelSub:
			out[i] = mix(out[i], it.sub)
		case levelIn:
			out[i] = mix(out[i], it.in)
		}
	}
	return out
}
