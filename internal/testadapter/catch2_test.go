package testadapter_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
	"github.com/strobe-debug/strobe/internal/testadapter"
)

// catchSuite is the suite of testdata as a program of Debian's Catch2 2.13 (v2) or of 3.7 (v3).
func catchSuite(version string) func(t *testing.T) *testadapter.Project {
	return func(t *testing.T) *testadapter.Project {
		t.Helper()
		if _, err := os.Stat("/usr/include/catch2/catch.hpp"); err != nil {
			strobetest.Lack(t, "version 2 of Catch2 is not installed: %v", err)
		}
		if version == "v2" {
			return strobetest.ProjectAt(strobetest.BuiltSuite(t, "catch2",
				[]string{"g++", "-std=c++17", "-o", "shop_test", "shop_test.cpp"}))
		}
		source := strobetest.Catch2Source(t)
		return strobetest.ProjectAt(strobetest.BuiltSuite(t, "catch2",
			[]string{"g++", "-std=c++17", "-DV3", "-I" + source, "-o", "shop_test", "shop_test.cpp",
				filepath.Join(source, "catch_amalgamated.cpp")}))
	}
}

func TestCatch2(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"v2", "v3"} {
		t.Run(version, func(t *testing.T) {
			p := catchSuite(version)(t)
			a := testadapter.Catch2{}
			events := strobetest.RunAdapter(t, a, p, testadapter.Request{Command: gtestProgram})
			golden(t, "catch2/"+version+".txt", told(events), p.Root, "ROOT")
			if d := a.DetectCommand(p, gtestProgram); d.Confidence != 95 {
				t.Errorf("DetectCommand = %+v", d)
			}
			if d := (testadapter.GTest{}).DetectCommand(p, gtestProgram); d.Confidence != 0 {
				t.Errorf("GTest.DetectCommand = %+v", d)
			}
			var ends string
			for _, spec := range []string{"before the ends,segfault", "aborts", "before the ends,exits"} {
				ends += spec + "\n" + told(strobetest.RunAdapter(t, a, p,
					testadapter.Request{Command: gtestProgram, Args: []string{spec}}))
			}
			golden(t, "catch2/"+version+"-ends.txt", ends, p.Root, "ROOT")
			catchAlone(t, p, ended(events))
			catchLevels(t, p)
		})
	}
}

func catchAlone(t *testing.T, p *testadapter.Project, all map[string]*testadapter.Test) {
	t.Helper()
	a := testadapter.Catch2{}
	for id, want := range all {
		again := a.Rerun(p, &testadapter.Request{Command: gtestProgram}, want)
		got := ended(strobetest.RunAdapter(t, a, p, testadapter.Request{Command: gtestProgram, Test: again.Test}))
		if len(got) != 1 || got[id] == nil || got[id].Status != want.Status {
			t.Errorf("%q ran %q", id, keys(got))
		}
	}
	if got := keys(ended(strobetest.RunAdapter(t, a, p,
		testadapter.Request{Command: gtestProgram, Test: "throws in"}))); !slices.Equal(got,
		[]string{"throws in an expression"}) {
		t.Errorf("a part of a name ran %q", got)
	}
	if got := keys(ended(strobetest.RunAdapter(t, a, p,
		testadapter.Request{Command: gtestProgram, Test: "hidden"}))); !slices.Equal(got, []string{"hidden"}) {
		t.Errorf("a hidden test's name ran %q", got)
	}
	events := strobetest.RunAdapter(t, a, p, testadapter.Request{Command: gtestProgram, Test: "section 2"})
	if len(ended(events)) != 0 || !strings.Contains(notes(events), `no test matches "section 2"; near it: sections`) {
		t.Errorf("ran %q: %s", keys(ended(events)), notes(events))
	}
}

func catchLevels(t *testing.T, p *testadapter.Project) {
	t.Helper()
	for level, want := range map[testadapter.Level][]string{
		testadapter.Unit:        {"fails more than once", "passes", "template - char", "template - long"},
		testadapter.Integration: {"names with, commas", `names with, commas [brackets] * "quotes" \ and ünïcödé ~ :: /`},
		testadapter.EndToEnd:    {"-starts with a dash"},
	} {
		got := keys(ended(strobetest.RunAdapter(t, testadapter.Catch2{}, p,
			testadapter.Request{Command: gtestProgram, Level: level})))
		if !slices.Equal(got, want) {
			t.Errorf("%s ran %q, want %q", level, got, want)
		}
	}
}

// TestCatch2Recorded: a report that ends anywhere, and a program that is none of Catch2's.
func TestCatch2Recorded(t *testing.T) {
	p := gtestSuite(t)
	const begin = `<?xml version="1.0"?><Catch name="x"><Group name="x"><TestCase name="a" filename="a.cpp" line="3"><OverallResult success="true"/></TestCase>` +
		`<TestCase name="b &amp; c" filename="a.cpp" line="9"><Section name="s"><Expression success="false" type="CHECK" filename="a.cpp" line="10"><Original>x</Original><Expanded>f(1, 2) == "a == b"</Expanded></Expression>`
	for name, step := range map[string]recorded{
		"torn": {report: begin + `<Section na`, stderr: "double free or corruption (out)\n",
			exit: testadapter.Exit{Signal: "SIGABRT"}},
		"timeout": {report: begin, exit: testadapter.Exit{TimedOut: true}},
		"other": {stdout: "usage: x [options]\n", stderr: "x: unknown option --reporter\n",
			exit: testadapter.Exit{Code: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			golden(t, "catch2/"+name+".txt", told(replay(t, testadapter.Catch2{}, p, testadapter.Request{Command: gtestProgram},
				step)))
		})
	}
}

func FuzzCatch2(f *testing.F) {
	f.Add(
		[]byte(
			`<Catch><TestCase name="a"><Section name="s"><Expression success="false"><Expanded>1 == 2</Expanded><Exception filename="x">e</Exception></Expression></Section><OverallResult success="false"/></TestCase><OverallResultsCases successes="0" failures="1"/></Catch>`))
	f.Add([]byte("version: 3.1\na\nb\n<TestCase name='a'><Skip filename='f'>r</Skip><OverallResult skips='1' " +
		"success='true'/></TestCase>"))
	p := emptyProgram(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		r := testadapter.Request{Command: []string{"./tests"}}
		abuse(t, testadapter.Catch2{}, p, r, data, testadapter.Exit{Code: 1})
		r.Test = "a"
		abuse(t, testadapter.Catch2{}, p, r, data, testadapter.Exit{Signal: "SIGSEGV"})
	})
}
