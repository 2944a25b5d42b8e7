package testrun

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A test that is shown to be stuck is of no use to whoever waits for it: its run is ended soon, with its stacks.
const (
	// stuckEnds is how long a proof stands before the run is ended for it, so that it can be seen, and be wrong.
	stuckEnds = 5 * time.Second
	// partlyEnds is that of a circle of locks beside which other threads may go on, and end other tests.
	partlyEnds = 30 * time.Second
)

// stick notes what a look has shown, or shown again, and says when to look next. What has stood for stuckEnds ends the run.
func (r *Run) stick(f finding, all []member) (next time.Time) {
	r.shown(f, all)
	now := time.Now()
	r.mu.Lock()
	if r.proved.IsZero() {
		if r.proved = now; f.diagnosis == r.standing && r.stood.After(r.lastNews) {
			r.proved = r.stood // a tick of its runtime's was between, and nothing came of it
		}
	}
	r.partly = f.partly
	due := r.overLocked(now)
	r.mu.Unlock()
	switch {
	case due.After(now):
		return minTime(due, now.Add(restMost))
	case r.Request.Tracing.Empty() && traced(all): // somebody looks at it with a debugger
		r.mu.Lock()
		r.proved = now
		r.mu.Unlock()
		return now.Add(stuckEnds)
	}
	r.endStuck()
	return now.Add(restMost)
}

// over is when the run is to be ended for what is stuck: in the far future where it is not.
func (r *Run) over(now time.Time) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.overLocked(now)
}

func (r *Run) overLocked(now time.Time) time.Time {
	switch {
	case r.proved.IsZero() || r.Request.KeepStuck:
		return now.Add(restMost)
	case r.partly:
		return r.proved.Add(partlyEnds)
	}
	return r.proved.Add(stuckEnds)
}

// endStuck ends the command that runs.
func (r *Run) endStuck() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.endStep == nil || len(r.stuck) == 0 {
		return
	}
	for i := range r.stuck {
		r.stuck[i].Ended = true
	}
	r.endStep()
}

// whyStuck is what ended a command.
func (r *Run) whyStuck() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.stuck) == 0 {
		return "it stood still"
	}
	s := &r.stuck[0]
	return fmt.Sprintf("%s (without a sign of life since %s after the run's begin)", s.Diagnosis, seconds(time.Duration(s.SinceMs)*time.Millisecond))
}

// loopsAgain looks once more at a loop that was shown to be endless, before the run is ended for it, and reports whether it was.
func (r *Run) loopsAgain(w *loopWatch, stop <-chan struct{}, procs *family, look looker, spin spinner) bool {
	w.found = false
	r.loops(w, stop, procs, procs.now(), look, spin)
	if !w.found {
		r.unstick()
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.stuck) > 0 && r.stuck[0].Ended
}

// traced reports whether a debugger holds one of some processes.
func traced(all []member) bool {
	for _, m := range all {
		b, err := os.ReadFile(filepath.Join("/proc", fmt.Sprint(m.pid), "status"))
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
func (r *Run) shown(f finding, all []member) {
	traces := r.stuckTraces(&f, all)
	r.mu.Lock()
	defer r.mu.Unlock()
	s := Stuck{Diagnosis: f.diagnosis, Threads: f.threads, SuggestedTraces: traces, SinceMs: r.lastNews.Sub(r.began).Milliseconds()}
	now := time.Now()
	for _, m := range all[:min(len(all), maxThreads)] {
		s.PIDs = append(s.PIDs, m.pid)
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

// unstick takes it back: something moves.
func (r *Run) unstick() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.proved.IsZero() && len(r.stuck) > 0 {
		r.standing, r.stood = r.stuck[0].Diagnosis, r.proved
	}
	r.stuck, r.proved = nil, time.Time{}
}
