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

	"github.com/spf13/pflag"

	"github.com/strobe-debug/strobe/internal/bucket"
	"github.com/strobe-debug/strobe/internal/checkout"
	"github.com/strobe-debug/strobe/internal/daemon"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/fleet"
	"github.com/strobe-debug/strobe/internal/settings"
)

// testAfter is what is done with a run of tests that has ended.
type testAfter struct {
	push                       bool
	to, service, branch, scope string
	annotate                   string
	root                       string
	details                    *testDetails
	pushed                     *pushedTests
}

func (t *testAfter) register(f *pflag.FlagSet) {
	f.BoolVar(&t.push, "push", false, "put the run and its sessions where those of many machines are kept, as strobe "+
		"push does, and compare it with the last green one of the branch")
	f.StringVar(&t.to, "to", "", "of --push: s3://BUCKET/PREFIX or a folder (default: "+placeVariable+")")
	f.StringVar(&t.service, "service", "", "of --push (default: the setting, or the project folder's name)")
	f.StringVar(&t.branch, "branch", "", "of --push (default: what CI says, or what is checked out)")
	f.StringVar(&t.annotate, "annotate", "", "mark failures in a merge request: github, gitlab (writes "+qualityFile+
		") or auto, which is the one that runs this")
}

// testDetails is what a run's file has of each test.
type testDetails struct {
	Began time.Time `json:"began"`
	Tests []struct {
		Name, Suite, File, Status string
		Line                      int
		Group, Part, Fails        bool
		Duration                  time.Duration
		Failures                  []struct {
			File, Message string
			Line          int
		}
	} `json:"tests"`
}

// pushedTests is what became of a push, in the answer.
type pushedTests struct {
	Run     string      `json:"run"`
	To      string      `json:"to"`
	Service string      `json:"service"`
	Branch  string      `json:"branch,omitempty"`
	Against *greenTests `json:"against,omitempty"` // the last green run; nil: there is none
	Notes   []string    `json:"notes,omitempty"`
	run     *fleet.TestRun
}

// greenTests is a green run, and what is worse now.
type greenTests struct {
	Run         string         `json:"run"`
	Branch      string         `json:"branch,omitempty"`
	Commit      string         `json:"commit,omitempty"`
	Tests       int            `json:"tests"`
	Regressions []fleet.Change `json:"regressions"`
	NotShown    int            `json:"regressionsNotShown,omitempty"`
	// of traced sessions: slower, newly called, newly failing
	Functions []map[string]json.RawMessage `json:"functions,omitempty"`
	NewErrors []map[string]json.RawMessage `json:"newErrors,omitempty"`
	began     time.Time
}

const (
	maxRegressions = 30
	maxTestMessage = 400 // bytes of a failure's message, where runs are kept together
)

// branchVariables are where CI says the branch, and baseVariables that which it is to be merged into.
var (
	branchVariables = []string{"GITHUB_HEAD_REF", "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME", "CI_COMMIT_BRANCH",
		"BUILDKITE_BRANCH", "CIRCLE_BRANCH", "BITBUCKET_BRANCH", "CHANGE_BRANCH", "BRANCH_NAME"}
	baseVariables = []string{"GITHUB_BASE_REF", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME",
		"BUILDKITE_PULL_REQUEST_BASE_BRANCH", "BITBUCKET_PR_DESTINATION_BRANCH", "CHANGE_TARGET", "CI_DEFAULT_BRANCH"}
)

func firstOf(variables []string) string {
	for _, v := range variables {
		if s := os.Getenv(v); s != "" && s != "false" {
			return s
		}
	}
	return ""
}

// branchOf is the branch whose code a project has.
func branchOf(root string) string {
	if b := firstOf(branchVariables); b != "" {
		return b
	}
	if b := os.Getenv("GITHUB_REF_NAME"); b != "" && os.Getenv("GITHUB_REF_TYPE") == "branch" {
		return b
	}
	return checkout.Branch(root)
}

// scopeOf says which of the project's tests a request is for.
func scopeOf(req map[string]any) string {
	var parts []string
	for _, name := range []string{"level", "test", "command", "args"} {
		if v, ok := req[name]; ok {
			parts = append(parts, fmt.Sprintf("%s=%v", name, v))
		}
	}
	return strings.Join(parts, " ")
}

// read reads the run's details, once.
func (t *testAfter) read(r *shownTest) error {
	if t.details != nil || r.Result == nil {
		return nil
	}
	text, err := os.ReadFile(r.Result.Details)
	if err != nil {
		return fmt.Errorf("read what became of each test: %w", err)
	}
	t.details = &testDetails{}
	if err := json.Unmarshal(text, t.details); err != nil {
		return fmt.Errorf("read what became of each test: %s: %w", r.Result.Details, err)
	}
	return nil
}

