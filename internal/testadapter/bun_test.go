package testadapter_test

import (
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
	"github.com/strobe-debug/strobe/internal/testadapter"
)

func TestBunSuite(t *testing.T) {
	t.Parallel()
	p := strobetest.ProjectAt(strobetest.NodeSuite(t, "bun"))
	a := testadapter.Bun{}
	if d := a.Detect(p); d.Confidence != 96 || d.Dir != "" {
		t.Errorf("Detect = %+v", d)
	}
	golden(t, "bun/suite.txt", told(strobetest.RunAdapter(t, a, p, testadapter.Request{})), p.Root, "ROOT")
}

func TestBunEnds(t *testing.T) {
	t.Parallel()
	p := strobetest.ProjectAt(strobetest.NodeSuite(t, "bun"))
	for _, name := range []string{"exits", "crashes", "announced"} {
		t.Run(name, func(t *testing.T) {
			r := testadapter.Request{Test: "ends/" + name + ".test.ts", Args: []string{"--todo"}}
			golden(t, "bun/"+name+".txt", told(strobetest.RunAdapter(t, testadapter.Bun{}, p, r)), p.Root, "ROOT")
		})
	}
}

func TestBunSelects(t *testing.T) {
	t.Parallel()
	p := strobetest.ProjectAt(strobetest.NodeSuite(t, "bun"))
	const plain = "test/plain.test.ts > "
	selects(t, testadapter.Bun{}, p, map[string][]string{
		plain + "passes":                     {plain + "passes"},
		plain + "outer > counts 1":           {plain + "outer > counts 1"},
		plain + "outer > inner > deep works": {plain + "outer > inner > deep works"},
		plain + "outer > inner > deep > works (a.*b) [c] \"d\" 'e' $f ^g | h ü > i / j & <k>": {plain + "outer > inner > deep > works (a.*b) [c] \"d\" 'e' $f ^g | h ü > i / j & <k>"},
		plain + "outer > inner > deep > works #2":                                             {plain + "outer > inner > deep > works #2"},
		plain + "no such test": nil,
	})
}
