//go:build linux

package testadapter_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
	"github.com/strobe-debug/strobe/internal/testadapter"
	"github.com/strobe-debug/strobe/internal/testrun"
)

// odd is a file of tests with names that shells and patterns read in their own ways, which print what no reader should
// believe. Each test writes its name into the file that STROBE_RAN names.
type odd struct {
	name    string
	a       testadapter.Adapter
	project func(t *testing.T) *testadapter.Project
	r       testadapter.Request
	prefix  string   // of the IDs of its tests
	names   []string // nil: those of most suites
}

// oddNames are those of most suites. The last but one is how the last begins.
var oddNames = []string{"-x \"a\" 'b' $HOME `id` \\ !", "a.*b (c) [d] {e} ^|+? / ü 日本 <k> & # % ; ~", "plain",
	"plain more"}

// TestOddlyNamed: however a test is named and whatever it prints, the framework's counts are ours, and each is run
// again alone, by debug_test and by the command that a person is told.
func TestOddlyNamed(t *testing.T) {
	pythonNames := []string{oddNames[0], "a.*b (c) [d] {e} ^|+? / ü <k> & # % ; ~ :: x", "plain", "plain more"}
	for _, c := range []odd{
		{name: "vitest", a: testadapter.Vitest{}, project: oddProject("vitest", "vitest run --dir=ends"),
			r: testadapter.Request{Test: "ends/odd.test.ts"}, prefix: "ends/odd.test.ts > "},
		{name: "jest", a: testadapter.Jest{}, project: oddProject("jest", "jest --roots=ends"),
			r: testadapter.Request{Test: "ends/odd.test.js"}, prefix: "ends/odd.test.js > "},
		{name: "mocha", a: testadapter.Mocha{}, project: nodeProject("mocha"), r: testadapter.Request{Test: "ends/odd.js"},
			prefix: "ends/odd.js > "},
		{name: "node", a: testadapter.NodeTest{}, project: nodeProject("node"),
			r: testadapter.Request{Test: "ends/odd.test.mjs"}, prefix: "ends/odd.test.mjs > "},
		{name: "bun", a: testadapter.Bun{}, project: nodeProject("bun"), r: testadapter.Request{Test: "ends/odd.test.ts"},
			prefix: "ends/odd.test.ts > "},
		{name: "deno", a: testadapter.Deno{}, project: oddDeno, r: testadapter.Request{Test: "ends/odd_test.ts"},
			prefix: "ends/odd_test.ts > "},
		{name: "playwright", a: testadapter.Playwright{}, project: nodeProject("playwright"),
			r: testadapter.Request{Test: "[waits] waits/odd.spec.ts"}, prefix: "[waits] waits/odd.spec.ts > "},
		{name: "pytest", a: testadapter.Pytest{}, project: pytestProject,
			r: testadapter.Request{Args: []string{"ends/test_odd.py"}}, prefix: "ends/test_odd.py::test_odd[",
			names: pythonNames},
		{name: "unittest", a: testadapter.Unittest{}, project: unittestProject,
			r: testadapter.Request{Args: []string{"ends.odd"}}, prefix: "ends.odd.Odd.",
			names: []string{"test_größe", "test_a b \"c\" 'd' $HOME `id`", "test_plain", "test_plain_more"}},
		{name: "go", a: testadapter.Go{}, project: func(t *testing.T) *testadapter.Project { return goSuite(t, "waits") },
			r:      testadapter.Request{Test: "TestOdd", Args: []string{"-tags=waits"}},
			prefix: "example.com/suite/waits::TestOdd/"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			oddly(t, &c)
		})
	}
}

func oddly(t *testing.T, c *odd) {
	p := c.project(t)
	names := c.names
	if names == nil {
		names = oddNames
	}
	ran := filepath.Join(t.TempDir(), "ran")
	environ := "STROBE_RAN=" + ran
	all := ended(strobetest.RunAdapterIn(t, c.a, p, c.r, environ))
	if got := lines(t, ran); !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(names))) {
		t.Fatalf("the tests that ran: %q", got)
	}
	tests := map[string]*testadapter.Test{}
	for id, x := range all {
		if x.Group {
			continue
		}
		if tests[id] = x; !strings.HasPrefix(id, c.prefix) || x.Status != testadapter.Passed {
			t.Errorf("told of %q: %s", id, x.Status)
		}
	}
	if len(tests) != len(names) {
		t.Errorf("%d tests ran, %q were told", len(names), keys(tests))
	}
	for id, x := range tests {
		if x.Name == names[3] {
			continue // there for the one before it
		}
		again := c.a.Rerun(p, &testadapter.Request{Args: c.r.Args}, x)
		args := c.r.Args
		if strings.HasPrefix(c.prefix, "ends") {
			args = nil // the ID has the file
		}
		got := ended(strobetest.RunAdapterIn(t, c.a, p, testadapter.Request{Test: again.Test, Args: args}, environ))
		one := lines(t, ran)
		if len(one) != 1 || got[id] == nil || got[id].Status != testadapter.Passed || countTests(got) != 1 {
			t.Errorf("test %q ran %q and told %q", again.Test, one, keys(got))
		}
		err, out := inShell(p, again, environ)
		if shell := lines(t, ran); err != nil || !slices.Equal(shell, one) {
			t.Errorf("%s\nran %q, not %q: %v\n%.3000s", testrun.RerunCommand(again, p.Root), shell, one, err, out)
		}
	}
}

