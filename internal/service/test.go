package service

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/session"
	"github.com/strobe-debug/strobe/internal/testadapter"
	"github.com/strobe-debug/strobe/internal/testrun"
)

// TestParams are the parameters of debug_test.
type TestParams struct {
	Action        string   `json:"action,omitempty"`
	ProjectRoot   string   `json:"projectRoot,omitempty" jsonschema:"absolute; of run"`
	Framework     string   `json:"framework,omitempty" jsonschema:"default: by what the project has"`
	Level         string   `json:"level,omitempty"`
	Test          string   `json:"test,omitempty" jsonschema:"one: its rerun.test, name or a part of names"`
	Command       string   `json:"command,omitempty" jsonschema:"a program that runs them, e.g. a gtest binary"`
	Args          []string `json:"args,omitempty" jsonschema:"further arguments of the framework"`
	TracePatterns []string `json:"tracePatterns,omitempty" jsonschema:"as of debug_trace"`

	Watches *WatchesParam     `json:"watches,omitempty"`
	Env     map[string]string `json:"env,omitempty" jsonschema:"added to the daemon's environment"`
	Timeout int64             `json:"timeout,omitempty" jsonschema:"ms, without compiling"`

	OnStuck string `json:"onStuck,omitempty" jsonschema:"a test that hangs: end after 5 s, or keep"`
	Repeat  int    `json:"repeat,omitempty" jsonschema:"until one fails; of compare: failed and passed"`
	Against string `json:"against,omitempty" jsonschema:"of compare: one that passes; default: the same"`

	AgainstEnv map[string]string `json:"againstEnv,omitempty" jsonschema:"of compare: env of the other side"`
	Sessions   []string          `json:"sessions,omitempty" jsonschema:"of compare"`
	TestRunID  string            `json:"testRunId,omitempty" jsonschema:"of status, cancel"`
	WaitMs     int               `json:"waitMs,omitempty" jsonschema:"for the end, a stuck test or a pause"`

	Budget
}

// TestAnswer is the answer of debug_test: a run, as it stands or as it ended.
type TestAnswer struct {
	TestRunID string `json:"testRunId,omitempty"` // none where there was nothing to run: result.noTests
	// running, completed, failed (could not be run: error), canceled
	Status     string            `json:"status"`
	Framework  string            `json:"framework,omitempty"`
	Evidence   []string          `json:"evidence,omitempty"`   // action run: why this framework
	OtherFound []testrun.Seen    `json:"otherFound,omitempty"` // action run: frameworks that are there, too
	SessionID  string            `json:"sessionId,omitempty"`  // of the last command that ran tests, traced
	SessionIDs []string          `json:"sessionIds,omitempty"` // of several
	Progress   *testrun.Progress `json:"progress,omitempty"`   // while it runs
	Result     *testrun.Result   `json:"result,omitempty"`     // once it has ended
	Warnings   []string          `json:"warnings,omitempty"`   // of tracePatterns and watches, once it has ended
	Error      string            `json:"error,omitempty"`
	Hint       string            `json:"hint,omitempty"`
}

// TestList is the answer of action list: the runs that are remembered, newest first.
type TestList struct {
	Runs []TestRow `json:"runs"`
}

// TestRow is one run in the list.
type TestRow struct {
	TestRunID   string           `json:"testRunId"`
	ProjectRoot string           `json:"projectRoot"`
	Framework   string           `json:"framework"`
	Status      string           `json:"status"`
	Summary     *testrun.Summary `json:"summary,omitempty"`
}

