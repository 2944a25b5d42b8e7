package testadapter_test

import (
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
	"github.com/strobe-debug/strobe/internal/testadapter"
)

func TestMochaSuite(t *testing.T) {
	t.Parallel()
	p := strobetest.ProjectAt(strobetest.NodeSuite(t, "mocha"))
	a := testadapter.Mocha{}
	if d := a.Detect(p); d.Confidence != 96 || d.Dir != "" {
		t.Errorf("Detect = %+v", d)
	}
	dir := t.TempDir()
	events := strobetest.RunAdapter(t, a, p, testadapter.Request{Dir: dir})
	keep(t, dir, p.Root)
	golden(t, "mocha/suite.txt", told(events), p.Root, "ROOT")
}

// With workers, Mocha hands over less: tests that a failed hook kept from running are not known.
func TestMochaParallel(t *testing.T) {
	t.Parallel()
	p := strobetest.ProjectAt(strobetest.NodeSuite(t, "mocha"))
	golden(t, "mocha/parallel.txt", told(strobetest.RunAdapter(t, testadapter.Mocha{}, p,
		testadapter.Request{Args: []string{"--parallel", "--jobs=2"}})), p.Root, "ROOT")
}

// What earlier versions report of the same suite.
func TestMochaVersions(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"10.8.2", "11.7.1"} {
		t.Run(version, func(t *testing.T) { replayReport(t, testadapter.Mocha{}, "mocha", version, 1) })
	}
}

func TestMochaEnds(t *testing.T) {
	t.Parallel()
	p := strobetest.ProjectAt(strobetest.NodeSuite(t, "mocha"))
	for _, name := range []string{"exits", "crashes", "throws", "later", "syntax"} {
		t.Run(name, func(t *testing.T) {
			golden(t, "mocha/"+name+".txt", told(strobetest.RunAdapter(t, testadapter.Mocha{}, p,
				testadapter.Request{Test: "ends/" + name + ".js"})), p.Root, "ROOT")
		})
	}
}

func TestMochaSelects(t *testing.T) {
	t.Parallel()
	p := strobetest.ProjectAt(strobetest.NodeSuite(t, "mocha"))
	const plain = "test/plain.test.js > "
	selects(t, testadapter.Mocha{}, p, map[string][]string{
		"passes":                             {plain + "passes"},
		"counts 1":                           {plain + "outer > counts 1"},
		"both sides":                         {plain + "fails with both sides"},
		plain + "outer > counts 10":          {plain + "outer > counts 10"},
		plain + "outer > inner > deep works": {plain + "outer > inner > deep works"},
		plain + "outer > inner > deep > works (a.*b) [c] \"d\" 'e' $f ^g | h ü > i / j": {plain +
			"outer > inner > deep > works (a.*b) [c] \"d\" 'e' $f ^g | h ü > i / j"},
		plain + "outer > inner > deep > works #2": {plain +
			"outer > inner > deep > works #2"},
		"test/hooks.test.js > set up badly > nor this": {"test/hooks.test.js > set up " +
			"badly > nor this"},
		"test/hooks.test.js > all set up badly > \"before all\" hook for " +
			"\"never seen\"": {"test/hooks.test.js > all set up badly > \"before all\" hook for \"never seen\"",
			"test/hooks.test.js > all set up badly > never seen"},
		"no such test": nil,
	})
}
