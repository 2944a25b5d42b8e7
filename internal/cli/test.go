package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/strobe-debug/strobe/internal/fault"
)

// shownTest is a test run as the command prints it.
type shownTest struct {
	TestRunID  string
	Status     string
	Framework  string
	Evidence   []string
	SessionID  string
	SessionIDs []string
	Error      string
	Warnings   []string
	Progress   *struct {
		Phase, Doing            string
		Paused                  []string
		Stuck                   []struct{ Diagnosis string }
		Passed, Failed, Skipped int
		CurrentTests            []struct {
			Name      string
			ElapsedMs int64
		}
		Warnings []string
	}
	Result *struct {
		Summary struct {
			Passed, Failed, Skipped, Stuck                     int
			ExpectedFailures, UnexpectedPasses, Todo, Subtests int
			DurationMs                                         int64
		}
		Failures []struct {
			Name, Suite, Status, Kind, File, Message, Expected, Actual string
			Line                                                       int
			Stack, Further, SuggestedTraces                            []string
			Rerun                                                      *struct{ Test, Command string }
		}
		FailuresNotShown int
		Stuck            []struct {
			Name, Diagnosis string
			Threads         []struct {
				Name  string
				Stack []string
			}
		}
		Slow []struct {
			Name                string
			DurationMs, UsualMs int64
		}
		Flaky, Notes  []string
		Details, Hint string
	}
}

func (a *app) testCommand() *cobra.Command {
	var framework, level, test, command, dir string
	var trace, watch []string
	var timeout time.Duration
	var repeat int
	var onStuck string
	var setup bool
	var language string
	var against compareFlags
	var after testAfter
	c := &cobra.Command{
		Use:   "test [flags] [TEST] [-- ARGS...]",
		Short: "Run a project's tests, with structured failures",
		Long: `Finds the project's test framework, runs its tests and says what failed: place, both sides, stack, and the
command that runs that one test again. With --setup it runs nothing, and says how the project gets its first test.
With --trace the tests run under observation, and the session has their calls. A name alone is a test's, as with
--test; arguments behind -- go to the framework. The exit code is 0 where all passed, 1 where a test failed or none
ran, 2 where they could not be run. With --push the run joins those of other machines, and what became worse since
the last green one of its branch (or, where there is none, of the branch that it is to be merged into) is told:
failures, slower tests, and with --trace functions that are slower, newly called or newly failing. With --compare a
failing and a passing run are traced, and the first call that differs is shown; the exit code is then 0 where nothing
differs, 1 where something does.`,
		Example: `  strobe test
  strobe test -C services/api --level unit
  strobe test --test 'tests/test_parser.py::test_empty' --trace 'parser.*'
  strobe test --command ./build/unit_tests
  strobe test --setup
  strobe test --push --to s3://traces/shop --annotate auto
  strobe test --compare --test tests::dear --against tests::cheap`,
		RunE: func(cmd *cobra.Command, args []string) error {
			root, err := filepath.Abs(dir)
			if err != nil {
				return fmt.Errorf("find the project: %w", err)
			}
			if test == "" && namesTest(root, args, cmd.ArgsLenAtDash()) {
				test, args = args[0], args[1:]
			}
			req := map[string]any{"action": "run", "projectRoot": root}
			for name, v := range map[string]string{"framework": framework, "level": level, "test": test,
				"command": command} {
				if v != "" {
					req[name] = v
				}
			}
			if len(args) > 0 {
				req["args"] = args
			}
			if len(trace) > 0 {
				req["tracePatterns"] = trace
			}
			if len(watch) > 0 {
				var add []map[string]any
				for _, w := range watch {
					add = append(add, map[string]any{"expr": w})
				}
				req["watches"] = map[string]any{"add": add}
			}
			if repeat > 0 {
				req["repeat"] = repeat
			}
			if onStuck != "" {
				req["onStuck"] = onStuck
			}
			if timeout > 0 {
				req["timeout"] = timeout.Milliseconds()
			}
			req["env"] = shellEnv() // this shell's, not the daemon's
			if (after.push || after.annotate != "") && (setup || against.asked()) {
				return fault.New(fault.ValidationError, "Run the tests alone for that.",
					"neither --setup nor --compare makes a run of tests that could be pushed or annotated")
			}
			if setup {
				return a.setupTests(cmd.Context(), req, language)
			}
			if against.asked() {
				if err := against.add(req); err != nil {
					return err
				}
				return a.compareTests(cmd.Context(), req)
			}
			if _, err := annotator(after.annotate); err != nil {
				return err
			}
			after.root, after.scope = root, scopeOf(req)
			after.to = cmp.Or(after.to, os.Getenv(placeVariable))
			after.branch = cmp.Or(after.branch, branchOf(root))
			if after.push && after.to == "" {
				return fault.New(fault.ValidationError, "Give --to s3://BUCKET/PREFIX or a folder, or set "+placeVariable+".",
					"no place to push to is named")
			}
			return a.runTests(cmd.Context(), req, &after)
		},
	}
	c.Flags().StringVarP(&dir, "directory", "C", ".", "the project")
	c.Flags().BoolVar(&setup, "setup", false, "say how the project gets its first test")
	c.Flags().StringVar(&language, "language", "", "of --setup: c, c++, go, javascript, python, rust or typescript")
	c.Flags().StringVar(&framework, "framework", "", "use this framework, whatever is found")
	c.Flags().StringVar(&level, "level", "", "unit, integration or e2e")
	c.Flags().StringVar(&test, "test", "", "one test: what a failure's rerun says, its name, or a part of names")
	c.Flags().StringVar(&command, "command", "", "a program that runs the tests")
	c.Flags().StringArrayVarP(&trace, "trace", "t", nil, "trace these functions of the tests' processes (repeatable)")
	c.Flags().StringArrayVar(&watch, "watch", nil, "read this expression at each traced call (repeatable)")
	c.Flags().IntVar(&repeat, "repeat", 0, "run so many times, or until a test fails")
	c.Flags().StringVar(&onStuck, "on-stuck", "",
		"a test that is shown never to go on: end the run soon (end, the default), or keep it for looking at (keep)")
	c.Flags().DurationVar(&timeout, "timeout", 0, "end the tests after this time, without compiling")
	against.register(c.Flags())
	after.register(c.Flags())
	return c
}

