package testadapter_test

import (
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
	"github.com/strobe-debug/strobe/internal/testadapter"
)

func TestDenoSuite(t *testing.T) {
	t.Parallel()
	p := strobetest.ProjectAt(strobetest.NodeSuite(t, "deno"))
	a := testadapter.Deno{}
	if d := a.Detect(p); d.Confidence != 95 || d.Dir != "" {
		t.Errorf("Detect = %+v", d)
	}
	events := strobetest.RunAdapter(t, a, p, testadapter.Request{})
	golden(t, "deno/suite.txt", told(events), p.Root, "ROOT")
	var phases []string
	for _, e := range events {
		if e.Kind == testadapter.PhaseChanged {
			phases = append(phases, string(e.Phase)+" "+e.Text)
		}
	}
	if all := strings.Join(phases, "\n"); !strings.Contains(all, "compiling Check test/plain_test.ts") ||
		!strings.Contains(all, "running test/plain_test.ts") {
		t.Errorf("phases: %q", phases)
	}
}

func TestDenoEnds(t *testing.T) {
	t.Parallel()
	p := strobetest.ProjectAt(strobetest.NodeSuite(t, "deno"))
	for _, name := range []string{"exits", "crashes", "types", "gone"} {
		t.Run(name, func(t *testing.T) {
			r := testadapter.Request{Test: "ends/" + name + "_test.ts", Args: []string{"--allow-run"}}
			golden(t, "deno/"+name+".txt", told(strobetest.RunAdapter(t, testadapter.Deno{}, p, r)), p.Root, "ROOT")
		})
	}
}

func TestDenoSelects(t *testing.T) {
	t.Parallel()
	p := strobetest.ProjectAt(strobetest.NodeSuite(t, "deno"))
	const plain = "test/plain_test.ts > "
	selects(t, testadapter.Deno{}, p, map[string][]string{
		plain + "passes":   {plain + "passes"},
		plain + "counts 1": {plain + "counts 1"},
		plain + "works (a.*b) [c] \"d\" 'e' $f ^g | h ü > i / j & <k>": {plain +
			"works (a.*b) [c] \"d\" 'e' $f ^g | h ü > i / j & <k>"},
		plain + "works #2":               {plain + "works #2"},
		plain + "has parts > two > deep": {plain + "has parts", plain + "has parts > two", plain + "has parts > two > deep"},
		plain + "no such test":           nil,
	})
}
