package testrun

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/near"
	"github.com/strobe-debug/strobe/internal/plainfile"
	"github.com/strobe-debug/strobe/internal/session"
	"github.com/strobe-debug/strobe/internal/settings"
	"github.com/strobe-debug/strobe/internal/sorting"
	"github.com/strobe-debug/strobe/internal/store"
	"github.com/strobe-debug/strobe/internal/stuck"
	"github.com/strobe-debug/strobe/internal/testadapter"
)

// Config is everything a Manager is given.
type Config struct {
	Home     string // $STROBE_HOME: details go below tests/
	Logger   *slog.Logger
	Settings *settings.Loader
	Sessions *session.Manager      // for runs that are traced
	Adapters []testadapter.Adapter // in the order that breaks ties
	Strobe   string                // our own executable
}

// maxKept is how many runs that ended are remembered; their details stay on disk until there are maxDetails.
const (
	maxKept    = 100
	maxDetails = 200
)

// Manager has the test runs of the daemon. Safe for concurrent use.
type Manager struct {
	cfg    Config
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	wg     sync.WaitGroup // of runs

	layouts stuck.Layouts // of versions of Go that are not known

	mu        sync.Mutex
	runs      []*Run // oldest first
	byProject map[string]*Run
	closed    bool
}

// NewManager returns a manager without runs. Call Close.
func NewManager(cfg Config) *Manager {
	m := &Manager{cfg: cfg, byProject: map[string]*Run{}}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	m.layouts.Home = cfg.Home
	m.layouts.Begin = func(measure func(ctx context.Context)) { m.wg.Go(func() { measure(m.ctx) }) }
	return m
}

// Request is what to run.
type Request struct {
	ProjectRoot string
	Framework   string // "": found by what the project has
	Level       testadapter.Level
	Test        string
	Command     []string
	Args        []string
	Env         map[string]string
	Timeout     time.Duration   // of what runs tests; 0: from settings, then by level
	Tracing     session.Tracing // not empty: commands that run tests are sessions
	KeepStuck   bool            // what is shown to be stuck is left as it is, until the run's time is up
	Repeat      int             // run so many times, or until a test fails; 0 and 1: once
	Compare     *Compare        // not nil: runs whose calls are compared; Tracing is not empty
}

// Start begins a run and returns at once. TEST_ALREADY_RUNNING names the run that the project has; VALIDATION_ERROR is
// a framework that is none; a *NoTestsError is a project without tests that are known.
func (m *Manager) Start(r Request) (*Run, error) {
	p := m.project(&r)
	a, found, seen, err := m.choose(p, &r)
	if err != nil {
		return nil, withoutRun(p, &r, err)
	}
	set, warnings := m.cfg.Settings.Load(r.ProjectRoot)
	if found.Dir != "" {
		if others, more := testadapter.Siblings(a, p, found.Dir); len(others) > 0 {
			if more {
				others = append(others, "…")
			}
			warnings = append(slices.Clone(warnings),
				fmt.Sprintf("only the tests of %s are of this run; not those of %s: give such a folder as projectRoot", found.Dir,
					strings.Join(others, ", ")))
		}
		p = below(p, found.Dir)
	}
	run := &Run{m: m, ID: newID(), Request: r, project: p, adapter: a, Detected: found, Others: seen, began: time.Now(),
		done: make(chan struct{}), warnings: warnings, tests: map[string]*entry{}}
	run.limit = cmp.Or(r.Timeout, set.TestTimeout, levelLimit(a, r.Level))
	run.dir = filepath.Join(m.cfg.Home, "tests", run.ID)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, fault.New(fault.InternalError, "Call again: the next daemon starts by itself.", "the daemon is ending")
	}
	place := RealPath(r.ProjectRoot)
	if have := m.byProject[place]; have != nil {
		return nil, fault.New(fault.TestAlreadyRunning,
			"Wait for it with debug_test action status, or end it with action cancel, and its testRunId.",
			"test run %s of %s runs already", have.ID, r.ProjectRoot)
	}
	if err := run.prepare(); err != nil {
		return nil, withoutRun(p, &r, err)
	}
	run.ctx, run.cancel = context.WithCancelCause(m.ctx)
	m.runs = append(m.runs, run)
	if len(m.runs) > maxKept {
		if i := slices.IndexFunc(m.runs, (*Run).Ended); i >= 0 {
			m.runs = slices.Delete(m.runs, i, i+1)
		}
	}
	m.byProject[place] = run
	m.wg.Go(func() {
		run.run()
		m.mu.Lock()
		delete(m.byProject, place)
		m.mu.Unlock()
		close(run.done)
	})
	return run, nil
}

// Get returns a run. TEST_RUN_NOT_FOUND names those that there are.
func (m *Manager) Get(id string) (*Run, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var ids []string
	for _, r := range slices.Backward(m.runs) {
		if r.ID == id {
			return r, nil
		}
		if len(ids) < 5 {
			ids = append(ids, r.ID)
		}
	}
	newest := "there are none"
	if len(ids) > 0 {
		newest = "the newest are " + strings.Join(ids, ", ")
	}
	return nil, fault.New(fault.TestRunNotFound, "debug_test action list names the runs; action run starts one.",
		"there is no test run %q; %s", id, newest)
}

// List returns the runs that are remembered, newest first.
func (m *Manager) List() []*Run {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := slices.Clone(m.runs)
	slices.Reverse(out)
	return out
}

