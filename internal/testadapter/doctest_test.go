package testadapter_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
	"github.com/strobe-debug/strobe/internal/testadapter"
)

func doctestSuite(t *testing.T) *testadapter.Project {
	t.Helper()
	if _, err := os.Stat("/usr/include/doctest/doctest.h"); err != nil {
		strobetest.Lack(t, "doctest is not installed: %v", err)
	}
	return strobetest.ProjectAt(strobetest.BuiltSuite(t, "doctest",
		[]string{"g++", "-std=c++17", "-o", "shop_test", "shop_test.cpp"}))
}

func TestDoctest(t *testing.T) {
	t.Parallel()
	p := doctestSuite(t)
	a := testadapter.Doctest{}
	events := strobetest.RunAdapter(t, a, p, testadapter.Request{Command: gtestProgram})
	golden(t, "doctest/suite.txt", told(events), p.Root, "ROOT")
	if d := a.DetectCommand(p, gtestProgram); d.Confidence != 95 {
		t.Errorf("DetectCommand = %+v", d)
	}
	if d := (testadapter.Catch2{}).DetectCommand(p, gtestProgram); d.Confidence != 0 {
		t.Errorf("Catch2.DetectCommand = %+v", d)
	}
	var ends string
	for _, args := range [][]string{{"--no-skip=true", "--test-case=passes,segfault"},
		{"--no-skip=true", "--test-case=exits"}} {
		ends += told(strobetest.RunAdapter(t, a, p, testadapter.Request{Command: gtestProgram, Args: args}))
	}
	golden(t, "doctest/ends.txt", ends, p.Root, "ROOT")
	for id, want := range ended(events) {
		got := ended(strobetest.RunAdapter(t, a, p, testadapter.Request{Command: gtestProgram, Test: id}))
		if len(got) != 1 || got[id] == nil || got[id].Status != want.Status && want.Status != testadapter.Skipped {
			t.Errorf("%q ran %q", id, keys(got))
		}
	}
	doctestSelect(t, p)
}

func doctestSelect(t *testing.T, p *testadapter.Project) {
	t.Helper()
	a := testadapter.Doctest{}
	for _, c := range []struct {
		r    testadapter.Request
		want []string
		note string
	}{
		{testadapter.Request{Test: "throws in"}, []string{"throws in an expression"}, ""},
		{testadapter.Request{Test: "template<"}, []string{"template<char>", "template<long int>"}, ""},
		{testadapter.Request{Test: "aborts"}, []string{"aborts"}, ""},
		{testadapter.Request{Test: "sub cases"}, []string{}, `no test matches "sub cases"; near it: subcases`},
		{testadapter.Request{Level: testadapter.Unit}, []string{"fails more than once", "passes"}, ""},
		{testadapter.Request{Level: testadapter.EndToEnd}, []string{}, "no test suite of this program is named e2e"},
	} {
		c.r.Command = gtestProgram
		events := strobetest.RunAdapter(t, a, p, c.r)
		if got := keys(ended(events)); !slices.Equal(got, c.want) || !strings.Contains(notes(events), c.note) {
			t.Errorf("%+v ran %q, want %q; notes %q", c.r, got, c.want, notes(events))
		}
	}
}

// TestDoctestRecorded: tests of one name in two suites, and a program that is none of doctest's.
func TestDoctestRecorded(t *testing.T) {
	p := gtestSuite(t)
	list := recorded{report: `<doctest version="2.4.11"><TestCase name="a" testsuite="one" filename="a.cpp" line="3"/><TestCase name="a" testsuite="two" filename="b.cpp" line="4"/></doctest>`}
	const report = `<doctest version="2.4.11"><TestSuite name="one"><TestCase name="a" filename="a.cpp" line="3"><OverallResultsAsserts successes="1" failures="0" test_case_success="true"/></TestCase></TestSuite>` +
		`<TestSuite name="two"><TestCase name="a" filename="b.cpp" line="4"><Message type="ERROR" filename="b.cpp" line="5"><Text>bad &amp; worse</Text></Message>`
	for name, steps := range map[string][]recorded{
		"twice": {list,
			{report: report +
				`<OverallResultsAsserts successes="0" failures="1" test_case_success="false"/></TestCase></TestSuite><OverallResultsTestCases successes="1" failures="1" skipped="0"/></doctest>`, exit: testadapter.Exit{Code: 1}}},
		"torn":  {list, {report: report, exit: testadapter.Exit{Signal: "SIGKILL"}}},
		"other": {{stderr: "x: unknown option\n", exit: testadapter.Exit{Code: 2}}},
	} {
		t.Run(name, func(t *testing.T) {
			golden(t, "doctest/"+name+".txt", told(replay(t, testadapter.Doctest{}, p,
				testadapter.Request{Command: gtestProgram}, steps...)))
		})
	}
}

func FuzzDoctest(f *testing.F) {
	f.Add(
		[]byte(
			`<doctest><TestCase name="a"><SubCase name="s"><Expression success="false" type="CHECK"><Expanded>1 == 2</Expanded><Exception>e</Exception></Expression></SubCase><OverallResultsAsserts test_case_success="false"/></TestCase><OverallResultsTestCases failures="1"/></doctest>`))
	p := emptyProgram(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		abuse(t, testadapter.Doctest{}, p, testadapter.Request{Command: []string{"./tests"}}, data, testadapter.Exit{Code: 1})
		abuse(t, testadapter.Doctest{}, p, testadapter.Request{Command: []string{"./tests"}, Test: "a"}, data,
			testadapter.Exit{Signal: "SIGSEGV"})
	})
}
