package ring

import (
	"testing"
	"time"
)

// TestClockAgrees: ticks become the time of CLOCK_MONOTONIC that was read between them, to less than the shortest calls
// take, also behind many renewals: an agent in a language's runtime reads that, and both are on one timeline.
func TestClockAgrees(t *testing.T) {
	if !InvariantTicks() {
		t.Log("the agent reads CLOCK_MONOTONIC itself here")
		return
	}
	const may = 60 // ns, of which what the counter itself counts by is 10 to 40
	c := NewClock()
	for end := Monotonic() + int64(3*refitEvery); Monotonic() < end; {
		f := c.Fit()
		for range 100 {
			t0 := Ticks()
			ns := Monotonic()
			t1 := Ticks()
			if a, b := f.NS(t0), f.NS(t1); a > ns+may || b < ns-may {
				t.Fatalf("%d ticks from %d are %d to %d, and the clock said %d (%v, %v)", t1-t0, t0, a, b, ns,
					time.Duration(a-ns), time.Duration(ns-b))
			}
		}
	}
}
