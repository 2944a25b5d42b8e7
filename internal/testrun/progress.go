package testrun

import (
	"slices"
	"time"

	"github.com/strobe-debug/strobe/internal/sorting"
	"github.com/strobe-debug/strobe/internal/testadapter"
)

// Progress is how a run stands.
type Progress struct {
	ElapsedMs int64     `json:"elapsedMs"`
	Phase     string    `json:"phase"` // compiling, running
	Doing     string    `json:"doing,omitempty"`
	Passed    int       `json:"passed"`
	Failed    int       `json:"failed"`
	Skipped   int       `json:"skipped"`
	Current   []Current `json:"currentTests,omitempty"` // those that run longest, at most 3
	Running   int       `json:"totalRunning,omitempty"` // where more than those run
	// since the last output, or the last test that began or ended; over 5 s
	QuietMs  int64    `json:"quietMs,omitempty"`
	Stuck    []Stuck  `json:"stuck,omitempty"`  // what cannot go on, shown by its threads
	Paused   []string `json:"paused,omitempty"` // threads that a breakpoint or a step stopped
	Warnings []string `json:"warnings,omitempty"`
}

// Current is a test that runs.
type Current struct {
	Name       string `json:"name"`
	ElapsedMs  int64  `json:"elapsedMs"`
	BaselineMs int64  `json:"baselineMs,omitempty"` // the median of its last 10 passed runs
}

const (
	maxCurrent = 3
	quietFrom  = 5 * time.Second
)

// State is a run's status in a word, how it stands, and once it has ended its result, or why it has none.
func (r *Run) State() (status string, p Progress, res *Result, sessions []string, err error) {
	ended := r.Ended()
	paused := r.Paused()
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if ended {
		now = r.ended
	}
	p = Progress{ElapsedMs: now.Sub(r.began).Milliseconds(), Phase: string(r.phase), Doing: r.doing,
		Passed: r.counts.Passed, Failed: r.counts.Failed,
		Skipped: r.counts.Skipped, Warnings: slices.Clone(r.warnings)}
	if r.phase == testadapter.Running {
		p.Doing = ""
	}
	if !ended {
		p.Stuck, p.Paused = slices.Clone(r.stuck), paused
	}
	if quiet := now.Sub(r.lastNews); !ended && quiet >= quietFrom {
		p.QuietMs = quiet.Milliseconds()
	}
	var open []*entry
	for _, id := range r.order {
		if e := r.tests[id]; !e.over && !e.test.Group {
			open = append(open, e)
		}
	}
	sorting.By(open, func(a, b *entry) int { return a.began.Compare(b.began) })
	for _, e := range open[:min(len(open), maxCurrent)] {
		b := r.base[e.test.ID]
		p.Current = append(p.Current, Current{e.test.ID, now.Sub(e.began).Milliseconds(), b.Median().Milliseconds()})
	}
	if len(open) > maxCurrent {
		p.Running = len(open)
	}
	if !ended {
		p.Warnings = append(p.Warnings, r.quietWarnings(&p, now)...)
	}
	status = "running"
	switch {
	case !ended:
	case r.canceled:
		status = "canceled"
	case r.failure != nil:
		status = "failed"
	default:
		status = "completed"
	}
	sessions = slices.Clone(r.sessions)
	if i := slices.Index(sessions, r.failedIn); i >= 0 { // what is asked about comes last
		sessions = append(slices.Delete(sessions, i, i+1), r.failedIn)
	}
	return status, p, r.result, sessions, r.failure
}
