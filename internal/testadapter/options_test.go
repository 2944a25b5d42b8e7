package testadapter

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// TestScriptOptions: which words of a script belong to an option, as the tools themselves read them. `jest --env node`
// made a file of the word node, `mocha --ui tdd` lost its interface, `jest -w 2` was taken for --watch.
func TestScriptOptions(t *testing.T) {
	for _, c := range []struct{ framework, script, options, files, node string }{
		{"jest", "jest --env node", "--env node", "", ""},
		{"jest", "jest -w 2 src", "-w 2", "src", ""},
		{"jest", "jest -w2 src", "-w2", "src", ""},
		{"jest", "jest --test-timeout 9000 --coverage src", "--test-timeout 9000", "src", ""},
		{"jest", "jest --coverage false src --outputFile x.json --json", "", "src", ""},
		{"jest", "jest --selectProjects a b --ci", "--selectProjects a b --ci", "", ""},
		{"jest", "jest test/x --reporters default jest-junit", "", "test/x", ""},
		{"jest", "jest -i -t 'a b' lib", "-i|-t|a b", "lib", ""},
		{"jest", "jest --maxWorkers=50% --no-cache lib", "--maxWorkers=50% --no-cache", "lib", ""},
		{"jest", "jest -- lib", "", "lib", ""},
		{"jest", "node --experimental-vm-modules --require ./x.js node_modules/jest/bin/jest.js --ci", "--ci", "",
			"--experimental-vm-modules --require ./x.js"},
		{"mocha", "mocha --ui tdd", "--ui tdd", "", ""},
		{"mocha", "mocha -u tdd -r ts-node/register -t 5000 'test/**/*.ts'", "-u tdd -r ts-node/register -t 5000",
			"test/**/*.ts", ""},
		{"mocha", "mocha -R spec --reporter-option a=b test", "", "test", ""},
		{"mocha", "mocha --exit --recursive test", "--exit --recursive", "test", ""},
		{"mocha", "mocha --no-timeouts test", "--no-timeouts", "test", ""},
		{"mocha", "mocha --slow 0 --watch --watch-files 'src/*' test", "--slow 0", "test", ""},
		{"vitest", "vitest --testTimeout 900 --pool threads", "--testTimeout 900 --pool threads", "", ""},
		{"vitest", "vitest run --globals src --environment jsdom", "--globals --environment jsdom", "src", ""},
		{"vitest", "vitest run --coverage --coverage.reporter text --coverage.enabled true src", "", "src", ""},
		{"vitest", "vitest run --reporter verbose --poolOptions.threads.singleThread src",
			"--poolOptions.threads.singleThread", "src", ""},
		{"vitest", "vitest -c x.ts --silent --update src", "-c x.ts --update", "src", ""},
		{"playwright", "playwright test -j 2 --project a b --reporter list e2e", "-j 2 --project a b", "e2e", ""},
		{"playwright", "playwright test e2e --update-snapshots --headed", "--update-snapshots --headed", "e2e", ""},
		{"node", "node --import tsx --test-timeout 500 --test test/*.js", "--import tsx --test-timeout 500", "test/*.js", ""},
		{"node", "node --test --test-reporter spec -r ./a.js test", "-r ./a.js", "test", ""},
		{"bun", "bun test --timeout 100 --coverage --preload ./a.ts src", "--timeout 100 --preload ./a.ts", "src", ""},
		{"deno", "deno test -A --config deno.x.json --coverage=x test/", "-A --config deno.x.json", "test/", ""},
	} {
		var got scriptCommand
		for _, words := range shellCommands(c.script) {
			if one, ok := commandOf(words, c.framework); ok {
				got = one
			}
		}
		split := func(s string) []string {
			if strings.Contains(s, "|") {
				return strings.Split(s, "|")
			}
			return strings.Fields(s)
		}
		if !slices.Equal(got.options, split(c.options)) || !slices.Equal(got.files, strings.Fields(c.files)) ||
			!slices.Equal(got.node, strings.Fields(c.node)) {
			t.Errorf("%s: options %q, files %q, node %q", c.script, got.options, got.files, got.node)
		}
	}
}

