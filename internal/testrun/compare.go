package testrun

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/session"
	"github.com/strobe-debug/strobe/internal/tracediff"
)

// Compare asks for runs of tests whose calls are compared.
type Compare struct {
	Against    string            // another test, which passes; "": the same test, until it has failed and passed
	AgainstEnv map[string]string // over Request.Env for the other side
	Tries      int               // runs until a test has ended as it is wanted; 0: defaultTries of the same test, else 1
}

// defaultTries is how often a test is run to see it fail and pass: one that fails every third time does both with a
// probability of 98%.
const defaultTries = 10

// Comparison is what became of the runs. Result is nil where there are no two to compare, and Why says why.
type Comparison struct {
	A      *Compared
	B      *Compared
	Runs   int
	Result *tracediff.Answer
	Why    string
	Notes  []string
}

// Compared is one run of a test.
type Compared struct {
	Test      string `json:"test"`
	Status    string `json:"status"` // passed, failed
	SessionID string `json:"sessionId"`
	ran       int    // tests
	names     []string
}

// Comparison returns what a run with Request.Compare found, nil before its end.
func (r *Run) Comparison() *Comparison {
	if !r.Ended() {
		return nil
	}
	return r.compared
}

// comparing is a comparison under way, by the run's own goroutine.
type comparing struct {
	r      *Run
	out    *Comparison
	env    map[string]string // of Request
	test   string
	trials []*Compared // whose sessions are kept
}

// compareRuns runs the tests traced, and compares their calls.
func (r *Run) compareRuns() error {
	c := &comparing{r: r, out: &Comparison{}, env: r.Request.Env, test: r.Request.Test}
	r.compared = c.out
	defer c.clean()
	q := r.Request.Compare
	var a, b, again *Compared
	var err error
	if q.Against == "" && len(q.AgainstEnv) == 0 {
		a, b, again, err = c.sameTest(q)
	} else {
		a, b, again, err = c.twoTests(q)
	}
	if err != nil || a == nil || b == nil || r.ctx.Err() != nil {
		return err
	}
	c.out.A, c.out.B = a, b
	return c.diff(a, b, again)
}

// sameTest runs one test until it has failed and passed, and then has one of them a second time.
func (c *comparing) sameTest(q *Compare) (failed, passed, again *Compared, err error) {
	tries := q.Tries
	if tries == 0 {
		tries = defaultTries
	}
	for c.out.Runs < tries || failed != nil && passed != nil && again == nil {
		t, err := c.trial(c.test, c.env)
		if err != nil || t == nil {
			return nil, nil, nil, err
		}
		mine := &failed
		if t.Status == "passed" {
			mine = &passed
		}
		switch {
		case *mine == nil:
			*mine = t
		case again == nil:
			again = t
		default:
			c.drop(t)
		}
		if failed != nil && passed != nil && again != nil {
			break
		}
	}
	if failed == nil || passed == nil {
		ended := "failed"
		if failed == nil {
			ended = "passed"
		}
		c.out.Why = fmt.Sprintf("it %s in each of %d runs", ended, c.out.Runs)
		return nil, nil, nil, nil
	}
	return failed, passed, again, nil
}

// twoTests runs one test until it fails, and the other, or the same under another environment, until it passes.
func (c *comparing) twoTests(q *Compare) (a, b, again *Compared, err error) {
	other, env := q.Against, maps.Clone(c.env)
	if other == "" {
		other = c.test
	}
	if env == nil {
		env = map[string]string{}
	}
	maps.Copy(env, q.AgainstEnv)
	if a, err = c.until("failed", c.test, c.env, q.Tries); err != nil || a == nil {
		return nil, nil, nil, err
	}
	if b, err = c.until("passed", other, env, q.Tries); err != nil || b == nil {
		return nil, nil, nil, err
	}
	if a.Status == b.Status {
		c.out.Notes = append(c.out.Notes, "both "+a.Status)
	}
	if again, err = c.trial(c.test, c.env); err != nil {
		return nil, nil, nil, err
	}
	return a, b, again, nil
}

