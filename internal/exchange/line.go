package exchange

import (
	"cmp"
	"math"

	"github.com/strobe-debug/strobe/internal/sorting"
)

// line is what bounds say of the difference of two clocks, a line over time: it lies above all lower bounds and below
// all upper ones. Of those only the hulls count.
type line struct {
	at, by       int64 // that points are counted from
	lower, upper []point
	under, over  []point // hulls
}

type point struct{ x, y float64 }

func newLine(all bounds) *line {
	l := &line{}
	if len(all) == 0 {
		return l
	}
	l.at, l.by = all[0].at, all[0].by
	for _, b := range all {
		p := point{float64(b.at - l.at), float64(b.by - l.by)}
		if b.upper {
			l.upper = append(l.upper, p)
		} else {
			l.lower = append(l.lower, p)
		}
	}
	l.under, l.over = hull(l.lower, -1), hull(l.upper, 1)
	return l
}

// hull are the corners of points that can touch a line from one side: 1 those that lie lowest, -1 highest.
func hull(all []point, side float64) (out []point) {
	sorting.By(all, func(a, b point) int { return cmp.Or(cmp.Compare(a.x, b.x), cmp.Compare(side*a.y, side*b.y)) })
	for _, p := range all {
		for len(out) > 1 {
			a, b := out[len(out)-2], out[len(out)-1]
			if side*((b.x-a.x)*(p.y-a.y)-(b.y-a.y)*(p.x-a.x)) > 0 {
				break
			}
			out = out[:len(out)-1]
		}
		out = append(out, p)
	}
	return out
}

// room are the heights that lines of a slope can have at point zero; from is above upTo where none fits.
func (l *line) room(slope float64) (from, upTo float64) {
	from, upTo = math.Inf(-1), math.Inf(1)
	for _, p := range l.under {
		from = max(from, p.y-slope*p.x)
	}
	for _, p := range l.over {
		upTo = min(upTo, p.y-slope*p.x)
	}
	return from, upTo
}

// steps are enough to have a slope to a part in 10^14 of maxDrift.
const steps = 80

// most is where between two slopes something that rises and then falls is most.
func most(from, upTo float64, f func(slope float64) float64) float64 {
	for range steps {
		a, b := from+(upTo-from)/3, upTo-(upTo-from)/3
		if f(a) < f(b) {
			from = a
		} else {
			upTo = b
		}
	}
	return (from + upTo) / 2
}

func (l *line) free(slope float64) float64 {
	from, upTo := l.room(slope)
	return upTo - from
}

// slopes are the least and the largest that fit. wrong is by how much bounds have to give way so that any does.
func (l *line) slopes() (least, largest, wrong float64) {
	best := most(-maxDrift, maxDrift, l.free)
	if free := l.free(best); free < 0 {
		return best, best, -free / 2
	}
	edge := func(out float64) float64 { // between what fits and what does not
		if in := best; l.free(out) < 0 {
			for range steps {
				if mid := (in + out) / 2; l.free(mid) < 0 {
					out = mid
				} else {
					in = mid
				}
			}
			return in
		}
		return out
	}
	return edge(-maxDrift), edge(maxDrift), 0
}

// solve is the slope in the midst of those that fit: of a short time it is little, for all fit.
func (l *line) solve() (slope, wrong float64) {
	least, largest, wrong := l.slopes()
	return (least + largest) / 2, wrong
}

// height is that of the line of a slope in the midst of its room, at point zero.
func (l *line) height(slope float64) float64 {
	from, upTo := l.room(slope)
	return (from + upTo) / 2
}

// offset is the height of the line at a time.
func (l *line) offset(slope float64, at int64) int64 {
	return l.by + int64(math.Round(l.height(slope)+slope*float64(at-l.at)))
}

// within is by how much any line that fits differs from the one of a slope, between two times.
func (l *line) within(slope float64, times ...int64) int64 {
	least, largest, wrong := l.slopes()
	off := 0.0
	for _, at := range times {
		x := float64(at - l.at)
		mine := l.height(slope) + slope*x
		over := func(s float64) float64 { _, upTo := l.room(s); return upTo + s*x - mine }
		under := func(s float64) float64 { from, _ := l.room(s); return mine - from - s*x }
		off = max(off, over(most(least, largest, over)), under(most(least, largest, under)))
	}
	return int64(math.Ceil(max(off, 0) + wrong))
}
