package testadapter_test

import (
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
	"github.com/strobe-debug/strobe/internal/testadapter"
)

func TestNodeSuite(t *testing.T) {
	t.Parallel()
	p := strobetest.ProjectAt(strobetest.NodeSuite(t, "node"))
	a := testadapter.NodeTest{}
	if d := a.Detect(p); d.Confidence != 96 || d.Dir != "" {
		t.Errorf("Detect = %+v", d)
	}
	dir := t.TempDir()
	events := strobetest.RunAdapter(t, a, p, testadapter.Request{Dir: dir})
	keep(t, dir, p.Root)
	golden(t, "node/suite.txt", told(events), p.Root, "ROOT")
}

// What earlier versions report of the same suite.
func TestNodeVersions(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"20.20.2", "22.23.3", "24.21.0"} {
		t.Run(version, func(t *testing.T) { replayReport(t, testadapter.NodeTest{}, "node", version, 1) })
	}
}

func TestNodeEnds(t *testing.T) {
	t.Parallel()
	p := strobetest.ProjectAt(strobetest.NodeSuite(t, "node"))
	for _, name := range []string{"exits", "crashes"} {
		t.Run(name, func(t *testing.T) {
			golden(t, "node/"+name+".txt", told(strobetest.RunAdapter(t, testadapter.NodeTest{}, p, testadapter.Request{Test: "ends/" + name + ".test.mjs"})), p.Root, "ROOT")
		})
	}
}

func TestNodeSelects(t *testing.T) {
	t.Parallel()
	p := strobetest.ProjectAt(strobetest.NodeSuite(t, "node"))
	const plain = "test/plain.test.mjs > "
	parts := []string{plain + "has parts", plain + "has parts > one", plain + "has parts > two"}
	selects(t, testadapter.NodeTest{}, p, map[string][]string{
		"passes":                             {plain + "passes"},
		"counts 1":                           {plain + "outer > counts 1"},
		"both sides":                         {plain + "fails with both sides"},
		plain + "outer > counts 10":          {plain + "outer > counts 10"},
		plain + "outer > inner > deep works": {plain + "outer > inner > deep works"},
		plain + "outer > inner > deep > works (a.*b) [c] \"d\" 'e' $f ^g | h ü > i / j": {plain + "outer > inner > deep > works (a.*b) [c] \"d\" 'e' $f ^g | h ü > i / j"},
		plain + "outer > inner > deep > works #2":                                       {plain + "outer > inner > deep > works #2"},
		plain + "has parts":       parts,
		plain + "has parts > two": {parts[0], parts[2]},
		"no such test":            nil,
	})
}
