package testrun

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/store"
	"github.com/strobe-debug/strobe/internal/stuck"
	"github.com/strobe-debug/strobe/internal/testadapter"
)

// Bounds of an answer; the details file has all.
const (
	maxFailures = 20
	maxMessage  = 1500 // bytes of one failure's message
	maxStack    = 6
	maxNamed    = 20 // slow or flaky tests
	maxFurther  = 5  // of one test's failures, after the first
	maxBriefly  = 200
)

// Result is what became of a run.
type Result struct {
	Framework string   `json:"framework,omitempty"`
	Summary   Summary  `json:"summary"`
	Failures  []Failed `json:"failures"` // the first 20
	NotShown  int      `json:"failuresNotShown,omitempty"`
	Stuck     []Stuck  `json:"stuck"`
	Slow      []Slow   `json:"slow,omitempty"` // passed, and took more than twice as long as usual
	// passed and failed within their last 20 results, or passed at a further attempt
	Flaky []string `json:"flaky,omitempty"`
	// file: every test, and the commands; output.txt beside it has what they wrote
	Details  string   `json:"details"`
	Rounds   int      `json:"rounds,omitempty"`   // with repeat: how many it took; the summary is of the last
	ExitCode int      `json:"exitCode,omitempty"` // of the first command that did not end with 0
	Signal   string   `json:"signal,omitempty"`   // that ended it
	NoTests  bool     `json:"noTests,omitempty"`
	Project  *Project `json:"project,omitempty"` // with noTests
	Hint     string   `json:"hint,omitempty"`
	Notes    []string `json:"notes,omitempty"`
}

// Summary counts tests, each in one of passed to todo, in its framework's own terms.
type Summary struct {
	Passed           int   `json:"passed"`
	Failed           int   `json:"failed"`
	Skipped          int   `json:"skipped"`
	Stuck            int   `json:"stuck,omitempty"`
	ExpectedFailures int   `json:"expectedFailures,omitempty"` // pytest's xfailed, Meson's Expected Fail, …
	UnexpectedPasses int   `json:"unexpectedPasses,omitempty"` // pytest's xpassed; strict ones failed
	Todo             int   `json:"todo,omitempty"`
	Subtests         int   `json:"subtests,omitempty"` // of pytest and unittest, that passed: no tests of their own
	DurationMs       int64 `json:"durationMs"`
}

// Failed is one test that failed.
type Failed struct {
	Name            string   `json:"name"`
	Suite           string   `json:"suite,omitempty"`
	Status          string   `json:"status,omitempty"` // where it is not failed: error, crashed, timeout, unexpected-pass
	Kind            string   `json:"kind,omitempty"`   // assertion, panic, exception, setup, compile, crash, …
	File            string   `json:"file,omitempty"`
	Line            int      `json:"line,omitempty"`
	Message         string   `json:"message"`
	Expected        string   `json:"expected,omitempty"`
	Actual          string   `json:"actual,omitempty"`
	Stack           []string `json:"stack,omitempty"`           // of user code, innermost first
	Also            int      `json:"furtherFailures,omitempty"` // of the same test, or compile errors of the same target
	Further         []string `json:"further,omitempty"`         // the first of them, briefly
	SuggestedTraces []string `json:"suggestedTraces,omitempty"`
	Rerun           *Rerun   `json:"rerun,omitempty"`
}

// Rerun is how to run one test again.
type Rerun struct {
	Test    string `json:"test,omitempty"`    // of debug_test
	Command string `json:"command,omitempty"` // for a shell
}

// Stuck is a test that did not go on.
type Stuck struct {
	Name            string       `json:"name,omitempty"`
	ElapsedMs       int64        `json:"elapsedMs"`
	SinceMs         int64        `json:"sinceMs,omitempty"` // after the run's begin: its last sign of life
	PIDs            []int        `json:"pids,omitempty"`
	Ended           bool         `json:"ended,omitempty"` // by us, for that
	Diagnosis       string       `json:"diagnosis"`
	Threads         []stuck.Line `json:"threads,omitempty"`
	SuggestedTraces []string     `json:"suggestedTraces,omitempty"`

	waits []stuck.Wait // in the details alone: a model reads the diagnosis
}

// Slow is a test that took longer than usual.
type Slow struct {
	Name       string `json:"name"`
	DurationMs int64  `json:"durationMs"`
	UsualMs    int64  `json:"usualMs"`
}

// details is the file.
type details struct {
	TestRunID string              `json:"testRunId"`
	Framework string              `json:"framework"`
	Project   string              `json:"projectRoot"`
	Began     time.Time           `json:"began"`
	Commands  []string            `json:"commands"`
	Summary   Summary             `json:"summary"`
	Error     string              `json:"error,omitempty"`
	Tests     []*testadapter.Test `json:"tests"`
	Waits     []stuck.Wait        `json:"waits,omitempty"` // of what is stuck: who waits for whom
	Notes     []string            `json:"notes,omitempty"`
	Output    string              `json:"output"`
}

