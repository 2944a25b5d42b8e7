package acceptance

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// TestScriptsOfPackages: what npm test does is done: pretest, a build before the framework, a second command of it,
// posttest; a failing package of a workspace fails the run, and a package whose tests write TAP is run. Before, pretest
// was not run, the workspace ended green, and nothing was found of TAP.
func TestScriptsOfPackages(t *testing.T) {
	t.Parallel()
	strobetest.NeedCommand(t, "npm")
	modules := strobetest.NodeModules(t)
	s := strobetest.Start(t, nil)
	run := func(t *testing.T, files map[string]string, a args) testAnswer {
		dir := project(t, files)
		if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
			t.Fatal(err)
		}
		a["projectRoot"], a["waitMs"] = dir, 60000
		return runTests(t, s, a)
	}
	const built = "const assert = require('assert')\nit('is built', () => { assert.strictEqual(require('../dist.js'), 7) })\n"
	const passes = "it('passes', () => {})\n"
	scripts := func(more string) string { return `{"scripts": {` + more + `}, "devDependencies": {"mocha": "*"}}` }
	for _, c := range []struct {
		name     string
		manifest string
		want     [3]int
		failed   string
		note     string
	}{
		{"pretest", scripts(`"pretest": "echo 'module.exports = 7' > dist.js", "test": "mocha test/a.js"`), [3]int{1, 0, 0},
			"", ""},
		{"build before it",
			scripts(
				`"build": "echo 'module.exports = 7' > dist.js", "test": "eslint . && npm run build && mocha test/a.js && echo done > after"`), [3]int{1, 0, 0}, "", "eslint"},
		{"pretest fails", scripts(`"pretest": "sh -c 'echo no compiler >&2; exit 3'", "test": "mocha test/a.js"`),
			[3]int{0, 1, 0}, "no compiler", ""},
		{"posttest fails", scripts(`"posttest": "exit 4", "test": "mocha test/b.js"`), [3]int{1, 1, 0}, "code 4", ""},
		{"twice", scripts(`"test": "mocha --ui bdd test/b.js && mocha test/c.js"`), [3]int{2, 0, 0}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := run(t, map[string]string{"package.json": c.manifest, "test/a.js": built, "test/b.js": passes,
				"test/c.js": strings.Replace(passes, "passes", "passes, too", 1)}, args{})
			if summary(r) != c.want || c.note != "" &&
				!slices.ContainsFunc(r.Result.Notes, func(n string) bool { return strings.Contains(n, c.note) }) {
				t.Fatalf("%+v %+v", r, r.Result)
			}
			if c.failed != "" && (!strings.Contains(r.Result.Failures[0].Message, c.failed) ||
				strings.Contains(r.Result.Failures[0].Rerun.Command, "(")) {
				t.Errorf("%+v", r.Result.Failures)
			}
		})
	}
	t.Run("workspaces", func(t *testing.T) {
		t.Parallel()
		r := run(t,
			map[string]string{"package.json": `{"workspaces": ["packages/*"], "scripts": {"test": "npm test --workspaces --if-present"}}`,
				"packages/a/package.json": `{"name": "a", "scripts": {"test": "mocha"}}`, "packages/a/test/a.js": passes,
				"packages/b/package.json": `{"name": "b", "scripts": {"test": "node fails.js"}}`,
				"packages/b/fails.js":     "process.exit(5)\n"}, args{})
		if r.Result.Summary.Failed == 0 || r.Result.ExitCode == 0 {
			t.Errorf("%+v %+v", r, r.Result)
		}
	})
	t.Run("tap", func(t *testing.T) {
		t.Parallel()
		r := run(t, map[string]string{"package.json": `{"scripts": {"test": "node test.js"}}`,
			"test.js": "console.log('TAP version 13\\nok 1 - adds\\nnot ok 2 - subtracts\\n1..2'); process.exit(1)\n"}, args{})
		if summary(r) != [3]int{1, 1, 0} || r.Result.Failures[0].Name != "subtracts" || r.Framework != "generic" ||
			!strings.Contains(r.Evidence[0], "script test") {
			t.Errorf("%+v %+v", r, r.Result)
		}
	})
}
