package fleet

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/strobe-debug/strobe/internal/bucket"
	"github.com/strobe-debug/strobe/internal/export"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/parquet"
	"github.com/strobe-debug/strobe/internal/sorting"
)

// TestRun is one run of a project's tests, as it lies at a place.
type TestRun struct {
	Schema    int    `json:"schema"` // export.TablesSchema
	Name      string `json:"name"`   // its own among all; those of one service are in the order of their begins
	Service   string `json:"service"`
	Branch    string `json:"branch,omitempty"` // "": not known
	Commit    string `json:"commit,omitempty"`
	Host      string `json:"host,omitempty"`
	Framework string `json:"framework"`
	// Scope is which of the project's tests were asked for: only runs of the same scope are compared.
	Scope      string        `json:"scope,omitempty"`
	BeganNs    int64         `json:"beganUnixNs"`
	DurationMs int64         `json:"durationMs"`
	Green      bool          `json:"green"` // it ended by itself, some tests ran, and none failed
	Sessions   []TestSession `json:"sessions,omitempty"`
	Tests      []TestResult  `json:"tests"`
}

// TestSession is a session with the calls of tests, which was pushed as well.
type TestSession struct {
	Name    string `json:"name"`
	Command string `json:"command"`
}

// TestResult is what became of one test.
type TestResult struct {
	Suite      string `json:"suite,omitempty"`
	Name       string `json:"name"`
	Status     string `json:"status"` // as debug_test has it: passed, failed, skipped, …
	Fails      bool   `json:"fails,omitempty"`
	DurationNs int64  `json:"durationNs"`
	File       string `json:"file,omitempty"` // from the repository's top folder
	Line       int    `json:"line,omitempty"`
	Message    string `json:"message,omitempty"` // of a failure: its begin
}

// FullName is a test's name with its suite.
func (t *TestResult) FullName() string {
	if t.Suite == "" {
		return t.Name
	}
	return t.Suite + " › " + t.Name
}

// maxRunFile bounds a run's file, of which one from elsewhere may be anything.
const maxRunFile = 256 << 20

// testColumns are those of table tests.
var testColumns = []parquet.Column{{Name: "run", Kind: parquet.Text},
	{Name: "commit", Kind: parquet.Text, Optional: true},
	{Name: "branch", Kind: parquet.Text, Optional: true}, {Name: "host", Kind: parquet.Text, Optional: true},
	{Name: "framework", Kind: parquet.Text}, {Name: "scope", Kind: parquet.Text, Optional: true},
	{Name: "suite", Kind: parquet.Text, Optional: true}, {Name: "test", Kind: parquet.Text},
	{Name: "status", Kind: parquet.Text}, {Name: "fails"}, {Name: "duration_ns"},
	{Name: "file", Kind: parquet.Text, Optional: true}, {Name: "line", Optional: true},
	{Name: "message", Kind: parquet.Text, Optional: true}, {Name: "started_unix_ns"}}

// runPrefix is where the runs of a branch lie.
func runPrefix(service, branch string) string {
	return "runs/service=" + folderName(service) + "/branch=" + folderName(branch) + "/"
}

// RunName is what a run is called among those of all machines.
func RunName(began time.Time, id string) string {
	return began.UTC().Format("20060102T150405.000Z") + "-" + folderName(id)
}

// PushTests puts a run and its table into the place, by files made below scratch, which is the caller's to remove.
func (pl *Place) PushTests(ctx context.Context, r *TestRun, scratch string) (*Pushed, error) {
	if pl.ticket != nil {
		return nil, fault.New(fault.Unsupported, "Push by credentials, or the session alone: strobe push ID --to TICKET.",
			"a ticket is for one session, and takes no run of tests")
	}
	p := &Pushed{Session: r.Name, To: pl.bucket.Where()}
	r.Schema = export.TablesSchema
	text, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("write test run: %w", err)
	}
	table, file := filepath.Join(scratch, r.Name+".parquet"), filepath.Join(scratch, r.Name+".json")
	if err := errors.Join(r.table(table), os.WriteFile(file, text, 0o600)); err != nil {
		return nil, fmt.Errorf("write test run: %w", err)
	}
	day := time.Unix(0, r.BeganNs).UTC().Format(time.DateOnly)
	if err := p.put(ctx, pl.bucket, key("tests", r.Service, day, r.Name), table); err != nil {
		return nil, err
	}
	return p, p.put(ctx, pl.bucket, runPrefix(r.Service, r.Branch)+r.Name+".json", file)
}