// Busy reports whether a run goes on.
func (m *Manager) Busy() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.byProject) > 0
}

// Close ends all runs with their processes.
func (m *Manager) Close() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.cancel()
	m.wg.Wait()
}

// project is where the tests are.
func (m *Manager) project(r *Request) *testadapter.Project {
	environ := os.Environ()
	for k, v := range r.Env {
		environ = append(environ, k+"="+v)
	}
	return &testadapter.Project{Root: r.ProjectRoot, FS: plainfile.DirFS(r.ProjectRoot), LookPath: lookPath(r.Env["PATH"]),
		Environ: environ, Strobe: m.cfg.Strobe}
}

// lookPath finds commands in the PATH that the tests see.
func lookPath(path string) func(string) (string, error) {
	if path == "" {
		return exec.LookPath
	}
	return func(name string) (string, error) {
		if strings.Contains(name, "/") {
			return exec.LookPath(name)
		}
		for _, dir := range filepath.SplitList(path) {
			if found, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
				return found, nil
			}
		}
		return "", &exec.Error{Name: name, Err: exec.ErrNotFound}
	}
}

// below is the package of a monorepo that the tests are in.
func below(p *testadapter.Project, dir string) *testadapter.Project {
	q := *p
	q.Root = filepath.Join(p.Root, dir)
	q.FS = plainfile.DirFS(q.Root)
	return &q
}

// commander is an adapter that can run a program that is given instead of the project's own command.
type commander interface {
	// DetectCommand says how sure it is that a command is its framework's. It starts nothing.
	DetectCommand(p *testadapter.Project, command []string) testadapter.Detection
}

// Seen is a framework that detection found.
type Seen struct {
	Framework  string   `json:"framework"`
	Confidence int      `json:"confidence"`
	Evidence   []string `json:"evidence"`
	Dir        string   `json:"dir,omitempty"`
}

// choose finds the framework: the one asked for, else the surest.
func (m *Manager) choose(p *testadapter.Project, r *Request) (testadapter.Adapter, testadapter.Detection, []Seen,
	error) {
	var names []string
	var seen []Seen
	var best testadapter.Adapter
	var found testadapter.Detection
	for _, a := range m.cfg.Adapters {
		names = append(names, a.Name())
		d := a.Detect(p)
		if len(r.Command) > 0 {
			d = testadapter.Detection{}
			if c, ok := a.(commander); ok {
				d = c.DetectCommand(p, r.Command)
			}
		}
		if r.Framework == a.Name() {
			return a, d, nil, nil
		}
		if d.Confidence <= 0 {
			continue
		}
		seen = append(seen, Seen{a.Name(), d.Confidence, d.Evidence, d.Dir})
		if best == nil || d.Confidence > found.Confidence {
			best, found = a, d
		}
	}
	if r.Framework != "" {
		near := near.Names(r.Framework, names, 1)
		hint := "Frameworks: " + strings.Join(names, ", ") + "."
		if len(near) > 0 {
			hint = fmt.Sprintf("Did you mean %s? %s", near[0], hint)
		}
		return nil, found, nil, fault.New(fault.ValidationError, hint, "unknown framework %q", r.Framework)
	}
	if best == nil && len(r.Command) > 0 { // any program may be one that tests
		for _, a := range m.cfg.Adapters {
			if a.Name() == "generic" {
				return a, testadapter.Detection{Confidence: 1,
					Evidence: []string{r.Command[0] + " is no program of a framework that is known"}}, nil, nil
			}
		}
	}
	if best == nil {
		return nil, found, nil, errNoFramework
	}
	sorting.By(seen, func(a, b Seen) int { return b.Confidence - a.Confidence })
	return best, found, seen, nil
}

// limiter is an adapter whose framework wants other limits than levelLimit's.
type limiter interface {
	Limit(l testadapter.Level) time.Duration
}

// levelLimit is how long what runs tests may take when nobody says it. Compiling does not count.
func levelLimit(a testadapter.Adapter, l testadapter.Level) time.Duration {
	if own, ok := a.(limiter); ok {
		return own.Limit(l)
	}
	switch l {
	case testadapter.Unit:
		return 2 * time.Minute
	case testadapter.Integration:
		return 5 * time.Minute
	}
	return 10 * time.Minute
}

func newID() string {
	var b [4]byte
	rand.Read(b[:]) //nolint:errcheck // it never fails
	return "test-" + time.Now().Format("2006-01-02-15h04") + "-" + hex.EncodeToString(b[:])
}

// Began is when the run was asked for.
func (r *Run) Began() time.Time { return r.began }

// forget deletes the details of the oldest runs.
func (m *Manager) forget() {
	dir := filepath.Join(m.cfg.Home, "tests")
	entries, err := os.ReadDir(dir) // by name, which is by time
	if err != nil {
		return
	}
	for len(entries) > maxDetails {
		if err := os.RemoveAll(filepath.Join(dir, entries[0].Name())); err != nil {
			m.cfg.Logger.Warn("delete details of an old test run", "err", err)
		}
		entries = entries[1:]
	}
}

// RealPath is a directory by the name that it has however it was reached.
func RealPath(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}

// baselines are the durations and ends of a project's tests in earlier runs.
func (m *Manager) baselines(root, framework string) map[string]store.Baseline {
	b, err := m.cfg.Sessions.Baselines(m.ctx, root, framework)
	if err != nil {
		m.cfg.Logger.Warn("read test baselines", "err", err)
	}
	return b
}
