package testadapter_test

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/strobetest"
	"github.com/strobe-debug/strobe/internal/testadapter"
)

// detected is the adapter that is surest of a project, and how sure the next one is.
func detected(p *testadapter.Project) (best testadapter.Adapter, d testadapter.Detection, next int) {
	for _, a := range testadapter.Builtin() {
		got := a.Detect(p)
		if got.Confidence > d.Confidence {
			best, d, next = a, got, d.Confidence
		} else {
			next = max(next, got.Confidence)
		}
	}
	return best, d, next
}

func TestJavaScriptDetection(t *testing.T) {
	const vite, both = `"vitest": "1"`, `"vitest": "1", "jest": "29", "mocha": "10", "@playwright/test": "1"`
	manifest := func(script, deps string) string {
		return `{"scripts": {"test": "` + script + `"}, "devDependencies": {` + deps + `}}`
	}
	for _, c := range []struct {
		name  string
		files []string
		want  string // "" is none
		dir   string
	}{
		{"script", []string{"package.json", manifest("vitest run", both)}, "vitest", ""},
		{"script of another", []string{"package.json", manifest("jest --ci", both), "vitest.config.ts", ""}, "jest", ""},
		{"npx and environment", []string{"package.json",
			manifest("cross-env NODE_OPTIONS='--experimental-vm-modules' npx jest", both)}, "jest", ""},
		{"coverage wrapper", []string{"package.json", manifest("c8 --all mocha -r ts-node/register 'test/**/*.ts'", both)},
			"mocha", ""},
		{"after another command", []string{"package.json", manifest("eslint . && tsc -p . && mocha", both)}, "mocha", ""},
		{"through another script", []string{"package.json",
			`{"scripts": {"test": "npm run lint && npm run test:unit", "lint": "eslint vitest", "test:unit": "jest"}, "devDependencies": {` + both + `}}`}, "jest", ""},
		{"argument of another", []string{"package.json", manifest("echo jest", vite)}, "vitest", ""},
		{"node --test", []string{"package.json", manifest("node --import tsx --test test/*.ts", vite)}, "node", ""},
		{"bun test", []string{"package.json", manifest("bun test", both), "bun.lock", ""}, "bun", ""},
		{"vitest on bun", []string{"package.json", manifest("bun run vitest", vite), "bun.lock", "", "bunfig.toml", ""},
			"vitest", ""},
		{"bun:test without a script", []string{"package.json", `{}`, "a.test.ts", "import { test } from 'bun:test';"}, "bun",
			""},
		{"bun as package manager", []string{"package.json", `{"devDependencies": {"jest": "29"}}`, "bun.lockb", "",
			"a.test.ts", "test('a', () => {});"}, "jest", ""},
		{"configuration", []string{"package.json", `{}`, "vitest.config.mts", ""}, "vitest", ""},
		{"jest in package.json", []string{"package.json", `{"jest": {}}`}, "jest", ""},
		{"mocharc", []string{"package.json", `{"devDependencies": {"mocha": "10"}}`, ".mocharc.yml", ""}, "mocha", ""},
		{"playwright beside vitest", []string{"package.json", manifest("vitest", both), "playwright.config.ts", ""}, "vitest",
			""},
		{"playwright alone", []string{"package.json", `{"devDependencies": {"@playwright/test": "1"}}`,
			"playwright.config.ts", ""}, "playwright", ""},
		{"react-scripts", []string{"package.json", manifest("react-scripts test", `"react-scripts": "5"`)}, "jest", ""},
		{"node:test without a script", []string{"package.json", `{}`, "test/a.test.mjs", "import test from 'node:test';"},
			"node", ""},
		{"deno task", []string{"deno.json", `{"tasks": {"test": "deno test -A"}}`}, "deno", ""},
		{"deno with comments", []string{"deno.jsonc",
			"{ // a comment with \"quotes\"\n\"tasks\": {\"test\": {\"command\": \"deno test\"}}}"}, "deno", ""},
		{"deno and npm", []string{"deno.json", `{}`, "package.json", manifest("vitest", vite), "a_test.ts", ""}, "vitest",
			""},
		{"workspaces", []string{"package.json", `{"workspaces": ["packages/*"]}`, "packages/a/package.json", `{}`,
			"packages/b/package.json", manifest("vitest", vite)}, "vitest", "packages/b"},
		{"workspaces of pnpm", []string{"package.json", `{}`, "pnpm-workspace.yaml", "packages:\n  - 'apps/**'\n",
			"apps/x/web/package.json", manifest("jest", both)}, "jest", "apps/x/web"},
		{"root before workspaces", []string{"package.json",
			`{"workspaces": {"packages": ["p/*"]}, "scripts": {"test": "mocha"}}`, "p/b/package.json", manifest("vitest", vite)},
			"mocha", ""},
		{"folders", []string{"web/package.json", manifest("jest", both)}, "jest", "web"},
		{"nothing", []string{"package.json", `{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}`}, "", ""},
		{"no JSON", []string{"package.json", `{"scripts": `}, "", ""},
	} {
		a, d, next := detected(files(t, c.files...))
		got := ""
		if a != nil {
			got = a.Name()
		}
		if got != c.want || d.Dir != c.dir || d.Confidence == next && c.want != "" {
			t.Errorf("%s: %s in %q with %d against %d (%q), want %s in %q", c.name, got, d.Dir, d.Confidence, next, d.Evidence,
				c.want, c.dir)
		}
		if a != nil && len(d.Evidence) == 0 {
			t.Errorf("%s: no evidence", c.name)
		}
	}
}

