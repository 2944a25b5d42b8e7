package testadapter_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/strobetest"
	"github.com/strobe-debug/strobe/internal/testadapter"
)

func unittestProject(t *testing.T) *testadapter.Project {
	t.Helper()
	strobetest.NeedCommand(t, "python3")
	return strobetest.ProjectAt(strobetest.Suite(t, "unittest"))
}

func TestUnittestSuite(t *testing.T) {
	t.Parallel()
	p := unittestProject(t)
	a := testadapter.Unittest{}
	if d := a.Detect(p); d.Confidence != 75 {
		t.Errorf("Detect = %+v", d)
	}
	events := strobetest.RunAdapter(t, a, p, testadapter.Request{})
	golden(t, "unittest/suite.txt", told(events), p.Root, "ROOT")
	alone(t, a, p, ended(events), func(x *testadapter.Test) bool {
		return x.Parent == "" && (x.Suite == "tests.test_plain.Plain" || strings.Contains(x.ID, "Given") ||
			strings.Contains(x.Suite, "TearDown"))
	})
}

func TestUnittestEnds(t *testing.T) {
	t.Parallel()
	p := unittestProject(t)
	for _, name := range []string{"exits", "crashes", "leaves"} {
		t.Run(name, func(t *testing.T) {
			golden(t, "unittest/"+name+".txt", told(strobetest.RunAdapter(t, testadapter.Unittest{}, p,
				testadapter.Request{Args: []string{"ends." + name}})), p.Root, "ROOT")
		})
	}
}

func TestUnittestSelects(t *testing.T) {
	t.Parallel()
	p := unittestProject(t)
	for test, want := range map[string][]string{
		"test_passes":              {"tests.test_plain.Plain.test_passes"},
		"Plain.test_passes":        {"tests.test_plain.Plain.test_passes"},
		"tests.test_plain.Skipped": {"tests.test_plain.Skipped.test_one", "tests.test_plain.Skipped.test_two"},
		"skip":                     {"tests.test_plain.Plain.test_skipped", "tests.test_plain.Plain.test_skips_itself"},
		"no such test":             {},
	} {
		events := strobetest.RunAdapter(t, testadapter.Unittest{}, p, testadapter.Request{Test: test})
		if got := keys(ended(events)); !slices.Equal(got, want) {
			t.Errorf("%q ran %q, want %q", test, got, want)
		}
		if none := strings.Contains(notes(events), "no test matches"); none != (len(want) == 0) {
			t.Errorf("%q noted %q", test, notes(events))
		}
	}
}

// unittest has no levels of its own: folders of that name are.
func TestUnittestLevels(t *testing.T) {
	t.Parallel()
	const one = "import unittest\nclass T(unittest.TestCase):\n  def test_a(self): pass\n"
	p := files(t, "tests/__init__.py", "", "tests/unit/__init__.py", "", "tests/unit/test_a.py", one,
		"tests/e2e/__init__.py", "", "tests/e2e/test_b.py", one)
	a := testadapter.Unittest{}
	for level, want := range map[testadapter.Level]string{testadapter.Unit: "tests.unit.test_a.T.test_a",
		testadapter.EndToEnd: "tests.e2e.test_b.T.test_a"} {
		if got := keys(ended(strobetest.RunAdapter(t, a, p, testadapter.Request{Level: level}))); !slices.Equal(got,
			[]string{want}) {
			t.Errorf("%s ran %q, want %q", level, got, want)
		}
	}
	if _, err := a.Start(p, &testadapter.Request{Level: testadapter.Integration, Dir: t.TempDir()},
		nil); fault.CodeOf(err) != fault.Unsupported {
		t.Errorf("integration: %v", err)
	}
	none := files(t, "test_a.py", "import unittest\n")
	if events := strobetest.RunAdapter(t, a, none, testadapter.Request{}); !strings.Contains(notes(events),
		"found no tests") {
		t.Errorf("a project without tests: %q", told(events))
	}
}
