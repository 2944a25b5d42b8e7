package strobetest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/testadapter"
)

// adapterLimit bounds one step of an adapter's execution in a test.
const adapterLimit = 5 * time.Minute

// ProjectAt is a project as a test run sees it.
func ProjectAt(root string) *testadapter.Project {
	return &testadapter.Project{Root: root, FS: os.DirFS(root), LookPath: exec.LookPath,
		Environ: plainEnviron(os.Environ()), Strobe: os.Getenv("STROBE_BIN")}
}

// RunAdapter runs a project's tests for real, without the daemon, and returns all that the adapter told. Reports and
// output are handed over in pieces of random length, so that an adapter that relies on their ends fails. It also checks
// what holds for every adapter.
func RunAdapter(t *testing.T, a testadapter.Adapter, p *testadapter.Project,
	r testadapter.Request) []testadapter.Event {
	t.Helper()
	if r.Dir == "" {
		r.Dir = t.TempDir()
	}
	return runAdapter(t, a, p, r, plainEnviron(os.Environ()))
}

// RunAdapterIn is RunAdapter in an environment like a user's, which may speak to the framework: these variables,
// NAME=value, stand over the plain one. "NAME" alone removes.
func RunAdapterIn(t *testing.T, a testadapter.Adapter, p *testadapter.Project, r testadapter.Request,
	environ ...string) []testadapter.Event {
	t.Helper()
	r.Dir = t.TempDir()
	project := *p
	project.Environ = (&testadapter.Step{Env: environ}).Environ(plainEnviron(os.Environ()))
	return runAdapter(t, a, &project, r, project.Environ)
}

func runAdapter(t *testing.T, a testadapter.Adapter, p *testadapter.Project, r testadapter.Request,
	environ []string) []testadapter.Event {
	t.Helper()
	NeedTime(t)
	var events []testadapter.Event
	x, err := a.Start(p, &r, func(e testadapter.Event) { events = append(events, e) })
	if err != nil {
		t.Fatalf("%s: start: %v", a.Name(), err)
	}
	for n := 0; ; n++ {
		step, err := x.Next()
		if err != nil {
			t.Fatalf("%s: step %d: %v", a.Name(), n, err)
		}
		if step == nil {
			break
		}
		if n > 1000 {
			t.Fatalf("%s: no end of steps", a.Name())
		}
		runStep(t, x, step, environ)
	}
	checkEvents(t, a, p, &r, events)
	return events
}

// signalNames are those that test programs die of.
var signalNames = map[syscall.Signal]string{
	syscall.SIGABRT: "SIGABRT", syscall.SIGBUS: "SIGBUS", syscall.SIGFPE: "SIGFPE", syscall.SIGILL: "SIGILL",
	syscall.SIGINT:  "SIGINT",
	syscall.SIGKILL: "SIGKILL", syscall.SIGSEGV: "SIGSEGV", syscall.SIGTERM: "SIGTERM", syscall.SIGTRAP: "SIGTRAP",
}

func runStep(t *testing.T, x testadapter.Execution, step *testadapter.Step, environ []string) {
	t.Helper()
	writeFiles(t, step)
	ctx, cancel := context.WithTimeout(t.Context(), adapterLimit)
	defer cancel()
	env := step.Environ(environ)
	cmd := exec.CommandContext(ctx, inPath(step.Argv[0], env), step.Argv[1:]...)
	cmd.Dir, cmd.Env = step.Dir, env
	cmd.WaitDelay = 10 * time.Second
	var mu sync.Mutex
	cmd.Stdout = feeder(func(b []byte) { mu.Lock(); x.Output(testadapter.Stdout, b); mu.Unlock() })
	cmd.Stderr = feeder(func(b []byte) { mu.Lock(); x.Output(testadapter.Stderr, b); mu.Unlock() })
	began := time.Now()
	err := cmd.Run()
	exit := exitOf(t, step, err)
	exit.Duration, exit.TimedOut = time.Since(began), ctx.Err() != nil
	for _, name := range step.Reports {
		b, err := os.ReadFile(name)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		pieces(b, func(b []byte) { x.Report(name, b) })
	}
	x.End(exit)
}

// inPath is a command by the PATH that its environment has, as a run finds it.
func inPath(name string, env []string) string {
	for _, v := range env {
		dirs, is := strings.CutPrefix(v, "PATH=")
		if !is || strings.Contains(name, "/") {
			continue
		}
		for _, dir := range filepath.SplitList(dirs) {
			if found, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
				return found
			}
		}
	}
	return name
}

