//go:build linux

package testadapter_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	diff "github.com/google/go-cmp/cmp"

	"github.com/strobe-debug/strobe/internal/strobetest"
	"github.com/strobe-debug/strobe/internal/testadapter"
)

// hostile is what users and CI machines have in their environments that changes what frameworks write.
var hostile = []string{"CI=true", "GITHUB_ACTIONS=true", "FORCE_COLOR=1", "CLICOLOR_FORCE=1", "TERM=dumb", "COLUMNS=20",
	"LANG", "LC_ALL=C", "RUST_BACKTRACE=1", "RUST_TEST_THREADS=1",
	"CARGO_TERM_COLOR=always", "CARGO_TERM_VERBOSE=true", "GTEST_COLOR=yes", "GTEST_OUTPUT=xml", "GTEST_BRIEF=1",
	"GTEST_PRINT_TIME=0", "CTEST_OUTPUT_ON_FAILURE=1", "CTEST_PARALLEL_LEVEL=2",
	"CTEST_PROGRESS_OUTPUT=1", "MESON_TESTTHREADS=2", "NODE_OPTIONS=--no-warnings", "MOCHA_OPTIONS=--slow 1 --full-trace",
	"PYTEST_ADDOPTS=-q --tb=line -p no:cacheprovider --color=yes", "PYTHONUNBUFFERED=1",
	"PYTHONWARNINGS=always", "GOFLAGS=-v", "DENO_NO_UPDATE_CHECK=1", "MAKEFLAGS=w", "DEBUG_COLORS=1"}

// recordedStatuses are the tests of a golden file with what became of them.
func recordedStatuses(t *testing.T, name string) map[string]string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	id := ""
	for line := range strings.Lines(string(b)) {
		line = strings.TrimRight(line, "\n")
		text, indented := strings.CutPrefix(line, "    ")
		switch {
		case strings.HasPrefix(line, "note: "), strings.HasPrefix(line, "own totals: "):
		case !indented:
			id = line
		case id != "":
			all[id], _, _ = strings.Cut(text, " ")
			id = ""
		}
	}
	return all
}

// TestHostileEnvironments: what users have in their environments changes neither which tests are told nor their
// results.
func TestHostileEnvironments(t *testing.T) {
	all := strobetest.Soaks(t, "two of three frameworks")
	for i, c := range []struct {
		golden  string
		a       testadapter.Adapter
		project func(t *testing.T) *testadapter.Project
		r       testadapter.Request
		environ []string
	}{
		{"vitest/suite.txt", testadapter.Vitest{}, nodeProject("vitest"), testadapter.Request{}, nil},
		{"jest/suite.txt", testadapter.Jest{}, nodeProject("jest"), testadapter.Request{}, nil},
		{"mocha/suite.txt", testadapter.Mocha{}, nodeProject("mocha"), testadapter.Request{}, nil},
		{"node/suite.txt", testadapter.NodeTest{}, nodeProject("node"), testadapter.Request{}, nil},
		{"bun/suite.txt", testadapter.Bun{}, nodeProject("bun"), testadapter.Request{}, nil},
		{"deno/suite.txt", testadapter.Deno{}, nodeProject("deno"), testadapter.Request{}, nil},
		{"playwright/suite.txt", testadapter.Playwright{}, nodeProject("playwright"),
			testadapter.Request{Args: []string{"--project=first", "--project=second one", "/tests/[a-z]*.spec.ts"}}, nil},
		{"pytest/suite.txt", testadapter.Pytest{}, pytestProject,
			testadapter.Request{Args: []string{"--continue-on-collection-errors"}}, nil},
		{"unittest/suite.txt", testadapter.Unittest{}, unittestProject, testadapter.Request{}, nil},
		{"gtest/suite.txt", testadapter.GTest{}, gtestSuite, testadapter.Request{Command: gtestProgram},
			[]string{"GTEST_SHUFFLE=1", "GTEST_RANDOM_SEED=7"}},
		{"catch2/v2.txt", testadapter.Catch2{}, catchSuite("v2"), testadapter.Request{Command: gtestProgram}, nil},
		{"catch2/v3.txt", testadapter.Catch2{}, catchSuite("v3"), testadapter.Request{Command: gtestProgram}, nil},
		{"doctest/suite.txt", testadapter.Doctest{}, doctestSuite, testadapter.Request{Command: gtestProgram}, nil},
		{"ctest/suite.txt", testadapter.CTest{},
			configuredSuite("ctest", "cmake", "-S", ".", "-B", "build", "-DCMAKE_BUILD_TYPE=Debug"), testadapter.Request{}, nil},
		{"meson/suite.txt", testadapter.Meson{}, configuredSuite("meson", "meson", "setup", "build"), testadapter.Request{},
			nil},
		{"cargo/shop.txt", testadapter.Cargo{}, parallelCargo,
			testadapter.Request{Args: []string{"-p", "shop", "-p", "plain"}}, []string{"CARGO_TARGET_DIR=" + cargoTarget(t)}},
		{"go/suite.txt", testadapter.Go{}, func(t *testing.T) *testadapter.Project { return goSuite(t) },
			testadapter.Request{Args: []string{"-timeout=2s"}}, nil},
	} {
		if !all && i%3 != 1 {
			continue
		}
		t.Run(strings.TrimSuffix(c.golden, ".txt"), func(t *testing.T) {
			t.Parallel()
			p := c.project(t)
			got := map[string]string{}
			for id, x := range ended(strobetest.RunAdapterIn(t, c.a, p, c.r, append(slices.Clone(hostile), c.environ...)...)) {
				got[strings.ReplaceAll(strings.ReplaceAll(id, "\n", `\n`), p.Root, "ROOT")] = string(x.Status)
			}
			if d := diff.Diff(recordedStatuses(t, c.golden), got); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestObeyed: what the user's environment asks a framework for is done, and what is told is what was run.
func TestObeyed(t *testing.T) {
	t.Run("pytest stops at the first failure", func(t *testing.T) {
		t.Parallel()
		got := ended(strobetest.RunAdapterIn(t, testadapter.Pytest{}, pytestProject(t),
			testadapter.Request{Args: []string{"tests/test_plain.py"}}, "PYTEST_ADDOPTS=-q -x --tb=short -p no:cacheprovider"))
		if want := []string{"tests/test_plain.py::test_fails_with_both_sides",
			"tests/test_plain.py::test_passes"}; !slices.Equal(keys(got), want) {
			t.Errorf("told %q, want %q", keys(got), want)
		}
	})
	t.Run("gtest repeats", func(t *testing.T) {
		t.Parallel()
		r := testadapter.Request{Command: gtestProgram, Args: []string{"--gtest_filter=Sums.*"}}
		got := ended(strobetest.RunAdapterIn(t, testadapter.GTest{}, gtestSuite(t), r, "GTEST_REPEAT=3"))
		for id, want := range map[string]testadapter.Status{"Sums.Pass": testadapter.Passed, "Sums.Fails": testadapter.Failed,
			"Sums.Skipped": testadapter.Skipped} {
			if got[id] == nil || got[id].Status != want {
				t.Errorf("%s is %+v, want %s", id, got[id], want)
			}
		}
	})
}
