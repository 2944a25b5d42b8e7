package testadapter_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/strobetest"
	"github.com/strobe-debug/strobe/internal/testadapter"
)

func TestMesonSuite(t *testing.T) {
	t.Parallel()
	strobetest.NeedCommand(t, "ninja")
	p := configured(t, "meson", "meson", "setup", "builddir")
	a := testadapter.Meson{}
	if d := a.Detect(p); d.Confidence != 85 {
		t.Errorf("Detect = %+v", d)
	}
	events := strobetest.RunAdapter(t, a, p, testadapter.Request{})
	golden(t, "meson/suite.txt", told(events), p.Root, "ROOT")
	if !slices.ContainsFunc(events, func(e testadapter.Event) bool { return e.Kind == testadapter.OwnTotals }) {
		t.Error("no totals of Meson's own")
	}
	if *update {
		return
	}
	alone(t, a, p, ended(events), func(x *testadapter.Test) bool {
		return strings.Contains(x.Name, "odd name") || x.Name == "segfault"
	})
	for _, c := range []struct {
		r    testadapter.Request
		want []string
		note string
	}{
		{testadapter.Request{Test: "should"}, []string{"suite / should fail", "suite / should fail and does not"}, ""},
		{testadapter.Request{Test: "passes"}, []string{"suite / passes", "suite:again / passes"}, ""},
		{testadapter.Request{Test: "hung"}, []string{}, `no test matches "hung"`},
		{testadapter.Request{Level: testadapter.Integration}, []string{"suite:integration+slow / skips"}, ""},
		{testadapter.Request{Level: testadapter.EndToEnd}, []string{}, "no test is in the suite e2e"},
	} {
		events := strobetest.RunAdapter(t, a, p, c.r)
		if got := keys(ended(events)); !slices.Equal(got, c.want) || !strings.Contains(notes(events), c.note) {
			t.Errorf("%+v ran %q, want %q; notes %q", c.r, got, c.want, notes(events))
		}
	}
	if err := os.WriteFile(filepath.Join(p.Root, "prog.cpp"), []byte("int main() {\n  return missing;\n}\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	got := ended(strobetest.RunAdapter(t, a, p, testadapter.Request{}))
	if len(got) != 1 || got["(build)"] == nil || got["(build)"].Failures[0].File != "prog.cpp" ||
		got["(build)"].Failures[0].Line != 2 {
		t.Errorf("(build) = %+v of %q", got["(build)"], keys(got))
	}
}

func TestMesonFaults(t *testing.T) {
	p := strobetest.ProjectAt(strobetest.Suite(t, "meson"))
	strobetest.NeedCommand(t, "meson")
	_, err := testadapter.Meson{}.Start(p, &testadapter.Request{}, func(testadapter.Event) {})
	if f := new(fault.Error); !errors.As(err, &f) || f.Code != fault.ValidationError ||
		!strings.Contains(f.Hint, "meson setup builddir") {
		t.Errorf("Start = %v", err)
	}
}

func FuzzMeson(f *testing.F) {
	f.Add([]byte("p / a\n"),
		[]byte(`{"name": "p / a", "stdout": "not ok 1 - x\n", "result": "FAIL", "returncode": -11, "duration": 1e300}`+"\n"))
	p := projectOf(mapFS(map[string]string{"meson.build": "test('a', x)\n", "build/meson-info/intro-tests.json": "[]"}))
	f.Fuzz(func(t *testing.T, list, log []byte) {
		replay(t, testadapter.Meson{}, p, testadapter.Request{}, recorded{}, recorded{stdout: string(list) + "\np / a\n"},
			recorded{stdout: string(log), report: string(log)})
		abuse(t, testadapter.Meson{}, p, testadapter.Request{Test: "a"}, list, testadapter.Exit{})
	})
}
