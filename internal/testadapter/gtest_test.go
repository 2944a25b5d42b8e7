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

func gtestSuite(t *testing.T) *testadapter.Project {
	t.Helper()
	if _, err := os.Stat("/usr/include/gtest/gtest.h"); err != nil {
		strobetest.Lack(t, "GoogleTest is not installed: %v", err)
	}
	dir := strobetest.BuiltSuite(t, "gtest",
		[]string{"g++", "-g", "-o", "shop_test", "shop_test.cpp", "-lgtest_main", "-lgtest", "-pthread"})
	return strobetest.ProjectAt(dir)
}

var gtestProgram = []string{"./shop_test"}

func TestGTestSuite(t *testing.T) {
	t.Parallel()
	p := gtestSuite(t)
	a := testadapter.GTest{}
	events := strobetest.RunAdapter(t, a, p, testadapter.Request{Command: gtestProgram})
	golden(t, "gtest/suite.txt", told(events), p.Root, "ROOT")
	if !slices.ContainsFunc(events, func(e testadapter.Event) bool {
		return e.Kind == testadapter.OwnTotals && e.Totals.Passed == 5
	}) {
		t.Error("no totals of GoogleTest's own")
	}
}

// TestGTestAlone: every test by its ID, also those that are disabled and end the process.
func TestGTestAlone(t *testing.T) {
	t.Parallel()
	p := gtestSuite(t)
	for id, want := range map[string]testadapter.Status{
		"All/Prices.AreShort/0":  testadapter.Passed,
		"All/Prices.AreShort/2":  testadapter.Failed,
		"Sizes/1.IsOne":          testadapter.Failed,
		"Sums.Pass":              testadapter.Passed,
		"Garbage.Prints":         testadapter.Passed,
		"Sums.DISABLED_Later":    testadapter.Failed,
		"Ends.DISABLED_Segfault": testadapter.Crashed,
		"Ends.DISABLED_Aborts":   testadapter.Crashed,
		"Ends.DISABLED_Exits":    testadapter.Crashed,
	} {
		t.Run(strings.ReplaceAll(id, "/", "_"), func(t *testing.T) {
			got := ended(strobetest.RunAdapter(t, testadapter.GTest{}, p, testadapter.Request{Command: gtestProgram, Test: id}))
			if len(got) != 1 || got[id] == nil || got[id].Status != want {
				t.Errorf("%q ran %q: %+v, want %s", id, keys(got), got[id], want)
			}
		})
	}
}

func TestGTestEnds(t *testing.T) {
	t.Parallel()
	p := gtestSuite(t)
	run := func(filter string) []testadapter.Event {
		return strobetest.RunAdapter(t, testadapter.GTest{}, p,
			testadapter.Request{Command: gtestProgram,
				Args: []string{"--gtest_also_run_disabled_tests", "--gtest_filter=" + filter}})
	}
	var all string
	for _, filter := range []string{"Sums.Fails:Sums.Skipped:Ends.DISABLED_Segfault", "Sums.Pass:Ends.DISABLED_Aborts",
		"Ends.DISABLED_Exits", "Whole.*:Sums.Pass"} {
		all += filter + "\n" + told(run(filter))
	}
	golden(t, "gtest/ends.txt", all, p.Root, "ROOT")
	// GoogleTest before 1.13 has no word of such a suite in its report, and it can be run again alone.
	again := testadapter.GTest{}.Rerun(p, &testadapter.Request{Command: gtestProgram},
		&testadapter.Test{ID: "Whole.(suite)"})
	if want := []string{"./shop_test", "--gtest_filter=Whole.*"}; !slices.Equal(again.Argv, want) {
		t.Errorf("Rerun = %q, want %q", again.Argv, want)
	}
	got := ended(strobetest.RunAdapter(t, testadapter.GTest{}, p,
		testadapter.Request{Command: gtestProgram, Args: []string{"--gtest_also_run_disabled_tests"}, Test: again.Test}))
	if one := got[again.Test]; one == nil || one.Status != testadapter.Errored {
		t.Errorf("%q ran %q", again.Test, keys(got))
	}
}

func TestGTestSelect(t *testing.T) {
	t.Parallel()
	p := gtestSuite(t)
	for want, ids := range map[string][]string{
		"AreShort":  {"All/Prices.AreShort/0", "All/Prices.AreShort/1", "All/Prices.AreShort/2", "All/Prices.AreShort/3"},
		"Sums.Pass": {"Sums.Pass"},
		"Sums.Past": {},
	} {
		events := strobetest.RunAdapter(t, testadapter.GTest{}, p, testadapter.Request{Command: gtestProgram, Test: want})
		if got := keys(ended(events)); !slices.Equal(got, ids) {
			t.Errorf("%q ran %q, want %q", want, got, ids)
		}
		if len(ids) == 0 && !strings.Contains(notes(events), "near it: Sums.Pass") {
			t.Errorf("notes = %q", notes(events))
		}
	}
}