var testOp = Op{
	adjust: func(input *jsonschema.Schema) { // debug_trace's schema says it; each conversation pays for both
		input.Properties["watches"] = &jsonschema.Schema{Type: "object", Description: "as of debug_trace"}
		input.Properties["sessions"].Description = "of compare: two that are there, instead of tests; a third that ended " +
			"as the second: what differs there is left out"
	},
	Name: "debug_test",
	Summary: "Run a project's tests, or one: structured failures with place, both sides, stack and how to run that test " +
		"again. Use this instead of a shell. compare: the first call that differs between a failing and a passing run. " +
		"hunt: a race of command is made to show. races: memory its threads touch at once.",
	Doc: "Finds the framework by the project's files; action run answers at once, status tells counts and the tests " +
		"that run. Without tracePatterns and watches the tests are a plain " +
		"child process; with them every process of theirs is observed and sessionId has the calls. One run per project at " +
		"a time; a run outlives its client. " +
		"A project without tests is no error: `result.noTests`, `project` and the next step; where nothing could be run, " +
		"without a testRunId. " +
		"Each test is in one of the summary's counts, as its framework counts it; subtests of pytest and unittest that " +
		"passed are in subtests alone. " +
		"The answer has 20 failures; details is a file with every test, output.txt beside it what they wrote. " +
		"Action compare runs test and against (or one test, until it has failed and passed) traced, aligns their calls by " +
		"call path and answers with the first that differs, both sides' " +
		"arguments and results, in under 800 tokens; with sessions it compares what two sessions recorded. " +
		"Action hunt runs command (C, C++, Rust) again and again, holds a thread at one instruction in each run, and " +
		"answers with the place that makes it fail, how often, and what other threads did meanwhile; timeout is how long " +
		"it looks. Action races runs it as it is, holds one thread right before it uses memory, and answers with who comes " +
		"there meanwhile: data races with both lines, what is probably an atomic last.",
	Params: reflect.TypeFor[TestParams](),
	Results: []reflect.Type{reflect.TypeFor[TestAnswer](), reflect.TypeFor[TestList](), reflect.TypeFor[CompareAnswer](),
		reflect.TypeFor[HuntAnswer](), reflect.TypeFor[RacesAnswer]()},
	Fields: []Field{
		maxTokensField,
		{Name: "action", Enum: []string{"run", "compare", "hunt", "races", "status", "cancel", "list"}, Default: "run"},
		{Name: "level", Enum: []string{"unit", "integration", "e2e"}},
		{Name: "onStuck", Enum: []string{"end", "keep"}, Default: "end"},
		{Name: "args", Empty: true},
		{Name: "tracePatterns", Empty: true},
		{Name: "env", Empty: true},
		{Name: "againstEnv", Empty: true},
		{Name: "timeout", Min: 1000, Max: 3_600_000},
		{Name: "repeat", Min: 1, Max: 10000},
		{Name: "waitMs", Max: 60000},
	},
	run: typed(runTest),
}

func runTest(ctx context.Context, s *Service, p *TestParams) (any, error) {
	switch p.Action {
	case "list":
		return s.testList(), nil
	case "status", "cancel":
		if p.TestRunID == "" {
			return nil, invalid("debug_test action list names them.", "testRunId is missing")
		}
		if b, ended := s.kept.answer(p.TestRunID); ended {
			return b, nil
		}
		r, err := s.tests.Get(p.TestRunID)
		if err != nil {
			return nil, err
		}
		if p.Action == "cancel" {
			r.Cancel()
			r.Wait(ctx, cancelWait)
		} else if p.WaitMs > 0 {
			await(ctx, r, p.WaitMs)
		}
		return describe(r), nil
	case "compare":
		return s.compare(ctx, p)
	case "hunt":
		return s.hunt(ctx, p)
	case "races":
		return s.races(ctx, p)
	}
	if err := onlyOfCompare(p); err != nil {
		return nil, err
	}
	req, err := s.testRequest(p)
	if err != nil {
		return nil, err
	}
	r, err := s.tests.Start(req)
	var none *testrun.NoTestsError
	if errors.As(err, &none) {
		return &TestAnswer{Status: "completed", Result: none.Result}, nil
	}
	if err != nil {
		return nil, err
	}
	if p.WaitMs > 0 {
		await(ctx, r, p.WaitMs)
	}
	a := describeTest(r)
	a.Evidence = r.Detected.Evidence
	for _, o := range r.Others {
		if o.Framework != a.Framework {
			a.OtherFound = append(a.OtherFound, o)
		}
	}
	return a, nil
}

// await waits for a run's end or a standstill; who waits hears how it stands.
func await(ctx context.Context, r *testrun.Run, ms int) {
	tell(ctx, r.Line)
	r.WaitNews(ctx, time.Duration(ms)*time.Millisecond)
}

// cancelWait is how long a cancelled run's processes may take to end before the call answers.
const cancelWait = 10 * time.Second

