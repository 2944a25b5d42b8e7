package testadapter_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
	"github.com/strobe-debug/strobe/internal/testadapter"
)

func TestJestSuite(t *testing.T) {
	t.Parallel()
	p := strobetest.ProjectAt(strobetest.NodeSuite(t, "jest"))
	a := testadapter.Jest{}
	if d := a.Detect(p); d.Confidence != 96 || d.Dir != "" {
		t.Errorf("Detect = %+v", d)
	}
	dir := t.TempDir()
	events := strobetest.RunAdapter(t, a, p, testadapter.Request{Dir: dir})
	keep(t, dir, p.Root)
	golden(t, "jest/suite.txt", told(events), p.Root, "ROOT")
}

// What earlier versions report of the same suite.
func TestJestVersions(t *testing.T) {
	t.Parallel()
	replayReport(t, testadapter.Jest{}, "jest", "29.7.0", 1)
}

func TestJestEnds(t *testing.T) {
	t.Parallel()
	p := strobetest.ProjectAt(strobetest.NodeSuite(t, "jest"))
	for name, args := range map[string][]string{
		"exits":           {"exits", "--roots=ends"},
		"crashes":         {"crashes.test", "--roots=ends"},
		"crashes-workers": {"crashes", "--roots=ends", "--maxWorkers=2"}, // a worker process for each file
		"nothing":         {"--roots=src"},
	} {
		t.Run(name, func(t *testing.T) {
			golden(t, "jest/"+name+".txt", told(strobetest.RunAdapter(t, testadapter.Jest{}, p,
				testadapter.Request{Args: args})), p.Root, "ROOT")
		})
	}
}

func TestJestSelects(t *testing.T) {
	t.Parallel()
	p := strobetest.ProjectAt(strobetest.NodeSuite(t, "jest"))
	const plain = "test/plain.test.js > "
	selects(t, testadapter.Jest{}, p, map[string][]string{
		"passes":                             {plain + "passes"},
		"counts 1":                           {plain + "outer > counts 1"},
		"unexpect":                           {plain + "passes unexpectedly"},
		plain + "outer > counts 10":          {plain + "outer > counts 10"},
		plain + "outer > inner > deep works": {plain + "outer > inner > deep works"},
		plain + "outer > inner > deep > works (a.*b) [c] \"d\" 'e' $f ^g | h ü > i": {plain +
			"outer > inner > deep > works (a.*b) [c] \"d\" 'e' $f ^g | h ü > i"},
		plain + "outer > inner > deep > works #2": {plain + "outer > inner > deep > works #2"},
		"test/deep/throws.test.js":                {"test/deep/throws.test.js"},
		"no such test":                            nil,
	})
}

// TestJestOrder: a test's end is told before the next one's beginning, also where both come from a worker at once: what
// ends the run between them would else take the first for one that still runs.
func TestJestOrder(t *testing.T) {
	t.Parallel()
	p := strobetest.ProjectAt(strobetest.NodeSuite(t, "jest"))
	dir := filepath.Join(p.Root, "many")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	const tests = "for (let i = 0; i < 40; i++) test(`t${i}`, () => { if (i % 3 === 0) throw new Error('so it is'); });\n"
	for _, name := range []string{"one.test.js", "two.test.js"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(tests), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	reports := t.TempDir()
	r := testadapter.Request{Dir: reports, Args: []string{"--roots=many", "--maxWorkers=2"}}
	if n := len(ended(strobetest.RunAdapter(t, testadapter.Jest{}, p, r))); n != 80 {
		t.Fatalf("%d tests ended", n)
	}
	names, err := filepath.Glob(filepath.Join(reports, "*.jsonl"))
	if err != nil || len(names) != 1 {
		t.Fatalf("reports: %q, %v", names, err)
	}
	text, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	running := map[string]string{} // file: the test of it that runs
	for line := range strings.Lines(string(text)) {
		var e struct{ E, ID, Suite string }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		if e.E == "start" {
			if before := running[e.Suite]; before != "" {
				t.Fatalf("%q began before the end of %q was told", e.ID, before)
			}
			running[e.Suite] = e.ID
		} else if running[e.Suite] == e.ID {
			running[e.Suite] = ""
		}
	}
}