// runTests follows a run to its end; an interrupt cancels it.
func (a *app) runTests(ctx context.Context, req map[string]any, then *testAfter) error {
	raw, err := a.followTests(ctx, req)
	if err != nil {
		return err
	}
	var r shownTest
	if err := decode("debug_test", raw, &r); err != nil {
		return err
	}
	raw, failure := a.after(ctx, &r, raw, then)
	ended := a.testEnded(&r, raw)
	if then.pushed != nil && !a.json {
		a.printPushed(then.pushed)
	}
	failure = errors.Join(failure, a.annotateTests(&r, then))
	if ended != nil && failure != nil { // the tests' own end is the command's
		fmt.Fprintf(a.err, "strobe: %v\n", failure)
		return ended
	}
	return cmp.Or(ended, failure)
}

// followTests returns the answer at a run's end.
func (a *app) followTests(ctx context.Context, req map[string]any) (json.RawMessage, error) {
	c, err := connect(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	raw, err := c.call(context.WithoutCancel(ctx), "debug_test", req) // an interrupt must find the run that it is to end
	last := ""
	for {
		var r shownTest
		if err != nil {
			return nil, err
		}
		if err := decode("debug_test", raw, &r); err != nil {
			return nil, err
		}
		if r.Status != "running" {
			return raw, nil
		}
		if line := progressLine(&r); line != last && !a.json {
			fmt.Fprintln(a.err, a.paint(dim, line))
			last = line
		}
		if p := r.Progress; p != nil && len(p.Stuck)+len(p.Paused) > 0 { // a wait would end at once
			select {
			case <-ctx.Done():
			case <-time.After(followEvery):
			}
		}
		raw, err = c.call(ctx, "debug_test", map[string]any{"action": "status", "testRunId": r.TestRunID, "waitMs": 1000})
		if ctx.Err() != nil {
			fmt.Fprintln(a.err, "strobe: interrupted; ending the tests")
			bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
			defer cancel()
			raw, err = c.call(bound, "debug_test", map[string]any{"action": "cancel", "testRunId": r.TestRunID})
			ctx = bound
		}
	}
}

// followEvery is how often a run is looked at that stands still.
const followEvery = 500 * time.Millisecond

func progressLine(r *shownTest) string {
	p := r.Progress
	if p == nil {
		return r.Framework
	}
	line := fmt.Sprintf("%s: %s", r.Framework, p.Phase)
	if p.Doing != "" {
		line += ", " + p.Doing
	}
	if p.Passed+p.Failed+p.Skipped > 0 {
		line += fmt.Sprintf(", %d passed, %d failed, %d skipped", p.Passed, p.Failed, p.Skipped)
	}
	for _, s := range p.Stuck {
		line += "; stuck: " + s.Diagnosis
	}
	for _, s := range p.Paused {
		line += "; paused: " + s
	}
	for _, w := range p.Warnings {
		line += "; " + w
	}
	return line
}

// sessions are those of the run, each once.
func (r *shownTest) sessions() (ids []string) {
	for _, id := range append(slices.Clone(r.SessionIDs), r.SessionID) {
		if id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// counted is how many tests did not fail.
func (r *shownTest) counted() int {
	s := &r.Result.Summary
	return s.Passed + s.Skipped + s.ExpectedFailures + s.UnexpectedPasses + s.Todo + s.Subtests
}

func (a *app) testEnded(r *shownTest, raw json.RawMessage) error {
	code := exitOK
	switch {
	case r.Status == "canceled":
		code = exitInterrupted
	case r.Status != "completed":
		code = exitError
	case r.Result.Summary.Failed > 0 || r.Result.Summary.Stuck > 0 || r.counted() == 0:
		code = exitNothing
	}
	if a.json {
		fmt.Fprintf(a.out, "%s\n", raw)
	} else {
		a.printTests(r)
	}
	if code != exitOK {
		return &exitStatus{code: code}
	}
	return nil
}

func (a *app) printTests(r *shownTest) {
	if r.Error != "" {
		fmt.Fprintf(a.err, "strobe: %s\n", r.Error)
	}
	res := r.Result
	if res == nil {
		return
	}
	for _, f := range res.Failures {
		name := titleOf(f.Suite, f.Name)
		what := "FAIL"
		if f.Status != "" {
			what = strings.ToUpper(f.Status)
		}
		fmt.Fprintf(a.out, "%s  %s", a.paint(red, what), name)
		if f.File != "" {
			fmt.Fprintf(a.out, "  (%s:%d)", f.File, f.Line)
		}
		fmt.Fprintf(a.out, "\n%s\n", indent(f.Message))
		if f.Expected != "" || f.Actual != "" {
			fmt.Fprintf(a.out, "%s\n%s\n", indent("expected: "+f.Expected), indent("actual:   "+f.Actual))
		}
		for _, s := range f.Stack {
			fmt.Fprintf(a.out, "    %s\n", a.paint(dim, s))
		}
		for _, s := range f.Further {
			fmt.Fprintf(a.out, "    also: %s\n", s)
		}
		if f.Rerun != nil && f.Rerun.Command != "" {
			fmt.Fprintf(a.out, "    again: %s\n", f.Rerun.Command)
		}
	}
	if res.FailuresNotShown > 0 {
		fmt.Fprintf(a.out, "%d further failures: see %s\n", res.FailuresNotShown, res.Details)
	}
	for _, s := range res.Stuck {
		fmt.Fprintf(a.out, "%s  %s: %s\n", a.paint(red, "STUCK"), s.Name, s.Diagnosis)
		for _, t := range s.Threads {
			fmt.Fprintf(a.out, "    %s\n%s\n", t.Name, indent(indent(strings.Join(t.Stack, "\n"))))
		}
	}
	for _, s := range res.Slow {
		fmt.Fprintf(a.out, "slow  %s: %d ms, usually %d ms\n", s.Name, s.DurationMs, s.UsualMs)
	}
	for _, f := range res.Flaky {
		fmt.Fprintf(a.out, "flaky  %s\n", f)
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(a.err, "warning: %s\n", w)
	}
	for _, n := range res.Notes {
		fmt.Fprintf(a.err, "note: %s\n", n)
	}
	if r.TestRunID == "" { // there was nothing to run
		fmt.Fprintln(a.err, res.Hint)
		return
	}
	s := res.Summary
	line := fmt.Sprintf("%s: %d passed, %d failed, %d skipped", r.Framework, s.Passed, s.Failed, s.Skipped)
	for _, c := range []struct {
		n    int
		what string
	}{{s.ExpectedFailures, "expected failures"}, {s.UnexpectedPasses, "unexpected passes"}, {s.Todo, "to do"},
		{s.Subtests, "subtests passed"}} {
		if c.n > 0 {
			line += fmt.Sprintf(", %d %s", c.n, c.what)
		}
	}
	fmt.Fprintf(a.out, "%s in %d ms\n", line, s.DurationMs)
	for _, id := range r.sessions() {
		fmt.Fprintf(a.err, "strobe query %s --view tree\n", id)
	}
	fmt.Fprintf(a.err, "details: %s\n", res.Details)
	if res.Hint != "" {
		fmt.Fprintln(a.err, res.Hint)
	}
}

// indent puts four spaces before each line.
func indent(s string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n    ")
}

// namesTest says whether the first argument is a test's name: it stands alone before the dash, and is no place of the
// project, as which frameworks take it.
func namesTest(root string, args []string, dash int) bool {
	if len(args) == 0 || dash >= 0 && dash != 1 || dash < 0 && len(args) != 1 || strings.HasPrefix(args[0], ".") ||
		strings.HasSuffix(args[0], "/...") {
		return false
	}
	_, err := os.Stat(filepath.Join(root, args[0]))
	return err != nil
}
