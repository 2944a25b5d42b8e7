package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

func TestProjectOf(t *testing.T) {
	root := strobetest.Root(t)
	built := strobetest.Build(t, "ending", "gcc-O0") // in a cache, from testdata/targets
	old := strobetest.Build(t, "ending", "gcc-O2-dwarf4")
	tmp, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	bare := filepath.Join(tmp, "bin", "bare")
	if err := os.MkdirAll(filepath.Dir(bare), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(bare, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	tool := filepath.Join(tmp, "venv", "bin", "tool")
	own := filepath.Join(tmp, "own", "app")
	for path, line := range map[string]string{tool: "#!" + tmp + "/venv/bin/python3.11 -E\n", own: "#!/usr/bin/env -S node --x\n"} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(line), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	empty, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	targets := strobetest.TargetsDir(t)
	for _, c := range []struct{ name, dir, command, want string }{
		{"program below the directory", tmp, "bin/bare", tmp},
		{"program in the directory", filepath.Dir(bare), "./bare", filepath.Dir(bare)},
		{"source below the directory", filepath.Join(targets, "c"), built, repository(filepath.Join(targets, "c"))},
		{"both elsewhere", empty, built, repository(filepath.Join(targets, "c"))},
		{"both elsewhere, DWARF 4", empty, old, repository(filepath.Join(targets, "c"))},
		{"no debug information", empty, bare, filepath.Dir(bare)},
		{"a tool of a Python environment", empty, tool, empty},
		{"a script of Node's", empty, own, filepath.Dir(own)},
		{"from PATH", tmp, "sh", tmp},
		{"missing", tmp, "./none", tmp},
	} {
		if got := projectOf(c.dir, []string{c.command}); got != c.want {
			t.Errorf("%s: projectOf(%s, %s) = %s, want %s", c.name, c.dir, c.command, got, c.want)
		}
	}
	if !under(root, repository(targets)) {
		t.Logf("the tree is no repository of its own: %s", repository(targets))
	}
}

// FuzzSourcesOf reads programs of which a part was overwritten.
func FuzzSourcesOf(f *testing.F) {
	good, err := os.ReadFile(strobetest.Build(f, "ending", "gcc-O0"))
	if err != nil {
		f.Fatal(err)
	}
	for at := 0; at < len(good); at += len(good) / 64 {
		f.Add(at, []byte{0xff, 0xff, 0xff, 0x7f, 0})
	}
	path := filepath.Join(f.TempDir(), "program")
	f.Fuzz(func(t *testing.T, at int, b []byte) {
		bad := append([]byte{}, good...)
		copy(bad[(at%len(bad)+len(bad))%len(bad):], b)
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		sourcesOf(path)
	})
}

// TestPlaceOfScript: a script that runs in its project is of that, one that was started from elsewhere of its own, and
// a tool that was installed of where it runs.
func TestPlaceOfScript(t *testing.T) {
	dir := t.TempDir()
	for _, f := range []string{"app/src/server.mjs", "tools/node_modules/.bin/serve.js", "tools/run.py", "tools/hook.js", "tools/started",
		"tools/pack/__main__.py", "venv/bin/pytest"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(f)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, f), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	app := filepath.Join(dir, "app")
	for _, c := range []struct {
		cwd, line, want string
	}{
		{app, "node src/server.mjs", app},
		{"/", "node --enable-source-maps " + app + "/src/server.mjs x.js", app + "/src"},
		{app, "node ../tools/node_modules/.bin/serve.js", app},
		{app, "python3 -u " + dir + "/tools/run.py", dir + "/tools"},
		{app, "python3 -m http.server", app},
		{app, "node gone.js", app},
		{app, "node -r " + dir + "/tools/hook.js src/server.mjs", app},
		{app, "python3 " + dir + "/tools/started x", dir + "/tools"},
		{app, "python3 " + dir + "/tools/pack", dir + "/tools/pack"},
		{app, "python3 " + dir + "/tools", app},
		{app, "python3 " + dir + "/venv/bin/pytest -q", app},
	} {
		args := strings.Fields(c.line)
		if got := placeOfScript(c.cwd, args); got != c.want {
			t.Errorf("in %s, %s: %s, want %s", c.cwd, c.line, got, c.want)
		}
		if got := projectOf(c.cwd, args); got != repository(c.want) {
			t.Errorf("in %s, %s is run: %s, want %s", c.cwd, c.line, got, c.want)
		}
	}
}

// TestNamesTest: a name that stands alone is a test's, and never an argument of the framework, of which Maven would make
// a phase of its build.
func TestNamesTest(t *testing.T) {
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "tests"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args string
		dash int
		want bool
	}{
		{"ShopTest", -1, true}, {"com.x.ShopTest#adds", -1, true}, {"tests/test_a.py::test_b", -1, true},
		{"ShopTest -q", 1, true}, {"", -1, false}, {"tests", -1, false}, {"./...", -1, false},
		{"x/...", -1, false}, {"-q", 0, false}, {"one two", -1, false},
	} {
		if got := namesTest(root, strings.Fields(c.args), c.dash); got != c.want {
			t.Errorf("%q, dash at %d: %v", c.args, c.dash, got)
		}
	}
}
