package testadapter_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

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
			golden(t, "node/"+name+".txt", told(strobetest.RunAdapter(t, testadapter.NodeTest{}, p,
				testadapter.Request{Test: "ends/" + name + ".test.mjs"})), p.Root, "ROOT")
		})
	}
}

// Node before 22 matches tests by their own names and tells of the others as skipped: what was asked for is then looked
// for so.
func TestNodeOwnNames(t *testing.T) {
	p := strobetest.ProjectAt(strobetest.NodeSuite(t, "node"))
	const source = "import { describe, it } from 'node:test';\ndescribe('outer', () => {\n  it('one', () => {});\n  " +
		"it('two', () => {});\n});\n"
	name := filepath.Join(p.Root, "nested.test.mjs")
	if err := os.WriteFile(name, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	var told []testadapter.Event
	x, err := testadapter.NodeTest{}.Start(p,
		&testadapter.Request{Dir: t.TempDir(), Timeout: time.Minute, Test: "nested.test.mjs > outer > one"},
		func(e testadapter.Event) { told = append(told, e) })
	if err != nil {
		t.Fatal(err)
	}
	step, err := x.Next()
	if err != nil {
		t.Fatal(err)
	}
	x.Report(step.Reports[0], nodeReport(t, step, p.Root, "nested-20.20.2.events.jsonl"))
	x.End(testadapter.Exit{})
	if tests := ended(told); len(tests) != 0 || strings.Contains(notes(told), "no test matches") {
		t.Errorf("told %q, noted %q", keys(tests), notes(told))
	}
	step, err = x.Next()
	if err != nil || step == nil || !slices.Contains(step.Argv, "--test-name-pattern=/^(?:one)$/") {
		t.Errorf("the next step is %+v, %v", step, err)
	}
	again := testadapter.NodeTest{}.Rerun(p, &testadapter.Request{},
		&testadapter.Test{ID: "nested.test.mjs > outer > one", Name: "one"})
	if !slices.Contains(again.Argv, "--test-name-pattern=/^(?:outer(?: > | )one|one)$/") {
		t.Errorf("Rerun = %q", again.Argv)
	}
}

// nodeReport is what our reporter says of recorded events.
func nodeReport(t *testing.T, step *testadapter.Step, root, events string) []byte {
	t.Helper()
	dir := filepath.Dir(step.Reports[0])
	recorded, err := os.ReadFile(filepath.Join("testdata", "node", events))
	if err != nil {
		t.Fatal(err)
	}
	step.Files[filepath.Join(dir, "events")] = bytes.ReplaceAll(recorded, []byte(rootOf), []byte(root))
	step.Files[filepath.Join(dir, "replay.mjs")] = []byte(`import fs from 'node:fs';
import report from './strobe_node.mjs';
const events = fs.readFileSync(new URL('./events', import.meta.url), 'utf8').trim().split('\n').map((line) => JSON.parse(line));
for await (const _ of report((async function* () { yield* events; })()));
`)
	for name, b := range step.Files {
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("node", filepath.Join(dir, "replay.mjs")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	b, err := os.ReadFile(step.Reports[0])
	if err != nil {
		t.Fatal(err)
	}
	return b
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
		plain + "outer > inner > deep > works (a.*b) [c] \"d\" 'e' $f ^g | h ü > i / j": {plain +
			"outer > inner > deep > works (a.*b) [c] \"d\" 'e' $f ^g | h ü > i / j"},
		plain + "outer > inner > deep > works #2": {plain + "outer > inner > deep > works #2"},
		plain + "has parts":                       parts,
		plain + "has parts > two":                 {parts[0], parts[2]},
		"no such test":                            nil,
	})
}
