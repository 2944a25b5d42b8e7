package service

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/strobe-debug/strobe/internal/session"
	"github.com/strobe-debug/strobe/internal/sorting"
)

// PlannedCalls is how often a function is called that would be traced.
type PlannedCalls struct {
	Function       string `json:"function"`
	CallsPerSecond int64  `json:"callsPerSecond"`
}

const (
	planSample = 300 * time.Millisecond // how long calls are counted
	maxPlanned = 15                     // functions that an answer names
)

// plan tells what a change would do, and leaves everything as it was.
func plan(ctx context.Context, sess *session.Session, change session.TraceChange) (*TraceResult, error) {
	if len(change.Add) == 0 {
		return nil, invalid("Give the patterns in add.", "there is nothing to plan: add is absent")
	}
	t, calls, took, err := sess.Plan(ctx, change, planSample)
	if err != nil {
		return nil, err
	}
	r := describeTrace(sess, t)
	r.Mode = "plan"
	called := 0
	for _, c := range calls {
		if rate := int64(float64(c.Calls) / max(took.Seconds(), 0.001)); rate > 0 {
			called++
			r.CallsPerSecond += rate
			r.Planned = append(r.Planned, PlannedCalls{c.Function, rate})
		}
	}
	sorting.By(r.Planned, func(x, y PlannedCalls) int {
		return cmp.Or(cmp.Compare(y.CallsPerSecond, x.CallsPerSecond), cmp.Compare(x.Function, y.Function))
	})
	r.Planned = r.Planned[:min(len(r.Planned), maxPlanned)]
	r.Status = fmt.Sprintf("Nothing is installed. %d functions would be traced; %d of them were called in a sample of %s.",
		r.HookedFunctions, called, took.Round(time.Millisecond))
	if len(calls) == 0 && r.HookedFunctions > 0 {
		r.Status = fmt.Sprintf("Nothing is installed. %d functions would be traced; calls are counted of C, C++, Rust and "+
			"Go only.", r.HookedFunctions)
	}
	if n := len(r.Planned); called > n {
		r.Status += fmt.Sprintf(" The %d called most are in planned.", n)
	}
	return r, nil
}
