package testrun

import (
	"errors"
	"fmt"
	"os"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/testadapter"
	"github.com/strobe-debug/strobe/internal/testsetup"
)

// Setup says how a project gets its first test; of the request, ProjectRoot, Framework and Env count. Its errors are
// testsetup.For's.
func (m *Manager) Setup(r Request, language string) (*testsetup.Plan, error) {
	return testsetup.For(testsetup.Request{Project: m.project(&r), Adapters: m.cfg.Adapters, Language: language,
		Framework: r.Framework})
}

// Project is what there is of a project that has no tests.
type Project = testsetup.Summary

// NoTestsError is a project that has no tests and nothing that could run them: there is no run, but a result that says
// so.
type NoTestsError struct{ Result *Result }

func (e *NoTestsError) Error() string { return e.Result.Hint }

var errNoFramework = errors.New("no test framework is recognized")

// withoutRun is what becomes of an error that kept a run from its begin. Where the choice of the framework was left to
// us and there is no test file, it is not a tool that is missing but a test: a NoTestsError.
func withoutRun(p *testadapter.Project, r *Request, err error) error {
	var f *fault.Error
	if none := errors.Is(err, errNoFramework); !none && (r.Framework != "" || len(r.Command) > 0 || !errors.As(err, &f)) {
		return err
	}
	if info, statErr := os.Stat(p.Root); statErr != nil || !info.IsDir() {
		return fault.New(fault.ValidationError, "Give the absolute path of the project's directory.",
			"projectRoot %s is no directory", p.Root)
	}
	summary, hint := testsetup.Summarize(p)
	res := &Result{Failures: []Failed{}, Stuck: []Stuck{}, NoTests: true, Project: &summary, Hint: hint}
	switch {
	case f == nil:
	case summary.TestFiles == 0 && (f.Code == fault.ValidationError || f.Code == fault.LaunchFailed):
		res.Notes = append(res.Notes, fmt.Sprintf("%s. %s", f.Msg, f.Hint))
	default:
		return err
	}
	return &NoTestsError{res}
}

// onboard says how to begin where no test ran.
func (r *Run) onboard(res *Result) {
	res.NoTests = true
	summary, hint := testsetup.Summarize(r.project)
	res.Project, res.Hint = &summary, hint
	switch {
	case r.Request.Test != "":
		res.Hint = fmt.Sprintf("No test matches %q: run without test, or see notes for near names.", r.Request.Test)
	case r.Request.Level != testadapter.AllLevels && summary.TestFiles > 0:
		res.Hint = fmt.Sprintf("No test of level %s: run without level, or see notes.", r.Request.Level)
	case len(r.Request.Args) > 0 && summary.TestFiles > 0:
		res.Hint = "No test ran with these args: run without them."
	}
}
