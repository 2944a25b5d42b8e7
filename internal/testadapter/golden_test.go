package testadapter_test

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	diff "github.com/google/go-cmp/cmp"

	"github.com/strobe-debug/strobe/internal/strobetest"
	"github.com/strobe-debug/strobe/internal/testadapter"
)

var (
	update = flag.Bool("update", false, "write the golden files")
	// A suite is recorded with another version of its framework so: STROBE_TEST_NODE_MODULES=… go test -run
	// TestVitestSuite -record testdata/vitest/1.6.1.jsonl
	record = flag.String("record", "", "where to keep the report of a suite")
)

// rootOf stands for a project's folder in recorded reports.
const rootOf = "/ROOT"

// keep keeps a report for replay, if that is asked for.
func keep(t *testing.T, dir, root string) {
	t.Helper()
	if *record == "" {
		return
	}
	names, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(names) != 1 {
		t.Fatalf("reports: %q, %v", names, err)
	}
	b, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(*record, bytes.ReplaceAll(b, []byte(root), []byte(rootOf)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// replay hands a recorded report of a JavaScript suite to its adapter, as if the framework had just written it.
func replayReport(t *testing.T, a testadapter.Adapter, suite, version string, code int) {
	t.Helper()
	p := strobetest.ProjectAt(strobetest.NodeSuite(t, suite))
	golden(t, suite+"/"+version+".txt", told(replayed(t, a, p, reportOf(t, suite, version), testadapter.Exit{Code: code})),
		p.Root, "ROOT")
}

func reportOf(t testing.TB, suite, version string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", suite, version+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// replayed is what an adapter tells of a report, handed over in pieces.
func replayed(t *testing.T, a testadapter.Adapter, p *testadapter.Project, b []byte,
	exit testadapter.Exit) []testadapter.Event {
	t.Helper()
	var events []testadapter.Event
	x, err := a.Start(p, &testadapter.Request{Dir: t.TempDir(), Timeout: time.Minute},
		func(e testadapter.Event) { events = append(events, e) })
	if err != nil {
		t.Fatal(err)
	}
	step, err := x.Next()
	if err != nil {
		t.Fatal(err)
	}
	b = bytes.ReplaceAll(b, []byte(rootOf), []byte(p.Root))
	for len(b) > 0 {
		n := min(len(b), 777)
		x.Report(step.Reports[0], b[:n])
		b = b[n:]
	}
	x.End(exit)
	return events
}

// told is what an adapter told of an execution, as text: tests by ID, with all that does not change from run to run.
func told(events []testadapter.Event) string {
	var lines []string
	totals := ""
	for _, e := range events {
		switch e.Kind {
		case testadapter.TestEnded:
			lines = append(lines, toldTest(e.Test))
		case testadapter.Note:
			lines = append(lines, "note: "+e.Text+"\n")
		case testadapter.OwnTotals:
			totals = fmt.Sprintf("own totals: %+v\n", *e.Totals)
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "") + totals
}

func toldTest(t *testadapter.Test) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n    %s", strings.ReplaceAll(t.ID, "\n", `\n`), t.Status)
	if t.Fails {
		b.WriteString(" fails")
	}
	for _, f := range []struct {
		on   bool
		text string
	}{
		{t.Group, " group"}, {t.Flaky, " flaky"}, {t.Attempts > 1, fmt.Sprintf(" attempts=%d", t.Attempts)},
		{true, fmt.Sprintf(" name=%q suite=%q", t.Name, t.Suite)}, {t.Parent != "", fmt.Sprintf(" parent=%q", t.Parent)},
		{t.File != "", fmt.Sprintf(" at %s:%d", t.File, t.Line)}, {t.Reason != "", fmt.Sprintf(" reason=%q", t.Reason)},
		{t.Output != "", fmt.Sprintf("\n    output: %q", t.Output)},
	} {
		if f.on {
			b.WriteString(f.text)
		}
	}
	b.WriteString("\n")
	for _, f := range t.Failures {
		fmt.Fprintf(&b, "    %s %s:%d", f.Kind, f.File, f.Line)
		if f.Column > 0 {
			fmt.Fprintf(&b, ":%d", f.Column)
		}
		if f.Signal != "" {
			b.WriteString(" " + f.Signal)
		}
		if f.Expected+f.Actual != "" {
			fmt.Fprintf(&b, " expected %q, not %q", f.Expected, f.Actual)
		}
		b.WriteString("\n")
		for line := range strings.Lines(f.Message) {
			b.WriteString("      | " + strings.TrimRight(line, "\n") + "\n")
			if strings.Contains(line, "its last output:") {
				break // versions, paths and times of this machine
			}
		}
		for _, at := range f.Stack {
			fmt.Fprintf(&b, "      < %s:%d %s\n", at.File, at.Line, at.Function)
		}
	}
	return b.String()
}

var address = regexp.MustCompile(`\b0x[0-9a-f]{6,}\b`)

// golden compares a text with a file of testdata, or writes it.
func golden(t *testing.T, name, got string, cuts ...string) {
	t.Helper()
	for i := 0; i+1 < len(cuts); i += 2 {
		got = strings.ReplaceAll(got, cuts[i], cuts[i+1])
	}
	got = address.ReplaceAllString(got, "0xADDRESS")
	file := filepath.Join("testdata", name)
	if *update {
		if err := cmp.Or(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(got), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := diff.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); d != "" {
		t.Errorf("%s differs (-update writes it anew): %s", file, d)
	}
}

// ended are the tests that ended, by ID.
func ended(events []testadapter.Event) map[string]*testadapter.Test {
	tests := map[string]*testadapter.Test{}
	for _, e := range events {
		if e.Kind == testadapter.TestEnded {
			tests[e.Test.ID] = e.Test
		}
	}
	return tests
}

// notes are what was noted.
func notes(events []testadapter.Event) string {
	var b strings.Builder
	for _, e := range events {
		if e.Kind == testadapter.Note {
			b.WriteString(e.Text + "\n")
		}
	}
	return b.String()
}

// alone runs each of some tests by its ID and checks that it, its parents and its subtests are all that ran, with the
// same result.
func alone(t *testing.T, a testadapter.Adapter, p *testadapter.Project, all map[string]*testadapter.Test,
	pick func(*testadapter.Test) bool) {
	t.Helper()
	n := 0
	for id, want := range all {
		if !pick(want) {
			continue
		}
		n++
		t.Run(strings.ReplaceAll(id, "/", "_"), func(t *testing.T) {
			again := a.Rerun(p, &testadapter.Request{}, want)
			got := ended(strobetest.RunAdapter(t, a, p, testadapter.Request{Test: again.Test}))
			if got[id] == nil {
				t.Fatalf("%q ran %q", again.Test, keys(got))
			}
			if got[id].Status != want.Status {
				t.Errorf("%q is %s alone and %s among others", id, got[id].Status, want.Status)
			}
			for other, test := range got {
				if other != id && test.Parent != id && !test.Group && other != want.Parent {
					t.Errorf("%q also ran %q", again.Test, other)
				}
			}
		})
	}
	if n == 0 {
		t.Error("no test was picked")
	}
}

func keys[V any](m map[string]V) []string {
	list := make([]string, 0, len(m))
	for k := range m {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}

// files is a project of these files: name, contents, name, contents …
func files(t *testing.T, pairs ...string) *testadapter.Project {
	t.Helper()
	root := t.TempDir()
	for i := 0; i+1 < len(pairs); i += 2 {
		name := filepath.Join(root, pairs[i])
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755),
			os.WriteFile(name, []byte(pairs[i+1]), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	return strobetest.ProjectAt(root)
}

// selects checks what each of some Request.Tests runs, in usual runs of more than four every second one.
func selects(t *testing.T, a testadapter.Adapter, p *testadapter.Project, want map[string][]string) {
	t.Helper()
	every := len(want) <= 4 || strobetest.Soaks(t, "every second way to name tests")
	for i, test := range keys(want) {
		if !every && i%2 == 0 && want[test] != nil {
			continue
		}
		events := strobetest.RunAdapter(t, a, p, testadapter.Request{Test: test})
		if got := keys(ended(events)); !slices.Equal(got, want[test]) {
			t.Errorf("%q ran %q, want %q", test, got, want[test])
		}
		if none := strings.Contains(notes(events), "no test matches"); none != (want[test] == nil) {
			t.Errorf("%q noted %q", test, notes(events))
		}
	}
}

func link(t *testing.T, to, name string) {
	t.Helper()
	if err := os.Symlink(to, name); err != nil {
		t.Fatal(err)
	}
}
