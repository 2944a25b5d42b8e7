package ring

import (
	"math/bits"
	"sync"
	"time"
)

// Clock turns the agent's ticks into nanoseconds of CLOCK_MONOTONIC. Safe for concurrent use.
//
// The two counters are compared again and again; each new comparison changes the slope, never
// the value at that moment by more than it was wrong, so times of one ring stay in order.
type Clock struct {
	raw bool // ticks are nanoseconds already

	mu     sync.Mutex // leaf
	before pair       // the comparison that the slope is taken from: the longer ago, the surer
	anchor pair
	mult   uint64 // nanoseconds per tick, as a fraction of 2^32
}

type pair struct {
	ticks uint64
	ns    int64
}

// refitEvery bounds how far a wrong slope can carry the result: 1 ppm of it, which the system may add or take where it
// keeps time with others, is 0.2 µs. A young clock, whose slope is the least sure, is renewed each time its age has
// doubled.
const refitEvery = 200 * time.Millisecond

// NewClock starts comparing.
func NewClock() *Clock {
	c := &Clock{raw: !InvariantTicks()}
	if c.raw {
		return c
	}
	c.before = compare()
	c.anchor = c.before
	for c.anchor.ns-c.before.ns < int64(2*time.Millisecond) {
		c.anchor = compare()
	}
	c.mult = slope(c.before, c.anchor)
	return c
}

// compare reads both counters at nearly the same moment: the closest of several tries.
func compare() pair {
	best, width := pair{}, uint64(1<<63)
	for range 8 {
		t0 := Ticks()
		ns := Monotonic()
		t1 := Ticks()
		if t1-t0 < width {
			best, width = pair{t0 + (t1-t0)/2, ns}, t1-t0
		}
	}
	return best
}

func slope(a, b pair) uint64 {
	hi, lo := bits.Mul64(uint64(b.ns-a.ns), 1<<32)
	q, _ := bits.Div64(hi, lo, b.ticks-a.ticks)
	return q
}

// Now is the agent's clock, in ticks.
func (c *Clock) Now() uint64 {
	if c.raw {
		return uint64(Monotonic())
	}
	return Ticks()
}

// TicksIn is about how many ticks pass in d.
func (c *Clock) TicksIn(d time.Duration) uint64 {
	if c.raw {
		return uint64(d)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return uint64(float64(d) * (1 << 32) / float64(c.mult))
}

// Duration is about how long so many ticks take: TicksIn the other way.
func (c *Clock) Duration(ticks uint64) time.Duration {
	if c.raw {
		return time.Duration(ticks)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Duration(float64(ticks) * float64(c.mult) / (1 << 32))
}

// Fit is a fixed comparison, for converting many times cheaply.
type Fit struct {
	anchor pair
	mult   uint64
	raw    bool
}

// Fit returns the present comparison, renewed when it is old.
func (c *Clock) Fit() Fit {
	if c.raw {
		return Fit{raw: true}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if age := c.anchor.ns - c.before.ns; Monotonic()-c.anchor.ns > min(int64(refitEvery), age) {
		if age >= int64(refitEvery) {
			c.before = c.anchor
		}
		c.anchor = compare()
		c.mult = slope(c.before, c.anchor)
	}
	return Fit{anchor: c.anchor, mult: c.mult}
}

// NS converts ticks to nanoseconds of CLOCK_MONOTONIC.
func (f Fit) NS(ticks uint64) int64 {
	if f.raw {
		return int64(ticks)
	}
	d := ticks - f.anchor.ticks
	if int64(d) < 0 {
		hi, lo := bits.Mul64(-d, f.mult)
		return f.anchor.ns - int64(hi<<32|lo>>32)
	}
	hi, lo := bits.Mul64(d, f.mult)
	return f.anchor.ns + int64(hi<<32|lo>>32)
}