// inShell runs the command that a person is told.
func inShell(p *testadapter.Project, again testadapter.Rerun, environ ...string) (error, string) {
	cmd := exec.Command("/bin/sh", "-c", testrun.RerunCommand(again, p.Root))
	cmd.Dir, cmd.Env = p.Root, append(slices.Clone(p.Environ), append(environ, "PATH="+os.Getenv("PATH"))...)
	out, err := cmd.CombinedOutput()
	return err, string(out)
}

// TestPrintedCommands: of a framework whose summary counts tests, the command that a person is told for one runs that
// one, with the result that it had.
func TestPrintedCommands(t *testing.T) {
	command := testadapter.Request{Command: gtestProgram}
	for _, c := range []struct {
		name    string
		a       testadapter.Adapter
		project func(t *testing.T) *testadapter.Project
		r       testadapter.Request
		one     string // of the summary of one test
		pick    string // of IDs
		environ []string
	}{
		{"gtest", testadapter.GTest{}, gtestSuite, command, `Running 1 test from 1 test`, `.`, nil},
		{"catch2-v2", testadapter.Catch2{}, catchSuite("v2"), command, `test cases: 1 \||in 1 test case\)`, `.`, nil},
		{"catch2-v3", testadapter.Catch2{}, catchSuite("v3"), command, `test cases: 1 \||in 1 test case\)`, `.`, nil},
		{"doctest", testadapter.Doctest{}, doctestSuite, command, `test cases: +1 \|`,
			`^(names|passes|fails|template|warns|garbage|throws)`, nil},
		{"ctest", testadapter.CTest{}, configuredSuite("ctest", "cmake", "-S", ".", "-B", "build"), testadapter.Request{},
			`out of 1\n`, `odd|^passes|^segfault|^garbage`, nil},
		{"meson", testadapter.Meson{}, configuredSuite("meson", "meson", "setup", "build"), testadapter.Request{},
			`(?s)\n1/1 .*Ok: `, `odd|passes|segfault|garbage`, nil},
		{"cargo", testadapter.Cargo{}, parallelCargo, testadapter.Request{Args: []string{"-p", "shop"}}, `running 1 test\n`,
			`assert_sides|größe|line 9`, []string{"CARGO_TARGET_DIR=" + cargoTarget(t)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := c.project(t)
			one, pick := regexp.MustCompile(c.one), regexp.MustCompile(c.pick)
			n := 0
			for id, x := range ended(strobetest.RunAdapterIn(t, c.a, p, c.r, c.environ...)) {
				if !pick.MatchString(id) || x.Group {
					continue
				}
				n++
				again := c.a.Rerun(p, &c.r, x)
				err, out := inShell(p, again, c.environ...)
				// What is not run unless it is named is run then.
				if len(one.FindAllString("\n"+out, -1)) != 1 || (err != nil) != x.Fails && x.Status != testadapter.Skipped {
					t.Errorf("%q is %s; %s: %v\n%.2000s", id, x.Status, testrun.RerunCommand(again, p.Root), err, out)
				}
			}
			if n < 2 {
				t.Errorf("%d tests were picked", n)
			}
		})
	}
}

// lines are those of a file, which is then removed.
func lines(t *testing.T, name string) []string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if len(b) == 0 {
		return nil
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}

func countTests(all map[string]*testadapter.Test) int {
	n := 0
	for _, x := range all {
		if !x.Group {
			n++
		}
	}
	return n
}

// oddProject is a JavaScript suite whose script finds the tests of its folder ends.
func oddProject(suite, script string) func(t *testing.T) *testadapter.Project {
	return func(t *testing.T) *testadapter.Project {
		p := nodeProject(suite)(t)
		rewrite(t, filepath.Join(p.Root, "package.json"), `"test": "`+strings.Fields(script)[0], `"test": "`+script+
			`", "old": "`)
		return p
	}
}

// oddDeno is Deno's suite whose task lets tests write.
func oddDeno(t *testing.T) *testadapter.Project {
	p := nodeProject("deno")(t)
	rewrite(t, filepath.Join(p.Root, "deno.json"), "--allow-read=.", "--allow-read --allow-write --allow-env")
	return p
}

func rewrite(t *testing.T, name, from, to string) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(b), from) {
		t.Fatalf("%s does not hold %q", name, from)
	}
	if err := os.WriteFile(name, []byte(strings.ReplaceAll(string(b), from, to)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestErroredRerun: the command for what could not be set up runs its suite's tests alone, where it can be a suite's.
func TestErroredRerun(t *testing.T) {
	for _, c := range []struct {
		suite  string
		a      testadapter.Adapter
		id     string
		option string
		want   string
	}{
		{"vitest", testadapter.Vitest{}, "test/hooks.test.ts > all set up badly", "-t", "^all set up badly(?:$| )"},
		{"jest", testadapter.Jest{}, "test/plain.test.js > set up badly > never runs", "--testNamePattern",
			"^set up badly(?: > | )never runs(?:$| )"},
		{"mocha", testadapter.Mocha{}, `test/hooks.test.js > all set up badly > "before all" hook for "never seen"`, "--grep",
			"^all set up badly(?:$| )"},
	} {
		p := nodeProject(c.suite)(t)
		again := c.a.Rerun(p, &testadapter.Request{}, &testadapter.Test{ID: c.id, Status: testadapter.Errored})
		if at := slices.Index(again.Argv, c.option); at < 0 || again.Argv[at+1] != c.want || again.Test != c.id {
			t.Errorf("%s: Rerun = %+v", c.suite, again)
		}
	}
}