// testRequest checks the parameters of a run.
func (s *Service) testRequest(p *TestParams) (testrun.Request, error) {
	r := testrun.Request{ProjectRoot: filepath.Clean(p.ProjectRoot), Framework: p.Framework,
		Level: testadapter.Level(p.Level), Test: p.Test, Args: p.Args, Env: p.Env, Repeat: p.Repeat,
		Timeout: time.Duration(p.Timeout) * time.Millisecond, KeepStuck: p.OnStuck == "keep"}
	switch {
	case p.TestRunID != "":
		return r, invalid("Leave it out, or use action status.", "testRunId belongs to actions status and cancel")
	case !filepath.IsAbs(p.ProjectRoot):
		return r, invalid("Give the absolute path of the project's directory.", "projectRoot %q is not an absolute path",
			p.ProjectRoot)
	}
	if p.Command != "" {
		c, err := commandOf(p.Command, r.ProjectRoot)
		if err != nil {
			return r, err
		}
		if r.Command = c.argv; len(c.env) > 0 {
			r.Env = maps.Clone(p.Env)
			if r.Env == nil {
				r.Env = map[string]string{}
			}
			maps.Copy(r.Env, c.env)
		}
	}
	if len(p.TracePatterns) == 0 && p.Watches == nil {
		return r, nil
	}
	if err := s.checkPatterns(p.TracePatterns); err != nil {
		return r, err
	}
	var watches []WatchParam
	if p.Watches != nil {
		watches = p.Watches.Add
	}
	change, err := traceChange(p.TracePatterns, nil, 0, nil, watches, nil)
	if err != nil {
		return r, err
	}
	set, _ := s.settings.Load(p.ProjectRoot)
	r.Tracing, _, err = session.Tracing{}.Change(change, set.SerializationDepth)
	return r, err
}

// describeTest is a run as clients see it.
func describeTest(r *testrun.Run) *TestAnswer {
	status, progress, result, sessions, err := r.State()
	a := &TestAnswer{TestRunID: r.ID, Status: status, Framework: r.Framework()}
	if n := len(sessions); n > 0 {
		a.SessionID = sessions[n-1]
		if n > 1 {
			a.SessionIDs = sessions
		}
	}
	if err != nil {
		a.Error = fault.From(err).Error()
	}
	if status == "running" {
		a.Progress = &progress
		a.Hint = runningHint(r, &progress, a.SessionID)
		return a
	}
	a.Result, a.Warnings = result, hookWarnings(r)
	if a.SessionID == "" && slices.ContainsFunc(result.Failures,
		func(f testrun.Failed) bool { return len(f.SuggestedTraces) > 0 && f.Rerun != nil }) {
		a.Hint = "To see why, run one again with test = rerun.test and tracePatterns = suggestedTraces; then debug_query " +
			"(view tree) with its sessionId."
	}
	if a.SessionID != "" && slices.ContainsFunc(result.Failures,
		func(f testrun.Failed) bool { return f.Status == string(testadapter.Crashed) }) {
		a.Hint = "debug_query with sessionId and eventType crash has the crash: its place, stack, registers and variables."
	}
	return a
}

// hookWarnings says which patterns and watches of a run matched nothing, as debug_trace does.
func hookWarnings(r *testrun.Run) []string {
	probes, watches := r.Hooked()
	return appendWatchWarnings(appendProbeWarnings(nil, probes), watches)
}

// runningHint is the next step with a run that goes on, or stands still.
func runningHint(r *testrun.Run, p *testrun.Progress, session string) string {
	wait := fmt.Sprintf("debug_test action status, testRunId %s, waitMs 30000 waits for the end.", r.ID)
	switch {
	case len(p.Paused) > 0:
		return fmt.Sprintf("debug_session status with sessionId %s shows the paused threads; debug_continue lets them go on.",
			session)
	case len(p.Stuck) == 0:
		return wait
	case !r.Request.KeepStuck:
		return "It is stuck, and is ended 5 s after that was shown (30 s where other threads may go on; onStuck keep " +
			"leaves it). " + wait
	case session != "":
		return fmt.Sprintf("It is stuck, and kept: debug_session status with sessionId %s shows its threads; debug_test "+
			"action cancel ends it.", session)
	}
	return "It is stuck, and kept: debug_launch with pid (stuck[0].pids) attaches to it; debug_test action cancel ends it."
}
