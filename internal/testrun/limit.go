package testrun

import (
	"context"
	"time"

	"github.com/strobe-debug/strobe/internal/testadapter"
)

// limited is a step's context: it ends with the run, or when the step's time is up. A step that builds first has
// compileLimit for that, and its limit from its first test on.
func (r *Run) limited(step *testadapter.Step, limit time.Duration) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(r.ctx)
	first := limit
	if step.Builds {
		first = compileLimit
	}
	timer := time.AfterFunc(first, func() { cancel(errTimeout) })
	r.mu.Lock()
	r.endStep = func() { cancel(errStuck) }
	if step.Builds {
		r.begun = func() { timer.Reset(limit) }
	}
	r.mu.Unlock()
	return ctx, func() {
		r.mu.Lock()
		r.begun, r.endStep = nil, nil
		r.mu.Unlock()
		timer.Stop()
		cancel(nil)
	}
}

// firstPhase is the phase that a step begins with.
func firstPhase(step *testadapter.Step) testadapter.Phase {
	if step.Builds {
		return testadapter.Compiling
	}
	return step.Phase
}

// enter changes the phase. Run.mu is held.
func (r *Run) enter(p testadapter.Phase, now time.Time) {
	if p == r.phase {
		return
	}
	r.phase, r.since = p, now
	if p == testadapter.Running && r.begun != nil {
		r.begun()
		r.begun = nil
	}
}

// spent is what a step took of the run's limit.
func (r *Run) spent(step *testadapter.Step, x testadapter.Exit) time.Duration {
	if step.Phase == testadapter.Compiling {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case !step.Builds:
		return x.Duration
	case r.phase == testadapter.Compiling: // no test began
		return 0
	}
	return min(x.Duration, time.Since(r.since))
}
