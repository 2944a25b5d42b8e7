package testadapter_test

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
	"github.com/strobe-debug/strobe/internal/testadapter"
)

// TestWorkspaces runs npm over workspaces with tests of the same names, one of which exits with a code of its own and
// one that says nothing: each package's results are its own, and a failure's rerun runs its package alone.
func TestWorkspaces(t *testing.T) {
	t.Parallel()
	strobetest.NeedCommand(t, "npm")
	root := t.TempDir()
	points := func(second string, code string) string {
		return `console.log("TAP version 13\n1..2\nok 1 - adds\n` + second + ` 2 - takes"); process.exit(` + code + `)`
	}
	for name, text := range map[string]string{
		"package.json":                `{"name": "root", "version": "0.1.0", "private": true, "workspaces": ["packages/*"], "scripts": {"test": "npm test --workspaces"}}`,
		"packages/a/package.json":     `{"name": "a", "version": "1.0.0", "scripts": {"test": "node t.js"}}`,
		"packages/a/t.js":             points("ok", "0"),
		"packages/b/package.json":     `{"name": "b", "scripts": {"test": "node t.js"}}`,
		"packages/b/t.js":             points("not ok", "1"),
		"packages/c/package.json":     `{"name": "@x/c", "version": "2.0.0-rc.1", "scripts": {"pretest": "echo before", "test": "exit 3"}}`,
		"packages/d/package.json":     `{"name": "d", "version": "1.0.0", "scripts": {"test": "echo fine"}}`,
		"packages/e/package.json":     `{"name": "e", "version": "1.0.0", "scripts": {"test": "node t.js"}}`,
		"packages/e/t.js":             points("ok", "4"),
		"packages/quiet/package.json": `{"name": "quiet", "version": "1.0.0"}`,
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p, a := strobetest.ProjectAt(root), testadapter.Generic{}
	for _, command := range [][]string{nil, {"npm", "test", "--workspaces", "--if-present"},
		{"npm", "test", "-ws", "--if-present"}} {
		if command == nil { // the script has no --if-present
			if err := os.RemoveAll(filepath.Join(root, "packages/quiet")); err != nil {
				t.Fatal(err)
			}
		}
		r := testadapter.Request{Command: command}
		events := strobetest.RunAdapter(t, a, p, r)
		var got []string
		var failed *testadapter.Test
		for _, e := range ended(events) {
			got = append(got, e.ID+" "+string(e.Status))
			if e.ID == "b › takes" {
				failed = e
			}
			if e.ID == "@x/c › (command)" && (len(e.Failures) != 1 || !strings.Contains(e.Failures[0].Message, "code 3")) {
				t.Errorf("%v: %+v", command, e.Failures)
			}
		}
		slices.Sort(got)
		want := []string{"@x/c › (command) failed", "a › adds passed", "a › takes passed", "b › adds passed",
			"b › takes failed", "d › (command) passed",
			"e › (command) error", "e › adds passed", "e › takes passed"}
		if !slices.Equal(got, want) || failed == nil {
			t.Fatalf("%v: %q, want %q", command, got, want)
		}
		again := a.Rerun(p, &r, failed)
		if last := again.Argv[len(again.Argv)-1]; last != "--workspace=b" {
			t.Errorf("%v: rerun %q", command, again.Argv)
		}
		r.Test = again.Test
		if got := keys(ended(strobetest.RunAdapter(t, a, p, r))); !slices.Equal(got, []string{"b › takes"}) {
			t.Errorf("%v: rerun of %q ran %q", command, again.Test, got)
		}
	}
	// One package's run is told as before.
	events := strobetest.RunAdapter(t, a, strobetest.ProjectAt(filepath.Join(root, "packages/a")), testadapter.Request{})
	if got := keys(ended(events)); !slices.Equal(got, []string{"adds", "takes"}) {
		t.Errorf("one package: %q", got)
	}
}

// TestManagersWorkspaces does so with pnpm and Yarn, which show packages in ways of their own, some several at once,
// and stop at the first that fails. Before, results of packages that have tests of one name were one, and a rerun ran
// all of them.
func TestManagersWorkspaces(t *testing.T) {
	points := func(second, code string) string {
		return `console.log("ok 1 - adds\n` + second + ` 2 - takes\n  so it is\n1..2"); process.exit(` + code + `)`
	}
	deep := "packages/of-a-folder-with-a-name/that-is-long-enough/e"
	all := []string{"@x/c › (command) failed", "a › adds passed", "a › takes passed", "b › adds passed",
		"b › takes failed", "d › (command) passed",
		"e › (command) error", "e › adds passed", "e › takes passed"}
	first := []string{"a › adds passed", "a › takes passed", "b › adds passed", "b › takes failed"}
	for _, c := range []struct {
		manager, script string
		want            []string
		note            string
		again           string
	}{
		{"pnpm", "pnpm -r --no-bail test", all, "", "pnpm --filter=b run test"},
		{"pnpm", "pnpm -r --workspace-concurrency=1 test", first, "since another package failed", "pnpm --filter=b run test"},
		{"yarn", "yarn workspaces run test", first, "yarn did not run @x/c, d, e, since another package failed",
			"yarn workspace b run test"},
		{"yarn-berry", "yarn workspaces foreach -Ap --jobs unlimited run test", all, "", "yarn workspace b run test"},
		{"yarn-berry", "yarn workspaces foreach -A run test", first,
			"yarn did not run @x/c, d, e, since another package failed", "yarn workspace b run test"},
	} {
		t.Run(c.script, func(t *testing.T) {
			t.Parallel()
			bin := strobetest.NodeManager(t, c.manager)
			command := strings.TrimSuffix(c.manager, "-berry")
			p := files(t, map[string]string{"pnpm": "pnpm-lock.yaml", "yarn": "yarn.lock"}[command], "",
				"package.json",
				`{"name": "root", "version": "0.1.0", "private": true, "workspaces": ["packages/**"], "scripts": {"test": "`+
					c.script+`"}}`,
				"pnpm-workspace.yaml", "packages:\n  - packages/**\n", ".yarnrc.yml", "nodeLinker: node-modules\n",
				"packages/a/package.json", `{"name": "a", "version": "1.0.0", "scripts": {"test": "node t.js"}}`, "packages/a/t.js",
				points("ok", "0"),
				"packages/b/package.json", `{"name": "b", "version": "1.0.0", "scripts": {"test": "node t.js"}}`, "packages/b/t.js",
				points("not ok", "1"),
				"packages/c/package.json", `{"name": "@x/c", "version": "2.0.0-rc.1", "scripts": {"test": "exit 3"}}`,
				"packages/d/package.json", `{"name": "d", "version": "1.0.0", "scripts": {"test": "echo fine"}}`,
				deep+"/package.json", `{"name": "e", "version": "1.0.0", "scripts": {"test": "node t.js"}}`, deep+"/t.js",
				points("ok", "4"),
				"packages/quiet/package.json", `{"name": "quiet", "version": "1.0.0"}`)
			if command == "yarn" && c.manager == "yarn" { // which wants the script in every package
				if err := os.RemoveAll(filepath.Join(p.Root, "packages/quiet")); err != nil {
					t.Fatal(err)
				}
			}
			withTool(p, command, filepath.Join(bin, command))
			env := []string{"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH"), "CI=", "YARN_ENABLE_TELEMETRY=0",
				"YARN_ENABLE_IMMUTABLE_INSTALLS=0"}
			install := exec.Command(filepath.Join(bin, command), "install")
			install.Dir, install.Env = p.Root, append(os.Environ(), env...)
			if out, err := install.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			a := testadapter.Generic{}
			for _, r := range []testadapter.Request{{}, {Command: strings.Fields(c.script)}} {
				if r.Command != nil && c.manager == "yarn-berry" {
					r.Command = slices.Insert(r.Command, 3, "--exclude", "root") // by itself it would run the project's own script
				}
				events := strobetest.RunAdapterIn(t, a, p, r, env...)
				var got, notes []string
				var failed *testadapter.Test
				next := ""
				for _, e := range ended(events) {
					// pnpm may have begun the next one when it stops, whichever it found behind b
					pkg, _, _ := strings.Cut(e.ID, " ")
					if one := strings.Contains(c.script, "concurrency=1"); !one || pkg == "a" || pkg == "b" {
						got = append(got, e.ID+" "+string(e.Status))
					} else if next = cmp.Or(next, pkg); pkg != next || pkg != "@x/c" && e.Status != testadapter.Passed {
						t.Errorf("%q: %s %s behind the failure, and %s", r.Command, e.ID, e.Status, next)
					}
					if e.ID == "b › takes" {
						failed = e
					}
					if e.ID == "@x/c › (command)" && (len(e.Failures) != 1 || !strings.Contains(e.Failures[0].Message, "code 3")) {
						t.Errorf("%q: %+v", r.Command, e.Failures)
					}
				}
				for _, e := range events {
					if e.Kind == testadapter.Note {
						notes = append(notes, e.Text)
					}
				}
				slices.Sort(got)
				if !slices.Equal(got, c.want) || failed == nil {
					t.Fatalf("%q: %q, want %q; %q", r.Command, got, c.want, notes)
				}
				if c.note != "" && r.Command == nil && !strings.Contains(strings.Join(notes, "; "), c.note) {
					t.Errorf("%q, want %q", notes, c.note)
				}
				if !strings.Contains(failed.Failures[0].Message, "so it is") { // what stands before the plan was lost
					t.Errorf("%q: %+v", r.Command, failed.Failures)
				}
				again := a.Rerun(p, &r, failed)
				if got := strings.Join(again.Argv, " "); !strings.HasPrefix(got, c.again) {
					t.Errorf("%q: rerun %q, want %q", r.Command, got, c.again)
				}
				r.Test = again.Test
				if got := keys(ended(strobetest.RunAdapterIn(t, a, p, r, env...))); !slices.Equal(got, []string{"b › takes"}) {
					t.Errorf("%q: rerun of %q ran %q", r.Command, again.Test, got)
				}
			}
		})
	}
}