// path is a file as it is called from the repository's top folder.
func (t *testAfter) path(file string) string {
	if file == "" {
		return ""
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(t.root, file)
	}
	if rel, err := filepath.Rel(cmp.Or(checkout.Root(t.root), t.root), file); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return file
}

// run is the run as it is pushed.
func (t *testAfter) run(r *shownTest) *fleet.TestRun {
	host, _ := os.Hostname() // not known is ""
	s := &r.Result.Summary
	out := &fleet.TestRun{Name: fleet.RunName(t.details.Began, r.TestRunID), Service: t.service, Branch: t.branch,
		Commit: checkout.Commit(t.root), Host: host, Framework: r.Framework, Scope: t.scope,
		BeganNs: t.details.Began.UnixNano(), DurationMs: s.DurationMs,
		Green: r.Status == "completed" && s.Failed == 0 && s.Stuck == 0 && r.counted() > 0}
	for i := range t.details.Tests {
		x := &t.details.Tests[i]
		if x.Group || x.Part && !x.Fails {
			continue
		}
		one := fleet.TestResult{Suite: x.Suite, Name: x.Name, Status: x.Status, Fails: x.Fails,
			DurationNs: x.Duration.Nanoseconds(), File: t.path(x.File), Line: x.Line}
		if len(x.Failures) > 0 {
			f := &x.Failures[0]
			one.Message = f.Message
			if more := len(f.Message) - maxTestMessage; more > 0 {
				one.Message = fmt.Sprintf("%s…(+%d bytes)", strings.ToValidUTF8(f.Message[:maxTestMessage], ""), more)
			}
			if f.File != "" {
				one.File, one.Line = t.path(f.File), f.Line
			}
		}
		out.Tests = append(out.Tests, one)
	}
	return out
}

// pushTests puts a run that has ended into its place, and compares it with the last green one of its branch.
func (a *app) pushTests(ctx context.Context, r *shownTest, t *testAfter) error {
	if r.Status != "completed" || r.TestRunID == "" || r.Result == nil || r.counted()+r.Result.Summary.Failed == 0 {
		fmt.Fprintln(a.err, "note: nothing is pushed: the run did not come to its end, or no test ran")
		return nil
	}
	place, err := fleet.OpenPlace(t.to, os.Getenv)
	if err != nil {
		return err
	}
	if err := t.read(r); err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "strobe-push-")
	if err != nil {
		return fmt.Errorf("make room for tables: %w", err)
	}
	defer os.RemoveAll(scratch)
	if t.service == "" {
		home, err := daemon.Home()
		if err != nil {
			return err
		}
		set, _ := settings.NewLoader(home).Load(t.root) // what is wrong with them was told at the run
		t.service = cmp.Or(set.Service, filepath.Base(t.root))
	}
	run := t.run(r)
	p := &pushedTests{Run: run.Name, Service: t.service, Branch: t.branch, run: run}
	for _, id := range r.sessions() {
		s, err := a.pushOne(ctx, place, id, scratch)
		switch {
		case err != nil && fault.CodeOf(err) == fault.ValidationError:
			p.Notes = append(p.Notes, err.Error())
		case err != nil:
			return err
		default:
			run.Sessions = append(run.Sessions, fleet.TestSession{Name: s.Session, Command: s.Command})
		}
	}
	// before this one is there, which may be green itself
	green, err := place.LastGreen(ctx, run, t.branch)
	if base := firstOf(baseVariables); err == nil && green == nil && base != "" && base != t.branch {
		green, err = place.LastGreen(ctx, run, base)
	}
	if err != nil {
		return err
	}
	done, err := place.PushTests(ctx, run, scratch)
	if err != nil {
		return err
	}
	p.To, t.pushed = done.To, p
	if green == nil {
		return nil
	}
	p.Against = &greenTests{Run: green.Name, Branch: green.Branch, Commit: green.Commit, Tests: len(green.Tests),
		Regressions: run.Changes(green), began: time.Unix(0, green.BeganNs)}
	if n := len(p.Against.Regressions); n > maxRegressions {
		p.Against.Regressions, p.Against.NotShown = p.Against.Regressions[:maxRegressions], n-maxRegressions
	}
	return a.compareCalls(ctx, t, run, green)
}