// TestGTestFaults: a program is needed, and one that is another's is not taken for one of GoogleTest's, nor is it ever
// executed.
func TestGTestFaults(t *testing.T) {
	p := gtestSuite(t)
	a := testadapter.GTest{}
	for _, c := range []struct {
		r    testadapter.Request
		code fault.Code
		says string
	}{
		{testadapter.Request{}, fault.ValidationError, "Give one of these in command: shop_test"},
		{testadapter.Request{Command: []string{"build/none"}}, fault.ValidationError, "there is no test program"},
		{testadapter.Request{Command: gtestProgram, Level: testadapter.Unit}, fault.Unsupported, "no tags"},
	} {
		_, err := a.Start(p, &c.r, func(testadapter.Event) {})
		if f := new(fault.Error); !errors.As(err, &f) || f.Code != c.code || !strings.Contains(err.Error(), c.says) {
			t.Errorf("Start(%+v) = %v, want %s %q", c.r, err, c.code, c.says)
		}
	}
	if d := a.DetectCommand(p, gtestProgram); d.Confidence != 95 {
		t.Errorf("DetectCommand = %+v", d)
	}
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n# libgtest.so\ntouch \"$0.ran\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{"/bin/ls", script, "/nonexistent", "/dev/zero"} {
		if d := a.DetectCommand(p, []string{other}); d.Confidence != 0 {
			t.Errorf("DetectCommand(%s) = %+v", other, d)
		}
	}
	if _, err := os.Stat(script + ".ran"); err == nil {
		t.Error("the script was executed")
	}
}

// gtestLater is a report of GoogleTest 1.14, which has reasons of skips and failures outside of tests.
const gtestLater = `{"tests": 3, "failures": 2, "disabled": 0, "errors": 0, "name": "AllTests", "testsuites": [
{"name": "Shop", "tests": 3, "testsuite": [
 {"name": "Closed", "file": "shop.cc", "line": 4, "status": "RUN", "result": "SKIPPED", "time": "0.002s", "classname": "Shop", "skipped": [{"message": "shop.cc:5\non Sundays\n"}]},
 {"name": "Opens", "file": "shop.cc", "line": 9, "status": "RUN", "result": "COMPLETED", "time": "1.5s", "classname": "Shop",
  "failures": [{"failure": "shop.cc:11\nExpected equality of these values:\n  a\n    Which is: { 1, 2 }\n  b\n    Which is: { 1, 3 }\nGoogle Test trace:\nshop.cc:3: outer\n", "type": ""},
   {"failure": "unknown file\nC++ exception with description \"boom\" thrown in SetUp().", "type": ""}]},
 {"name": "", "status": "RUN", "result": "COMPLETED", "time": "0s", "classname": "", "failures": [{"failure": "shop.cc:20\nFailed\nno database", "type": ""}]}]}]}`

func TestGTestRecorded(t *testing.T) {
	p := gtestSuite(t)
	list := "Shop.\n  Closed\n  Opens\n"
	for name, step := range map[string]recorded{
		"1.14":    {report: gtestLater, exit: testadapter.Exit{Code: 1}},
		"timeout": {stdout: "[ RUN      ] Shop.Closed\nwaits", exit: testadapter.Exit{TimedOut: true}},
		"nothing": {stderr: "error while loading shared libraries: libshop.so: cannot open shared object file\n",
			exit: testadapter.Exit{Code: 127}},
		"torn": {stdout: "[ RUN      ] Shop.Closed\n[  SKIPPED ] Shop.Closed (0 ms)\n[ RUN      ] Shop.Opens\nx.cc:3: " +
			"Failure\nFailed\n", report: `{"tests": 2, "test`, exit: testadapter.Exit{Signal: "SIGKILL"}},
	} {
		t.Run(name, func(t *testing.T) {
			golden(t, "gtest/"+name+".txt", told(replay(t, testadapter.GTest{}, p, testadapter.Request{Command: gtestProgram},
				recorded{stdout: list}, step)))
		})
	}
}

func FuzzGTest(f *testing.F) {
	f.Add([]byte("S.\n  A\n[ RUN      ] S.A\na:1: Failure\nb\n[  FAILED  ] S.A (0 ms)\n"), []byte(gtestLater))
	p := emptyProgram(f)
	f.Fuzz(func(t *testing.T, text, report []byte) {
		r := testadapter.Request{Command: []string{"./tests"}}
		abuse(t, testadapter.GTest{}, p, r, text, testadapter.Exit{Code: 1})
		replay(t, testadapter.GTest{}, p, r, recorded{stdout: string(text) + "\nS.\n  A\n"},
			recorded{stdout: string(text), report: string(report)})
	})
}

// emptyProgram is a project with a file "tests" that stands for a test program.
func emptyProgram(t testing.TB) *testadapter.Project {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tests"), nil, 0o700); err != nil {
		t.Fatal(err)
	}
	return strobetest.ProjectAt(dir)
}
