package testadapter_test

import (
	"testing"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/strobetest"
	"github.com/strobe-debug/strobe/internal/testadapter"
)

func TestPlaywrightSuite(t *testing.T) {
	t.Parallel()
	p := strobetest.ProjectAt(strobetest.NodeSuite(t, "playwright"))
	a := testadapter.Playwright{}
	if d := a.Detect(p); d.Confidence != 96 || d.Dir != "" {
		t.Errorf("Detect = %+v", d)
	}
	for _, level := range []testadapter.Level{testadapter.Unit, testadapter.Integration} {
		if _, err := a.Start(p, &testadapter.Request{Dir: t.TempDir(), Level: level},
			nil); fault.CodeOf(err) != fault.Unsupported {
			t.Errorf("%s: %v", level, err)
		}
	}
	// A file that does not load keeps Playwright from running any.
	golden(t, "playwright/broken.txt", told(
		strobetest.RunAdapter(t, a, p, testadapter.Request{Args: []string{"--project=first"}})), p.Root, "ROOT")
	args := []string{"--project=first", "--project=second one", "/tests/[a-z]*.spec.ts"}
	golden(t, "playwright/suite.txt", told(strobetest.RunAdapter(t, a, p,
		testadapter.Request{Args: args, Level: testadapter.EndToEnd})), p.Root, "ROOT")
}

func TestPlaywrightEnds(t *testing.T) {
	t.Parallel()
	p := strobetest.ProjectAt(strobetest.NodeSuite(t, "playwright"))
	golden(t, "playwright/ends.txt", told(strobetest.RunAdapter(t, testadapter.Playwright{}, p,
		testadapter.Request{Args: []string{"--project=ends"}})), p.Root, "ROOT")
}

func TestPlaywrightSelects(t *testing.T) {
	t.Parallel()
	p := strobetest.ProjectAt(strobetest.NodeSuite(t, "playwright"))
	const plain = "[first] tests/plain.spec.ts > "
	selects(t, testadapter.Playwright{}, p, map[string][]string{
		plain + "passes":           {plain + "passes"},
		plain + "tagged":           {plain + "tagged"},
		plain + "outer > counts 1": {plain + "outer > counts 1"},
		plain + "outer > inner > deep > works (a.*b) [c] \"d\" 'e' $f ^g | h ü > i / j": {plain +
			"outer > inner > deep > works (a.*b) [c] \"d\" 'e' $f ^g | h ü > i / j"},
		"[second one] tests/again.spec.ts > retried > flaky": {"[second one] tests/again.spec.ts > retried > flaky"},
		plain + "no such test":                               nil,
	})
}
