package testadapter_test

import (
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
			golden(t, "jest/"+name+".txt", told(strobetest.RunAdapter(t, testadapter.Jest{}, p, testadapter.Request{Args: args})), p.Root, "ROOT")
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
		plain + "outer > inner > deep > works (a.*b) [c] \"d\" 'e' $f ^g | h ü > i": {plain + "outer > inner > deep > works (a.*b) [c] \"d\" 'e' $f ^g | h ü > i"},
		plain + "outer > inner > deep > works #2":                                   {plain + "outer > inner > deep > works #2"},
		"test/deep/throws.test.js":                                                  {"test/deep/throws.test.js"},
		"no such test":                                                              nil,
	})
}