// Where node_modules is missing, the fault has the command that installs it.
func TestNotInstalled(t *testing.T) {
	strobetest.NodeSuite(t, "vitest") // for node in PATH
	const declared = `{"devDependencies": {"vitest": "5", "jest": "30", "mocha": "12", "@playwright/test": "1"}}`
	for _, c := range []struct {
		files []string
		want  string
	}{
		{[]string{"package.json", declared, "package-lock.json", ""}, `"npm ci"`},
		{[]string{"package.json", declared, "pnpm-lock.yaml", ""}, `"pnpm install --frozen-lockfile"`},
		{[]string{"package.json", declared, "yarn.lock", ""}, `"yarn install --frozen-lockfile"`},
		{[]string{"package.json", declared, "yarn.lock", "", ".yarnrc.yml", ""}, `"yarn install --immutable"`},
		{[]string{"package.json", strings.Replace(declared, "{", `{"packageManager": "yarn@4.1.0",`, 1), "yarn.lock", ""},
			`"yarn install --immutable"`},
		{[]string{"package.json", declared, "bun.lock", ""}, `"bun install --frozen-lockfile"`},
		{[]string{"package.json", declared}, `"npm install"`},
		{[]string{"package.json", `{}`, "pnpm-lock.yaml", ""}, `"pnpm add --save-dev `},
	} {
		p := files(t, c.files...)
		for _, a := range []testadapter.Adapter{testadapter.Vitest{}, testadapter.Jest{}, testadapter.Mocha{},
			testadapter.Playwright{}} {
			_, err := a.Start(p, &testadapter.Request{Dir: t.TempDir()}, nil)
			if fault.CodeOf(err) != fault.LaunchFailed || !strings.Contains(err.Error(), c.want) ||
				!strings.Contains(err.Error(), p.Root) {
				t.Errorf("%s with %q: %v, want %s", a.Name(), c.files, err, c.want)
			}
		}
	}
}