// table writes the run as a table.
func (r *TestRun) table(path string) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w, err := parquet.NewWriter(f, testColumns, [][2]string{{"strobe.schema", strconv.Itoa(export.TablesSchema)},
		{"strobe.table", "tests"}, {"strobe.run", r.Name}})
	if err != nil {
		return err
	}
	for i := range r.Tests {
		t := &r.Tests[i]
		fails := int64(0)
		if t.Fails {
			fails = 1
		}
		for col, v := range map[int]string{0: r.Name, 4: r.Framework, 7: t.Name, 8: t.Status} {
			w.Text(col, strings.ToValidUTF8(v, "\uFFFD"))
		}
		for col, v := range map[int]string{1: r.Commit, 2: r.Branch, 3: r.Host, 5: r.Scope, 6: t.Suite, 11: t.File,
			13: t.Message} {
			if v != "" {
				w.Text(col, strings.ToValidUTF8(v, "\uFFFD"))
			}
		}
		w.Int(9, fails)
		w.Int(10, t.DurationNs)
		if t.Line > 0 {
			w.Int(12, int64(t.Line))
		}
		w.Int(14, r.BeganNs)
		if err := w.EndRow(); err != nil {
			return err
		}
	}
	return w.Close()
}

// maxRunsBack is how many runs are looked at for a green one.
const maxRunsBack = 200

// LastGreen returns the last run before r of its service, scope and of branch in which no test failed; nil: there is
// none among the last 200 of that branch.
func (pl *Place) LastGreen(ctx context.Context, r *TestRun, branch string) (*TestRun, error) {
	prefix := runPrefix(r.Service, branch)
	keys, err := pl.bucket.List(ctx, prefix)
	if err != nil {
		return nil, err
	}
	slices.Sort(keys)
	looked := 0
	for _, k := range slices.Backward(keys) {
		name, ok := strings.CutSuffix(strings.TrimPrefix(k, prefix), ".json")
		if !ok || name >= r.Name {
			continue
		}
		if looked++; looked > maxRunsBack {
			break
		}
		var b bytes.Buffer
		if err := pl.bucket.Get(ctx, k, &limited{w: &b, left: maxRunFile}); err != nil {
			if errors.Is(err, bucket.ErrNone) { // retention took it meanwhile
				continue
			}
			return nil, fmt.Errorf("read %s: %w", k, err)
		}
		var other TestRun
		if err := json.Unmarshal(b.Bytes(), &other); err != nil || other.Schema != export.TablesSchema {
			return nil, fault.New(fault.ValidationError, "Take it away from there, or ask with a newer strobe.",
				"%s/%s is no test run of this version of strobe", pl.bucket.Where(), k)
		}
		if other.Green && other.Branch == branch && other.Scope == r.Scope && other.Framework == r.Framework {
			return &other, nil
		}
	}
	return nil, nil
}

// Change is what is otherwise than in a green run.
type Change struct {
	What   string `json:"what"` // newly failing, new and failing, slower, gone
	Test   string `json:"test"`
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	NowMs  int64  `json:"nowMs,omitempty"` // of slower
	WasMs  int64  `json:"wasMs,omitempty"`
	weight int64
}

// A test is called slower that took twice as long and a tenth of a second more: below that machines differ from
// themselves.
const (
	slowerTimes = 2
	slowerBy    = 100 * time.Millisecond
)

// Changes are what is worse in r than in a green run, what fails first. Tests that are told apart by nothing (of
// parameters without names) are compared in their order.
func (r *TestRun) Changes(green *TestRun) []Change {
	key := func(t *TestResult, seen map[string]int) string {
		name := t.Suite + "\x00" + t.Name
		seen[name]++
		return name + "\x00" + strconv.Itoa(seen[name])
	}
	was, seen := map[string]*TestResult{}, map[string]int{}
	for i := range green.Tests {
		was[key(&green.Tests[i], seen)] = &green.Tests[i]
	}
	var out []Change
	here, seen := map[string]bool{}, map[string]int{}
	for i := range r.Tests {
		t := &r.Tests[i]
		k := key(t, seen)
		here[k] = true
		o := was[k]
		c := Change{Test: t.FullName(), File: t.File, Line: t.Line}
		switch {
		case t.Fails && o == nil:
			c.What = "new and failing"
		case t.Fails:
			c.What = "newly failing"
		case o != nil && t.Status == "passed" && o.Status == "passed" && t.DurationNs > slowerTimes*o.DurationNs &&
			t.DurationNs > o.DurationNs+slowerBy.Nanoseconds():
			c.What, c.weight = "slower", t.DurationNs-o.DurationNs
			c.NowMs, c.WasMs = t.DurationNs/1e6, o.DurationNs/1e6
		default:
			continue
		}
		out = append(out, c)
	}
	for i, seen := 0, map[string]int{}; i < len(green.Tests); i++ {
		if t := &green.Tests[i]; !here[key(t, seen)] {
			out = append(out, Change{What: "gone", Test: t.FullName(), File: t.File, Line: t.Line})
		}
	}
	rank := []string{"newly failing", "new and failing", "slower", "gone"}
	sorting.By(out, func(a, b Change) int {
		return cmp.Or(slices.Index(rank, a.What)-slices.Index(rank, b.What), cmp.Compare(b.weight, a.weight))
	})
	return out
}
