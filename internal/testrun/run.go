package testrun

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/session"
	"github.com/strobe-debug/strobe/internal/store"
	"github.com/strobe-debug/strobe/internal/testadapter"
)

// Run is one run of a project's tests. Safe for concurrent use.
type Run struct {
	ID       string
	Request  Request
	Detected testadapter.Detection
	Others   []Seen // what else detection found, the surest first

	m       *Manager
	project *testadapter.Project
	adapter testadapter.Adapter
	limit   time.Duration
	dir     string // of its details; its helper files are in dir/run
	began   time.Time
	ctx     context.Context // ends when it is canceled
	cancel  context.CancelCauseFunc
	done    chan struct{}
	out     *os.File // what its commands wrote

	mu       sync.Mutex
	x        testadapter.Execution
	phase    testadapter.Phase
	doing    string    // what a command says about it: "Compiling serde v1.0"
	since    time.Time // the phase's begin
	current  *testadapter.Step
	ran      []string // programs that the current step was seen to run
	known    []string // programs of all steps
	begun    func()   // nil, or called when a step that builds comes to its tests
	tests    map[string]*entry
	order    []string
	counts   Counts
	own      *testadapter.Totals
	notes    []string
	warnings []string
	sessions []string
	failedIn string // the session with the first failure
	commands []string
	failure  error // it could not be run
	canceled bool
	timedOut bool
	ended    time.Time
	lastNews time.Time // output, or a test's begin or end
	base     map[string]store.Baseline
	result   *Result
	stuck    []Stuck
	proved   time.Time        // since when r.stuck stands, without a sign that it was wrong; zero: nothing is stuck
	partly   bool             // what is proved is of some threads only
	standing string           // the last proof that was taken back
	stood    time.Time        // and its proved
	endStep  func()           // nil, or ends the command that runs, since its tests are stuck
	live     *session.Session // of the traced command that runs
	hooked   tracing          // what became of the patterns and watches
	doingNow string           // what the tests' processes do, seen from outside: "it waits for …"
	round    int              // of Request.Repeat; the run's own goroutine only, until it has ended
	passed   int              // tests of earlier rounds
	compared *Comparison      // of Request.Compare; the run's own goroutine only, until it has ended
	exit     testadapter.Exit // of the first command that did not end with 0
}

// entry is one test of a run.
type entry struct {
	test  *testadapter.Test
	began time.Time // in this run
	over  bool

	session string // in which it ended, traced
	// Of a test that failed: the files that it was run by, and the patterns to trace it with.
	programs, traces []string
	elsewhere        bool // the programs are those of other tests
}

// Counts are tests by what became of them, each in one, as their framework counts them. Failed has those that could not
// begin.
type Counts struct {
	Passed, Failed, Skipped            int
	ExpectedFailures, UnexpectedPasses int
	Todo                               int
	Subtests                           int // that passed or were skipped, where the framework does not count them as tests
}

// Frameworks without a word of their own for a test that failed as it is said to, or that is only announced.
var (
	expectedIsPassed = []string{"jest", "bun", "deno", "doctest", "playwright", "ctest"}
	todoIsSkipped    = []string{"mocha"}
)

// add counts a test that is no group.
func (c *Counts) add(framework string, t *testadapter.Test) {
	switch {
	case t.Fails:
		c.Failed++
	case t.Part:
		c.Subtests++
	case t.Status == testadapter.Skipped, t.Status == testadapter.Todo && slices.Contains(todoIsSkipped, framework):
		c.Skipped++
	case t.Status == testadapter.Todo:
		c.Todo++
	case t.Status == testadapter.ExpectedFailure && !slices.Contains(expectedIsPassed, framework):
		c.ExpectedFailures++
	case t.Status == testadapter.UnexpectedPass:
		c.UnexpectedPasses++
	default:
		c.Passed++
	}
}

// totals are the counts in the adapters' terms.
func (c *Counts) totals() testadapter.Totals {
	return testadapter.Totals{Passed: c.Passed + c.ExpectedFailures + c.UnexpectedPasses, Failed: c.Failed,
		Skipped: c.Skipped + c.Todo}
}

var (
	errCanceled = errors.New("canceled")
	errTimeout  = errors.New("time is up")
	errStuck    = errors.New("its tests cannot go on")
)