// finish makes the result.
func (r *Run) finish(failure error) {
	r.suggest()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = time.Now()
	r.canceled = context.Cause(r.ctx) != nil && !r.timedOut
	r.failure = failure
	if r.canceled && failure == nil {
		r.failure = fault.New(fault.ValidationError, "Start it again with debug_test action run.", "test run %s was canceled",
			r.ID)
	}
	res := &Result{Framework: r.adapter.Name(), Failures: []Failed{}, Stuck: []Stuck{},
		Details: filepath.Join(r.dir, "details.json")}
	n := &r.counts
	res.Summary = Summary{Passed: n.Passed, Failed: n.Failed, Skipped: n.Skipped, ExpectedFailures: n.ExpectedFailures,
		UnexpectedPasses: n.UnexpectedPasses, Todo: n.Todo, Subtests: n.Subtests,
		DurationMs: r.ended.Sub(r.began).Milliseconds()}
	res.Notes = append(slices.Clone(r.warnings), r.notes...)
	if o, all := r.own, n.totals(); o != nil &&
		(differs(o.Passed, all.Passed) || differs(o.Failed, all.Failed) || differs(o.Skipped, all.Skipped)) {
		res.Notes = append(res.Notes, fmt.Sprintf("%s itself counts %s", r.adapter.Name(), counted(o)))
	}
	if r.Request.Repeat > 1 {
		res.Rounds = r.round
		res.Notes = append(res.Notes, fmt.Sprintf("round %d of %d; %d tests passed in the rounds before", r.round,
			r.Request.Repeat, r.passed))
	}
	res.ExitCode, res.Signal = r.exit.Code, r.exit.Signal
	if len(r.stuck) > 0 {
		res.Stuck = r.stuck
		res.Summary.Stuck = len(r.stuck)
	}
	for _, s := range res.Stuck {
		if s.Ended {
			res.Notes = append(res.Notes, "the run was ended since its tests could not go on; what comes after them did not "+
				"run. onStuck keep leaves such a test as it is, for debug_launch with its pid")
		}
	}
	if r.timedOut {
		res.Notes = append(res.Notes, fmt.Sprintf("ended after its time limit of %v; give timeout (ms) for a longer one",
			r.limit))
	}
	for _, id := range r.order {
		t := r.tests[id].test
		if t.Group || !t.Fails || !r.tests[id].over {
			continue
		}
		if len(res.Failures) == maxFailures {
			res.NotShown++
			continue
		}
		res.Failures = append(res.Failures, r.failed(t))
	}
	r.compare(res)
	if r.counts == (Counts{}) && failure == nil && !r.canceled && !r.timedOut {
		r.onboard(res)
	}
	r.result = res
	r.keep(res)
}

func differs(own, counted int) bool { return own >= 0 && own != counted }

func counted(o *testadapter.Totals) string {
	var parts []string
	for _, c := range []struct {
		n    int
		what string
	}{{o.Passed, "passed"}, {o.Failed, "failed"}, {o.Skipped, "skipped"}} {
		if c.n >= 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c.n, c.what))
		}
	}
	return strings.Join(parts, ", ")
}

// failed is a failure as the answer has it.
func (r *Run) failed(t *testadapter.Test) Failed {
	told := t // as the adapter knows it
	t = r.placed(t)
	f := Failed{Name: t.Name, Suite: t.Suite, File: t.File, Line: t.Line}
	if t.Status != testadapter.Failed {
		f.Status = string(t.Status)
	}
	if len(t.Failures) > 0 {
		x := &t.Failures[0]
		f.Kind, f.Message, f.Expected, f.Actual, f.Also = x.Kind, cut(x.Message, maxMessage), cut(x.Expected, maxMessage/2),
			cut(x.Actual, maxMessage/2), len(t.Failures)-1
		if x.File != "" {
			f.File, f.Line = x.File, x.Line
		}
		for _, s := range x.Stack[:min(len(x.Stack), maxStack)] {
			f.Stack = append(f.Stack, frameText(s))
		}
		for i := range t.Failures[1:min(len(t.Failures), 1+maxFurther)] {
			f.Further = append(f.Further, briefly(&t.Failures[1+i]))
		}
		f.SuggestedTraces = r.tests[t.ID].traces
	}
	again := r.adapter.Rerun(r.project, &testadapter.Request{Level: r.Request.Level, Command: r.Request.Command,
		Args: r.Request.Args}, told)
	if again.Test != "" || len(again.Argv) > 0 {
		if len(again.Argv) > 0 {
			again.Env = append(rerunEnv(r.Request.Env), again.Env...)
		}
		f.Rerun = &Rerun{Test: again.Test, Command: RerunCommand(again, r.Request.ProjectRoot)}
	}
	return f
}

