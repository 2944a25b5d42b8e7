package testadapter_test

import (
	"os"
	"path/filepath"
	"strings"
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
		plain + "outer > inner > deep > works (a.*b) [c] \"d\" 'e' $f ^g | h ü > i / j & <k>": {plain +
			"outer > inner > deep > works (a.*b) [c] \"d\" 'e' $f ^g | h ü > i / j & <k>"},
		plain + "outer > inner > deep > works #2": {plain + "outer > inner > deep > works #2"},
		plain + "no such test":                    nil,
	})
}

// TestBunHooks: a hook that fails is told as set up or taken down badly, and its ID runs its suite again.
func TestBunHooks(t *testing.T) {
	t.Parallel()
	p := strobetest.ProjectAt(strobetest.NodeSuite(t, "bun"))
	const source = "import { afterAll, beforeAll, describe, it } from 'bun:test';\n" +
		"describe('up', () => {\n  beforeAll(() => {\n    throw new Error('no');\n  });\n  it('never', () => {});\n});\n" +
		"describe('down', () => {\n  afterAll(() => {\n    throw new Error('no');\n  });\n  it('passes', () => {});\n});\n"
	if err := os.WriteFile(filepath.Join(p.Root, "test", "hooks.test.ts"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	for id, kind := range map[string]string{"test/hooks.test.ts > up > (unnamed)": "setup",
		"test/hooks.test.ts > down > (unnamed)": "teardown"} {
		got := ended(strobetest.RunAdapter(t, testadapter.Bun{}, p, testadapter.Request{Test: id}))
		if x := got[id]; x == nil || x.Status != testadapter.Errored || x.Failures[0].Kind != kind || got["(run)"] != nil {
			t.Errorf("%q ran %q: %+v", id, keys(got), x)
		}
		again := testadapter.Bun{}.Rerun(p, &testadapter.Request{}, &testadapter.Test{ID: id})
		if last := again.Argv[len(again.Argv)-1]; last != "^"+strings.Split(id, " > ")[1]+"(?:$| )" {
			t.Errorf("Rerun = %q", again.Argv)
		}
	}
}