// prepare makes the run's directory. The manager's lock is held.
func (r *Run) prepare() error {
	if err := os.MkdirAll(filepath.Join(r.dir, "run"), 0o700); err != nil {
		return fmt.Errorf("make a directory for the test run: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(r.dir, "output.txt"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("make a file for the tests' output: %w", err)
	}
	r.out = f
	if r.x, err = r.execution(); err != nil {
		return errors.Join(err, f.Close(), os.RemoveAll(r.dir))
	}
	r.phase, r.since, r.lastNews = testadapter.Compiling, r.began, r.began
	return nil
}

// execution begins the adapter's work. Each round has a folder of its own: a report that an earlier one left would be
// taken for its own.
func (r *Run) execution() (testadapter.Execution, error) {
	q := &r.Request
	helpers := filepath.Join(r.dir, "run")
	// reports of the round before are none of this one
	if err := errors.Join(os.RemoveAll(helpers), os.MkdirAll(helpers, 0o700)); err != nil {
		return nil, fmt.Errorf("make a directory for the test run's files: %w", err)
	}
	return r.adapter.Start(r.project, &testadapter.Request{Level: q.Level, Test: q.Test, Command: q.Command, Args: q.Args,
		Dir:     helpers,
		Timeout: r.limit, Traced: !q.Tracing.Empty()}, r.news)
}

// maxSteps bounds the commands of a run.
const maxSteps = 10000

// run runs the tests, again and again where that was asked for, until a test fails.
func (r *Run) run() {
	var reading sync.WaitGroup // of what is remembered, while the tests run already
	reading.Go(func() {
		base := r.m.baselines(r.remembered())
		r.mu.Lock()
		defer r.mu.Unlock()
		r.base = base
	})
	if r.Request.Compare != nil {
		r.round = 1
		err := r.compareRuns()
		reading.Wait()
		r.finish(err)
		return
	}
	var err error
	for r.round = 1; ; r.round++ {
		if err = r.once(); err != nil || r.round >= r.Request.Repeat || r.failedOrEnded() {
			break
		}
		if err = r.again(); err != nil {
			break
		}
	}
	reading.Wait()
	r.finish(err)
}

func (r *Run) failedOrEnded() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts.Failed > 0 || len(r.stuck) > 0 || r.timedOut || r.ctx.Err() != nil || r.counts == Counts{}
}

// again forgets a round that passed. Its sessions go: those of the round that fails are wanted.
func (r *Run) again() error {
	for _, id := range r.sessions {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), endWait)
		_, err := r.m.cfg.Sessions.Stop(ctx, id, session.StopOptions{})
		cancel()
		if err != nil {
			r.m.cfg.Logger.Warn("delete the session of a round that passed", "session", id, "err", err)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.passed += r.counts.Passed
	r.tests, r.order, r.counts, r.own, r.sessions, r.commands = map[string]*entry{}, nil, Counts{}, nil, nil, nil
	r.failedIn, r.exit = "", testadapter.Exit{}
	x, err := r.execution()
	if err == nil {
		r.x = x
	}
	return err
}

// once runs the commands of one round, one after the other.
func (r *Run) once() error {
	left := r.limit // of what runs tests
	for n := 0; ; n++ {
		r.mu.Lock()
		step, err := r.x.Next()
		r.mu.Unlock()
		if err != nil || step == nil {
			return err
		}
		if n == maxSteps {
			return fault.New(fault.InternalError, "Run fewer tests at once.", "the %s adapter wants more than %d commands",
				r.adapter.Name(), maxSteps)
		}
		limit := left
		if step.Phase == testadapter.Compiling {
			limit = compileLimit
		} else if left <= 0 {
			r.mu.Lock()
			r.timedOut = true
			r.mu.Unlock()
			return nil
		}
		exit, err := r.step(step, limit)
		if err != nil {
			return err
		}
		left -= r.spent(step, exit)
		r.mu.Lock()
		r.timedOut = r.timedOut || exit.TimedOut && exit.Stuck == ""
		if r.exit.Code == 0 && r.exit.Signal == "" {
			r.exit = exit
		}
		if exit.Code == 0 && exit.Signal == "" && !exit.TimedOut && !exit.Canceled {
			r.stuck, r.proved = nil, time.Time{} // it went on after all
		}
		r.x.End(exit)
		r.mu.Unlock()
		if exit.Canceled || exit.TimedOut {
			return nil
		}
	}
}

// compileLimit bounds a command that only compiles: large projects take long, and nobody waits for ever.
const compileLimit = 30 * time.Minute

// step runs one command.
func (r *Run) step(step *testadapter.Step, limit time.Duration) (testadapter.Exit, error) {
	for path, b := range step.Files {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, b, 0o600)); err != nil {
			return testadapter.Exit{}, fmt.Errorf("write the adapter's files: %w", err)
		}
	}
	r.mu.Lock()
	if phase := firstPhase(step); phase != "" {
		r.enter(phase, time.Now())
	}
	r.commands = append(r.commands, shellLine(nil, step.Argv))
	r.current, r.ran = step, nil
	r.ranBefore(step)
	r.mu.Unlock()
	reports := make([]*report, len(step.Reports))
	for i, name := range step.Reports {
		reports[i] = &report{name: name}
	}
	ctx, cancel := r.limited(step, limit)
	defer cancel()
	stop := make(chan struct{})
	var tail sync.WaitGroup
	tail.Go(func() { r.follow(reports, stop) })
	launch := r.plain
	if !r.Request.Tracing.Empty() && step.Phase == testadapter.Running {
		launch = r.traced
	}
	began := time.Now()
	exit, err := launch(ctx, step)
	exit.Duration = time.Since(began)
	close(stop)
	tail.Wait()
	for _, f := range reports {
		r.read(f)
		f.close()
	}
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errTimeout):
		exit.TimedOut = true
	case errors.Is(cause, errStuck):
		exit.TimedOut, exit.Stuck = true, r.whyStuck()
	case cause != nil:
		exit.Canceled = true
	}
	return exit, err
}