func writeFiles(t *testing.T, step *testadapter.Step) {
	t.Helper()
	for path, b := range step.Files {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, b, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

// exitOf is how a step's process ended.
func exitOf(t *testing.T, step *testadapter.Step, err error) testadapter.Exit {
	t.Helper()
	var exit testadapter.Exit
	var ended *exec.ExitError
	switch {
	case errors.As(err, &ended):
		exit.Code = ended.ExitCode()
		if w, ok := ended.Sys().(interface{ Signal() syscall.Signal }); ok && exit.Code < 0 {
			exit.Code, exit.Signal = 0, signalNames[w.Signal()]
		}
	case err != nil:
		t.Fatalf("%q: %v", step.Argv, err)
	}
	return exit
}

// plainEnviron is an environment in which frameworks speak as to a person at a terminal. What CI and a make that
// started the tests put there changes their words: make says which directories it enters, pytest prints whole diffs,
// Vitest and Jest write no snapshots.
func plainEnviron(environ []string) []string {
	return slices.DeleteFunc(environ, func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return strings.HasPrefix(name, "MAKE") || slices.Contains(speech, name)
	})
}

var speech = []string{"MFLAGS", "CI", "BUILD_NUMBER", "CONTINUOUS_INTEGRATION", "GITHUB_ACTIONS", "FORCE_COLOR",
	"NO_COLOR", "PYTEST_ADDOPTS", "NODE_OPTIONS",
	"RUST_BACKTRACE", "GTEST_COLOR", "CTEST_OUTPUT_ON_FAILURE", "VERBOSE", "GOFLAGS"}

// feeder hands on what is written in pieces.
type feeder func(b []byte)

func (f feeder) Write(b []byte) (int, error) {
	pieces(b, f)
	return len(b), nil
}

func pieces(b []byte, f func([]byte)) {
	for r := bytes.NewReader(b); r.Len() > 0; {
		piece := make([]byte, min(1+rand.IntN(3000), r.Len()))
		if _, err := io.ReadFull(r, piece); err != nil {
			return
		}
		f(piece)
	}
}

// checkEvents are the promises of every adapter: a test ends once and has a name, a failure says what and where its
// rerun is, nothing stays open, and the framework's own totals are what was counted.
func checkEvents(t *testing.T, a testadapter.Adapter, p *testadapter.Project, r *testadapter.Request,
	events []testadapter.Event) {
	t.Helper()
	open, ended := map[string]bool{}, map[string]bool{}
	var counted testadapter.Totals
	var own *testadapter.Totals
	for _, e := range events {
		switch e.Kind {
		case testadapter.OwnTotals:
			own = e.Totals
		case testadapter.TestStarted:
			open[e.Test.ID] = true
		case testadapter.TestEnded:
			x := e.Test
			delete(open, x.ID)
			if x.ID == "" || x.Name == "" || x.Status == "" {
				t.Errorf("%s: a test without ID, name or status: %+v", a.Name(), x)
			}
			if ended[x.ID] {
				t.Errorf("%s: test %q ended twice", a.Name(), x.ID)
			}
			ended[x.ID] = true
			if x.Group {
				continue
			}
			switch {
			case x.Part && !x.Fails:
			case x.Fails:
				counted.Failed++
				if len(x.Failures) == 0 || x.Failures[0].Message == "" {
					t.Errorf("%s: %q failed without saying why", a.Name(), x.ID)
				}
				if again := a.Rerun(p, r, x); len(again.Argv) == 0 || again.Test == "" && x.Status != testadapter.Errored &&
					!strings.HasPrefix(x.ID, "(") {
					t.Errorf("%s: no way to run %q again: %+v", a.Name(), x.ID, again)
				}
			case x.Status == testadapter.Skipped || x.Status == testadapter.Todo:
				counted.Skipped++
			default:
				counted.Passed++
			}
		}
	}
	for id := range open {
		t.Errorf("%s: test %q has no end", a.Name(), id)
	}
	if own != nil && (differs(own.Passed, counted.Passed) || differs(own.Failed, counted.Failed) ||
		differs(own.Skipped, counted.Skipped)) {
		t.Errorf("%s: counted %+v, the framework says %+v", a.Name(), counted, *own)
	}
}

func differs(own, counted int) bool { return own >= 0 && own != counted }
