package query

import "math/bits"

// histogram counts durations with 16 steps per power of two: a quantile is off by 3 % at most.
type histogram struct {
	n                 int64
	shortest, longest int64
	steps             []uint32
}

const histogramSteps = 16

func (h *histogram) add(ns int64) {
	i := step(uint64(max(0, ns)))
	if i >= len(h.steps) {
		h.steps = append(h.steps, make([]uint32, i+1-len(h.steps))...)
	}
	if h.n == 0 {
		h.shortest = ns
	}
	h.shortest, h.longest = min(h.shortest, ns), max(h.longest, ns)
	h.steps[i]++
	h.n++
}

func step(v uint64) int {
	if v < histogramSteps {
		return int(v)
	}
	shift := bits.Len64(v) - 5
	return shift*histogramSteps + int(v>>shift)
}

// quantile returns the middle of the step that holds the share q, or the shortest or longest duration where
// that is nearer.
func (h *histogram) quantile(q float64) int64 { return min(max(h.middle(q), h.shortest), h.longest) }

func (h *histogram) middle(q float64) int64 {
	rank := int64(q * float64(h.n))
	for i, c := range h.steps {
		if rank -= int64(c); rank < 0 {
			if i < 2*histogramSteps {
				return int64(i)
			}
			shift := i/histogramSteps - 1
			low := int64(i-shift*histogramSteps) << shift
			return low + int64(1)<<shift/2
		}
	}
	return 0
}