// compareCalls compares the calls of a run's sessions with those of a green run, each with the first of the same
// program.
func (a *app) compareCalls(ctx context.Context, t *testAfter, run, green *fleet.TestRun) error {
	p := t.pushed
	taken := map[string]bool{}
	var engine *fleet.Engine
	var dir string
	for _, mine := range run.Sessions {
		i := slices.IndexFunc(green.Sessions, func(s fleet.TestSession) bool {
			return s.Command == mine.Command && !taken[s.Name]
		})
		if i < 0 {
			continue
		}
		theirs := green.Sessions[i]
		taken[theirs.Name] = true
		if engine == nil {
			var ok bool
			if engine, ok = fleet.FindEngine(ctx); !ok {
				p.Notes = append(p.Notes, "calls are not compared: no DuckDB is installed (pip install duckdb)")
				return nil
			}
			b, err := bucket.Open(t.to, os.Getenv)
			if err != nil {
				return err
			}
			if dir, _, err = a.tablesOf(ctx, b, "", []string{"sessions", "calls"}); err != nil {
				return err
			}
		}
		for question, into := range map[string]*[]map[string]json.RawMessage{"regressions": &p.Against.Functions,
			"new-errors": &p.Against.NewErrors} {
			rows, err := ask(ctx, engine, dir, question, fleet.Asked{Session: mine.Name, Green: theirs.Name,
				Limit: maxRegressions})
			if err != nil {
				return err
			}
			*into = append(*into, rows...)
		}
	}
	return nil
}

// ask asks DuckDB a question, and returns rows as objects.
func ask(ctx context.Context, e *fleet.Engine, dir, question string, asked fleet.Asked) ([]map[string]json.RawMessage,
	error) {
	d, q := &fleet.Dialects[0], fleet.FindQuestion(question)
	sql, err := q.SQL(d, asked)
	if err != nil {
		return nil, err
	}
	rows, err := e.Run(ctx, d.Relations(dir, q.Tables)+sql+";")
	if err != nil {
		return nil, err
	}
	var out []map[string]json.RawMessage
	for _, values := range rows.Values {
		row := map[string]json.RawMessage{"session": jsonText(asked.Session)}
		for i, v := range values {
			if string(v) != "null" {
				row[rows.Columns[i]] = v
			}
		}
		out = append(out, row)
	}
	return out, nil
}

// jsonText is a text as JSON.
func jsonText(s string) json.RawMessage {
	b, _ := json.Marshal(s) // of a text it cannot fail
	return b
}

// after does what was asked for with a run that has ended, and returns the answer with what came of it.
func (a *app) after(ctx context.Context, r *shownTest, raw json.RawMessage, t *testAfter) (json.RawMessage, error) {
	var err error
	if t.push {
		err = a.pushTests(ctx, r, t)
	}
	if t.pushed != nil {
		var whole map[string]json.RawMessage
		if e := json.Unmarshal(raw, &whole); e != nil {
			return raw, errors.Join(err, e)
		}
		b, e := json.Marshal(t.pushed)
		if e != nil {
			return raw, errors.Join(err, e)
		}
		whole["pushed"] = b
		if raw, e = json.Marshal(whole); e != nil {
			return raw, errors.Join(err, e)
		}
	}
	return raw, err
}

// printPushed tells what became of a push.
func (a *app) printPushed(p *pushedTests) {
	for _, n := range p.Notes {
		fmt.Fprintf(a.err, "note: %s\n", n)
	}
	g := p.Against
	if g == nil {
		fmt.Fprintf(a.out, "no green run of %s to compare with\n", branchText(p.Branch))
		fmt.Fprintf(a.out, "pushed: %s, in %s\n", p.Run, p.To)
		return
	}
	what := "nothing is worse than in"
	if len(g.Regressions)+len(g.Functions)+len(g.NewErrors) > 0 {
		what = "against"
	}
	fmt.Fprintf(a.out, "%s the last green run of %s (%s, %d tests, %s)\n", what, branchText(g.Branch),
		g.began.Local().Format("2006-01-02 15:04"), g.Tests, cmp.Or(g.Commit[:min(len(g.Commit), 12)], "no commit"))
	for _, c := range g.Regressions {
		line := fmt.Sprintf("  %s  %s", a.paint(red, c.What), c.Test)
		if c.What == "slower" {
			line += fmt.Sprintf(": %d ms, was %d ms", c.NowMs, c.WasMs)
		} else if c.File != "" {
			line += fmt.Sprintf("  (%s:%d)", c.File, c.Line)
		}
		fmt.Fprintln(a.out, line)
	}
	if g.NotShown > 0 {
		fmt.Fprintf(a.out, "  and %d more\n", g.NotShown)
	}
	for _, f := range g.Functions {
		line := fmt.Sprintf("  %s  %s: %s calls", cellText(f["what"]), cellText(f["function"]), cellText(f["calls"]))
		if f["green_median_ns"] != nil {
			line += fmt.Sprintf(", median %s ns, was %s ns", cellText(f["median_ns"]), cellText(f["green_median_ns"]))
		}
		fmt.Fprintln(a.out, line)
	}
	for _, f := range g.NewErrors {
		fmt.Fprintf(a.out, "  new error  %s: %s, %s calls\n", cellText(f["function"]), cellText(f["example"]),
			cellText(f["calls"]))
	}
	fmt.Fprintf(a.out, "pushed: %s, in %s\n", p.Run, p.To)
}

func branchText(branch string) string { return cmp.Or(branch, "no branch") }