// TestAddopts: the options of a project's configuration; --no-header was taken for -n, and pytest without xdist then
// failed.
func TestAddopts(t *testing.T) {
	for _, c := range []struct {
		name, text, want string
		xdist            bool
	}{
		{"pytest.ini", "[pytest]\naddopts = -ra --no-header\n    -p no:cacheprovider\ntestpaths = t\n",
			"-ra --no-header -p no:cacheprovider", false},
		{"pytest.ini", "[pytest]\naddopts=-n auto -m \"not slow\"\n", "-n auto -m|not slow", true},
		{"setup.cfg", "[tool:pytest]\naddopts =\n  --strict-markers\n  -n4\n", "--strict-markers -n4", true},
		{"pyproject.toml", "[tool.pytest.ini_options]\naddopts = [\"-k\", \"not -n\", '--import-mode=importlib']\n",
			"-k|not -n|--import-mode=importlib", false},
		{"pyproject.toml", "[tool.pytest.ini_options]\naddopts = \"-q --numprocesses 2\"\n", "-q --numprocesses 2", true},
		{"tox.ini", "[pytest]\naddopts = --durations 10 -rn\n", "--durations 10 -rn", false},
	} {
		p := &Project{Root: "/x", FS: fstest.MapFS{c.name: {Data: []byte(c.text)}}}
		want := strings.FieldsFunc(c.want, func(r rune) bool {
			return r == '|' || r == ' ' && !strings.Contains(c.want, "|")
		})
		if strings.Contains(c.want, "-m|") {
			want = []string{"-n", "auto", "-m", "not slow"}
		}
		if got := p.addopts("."); !slices.Equal(got, want) || p.usesXdist(".") != c.xdist {
			t.Errorf("%s %q: %q, want %q; xdist %v", c.name, c.text, got, want, p.usesXdist("."))
		}
	}
}

