package testrun

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/strobe-debug/strobe/internal/stuck"
)

// A test that is shown to be stuck is of no use to whoever waits for it: its run is ended soon, with its stacks.
const (
	// stuckEnds is how long a proof stands before the run is ended for it, so that it can be seen, and be wrong.
	stuckEnds = 5 * time.Second
	// partlyEnds is that of a circle of locks beside which other threads may go on, and end other tests.
	partlyEnds = 30 * time.Second
)

// Stuck is stuck.Subject's: it notes what a look has shown, or shown again. What has stood for stuckEnds ends the run.
func (r *Run) Stuck(f *stuck.Verdict, all []stuck.Process) (next time.Time, ended bool) {
	r.shown(f, all)
	now := time.Now()
	r.mu.Lock()
	if r.proved.IsZero() {
		if r.proved = now; f.Diagnosis == r.standing && r.stood.After(r.lastNews) {
			r.proved = r.stood // a tick of its runtime's was between, and nothing came of it
		}
	}
	r.partly = f.Partly
	due := r.overLocked(now)
	r.mu.Unlock()
	switch {
	case due.After(now):
		return minTime(due, now.Add(stuck.RestMost)), false
	case r.Request.Tracing.Empty() && traced(all): // somebody looks at it with a debugger
		r.mu.Lock()
		r.proved = now
		r.mu.Unlock()
		return now.Add(stuckEnds), false
	}
	return now.Add(stuck.RestMost), r.endStuck()
}

// Due is stuck.Subject's: when the run is to be ended for what is stuck.
func (r *Run) Due(now time.Time) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.overLocked(now)
}

func (r *Run) overLocked(now time.Time) time.Time {
	switch {
	case r.proved.IsZero() || r.Request.KeepStuck:
		return now.Add(stuck.RestMost)
	case r.partly:
		return r.proved.Add(partlyEnds)
	}
	return r.proved.Add(stuckEnds)
}

// endStuck ends the command that runs, and reports whether there was one.
func (r *Run) endStuck() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.endStep == nil || len(r.stuck) == 0 {
		return false
	}
	for i := range r.stuck {
		r.stuck[i].Ended = true
	}
	r.endStep()
	return true
}

// whyStuck is what ended a command.
func (r *Run) whyStuck() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.stuck) == 0 {
		return "it stood still"
	}
	s := &r.stuck[0]
	return fmt.Sprintf("%s (without a sign of life since %s after the run's begin)", s.Diagnosis,
		seconds(time.Duration(s.SinceMs)*time.Millisecond))
}

// traced reports whether a debugger holds one of some processes.
func traced(all []stuck.Process) bool {
	for _, m := range all {
		b, err := os.ReadFile(filepath.Join("/proc", fmt.Sprint(m.PID), "status"))
		if err != nil {
			continue
		}
		if _, rest, ok := strings.Cut(string(b), "\nTracerPid:\t"); ok && !strings.HasPrefix(rest, "0\n") {
			return true
		}
	}
	return false
}

func minTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// shown keeps what a look has shown of tests that do not go on.
func (r *Run) shown(f *stuck.Verdict, all []stuck.Process) {
	traces := r.stuckTraces(f, all)
	r.mu.Lock()
	defer r.mu.Unlock()
	s := Stuck{Diagnosis: f.Diagnosis, Threads: f.Threads, SuggestedTraces: traces, waits: f.Waits,
		SinceMs: r.lastNews.Sub(r.began).Milliseconds()}
	now := time.Now()
	for _, m := range all[:min(len(all), stuck.MaxThreads)] {
		s.PIDs = append(s.PIDs, m.PID)
	}
	var names []string
	for _, id := range r.order {
		if e := r.tests[id]; !e.over && !e.test.Group {
			names = append(names, id)
			s.ElapsedMs = max(s.ElapsedMs, now.Sub(e.began).Milliseconds())
		}
	}
	s.Name = strings.Join(names[:min(len(names), 3)], ", ")
	if s.Name == "" && len(r.commands) > 0 {
		s.Name = r.commands[len(r.commands)-1]
	}
	if s.ElapsedMs == 0 {
		s.ElapsedMs = now.Sub(r.since).Milliseconds()
	}
	r.stuck = []Stuck{s}
}

// Moves is stuck.Subject's: it takes back what was shown.
func (r *Run) Moves() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.proved.IsZero() && len(r.stuck) > 0 {
		r.standing, r.stood = r.stuck[0].Diagnosis, r.proved
	}
	r.stuck, r.proved = nil, time.Time{}
}
