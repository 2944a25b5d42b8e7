//go:build linux

package testadapter_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
	"github.com/strobe-debug/strobe/internal/testadapter"
	"github.com/strobe-debug/strobe/internal/testrun"
)

// hanging is a test of a suite that never ends.
type hanging struct {
	name    string // of the golden file
	a       testadapter.Adapter
	project func(t *testing.T) *testadapter.Project
	r       testadapter.Request
	test    string   // its ID
	silent  bool     // the framework does not tell that a test begins
	ended   []string // tests that the framework tells the results of at once
	output  string   // that is waited for, too
	brief   bool     // the golden file has names and results only: how much of the rest is known depends on a buffer
	environ []string
}

func nodeProject(suite string) func(t *testing.T) *testadapter.Project {
	return func(t *testing.T) *testadapter.Project { return strobetest.ProjectAt(strobetest.NodeSuite(t, suite)) }
}

// nodeTwoFiles is Node's suite with two files that run side by side.
func nodeTwoFiles(t *testing.T) *testadapter.Project {
	p := nodeProject("node")(t)
	script := `{"scripts": {"test": "node --test --test-concurrency=2 ends/waits.test.mjs ends/waits_too.test.mjs"}}`
	if err := os.WriteFile(filepath.Join(p.Root, "package.json"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

func configuredSuite(suite string, argv ...string) func(t *testing.T) *testadapter.Project {
	return func(t *testing.T) *testadapter.Project { return configured(t, suite, argv...) }
}

// TestHanging: a run that is ended while a test hangs keeps what it had told, names the test, and leaves no process.
func TestHanging(t *testing.T) {
	for _, c := range []hanging{
		{name: "vitest", a: testadapter.Vitest{}, project: nodeProject("vitest"),
			r:    testadapter.Request{Args: []string{"--dir=ends", "ends/waits", "--testTimeout=3600000", "--maxWorkers=2"}},
			test: "ends/waits.test.ts > waits", ended: []string{"ends/waits.test.ts > before",
				"ends/waits.test.ts > fails before", "ends/waits-beside.test.ts > beside"}},
		// One that never lets go of its thread: Vitest and Node tell of its file only.
		{name: "vitest-spins", a: testadapter.Vitest{}, project: nodeProject("vitest"),
			r: testadapter.Request{Args: []string{"--dir=ends", "ends/spins"}}, test: "ends/spins.test.ts", silent: true},
		{name: "jest", a: testadapter.Jest{}, project: nodeProject("jest"),
			r:    testadapter.Request{Args: []string{"ends/waits", "--roots=ends", "--maxWorkers=2", "--testTimeout=3600000"}},
			test: "ends/waits.test.js > waits", ended: []string{"ends/waits.test.js > before",
				"ends/waits-beside.test.js > beside"}},
		{name: "jest-spins", a: testadapter.Jest{}, project: nodeProject("jest"),
			r:    testadapter.Request{Args: []string{"ends/spins", "--roots=ends"}},
			test: "ends/spins.test.js > spins", ended: []string{"ends/spins.test.js > before"}},
		{name: "mocha", a: testadapter.Mocha{}, project: nodeProject("mocha"), r: testadapter.Request{Test: "ends/waits.js"},
			test: "ends/waits.js > waits", ended: []string{"ends/waits.js > before", "ends/waits.js > fails before"}},
		{name: "mocha-spins", a: testadapter.Mocha{}, project: nodeProject("mocha"),
			r:    testadapter.Request{Test: "ends/spins.js"},
			test: "ends/spins.js > spins", ended: []string{"ends/spins.js > before"}},
		// Node tells results by the order of files: those of the second wait for the first, but for what tells of them at
		// once.
		{name: "node", a: testadapter.NodeTest{}, project: nodeTwoFiles, output: `{"e":"filedone"`,
			test: "ends/waits.test.mjs > waits", ended: []string{"ends/waits.test.mjs > before"}},
		{name: "node-spins", a: testadapter.NodeTest{}, project: nodeProject("node"),
			r:    testadapter.Request{Test: "ends/spins.test.mjs"},
			test: "ends/spins.test.mjs", silent: true},
		{name: "bun", a: testadapter.Bun{}, project: nodeProject("bun"), r: testadapter.Request{Test: "ends/waits.test.ts"},
			test: "ends/waits.test.ts > waits", silent: true},
		{name: "deno", a: testadapter.Deno{}, project: nodeProject("deno"),
			r: testadapter.Request{Test: "ends/waits_test.ts", Args: []string{"--allow-env", "--allow-write"}},
			// the line comes from another thread than the test's
			test: "ends/waits_test.ts > waits", silent: true, output: "\nwaits ..."},
		{name: "playwright", a: testadapter.Playwright{}, project: nodeProject("playwright"),
			r:     testadapter.Request{Args: []string{"--project=waits", "waits/waits"}},
			test:  "[waits] waits/waits.spec.ts > waits",
			ended: []string{"[waits] waits/waits.spec.ts > before", "[waits] waits/waits-beside.spec.ts > fails beside"}},
		{name: "playwright-spins", a: testadapter.Playwright{}, project: nodeProject("playwright"),
			r:    testadapter.Request{Args: []string{"--project=waits", "waits/spins"}},
			test: "[waits] waits/spins.spec.ts > spins", ended: []string{"[waits] waits/spins.spec.ts > before"}},
		{name: "pytest", a: testadapter.Pytest{}, project: pytestProject,
			r:    testadapter.Request{Args: []string{"ends/test_waits.py"}},
			test: "ends/test_waits.py::test_waits", ended: []string{"ends/test_waits.py::test_before",
				"ends/test_waits.py::test_fails_before"}},
		{name: "pytest-xdist", a: testadapter.Pytest{}, project: pytestProject,
			r:    testadapter.Request{Args: []string{"ends/test_waits.py", "-n1"}},
			test: "ends/test_waits.py::test_waits", ended: []string{"ends/test_waits.py::test_before",
				"ends/test_waits.py::test_fails_before"}},
		{name: "unittest", a: testadapter.Unittest{}, project: unittestProject,
			r:    testadapter.Request{Args: []string{"ends.waits"}},
			test: "ends.waits.Ends.test_c_waits", ended: []string{"ends.waits.Ends.test_a_before",
				"ends.waits.Ends.test_b_fails_before"}},
		{name: "gtest", a: testadapter.GTest{}, project: gtestSuite,
			r:    testadapter.Request{Command: gtestProgram, Args: []string{"--gtest_filter=Sums.*:Garbage.*:Hangs.*"}},
			test: "Hangs.Waits"},
		{name: "catch2-v2", a: testadapter.Catch2{}, project: catchSuite("v2"),
			r: testadapter.Request{Command: gtestProgram, Args: []string{"passes,before the ends,hangs"}}, test: "hangs"},
		{name: "catch2-v3", a: testadapter.Catch2{}, project: catchSuite("v3"),
			r: testadapter.Request{Command: gtestProgram, Args: []string{"passes,before the ends,hangs"}}, test: "hangs"},
		{name: "doctest", a: testadapter.Doctest{}, project: doctestSuite,
			r:    testadapter.Request{Command: gtestProgram, Args: []string{"--no-skip", "--test-case=passes,throws,hangs"}},
			test: "hangs"},
		{name: "ctest", a: testadapter.CTest{}, project: configuredSuite("ctest", "cmake", "-S", ".", "-B", "build",
			"-DWAITS=ON"), r: testadapter.Request{Args: []string{"-R", "^(passes|fails|waits)$"}},
			test: "waits", ended: []string{"passes"}},
		{name: "meson", a: testadapter.Meson{}, project: configuredSuite("meson", "meson", "setup", "-Dwaits=true", "build"),
			r: testadapter.Request{Args: []string{"--num-processes=2"}}, test: "suite / waits", silent: true, output: "16/17 ",
			brief: true},
		{name: "cargo", a: testadapter.Cargo{}, project: parallelCargo,
			environ: []string{"CARGO_TARGET_DIR=" + cargoTarget(t)},
			r:       testadapter.Request{Args: []string{"-p", "hang", "--", "--test-threads=1"}}, test: "hang c_waits",
			ended: []string{"hang a_before"}},
		{name: "go", a: testadapter.Go{}, project: func(t *testing.T) *testadapter.Project {
			return goSuite(t, "waits")
		}, r: testadapter.Request{Args: []string{"-tags=waits", "-skip=TestOdd"}},
			test:  "example.com/suite/waits::TestWaits/in_a_subtest",
			ended: []string{"example.com/suite/waits::TestBefore"}},
		{name: "generic", a: testadapter.Generic{},
			project: func(t *testing.T) *testadapter.Project { return strobetest.ProjectAt(strobetest.Suite(t, "generic")) },
			r:       testadapter.Request{Command: []string{"sh", "waits.sh"}}, test: "(command)", silent: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			hangs(t, &c)
		})
	}
}

// hangs runs it until it hangs, and ends it.
func hangs(t *testing.T, c *hanging) {
	p := c.project(t)
	c.r.Timeout = time.Minute
	h := strobetest.Hang{Test: c.test, Ended: c.ended, Output: c.output, Kill: testrun.EndTree, Environ: c.environ}
	if c.silent {
		h.Test = ""
	}
	events := strobetest.RunHanging(t, c.a, p, c.r, h)
	all, text := ended(events), toldRust(events)
	if c.brief {
		text = statuses(all)
	}
	golden(t, filepath.Join("hang", c.name+".txt"), text, p.Root, "ROOT")
	got := all[c.test]
	if got == nil || got.Status != testadapter.TimedOut || !got.Fails || got.Group {
		t.Fatalf("%q is %+v of %q", c.test, got, keys(all))
	}
	if f := got.Failures[len(got.Failures)-1]; f.Kind != "timeout" ||
		!strings.Contains(f.Message, "whole run was over (1m0s)") {
		t.Errorf("%q: %+v", c.test, f)
	}
}

// TestSoakMavenHangs: the test is known that ran when the run was over, and no JVM is left.
func TestSoakMavenHangs(t *testing.T) {
	strobetest.Soak(t)
	hangs(t, &hanging{name: "maven", a: testadapter.Maven{}, test: "com.example.OldTest#waits",
		project: func(t *testing.T) *testadapter.Project {
			p := mavenSuite(t, "maven-junit4")
			if err := os.Remove(filepath.Join(p.Root, "src/test/java/com/example/TableTest.java")); err != nil {
				t.Fatal(err) // which of two classes is first is the file system's
			}
			text := "package com.example;\npublic class OldTest {\n  @org.junit.Test public void waits() throws Exception {\n" +
				"    new java.io.File(System.getenv(\"STROBE_BEGUN\")).createNewFile();\n    Thread.sleep(1_000_000);\n  }\n}\n"
			if err := os.WriteFile(filepath.Join(p.Root, "src/test/java/com/example/OldTest.java"), []byte(text),
				0o600); err != nil {
				t.Fatal(err)
			}
			return p
		}})
}

// statuses are tests with what became of them, one a line.
func statuses(all map[string]*testadapter.Test) string {
	var b strings.Builder
	for _, id := range keys(all) {
		if t := all[id]; t.Group {
			fmt.Fprintf(&b, "%s: group\n", id)
		} else {
			fmt.Fprintf(&b, "%s: %s\n", id, t.Status)
		}
	}
	return b.String()
}