// What the project's own script gives its framework is given to it here, too.
func TestScriptArguments(t *testing.T) {
	modules := strobetest.NodeModules(t)
	const script = `cross-env NODE_OPTIONS='--no-warnings --stack-size=900' jest --config jest.ci.js --watch --coverage -i "test/a b"`
	p := files(t, "package.json", `{"scripts": {"test": `+
		strings.ReplaceAll(`"`+strings.ReplaceAll(script, `"`, `\"`)+`"`, "\n", "")+`}}`)
	link(t, modules, filepath.Join(p.Root, "node_modules"))
	x, err := testadapter.Jest{}.Start(p, &testadapter.Request{Dir: t.TempDir(), Args: []string{"--bail"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	step, err := x.Next()
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"test/a b", "--config", "jest.ci.js", "-i",
		"--bail"}; !slices.Equal(step.Argv[len(step.Argv)-len(want):], want) {
		t.Errorf("%q does not end with %q", step.Argv, want)
	}
	if !slices.Equal(step.Env, []string{"NODE_OPTIONS=--no-warnings --stack-size=900"}) ||
		slices.Contains(step.Argv, "--watch") {
		t.Errorf("environment %q, %q", step.Env, step.Argv)
	}
}

// A level is a folder, or a script of that name.
func TestJavaScriptLevels(t *testing.T) {
	modules := strobetest.NodeModules(t)
	strobetest.NodeSuite(t, "jest") // for bun and deno in PATH
	const one = "import { test } from 'node:test';\n"
	p := files(t, "package.json",
		`{"scripts": {"test:e2e": "vitest run --project e2e", "test:unit": "jest --selectProjects unit"}}`, "deno.json", "{}",
		"test/integration/a.test.js", one)
	link(t, modules, filepath.Join(p.Root, "node_modules"))
	for _, c := range []struct {
		a     testadapter.Adapter
		level testadapter.Level
		want  []string
	}{
		{testadapter.Vitest{}, testadapter.Integration, []string{"test/integration/"}},
		{testadapter.Vitest{}, testadapter.EndToEnd, []string{"--project", "e2e"}},
		{testadapter.Jest{}, testadapter.Unit, []string{"--selectProjects", "unit"}},
		{testadapter.Jest{}, testadapter.Integration, []string{"test/integration/"}},
		{testadapter.Mocha{}, testadapter.Integration, []string{"test/integration/", "--recursive"}},
		{testadapter.NodeTest{}, testadapter.Integration, []string{"test/integration/a.test.js"}},
		{testadapter.Bun{}, testadapter.Integration, []string{"./test/integration/"}},
		{testadapter.Deno{}, testadapter.Integration, []string{"test/integration/"}},
		{testadapter.Vitest{}, testadapter.Unit, nil}, {testadapter.Mocha{}, testadapter.EndToEnd, nil},
		{testadapter.NodeTest{}, testadapter.Unit, nil},
		{testadapter.Bun{}, testadapter.Unit, nil}, {testadapter.Deno{}, testadapter.Unit, nil},
		{testadapter.Jest{}, testadapter.EndToEnd, nil},
	} {
		x, err := c.a.Start(p, &testadapter.Request{Dir: t.TempDir(), Level: c.level}, nil)
		if c.want == nil {
			if fault.CodeOf(err) != fault.Unsupported {
				t.Errorf("%s has level %s: %v", c.a.Name(), c.level, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.a.Name(), err)
			continue
		}
		step, _ := x.Next()
		if !strings.Contains(strings.Join(step.Argv, "\n")+"\n", "\n"+strings.Join(c.want, "\n")+"\n") {
			t.Errorf("%s %s: %q, want %q", c.a.Name(), c.level, step.Argv, c.want)
		}
	}
}

// TestReruns runs what a person would paste: it fails for a test that fails, and not for one that passes, so just that
// one ran.
func TestReruns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a              testadapter.Adapter
		suite          string
		passes, fails  string
		passes2, file2 string
	}{
		{testadapter.Vitest{}, "vitest", "test/plain.test.ts > passes", "test/plain.test.ts > outer > adds 2 to 3",
			"test/plain.test.ts > outer > inner > deep > works (a.*b) [c] \"d\" 'e' $f ^g | h ü > i", "test/plain.test.ts"},
		{testadapter.Jest{}, "jest", "test/plain.test.js > passes", "test/plain.test.js > outer > adds 2 to 3",
			"test/plain.test.js > outer > inner > deep > works (a.*b) [c] \"d\" 'e' $f ^g | h ü > i", "test/plain.test.js"},
		{testadapter.Mocha{}, "mocha", "test/plain.test.js > passes", "test/plain.test.js > fails with both sides",
			"test/plain.test.js > outer > inner > deep > works (a.*b) [c] \"d\" 'e' $f ^g | h ü > i / j", "test/plain.test.js"},
		{testadapter.NodeTest{}, "node", "test/plain.test.mjs > passes", "test/plain.test.mjs > fails with both sides",
			"test/plain.test.mjs > outer > inner > deep > works (a.*b) [c] \"d\" 'e' $f ^g | h ü > i / j",
			"test/plain.test.mjs"},
		{testadapter.Bun{}, "bun", "test/plain.test.ts > passes", "test/plain.test.ts > fails with both sides",
			"test/plain.test.ts > outer > inner > deep > works (a.*b) [c] \"d\" 'e' $f ^g | h ü > i / j & <k>",
			"test/plain.test.ts"},
		{testadapter.Deno{}, "deno", "test/plain_test.ts > passes", "test/plain_test.ts > fails with both sides",
			"test/plain_test.ts > works (a.*b) [c] \"d\" 'e' $f ^g | h ü > i / j & <k>", "test/plain_test.ts"},
		{testadapter.Playwright{}, "playwright", "[first] tests/plain.spec.ts > passes",
			"[first] tests/plain.spec.ts > fails with both sides",
			"[first] tests/plain.spec.ts > outer > inner > deep > works (a.*b) [c] \"d\" 'e' $f ^g | h ü > i / j",
			"tests/plain.spec.ts"},
	} {
		p := strobetest.ProjectAt(strobetest.NodeSuite(t, c.suite))
		ids := map[string]bool{c.passes2: true, c.fails: false}
		if strobetest.Soaks(t, "a test whose name is plain") {
			ids[c.passes] = true
		}
		for id, want := range ids {
			again := c.a.Rerun(p, &testadapter.Request{}, &testadapter.Test{ID: id, File: c.file2, Status: testadapter.Passed})
			if again.Test != id || again.Framework != c.a.Name() {
				t.Errorf("%s: rerun of %q is %+v", c.suite, id, again)
			}
			if passed, out := run(t, &again); passed != want {
				t.Errorf("%s: %q passed is %v, want %v: %s", c.suite, again.Argv, passed, want, out)
			}
		}
	}
}

func run(t *testing.T, again *testadapter.Rerun) (passed bool, out string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, again.Argv[0], again.Argv[1:]...)
	cmd.Dir = again.Dir
	b, err := cmd.CombinedOutput()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		t.Fatalf("%q: %v", again.Argv, err)
	}
	return err == nil, string(b)
}
