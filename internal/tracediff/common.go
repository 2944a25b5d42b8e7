package tracediff

// common returns a long common subsequence of two lists: the longest, unless that would take more than maxCost steps of
// search at once. It is Myers' divide and conquer from both ends: memory is linear, time the length times what differs.
func common(a, b []uint64) []pair {
	s := &search{}
	s.a, s.atA = onlyIn(a, b)
	s.b, s.atB = onlyIn(b, a)
	n := len(s.a) + len(s.b) + 3
	s.base = len(s.b) + 1
	s.ahead, s.back = make([]int, n), make([]int, n)
	s.find(0, len(s.a), 0, len(s.b))
	return s.out
}

// onlyIn drops what the other list does not have: it is in no common subsequence, and would cost most of the time.
func onlyIn(list, other []uint64) (kept []uint64, at []int) {
	there := make(map[uint64]struct{}, len(other))
	for _, k := range other {
		there[k] = struct{}{}
	}
	for i, k := range list {
		if _, ok := there[k]; ok {
			kept, at = append(kept, k), append(at, i)
		}
	}
	return kept, at
}

// maxCost is how many edits a search goes through before it takes the best way so far: at 1,000 a million calls that
// have nothing in order take some seconds.
const maxCost = 1000

// search is one common under way. A diagonal is a position in a less one in b; ahead and back have the furthest
// position in a on each, from the begin and from the end.
type search struct {
	a, b        []uint64
	atA, atB    []int // where they stood in the lists
	base        int   // index of diagonal 0
	ahead, back []int
	out         []pair
}

// find adds the counterparts in two ranges.
func (s *search) find(alo, ahi, blo, bhi int) {
	for alo < ahi && blo < bhi && s.a[alo] == s.b[blo] {
		s.out = append(s.out, pair{s.atA[alo], s.atB[blo]})
		alo, blo = alo+1, blo+1
	}
	tail := 0
	for alo < ahi && blo < bhi && s.a[ahi-1] == s.b[bhi-1] {
		ahi, bhi, tail = ahi-1, bhi-1, tail+1
	}
	if alo < ahi && blo < bhi {
		x, y := s.middle(alo, ahi, blo, bhi)
		if (x > alo || y > blo) && (x < ahi || y < bhi) {
			s.find(alo, x, blo, y)
			s.find(x, ahi, y, bhi)
		}
	}
	for i := range tail {
		s.out = append(s.out, pair{s.atA[ahi+i], s.atB[bhi+i]})
	}
}

// middle returns a point of a shortest edit path, or of a good one, between the ranges' corners.
func (s *search) middle(alo, ahi, blo, bhi int) (x, y int) {
	first, last := alo-blo, ahi-bhi // diagonals of the two corners
	least, most := alo-bhi, ahi-blo
	odd := (last-first)&1 != 0
	fmin, fmax, bmin, bmax := first, first, last, last
	s.ahead[s.base+first], s.back[s.base+last] = alo, ahi
	for cost := 1; ; cost++ {
		fmin, fmax = s.widen(s.ahead, fmin, fmax, least, most, -1)
		for d := fmax; d >= fmin; d -= 2 {
			x := max(s.ahead[s.base+d-1]+1, s.ahead[s.base+d+1])
			for x < ahi && x-d < bhi && s.a[x] == s.b[x-d] {
				x++
			}
			s.ahead[s.base+d] = x
			if odd && bmin <= d && d <= bmax && s.back[s.base+d] <= x {
				return x, x - d
			}
		}
		bmin, bmax = s.widen(s.back, bmin, bmax, least, most, int(^uint(0)>>1))
		for d := bmax; d >= bmin; d -= 2 {
			x := min(s.back[s.base+d-1], s.back[s.base+d+1]-1)
			for x > alo && x-d > blo && s.a[x-1] == s.b[x-d-1] {
				x--
			}
			s.back[s.base+d] = x
			if !odd && fmin <= d && d <= fmax && x <= s.ahead[s.base+d] {
				return x, x - d
			}
		}
		if cost >= maxCost {
			return s.furthest(fmin, fmax, ahi, bhi)
		}
	}
}

// widen adds a diagonal at each end, or takes those off that have left the ranges. What lies beyond is out of reach.
func (s *search) widen(reach []int, lo, hi, least, most, none int) (int, int) {
	if lo > least {
		lo--
		reach[s.base+lo-1] = none
	} else {
		lo++
	}
	if hi < most {
		hi++
		reach[s.base+hi+1] = none
	} else {
		hi--
	}
	return lo, hi
}

// furthest is the point that the search from the begin has come to with the most behind it.
func (s *search) furthest(fmin, fmax, ahi, bhi int) (bx, by int) {
	best := -1 << 62
	for d := fmax; d >= fmin; d -= 2 {
		x := min(s.ahead[s.base+d], ahi)
		y := x - d
		if y > bhi {
			x, y = bhi+d, bhi
		}
		if x+y > best {
			best, bx, by = x+y, x, y
		}
	}
	return bx, by
}
