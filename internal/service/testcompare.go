package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/session"
	"github.com/strobe-debug/strobe/internal/testrun"
	"github.com/strobe-debug/strobe/internal/tracediff"
)

// CompareAnswer is the answer of action compare, and of status for such a run.
type CompareAnswer struct {
	TestRunID  string            `json:"testRunId,omitempty"` // with tests
	Status     string            `json:"status"`              // as of a run
	Framework  string            `json:"framework,omitempty"`
	A          *testrun.Compared `json:"a,omitempty"` // the run of test, or the one that failed
	B          *testrun.Compared `json:"b,omitempty"` // the other
	Runs       int               `json:"runs,omitempty"`
	Progress   *testrun.Progress `json:"progress,omitempty"`
	Comparison *tracediff.Answer `json:"comparison,omitempty"` // once it has ended
	Notes      []string          `json:"notes,omitempty"`
	Warnings   []string          `json:"warnings,omitempty"` // of tracePatterns and watches
	Error      string            `json:"error,omitempty"`
	Hint       string            `json:"hint,omitempty"`
}

// comparePatterns are traced where a comparison does not say: the project's own functions, without what others wrote
// and the project brought along, and exceptions. A run of one test calls few of them often; what is too much the answer
// says.
var comparePatterns = []string{"@usercode", "@exceptions", "!file:**_deps/**", "!file:**third_party/**",
	"!file:**vendor/**", "!file:**node_modules/**"}

// onlyOfCompare refuses parameters that another action would ignore.
func onlyOfCompare(p *TestParams) error {
	if p.Against != "" || len(p.AgainstEnv) > 0 || len(p.Sessions) > 0 {
		return invalid("Give action compare with them.", "against, againstEnv and sessions belong to action compare")
	}
	return nil
}

func (s *Service) compare(ctx context.Context, p *TestParams) (any, error) {
	if len(p.Sessions) > 0 {
		return s.compareSessions(ctx, p)
	}
	if p.Test == "" {
		return nil, invalid("Give test (a failure's rerun.test), and against or nothing; or sessions: two session ids.",
			"compare needs a test, or two sessions")
	}
	q := *p
	if len(q.TracePatterns) == 0 {
		q.TracePatterns = comparePatterns
	}
	req, err := s.testRequest(&q)
	if err != nil {
		return nil, err
	}
	req.Compare = &testrun.Compare{Against: p.Against, AgainstEnv: p.AgainstEnv, Tries: p.Repeat}
	req.Repeat = 0
	req.Tracing.Sampling = session.Sampling{Off: true}
	for i := range req.Tracing.Probes {
		req.Tracing.Probes[i].Out = true
	}
	r, err := s.tests.Start(req)
	var none *testrun.NoTestsError
	if errors.As(err, &none) {
		return &CompareAnswer{Status: "completed",
			Notes: append([]string{"nothing to compare: the project has no tests"}, none.Result.Notes...),
			Hint:  none.Result.Hint}, nil
	}
	if err != nil {
		return nil, err
	}
	if p.WaitMs > 0 {
		await(ctx, r, p.WaitMs)
	}
	return describe(r), nil
}

func (s *Service) compareSessions(ctx context.Context, p *TestParams) (*CompareAnswer, error) {
	n := len(p.Sessions)
	switch {
	case n < 2 || n > 3 || len(slices.Compact(slices.Sorted(slices.Values(p.Sessions)))) < n:
		return nil, invalid("Name two sessions, and a third if there is one that ended as the second; debug_session list "+
			"shows them.", "sessions names %d, or one twice", n)
	case p.Test != "" || p.Against != "" || len(p.AgainstEnv) > 0:
		return nil, invalid("Leave out test, against and againstEnv, or leave out sessions.",
			"sessions are compared as they are: no test is run")
	}
	d, err := s.tests.DiffSessions(ctx, p.Sessions[0], p.Sessions[1], strings.Join(p.Sessions[2:], ""))
	if err != nil {
		return nil, err
	}
	return &CompareAnswer{Status: "completed", Comparison: d}, nil
}

// describe is a run as clients see it.
func describe(r *testrun.Run) any {
	if r.Request.Compare == nil {
		return describeTest(r)
	}
	status, progress, _, _, err := r.State()
	a := &CompareAnswer{TestRunID: r.ID, Status: status, Framework: r.Framework()}
	if err != nil {
		a.Error = fault.From(err).Error()
	}
	if status == "running" {
		a.Progress = &progress
		a.Hint = fmt.Sprintf("debug_test action status, testRunId %s, waitMs 30000 waits for the end.", r.ID)
		return a
	}
	a.Warnings = hookWarnings(r)
	if c := r.Comparison(); c != nil {
		a.A, a.B, a.Runs, a.Comparison, a.Notes = c.A, c.B, c.Runs, c.Result, c.Notes
		if c.Why != "" {
			a.Notes = append(a.Notes, "nothing to compare: "+c.Why)
			a.Hint = "Give repeat for more runs, againstEnv for what makes it fail, or against: a like test that passes."
		}
	}
	return a
}