// until runs a test until it ends in some way; nil: it was canceled.
func (c *comparing) until(status, test string, env map[string]string, tries int) (*Compared, error) {
	for n := 1; ; n++ {
		t, err := c.trial(test, env)
		if err != nil || t == nil || t.Status == status || n >= tries {
			return t, err
		}
		c.drop(t)
	}
}

// trial is one traced run of a test; nil: the run was canceled.
func (c *comparing) trial(test string, env map[string]string) (*Compared, error) {
	r := c.r
	if c.out.Runs++; c.out.Runs > 1 || !maps.Equal(env, c.env) {
		if err := r.anew(test, env); err != nil {
			return nil, err
		}
	}
	if err := r.once(); err != nil {
		return nil, err
	}
	if r.ctx.Err() != nil {
		return nil, nil
	}
	r.mu.Lock()
	t := &Compared{Test: test, Status: "passed", ran: r.counts.Passed + r.counts.Failed}
	if r.counts.Failed > 0 || len(r.stuck) > 0 || r.timedOut {
		t.Status = "failed"
	}
	sessions := slices.Clone(r.sessions)
	for _, id := range r.order {
		if e := r.tests[id]; !e.test.Group && e.session != "" && (t.SessionID == "" || e.test.Fails) {
			t.SessionID = e.session
			t.names = []string{e.test.ID}
		}
	}
	r.sessions = nil
	r.mu.Unlock()
	if t.SessionID == "" && len(sessions) > 0 && t.Status == "failed" {
		t.SessionID = sessions[len(sessions)-1] // it did not end
	}
	for _, id := range sessions {
		if id != t.SessionID {
			c.r.forgetSession(id)
		}
	}
	switch {
	case t.SessionID == "" && t.ran > 0:
		return nil, fault.New(fault.Unsupported,
			"Give command: a test program of C, C++ or Rust built with debug information, of Go, Python or Node. Functions of "+
				"other languages cannot be traced yet.",
			"tests of %s are not run under observation, so their calls cannot be compared", r.adapter.Name())
	case t.SessionID == "":
		return nil, fault.New(fault.ValidationError,
			"Run debug_test action run without test: the names of its results are what test takes.", "no test %q ran", test)
	case t.ran > 1:
		c.note(fmt.Sprintf("test %q selects %d tests: all of them are compared", test, t.ran))
	}
	c.trials = append(c.trials, t)
	return t, nil
}

func (c *comparing) note(s string) {
	if !slices.Contains(c.out.Notes, s) {
		c.out.Notes = append(c.out.Notes, s)
	}
}

// drop deletes a run that is not needed.
func (c *comparing) drop(t *Compared) {
	c.trials = slices.DeleteFunc(c.trials, func(have *Compared) bool { return have == t })
	c.r.forgetSession(t.SessionID)
}

// clean deletes every run but the two that were compared.
func (c *comparing) clean() {
	var kept []string
	for _, t := range c.trials {
		if t == c.out.A || t == c.out.B {
			kept = append(kept, t.SessionID)
		} else {
			c.r.forgetSession(t.SessionID)
		}
	}
	c.r.mu.Lock()
	left := c.r.sessions // of a trial that did not come to its end
	c.r.sessions, c.r.failedIn = kept, ""
	c.r.mu.Unlock()
	for _, id := range left {
		c.r.forgetSession(id)
	}
}