// TestRerunKeepsArguments: how a test is run again has the run's own arguments, without what selects other tests, and
// of what is no test it is the whole run: it was `pytest '(run)'`.
func TestRerunKeepsArguments(t *testing.T) {
	scripts := map[string]string{"mocha": "mocha --ui tdd test", "jest": "jest --env node",
		"vitest": "vitest --pool threads", "playwright": "playwright test", "node": "node --test", "bun": "bun test"}
	for _, c := range []struct {
		a            Adapter
		args, id     string
		has, hasNot  string
		whole, never string
	}{
		{Pytest{}, "-x -p no:cacheprovider tests/unit --durations 3", "test_a.py::test_b",
			" -m pytest -x -p no:cacheprovider --durations 3 test_a.py::test_b", "tests/unit",
			"-m pytest -x -p no:cacheprovider tests/unit", "(run)"},
		{Unittest{}, "-f -k other", "test_a.A.test_b", " -m unittest test_a.A.test_b -f", "other", "discover", "(run)"},
		{Mocha{}, "--bail test/other.js", "test/a.js > b", "--ui tdd --bail", "other", "test --ui tdd --bail test/other.js",
			"(run)"},
		{Jest{}, "--ci other -t x", "test/a.js > b", "--env node --ci", "other", "--env node --ci other -t x", "(run)"},
		{Vitest{}, "--retry 2 other", "test/a.js > b", "--pool threads --retry 2", "other",
			"run --pool threads --retry 2 other", "(run)"},
		{Playwright{}, "--retries 2 other", "test/a.js > b", "--retries 2", "other", "test --retries 2 other", "(run)"},
		{NodeTest{}, "--test-concurrency 2 other", "test/a.js > b", "--test-concurrency 2", "other",
			"--test --test-concurrency 2 other", "(run)"},
		{Bun{}, "--retry 2 other", "test/a.js > b", "--retry 2", "other", "test --retry 2 other", "(run)"},
		{Deno{}, "--retry 2 other", "test/a.js > b", "--retry 2", "other", "test --retry 2 other", "(run)"},
		{Cargo{}, "--release -- --test-threads 1 --skip other", "pkg m::b",
			"--release -p pkg --lib -- m::b --exact --test-threads 1", "other", "", ""},
		{Nextest{}, "--release", "pkg m::b", "--release -E", "", "nextest run --release", "(build)"},
		{Go{}, "-race -timeout 9s", "example.com/a::TestB", "-race -timeout 9s -run", "", "", ""},
		{GTest{}, "--gtest_shuffle", "A.B", "--gtest_shuffle", "", "--gtest_shuffle", "(program)"},
		{Catch2{}, "--abort", "a b", "--abort", "", "--abort", "(program)"},
		{Doctest{}, "--abort-after=1", "a b", "--abort-after=1", "", "--abort-after=1", "(program)"},
		{CTest{}, "--timeout 3", "a", "--timeout 3", "", "--timeout 3", "(ctest)"},
		{Meson{}, "--repeat 2", "p / a", "--repeat 2", "", "--repeat 2", "(meson)"},
		{Generic{}, "-v", "a", "-v", "", "-v", "(plan)"},
	} {
		script, err := json.Marshal(scripts[c.a.Name()])
		if err != nil {
			t.Fatal(err)
		}
		root := t.TempDir()
		p := &Project{Root: root, FS: fstest.MapFS{"package.json": {Data: []byte(`{"scripts": {"test": ` + string(script) +
			`}, "devDependencies": {"` + c.a.Name() + `": "1"}}`)},
			"test/a.js": {}, "test_a.py": {}, "go.mod": {Data: []byte("module example.com/a\n")}},
			LookPath: func(name string) (string, error) { return filepath.Join("/bin", name), nil }}
		r := &Request{Args: strings.Fields(c.args), Command: []string{"./tests"}}
		_, name, _ := strings.Cut(c.id, " ")
		again := c.a.Rerun(p, r, &Test{ID: c.id, Name: orElse(name, c.id), File: "test/a.js", Status: Failed})
		if got := strings.Join(again.Argv, " "); !strings.Contains(got, c.has) || c.hasNot != "" &&
			strings.Contains(got, c.hasNot) || again.Test != c.id {
			t.Errorf("%s: %q for %s (%q)", c.a.Name(), got, c.id, again.Test)
		}
		if c.never == "" {
			continue
		}
		again = c.a.Rerun(p, r, &Test{ID: c.never, Name: c.never, Status: Errored, Fails: true})
		if got := strings.Join(again.Argv, " "); !strings.Contains(got, c.whole) || strings.Contains(got, "(") ||
			again.Test != "" {
			t.Errorf("%s: %q for %s (%q)", c.a.Name(), got, c.never, again.Test)
		}
	}
}

// TestGTestBehindText: what a test writes without an end of line stands before the file's name of its failure; it
// became part of the name.
func TestGTestBehindText(t *testing.T) {
	root := t.TempDir()
	name := filepath.Join(root, "src", "a b.cpp")
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	n := newNative(&Project{Root: root, FS: os.DirFS(root)}, &Request{}, nil)
	for before, file := range map[string]string{"": name, "no end": name, "partial: /x ": name, "50%ü": name,
		"../": "src/a b.cpp", "say ": "src/a b.cpp", "dots...": "/gone/x.cpp", "said ": "/gone/y.cpp"} {
		want := "src/a b.cpp"
		if strings.HasPrefix(file, "/gone") {
			want = before + file
			if strings.HasSuffix(before, " ") {
				want = file
			}
		}
		got := n.gtestText(before + file + ":21: Failure\nExpected equality of these values:\n  1\n  2\n")
		if len(got) != 1 || got[0].File != want || got[0].Line != 21 || got[0].Expected != "2" {
			t.Errorf("%q%s: %+v, want %s", before, file, got, want)
		}
	}
}