// briefly is a failure in a line.
func briefly(f *testadapter.Failure) string {
	return strings.TrimPrefix(frameText(testadapter.Frame{File: f.File, Line: f.Line})+": "+
		cut(strings.Join(strings.Fields(f.Message), " "), maxBriefly), ": ")
}

func frameText(s testadapter.Frame) string {
	at := s.File
	if s.Line > 0 {
		at += fmt.Sprintf(":%d", s.Line)
	}
	if s.Function == "" {
		return at
	}
	if at == "" {
		return s.Function
	}
	return s.Function + " (" + at + ")"
}

// cut shortens text and says by how much.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	at := limit
	for at > 0 && s[at]&0xc0 == 0x80 {
		at--
	}
	return fmt.Sprintf("%s…(+%d bytes)", s[:at], len(s)-at)
}

// Thresholds of what counts as slow.
const (
	slowFactor = 2
	slowLeast  = 100 * time.Millisecond // more than usual
	slowRuns   = 3                      // earlier passed runs that it takes
)

// compare finds tests that were slower than usual, and those that now pass and now fail.
func (r *Run) compare(res *Result) {
	for _, id := range r.order {
		e := r.tests[id]
		if !e.over || e.test.Group {
			continue
		}
		b := r.base[id]
		status := statusOf(e.test)
		if status == "passed" && len(b.Durations) >= slowRuns && len(res.Slow) < maxNamed {
			if usual := b.Median(); e.test.Duration > slowFactor*usual && e.test.Duration > usual+slowLeast {
				res.Slow = append(res.Slow, Slow{id, e.test.Duration.Milliseconds(), usual.Milliseconds()})
			}
		}
		other := map[string]string{"passed": "failed", "failed": "passed"}[status]
		if (e.test.Flaky || flips(append([]string{status}, b.Statuses...), other)) && len(res.Flaky) < maxNamed {
			res.Flaky = append(res.Flaky, id)
		}
	}
}

// flips reports whether results went to and fro: one change is what a mended or a new fault looks like.
func flips(statuses []string, other string) bool {
	if other == "" {
		return false
	}
	changes := 0
	for i := 1; i < len(statuses); i++ {
		if statuses[i] != statuses[i-1] && statuses[i] != "skipped" && statuses[i-1] != "skipped" {
			changes++
		}
	}
	return changes >= 2
}

// statusOf is a test's result in a word that baselines have.
func statusOf(t *testadapter.Test) string {
	switch {
	case t.Fails:
		return "failed"
	case t.Status == testadapter.Skipped || t.Status == testadapter.Todo:
		return "skipped"
	}
	return "passed"
}

// keep writes the details and remembers the results.
func (r *Run) keep(res *Result) {
	d := details{TestRunID: r.ID, Framework: res.Framework, Project: r.Request.ProjectRoot, Began: r.began,
		Commands: r.commands, Summary: res.Summary, Notes: res.Notes, Output: r.out.Name()}
	if r.failure != nil {
		d.Error = fault.From(r.failure).Error()
	}
	for i := range res.Stuck {
		d.Waits = append(d.Waits, res.Stuck[i].waits...)
	}
	var results []store.TestResult
	for _, id := range r.order {
		e := r.tests[id]
		d.Tests = append(d.Tests, r.placed(e.test))
		if e.over && !e.test.Group {
			results = append(results, store.TestResult{Test: id, Duration: e.test.Duration, Status: statusOf(e.test)})
		}
	}
	b, err := json.MarshalIndent(d, "", " ")
	if err == nil {
		err = os.WriteFile(res.Details, b, 0o600)
	}
	if e := r.out.Close(); err == nil {
		err = e
	}
	if err != nil {
		res.Notes = append(res.Notes, fmt.Sprintf("the details are not kept: %v", err))
	}
	if err := os.RemoveAll(filepath.Join(r.dir, "run")); err != nil {
		r.m.cfg.Logger.Warn("delete a test run's helper files", "err", err)
	}
	if !r.canceled && r.Request.Tracing.Empty() { // traced runs are slower
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), keepMax)
		defer cancel()
		root, framework := r.remembered()
		if err := r.m.cfg.Sessions.AddTestResults(ctx, root, framework, r.began, results); err != nil {
			res.Notes = append(res.Notes, fmt.Sprintf("the results are not remembered for later runs: %v", err))
		}
	}
	r.m.forget()
}

// keepMax bounds the remembering of results.
const keepMax = 20 * time.Second