// diff compares two runs, without what differs between two that ended alike.
func (c *comparing) diff(a, b, again *Compared) error {
	o := tracediff.Options{OtherTests: a.Test != b.Test}
	like := a
	if q := c.r.Request.Compare; q.Against == "" && len(q.AgainstEnv) == 0 && again != nil && again.Status == b.Status {
		like = b // one test: the third run may be any of the two
	}
	if again != nil && again.Status == like.Status {
		err := c.r.m.withSides(c.r.ctx, like, again, func(ctx context.Context, x, y tracediff.Side) (err error) {
			o.Noise, err = tracediff.FindNoise(ctx, x, y)
			return err
		})
		if err != nil {
			return err
		}
	}
	return c.r.m.withSides(c.r.ctx, a, b, func(ctx context.Context, x, y tracediff.Side) (err error) {
		c.out.Result, err = tracediff.Diff(ctx, x, y, o)
		return err
	})
}

// anew begins another round, of any test.
func (r *Run) anew(test string, env map[string]string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Request.Test, r.Request.Env = test, env
	p := r.m.project(&r.Request)
	if r.Detected.Dir != "" {
		p = below(p, r.Detected.Dir)
	}
	r.project = p
	r.passed += r.counts.Passed
	r.tests, r.order, r.counts, r.own, r.sessions, r.stuck, r.timedOut = map[string]*entry{}, nil, Counts{}, nil, nil, nil,
		false
	x, err := r.execution()
	if err == nil {
		r.x = x
	}
	return err
}

// forgetSession deletes a session of a run that nobody wants.
func (r *Run) forgetSession(id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), endWait)
	defer cancel()
	if _, err := r.m.cfg.Sessions.Stop(ctx, id, session.StopOptions{}); err != nil {
		r.m.cfg.Logger.Warn("delete the session of a run that is not needed", "session", id, "err", err)
	}
}

// DiffSessions compares what two sessions recorded. What differs between b and like, which ended as b did, is left out;
// "": there is none. SESSION_NOT_FOUND, or VALIDATION_ERROR where there is nothing to compare.
func (m *Manager) DiffSessions(ctx context.Context, a, b, like string) (out *tracediff.Answer, err error) {
	var o tracediff.Options
	if like != "" {
		err = m.withSides(ctx, &Compared{SessionID: b}, &Compared{SessionID: like},
			func(ctx context.Context, x, y tracediff.Side) (err error) {
				o.Noise, err = tracediff.FindNoise(ctx, x, y)
				return err
			})
	}
	if err != nil {
		return nil, err
	}
	err = m.withSides(ctx, &Compared{SessionID: a}, &Compared{SessionID: b},
		func(ctx context.Context, x, y tracediff.Side) (err error) {
			out, err = tracediff.Diff(ctx, x, y, o)
			return err
		})
	return out, err
}

// withSides opens two sessions for a comparison.
func (m *Manager) withSides(ctx context.Context, a, b *Compared,
	do func(ctx context.Context, x, y tracediff.Side) error) error {
	x, ctx1, done, err := m.side(ctx, a)
	if err != nil {
		return err
	}
	defer done()
	y, use, done, err := m.side(ctx1, b)
	if err != nil {
		return err
	}
	defer done()
	if err := do(use, x, y); err != nil {
		if cause := context.Cause(use); cause != nil && ctx.Err() == nil {
			return cause // a session was stopped under the comparison
		}
		return err
	}
	return nil
}

// side opens one session, with everything that happened until now.
func (m *Manager) side(ctx context.Context, c *Compared) (tracediff.Side, context.Context, func(), error) {
	s, err := m.cfg.Sessions.Get(ctx, c.SessionID)
	if err != nil {
		return tracediff.Side{}, nil, nil, err
	}
	st, use, release, err := s.Use(ctx)
	if err != nil {
		return tracediff.Side{}, nil, nil, err
	}
	if err := s.Flush(use); err != nil && use.Err() == nil {
		m.cfg.Logger.Warn("the newest events may be missing in a comparison", "session", s.ID, "err", err)
	}
	side := tracediff.Side{Store: st, SessionID: s.ID, Dropped: s.Dropped()}
	if c.ran == 1 {
		side.Tests = c.names
	}
	return side, use, release, nil
}
