package testadapter_test

import (
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
	"github.com/strobe-debug/strobe/internal/testadapter"
)

func TestVitestSuite(t *testing.T) {
	t.Parallel()
	p := strobetest.ProjectAt(strobetest.NodeSuite(t, "vitest"))
	a := testadapter.Vitest{}
	if d := a.Detect(p); d.Confidence != 96 || d.Dir != "" {
		t.Errorf("Detect = %+v", d)
	}
	dir := t.TempDir()
	events := strobetest.RunAdapter(t, a, p, testadapter.Request{Dir: dir})
	keep(t, dir, p.Root)
	golden(t, "vitest/suite.txt", told(events), p.Root, "ROOT")
}

// What earlier versions report of the same suite.
func TestVitestVersions(t *testing.T) {
	for version, exit := range map[string]int{"1.6.1": 1, "2.1.9": 1, "3.2.4": 1, "4.1.12": 1} {
		t.Run(version, func(t *testing.T) { replayReport(t, testadapter.Vitest{}, "vitest", version, exit) })
	}
}

func TestVitestEnds(t *testing.T) {
	t.Parallel()
	p := strobetest.ProjectAt(strobetest.NodeSuite(t, "vitest"))
	for _, name := range []string{"exits", "crashes", "unhandled"} {
		t.Run(name, func(t *testing.T) {
			args := []string{"--dir=ends", "ends/" + name, "--testTimeout=3000"}
			golden(t, "vitest/"+name+".txt", told(strobetest.RunAdapter(t, testadapter.Vitest{}, p,
				testadapter.Request{Args: args})), p.Root, "ROOT")
		})
	}
}

func TestVitestSelects(t *testing.T) {
	p := strobetest.ProjectAt(strobetest.NodeSuite(t, "vitest"))
	a := testadapter.Vitest{}
	const plain = "test/plain.test.ts > "
	selects(t, a, p, map[string][]string{
		"passes": {plain + "passes"},
		"outer > inner > deep > works": {plain + "outer > inner > deep > works",
			plain + "outer > inner > deep > works #2"},
		"counts 1":                           {plain + "outer > counts 1"},
		"unexpect":                           {plain + "passes unexpectedly"},
		plain + "outer > counts 10":          {plain + "outer > counts 10"},
		plain + "outer > inner > deep works": {plain + "outer > inner > deep works"},
		plain + "outer > inner > deep > works (a.*b) [c] \"d\" 'e' $f ^g | h ü > i": {plain +
			"outer > inner > deep > works (a.*b) [c] \"d\" 'e' $f ^g | h ü > i"},
		plain + "outer > inner > deep > works #2": {plain + "outer > inner > deep > works #2"},
		plain + "passes": {plain + "passes"},
		"no such test":   nil,
	})
}

// A file that does not load or a suite that cannot be set up can be run again alone.
func TestVitestRunsFilesAgain(t *testing.T) {
	p := strobetest.ProjectAt(strobetest.NodeSuite(t, "vitest"))
	selects(t, testadapter.Vitest{}, p, map[string][]string{
		"test/deep/throws.test.ts": {"test/deep/throws.test.ts"},
		"test/hooks.test.ts > all set up badly": {"test/hooks.test.ts > all set up badly",
			"test/hooks.test.ts > all set up badly > never runs"},
		"test/hooks.test.ts > all taken down badly": {"test/hooks.test.ts > all taken down badly",
			"test/hooks.test.ts > all taken down badly > passes before"},
		"test/hooks.test.ts > all set up badly > never runs": {"test/hooks.test.ts > all set up badly",
			"test/hooks.test.ts > all set up badly > never runs"},
	})
}