// shellLine is a command as a person would type it.
func shellLine(env, argv []string) string {
	var words []string
	for _, v := range env {
		if name, val, ok := strings.Cut(v, "="); ok {
			words = append(words, name+"="+quote(val))
		}
	}
	for _, w := range argv {
		words = append(words, quote(w))
	}
	return strings.Join(words, " ")
}

// quote makes a word of any text.
func quote(w string) string {
	if w != "" && !strings.ContainsAny(w, " \t\n'\"\\$&|;<>()*?[]{}!#~`^") {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

// output takes what a command wrote.
func (r *Run) output(s testadapter.Stream, b []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lastNews = time.Now()
	if _, err := r.out.Write(b); err != nil && len(r.warnings) < maxNotes {
		r.warnings = append(r.warnings, fmt.Sprintf("the tests' output is not kept whole: %v", err))
	}
	r.x.Output(s, b)
}

// maxNotes bounds what an adapter and we have to say of a run.
const maxNotes = 50

// news takes what the adapter tells. Run.mu is held: it is called from within the execution's methods.
func (r *Run) news(e testadapter.Event) {
	now := time.Now()
	switch e.Kind {
	case testadapter.PhaseChanged:
		if e.Phase != "" {
			r.enter(e.Phase, now)
		}
		r.doing = e.Text
	case testadapter.OwnTotals:
		r.own = e.Totals
	case testadapter.Note:
		if len(r.notes) < maxNotes && !slices.Contains(r.notes, e.Text) {
			r.notes = append(r.notes, e.Text)
		}
	case testadapter.TestStarted:
		r.lastNews = now
		r.enter(testadapter.Running, now)
		r.entry(e.Test).began = now
	case testadapter.TestEnded:
		r.lastNews = now
		t := r.entry(e.Test)
		if len(r.sessions) > 0 {
			t.session = r.sessions[len(r.sessions)-1]
		}
		if t.test, t.over = e.Test, true; e.Test.Group {
			return
		}
		if r.counts.add(r.adapter.Name(), e.Test); e.Test.Fails {
			if t.programs, t.elsewhere = r.programs(e.Test.ID); r.failedIn == "" && len(r.sessions) > 0 {
				r.failedIn = r.sessions[len(r.sessions)-1]
			}
		}
	}
}

func (r *Run) entry(t *testadapter.Test) *entry {
	e := r.tests[t.ID]
	if e == nil {
		e = &entry{test: t, began: time.Now()}
		r.tests[t.ID] = e
		r.order = append(r.order, t.ID)
	}
	return e
}

// Cancel ends the run with its whole process tree.
func (r *Run) Cancel() { r.cancel(errCanceled) }

// Ended reports whether it has ended.
func (r *Run) Ended() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// Wait waits until it has ended, at most so long.
func (r *Run) Wait(ctx context.Context, most time.Duration) {
	t := time.NewTimer(most)
	defer t.Stop()
	select {
	case <-r.done:
	case <-t.C:
	case <-ctx.Done():
	}
}

// newsEvery is how often a wait looks whether there is something to tell.
const newsEvery = 50 * time.Millisecond

// WaitNews waits until it has ended or there is something that whoever waits should know: a test is shown to be stuck,
// or a thread of its processes is paused. What was known before the call ends the wait only where nothing else will.
func (r *Run) WaitNews(ctx context.Context, most time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	t := time.NewTicker(newsEvery)
	defer t.Stop()
	before, lasts := r.standstill()
	for !lasts {
		select {
		case <-r.done:
			return
		case <-ctx.Done():
			return
		case <-t.C:
		}
		now, _ := r.standstill()
		if lasts = now != "" && now != before; now == "" && strings.HasPrefix(before, "paused ") {
			before = "" // the next pause is another; a proof that is there again is the same
		}
	}
}

// remembered is what results are remembered by: the project, and the framework with the program where that was given,
// since two programs of a project may have tests of one name.
func (r *Run) remembered() (root, framework string) {
	root, framework = RealPath(r.Request.ProjectRoot), r.adapter.Name()
	command := r.Request.Command
	if len(command) > 0 && framework != (testadapter.Generic{}).Name() {
		command = command[:1] // what is behind it selects tests
	}
	return root, strings.Join(append([]string{framework}, command...), " ")
}

// Framework is the adapter's name.
func (r *Run) Framework() string { return r.adapter.Name() }

// environ is the environment of the run's commands.
func (r *Run) environ(step *testadapter.Step) []string {
	over := make([]string, 0, len(r.Request.Env)+len(step.Env))
	for _, k := range slices.Sorted(maps.Keys(r.Request.Env)) {
		over = append(over, k+"="+r.Request.Env[k])
	}
	own := testadapter.Step{Env: over}
	return step.Environ(own.Environ(os.Environ()))
}
