package testsetup_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/strobetest"
	"github.com/strobe-debug/strobe/internal/testadapter"
	"github.com/strobe-debug/strobe/internal/testsetup"
)

// machine is what a plan is made for: the commands and files that it has.
type machine struct {
	commands []string
	files    []string
}

var everything = machine{commands: []string{"cargo", "go", "python3", "node", "npm", "bun", "deno", "cmake", "make",
	"meson", "ninja", "gcc", "g++"}}

// plan makes a plan for a directory with some files.
func plan(t *testing.T, files map[string]string, m machine, language, framework string) (*testsetup.Plan, string,
	error) {
	t.Helper()
	root := t.TempDir()
	write(t, root, files)
	p := strobetest.ProjectAt(root)
	p.Environ = nil
	p.LookPath = func(name string) (string, error) {
		if slices.Contains(m.commands, name) {
			return "/bin/" + name, nil
		}
		return "", exec.ErrNotFound
	}
	a, err := testsetup.For(testsetup.Request{Project: p, Adapters: testadapter.Builtin(), Language: language,
		Framework: framework,
		Exists:    func(name string) bool { return slices.Contains(m.files, name) }})
	return a, root, err
}

func write(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

const (
	manifest = "[package]\nname = \"shop\"\nversion = \"0.1.0\"\n"
	esm      = "export function total(items) { return items.length; }\n"
	vitest   = `{"name": "shop", "devDependencies": {"vitest": "^3"}, "scripts": {"test": "vitest run"}}`
)

// TestPlans: what is seen, what is missing, and the steps, by what the project and the machine have.
func TestPlans(t *testing.T) {
	for _, x := range []struct {
		name                string
		files               map[string]string
		machine             *machine
		language, framework string
		detected            string // language system framework dir
		steps               string // all of them, joined by "; "
		missing             string // a part
		made                string // files and changes, by name
		next                string // its framework
		hint                string // a part
	}{
		{name: "nothing", missing: "a project", hint: "Call again with language"},
		{name: "cargo", files: map[string]string{"Cargo.toml": manifest, "src/lib.rs": "pub fn f() {}\n"},
			detected: "rust cargo cargo", made: "tests/first.rs", next: "cargo"},
		{name: "no cargo", files: map[string]string{"Cargo.toml": manifest, "src/lib.rs": "pub fn f() {}\n"},
			machine: &machine{}, detected: "rust cargo cargo", missing: "cargo is not in PATH",
			steps: `f=$(mktemp) && curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs -o "$f" && sh "$f" -y`,
			made:  "tests/first.rs", next: "cargo"},
		{name: "deno", files: map[string]string{"deno.json": "{}"}, machine: &machine{commands: []string{"node", "npm"}},
			detected: "typescript deno deno", steps: "npm install --global deno", missing: "deno is not in PATH",
			made: "deno.json greeting.ts greeting_test.ts", next: "deno"},
		{name: "rust sources", files: map[string]string{"shop.rs": "pub fn f() {}\n"}, detected: "rust",
			made: "Cargo.toml tests/first.rs", missing: "Cargo.toml", next: "cargo"},
		{name: "rust tests inline", files: map[string]string{"Cargo.toml": manifest,
			"src/lib.rs": "#[cfg(test)]\nmod t {\n    #[test]\n    fn x() {}\n}\n"}, detected: "rust cargo cargo", next: "cargo",
			hint: "1 test files are there already: call debug_test"},
		{name: "nextest asked", files: map[string]string{"Cargo.toml": manifest, "src/lib.rs": ""}, framework: "nextest",
			detected: "rust cargo cargo", steps: "cargo install cargo-nextest --locked", missing: "cargo-nextest",
			made: "tests/first.rs", next: "nextest"},
		{name: "a library for C", files: map[string]string{"Cargo.toml": manifest + "[lib]\ncrate-type = [\"cdylib\"]\n",
			"src/lib.rs": "#[no_mangle]\npub extern \"C\" fn f() {}\nfn g() {}\n"}, detected: "rust cargo cargo",
			made: "src/lib.rs", next: "cargo"},
		{name: "a workspace of Go", files: map[string]string{"go.work": "go 1.21\nuse ./a\nuse ./b\n",
			"a/go.mod": "module a\n", "a/a.go": "package a\n", "b/go.mod": "module b\n", "b/b.go": "package b\n\nfunc B() {}\n"},
			detected: "go go go", made: "b/b_test.go", next: "go"},
		{name: "a module within", files: map[string]string{"go.mod": "module a\n", "a.go": "package a\n",
			"b/go.mod": "module b\n", "b/b.go": "package b\n\nfunc B() {}\n", "c_linux.go": "package a\n\nfunc C() {}\n"},
			detected: "go go go", made: "first_test.go", next: "go"},
		{name: "tests that are scripts", files: map[string]string{"CMakeLists.txt": "project(x " +
			"C)\nenable_testing()\nadd_test(NAME x COMMAND sh run.sh)\n", "x.c": ""}, detected: "c cmake",
			steps: "cmake -S . -B build", next: "ctest", hint: "Tests are there already: run steps"},
		{name: "a test program that CTest is not told of",
			files: map[string]string{"CMakeLists.txt": "project(x CXX)\nfind_package(GTest " +
				"REQUIRED)\nadd_executable(shop_test shop_test.cpp)\n", "shop_test.cpp": "#include <gtest/gtest.h>\n"},
			detected: "c++ cmake gtest", missing: "CTest does not know the program shop_test",
			steps: "cmake -S . -B build", made: "CMakeLists.txt", next: "ctest",
			hint: "1 test files are there already: apply configChanges"},
		{name: "bun by its script", files: map[string]string{"package.json": `{"scripts": {"test": "bun test"}}`,
			"a.test.ts": "import 'bun:test'"}, detected: "typescript bun bun", next: "bun",
			hint: "there already: call debug_test"},
		{name: "playwright",
			files: map[string]string{"package.json": `{"devDependencies": {"@playwright/test": "1"}, "scripts": {"test": "playwright test"}}`, "tests/a.spec.ts": "import '@playwright/test'"}, detected: "typescript npm playwright", missing: "@playwright/test is in package.json and not",
			steps: "npm install; npx playwright install", next: "playwright", hint: "there already: run steps"},
		{name: "npm lock", files: map[string]string{"package.json": vitest, "package-lock.json": "{}", "index.js": esm},
			detected: "javascript npm vitest", steps: "npm ci", missing: "vitest is in package.json and not installed",
			made: "test/total.test.js", next: "vitest"},
		{name: "pnpm lock", files: map[string]string{"package.json": `{"type": "module"}`, "pnpm-lock.yaml": "",
			"src/index.js": esm}, machine: &machine{commands: []string{"node", "pnpm"}}, framework: "vitest",
			detected: "javascript pnpm",
			steps:    "pnpm add --save-dev vitest", made: "package.json test/total.test.js", next: "vitest"},
		{name: "yarn lock", files: map[string]string{"package.json": "{}", "yarn.lock": "",
			"index.js": "exports.total = 1\n"}, machine: &machine{commands: []string{"node", "npx"}}, framework: "mocha",
			detected: "javascript yarn",
			steps:    "npx --yes yarn@1 add --dev mocha", missing: "yarn, which keeps", made: "package.json test/total.test.js",
			next: "mocha"},
		{name: "chosen, has tests, not installed",
			files: map[string]string{"package.json": vitest, "a.test.js": "import 'vitest'"}, detected: "javascript npm vitest",
			steps: "npm install", missing: "vitest is in package.json and not installed", next: "vitest",
			hint: "1 test files are there already: run steps"},
		{name: "installed", files: map[string]string{"package.json": vitest, "a.test.js": "import 'vitest'",
			"node_modules/vitest/package.json": "{}"}, detected: "javascript npm vitest", next: "vitest",
			hint: "there already: call debug_test"},
		{name: "another script test", files: map[string]string{"package.json": `{"scripts": {"test": "eslint ."}}`,
			"index.js": "exports.total = 1\n"}, detected: "javascript npm", made: "package.json test/total.test.js",
			next: "node"},
		{name: "a package of several",
			files: map[string]string{"package.json": `{"private": true, "workspaces": ["packages/*"]}`,
				"packages/a/package.json": "{}", "packages/a/index.js": "exports.total = 1\n", "packages/b/package.json": "{}",
				"packages/b/index.js": ""},
			detected: "javascript npm - packages/a", made: "packages/a/package.json packages/a/test/total.test.js", next: "node",
			hint: "packages/b"},
		{name: "vitest in a package",
			files: map[string]string{"package.json": `{"private": true, "workspaces": ["packages/*"]}`,
				"packages/a/package.json": "{}", "packages/a/index.ts": esm},
			detected: "typescript npm - packages/a", steps: "cd packages/a && npm install --save-dev vitest",
			made: "packages/a/package.json packages/a/test/total.test.ts", next: "vitest"},
		{name: "an entry that acts", files: map[string]string{"package.json": "{}",
			"index.js": "const http = require('http');\nhttp.createServer().listen(80);\nmodule.exports = { server };\n"},
			detected: "javascript npm", made: "package.json test/first.test.js", next: "node"},
		{name: "python with a script", files: map[string]string{"run.py": "def go(): pass\ngo()\n"}, detected: "python",
			framework: "unittest", made: "tests/__init__.py tests/test_first.py", next: "unittest"},
		{name: "uv", files: map[string]string{"pyproject.toml": "[project]\nname = \"shop\"\n", "uv.lock": "",
			"shop.py": "def total(): pass\n"}, machine: &machine{commands: []string{"python3", "uv"}}, detected: "python uv",
			steps: "uv add --dev pytest",
			made:  "pyproject.toml tests/test_total.py", next: "pytest"},
		{name: "uv that is not there", files: map[string]string{"pyproject.toml": "[project]\nname = " +
			"\"shop\"\ndependencies = [\"x\"]\n", "uv.lock": "", "shop.py": "def total(): pass\n"}, detected: "python uv",
			missing: "uv, which keeps",
			steps:   "python3 -m venv .venv; .venv/bin/python -m pip install -e . pytest",
			made:    "pyproject.toml tests/test_total.py", next: "pytest"},
		{name: "pytest in an environment", files: map[string]string{"requirements.txt": "x\n",
			"shop.py": "def total(): pass\n", "venv/pyvenv.cfg": "", "venv/lib/python3.11/site-packages/pytest/__init__.py": ""},
			detected: "python pip",
			made:     "pytest.ini tests/test_total.py", next: "pytest"},
		{name: "pytest configured, not installed",
			files: map[string]string{"pytest.ini": "[pytest]\n", "test_shop.py": "def test_x(): pass\n",
				".venv/pyvenv.cfg": ""},
			detected: "python pip pytest", missing: "pytest in .venv", steps: ".venv/bin/python -m pip install pytest",
			next: "pytest", hint: "there already: run steps"},
		{name: "cmake without a framework", files: map[string]string{"CMakeLists.txt": "project(shop " +
			"CXX)\nadd_library(shop shop.cpp)\n", "shop.cpp": ""}, detected: "c++ cmake",
			missing: "doctest is not installed (Debian: doctest-dev)",
			steps:   "cmake -S . -B build -DCMAKE_BUILD_TYPE=Debug", made: "CMakeLists.txt tests/first_test.cpp", next: "ctest"},
		{name: "cmake with ninja alone", files: map[string]string{"CMakeLists.txt": "project(shop C)\n", "shop.c": ""},
			machine: &machine{commands: []string{"cmake", "ninja", "cc"}}, detected: "c cmake",
			steps: "cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Debug", made: "CMakeLists.txt tests/first_test.c",
			missing: "a build folder", next: "ctest"},
		{name: "cmake with tests, not configured",
			files: map[string]string{"CMakeLists.txt": "project(shop)\nenable_testing()\nfind_package(GTest)\nadd_executable(t t_test.cpp)\ngtest_discover_tests(t)\n", "t_test.cpp": "#include <gtest/gtest.h>\n"}, detected: "c++ cmake gtest",
			steps: "cmake -S . -B build", missing: "a build folder", next: "ctest", hint: "there already: run steps"},
		{name: "meson, nothing installed", files: map[string]string{"meson.build": "project('shop', 'c')\n", "shop.c": ""},
			machine: &machine{commands: []string{"apt-get", "sudo"}}, detected: "c meson",
			steps: "sudo apt-get install -y gcc; sudo apt-get install -y meson; sudo apt-get install -y ninja-build; meson " +
				"setup builddir", missing: "meson is not in PATH", made: "meson.build tests/first_test.c", next: "meson"},
		{name: "several languages", files: map[string]string{"go.mod": "module x\n", "a.go": "package x\n",
			"b.go": "package x\n", "web/package.json": "{}", "web/index.js": ""}, detected: "go go go", made: "first_test.go",
			next: "go", hint: "For another language give language."},
		{name: "the other language", files: map[string]string{"go.mod": "module x\n", "a.go": "package x\n",
			"web/package.json": "{}", "web/index.js": ""}, language: "javascript", detected: "javascript npm - web",
			made: "web/package.json web/test/first.test.js", next: "node"},
		{name: "by framework", files: map[string]string{"go.mod": "module x\n", "a.go": "package x\n",
			"web/package.json": "{}", "web/index.js": ""}, framework: "node", detected: "javascript npm - web",
			made: "web/package.json web/test/first.test.js", next: "node"},
		{name: "a name that is taken", files: map[string]string{"go.mod": "module x\n",
			"total.go": "package x\n\nfunc Total() {}\n", "tests/first.rs": "", "first_test.go/keep": ""}, detected: "go go go",
			made: "total_test.go", next: "go"},
	} {
		m := everything
		if x.machine != nil {
			m = *x.machine
		}
		a, root, err := plan(t, x.files, m, x.language, x.framework)
		if err != nil {
			t.Errorf("%s: %v", x.name, err)
			continue
		}
		d := a.Detected
		var seen []string
		for _, w := range []string{d.Language, d.BuildSystem, d.Framework} {
			if w != "" {
				seen = append(seen, w)
			}
		}
		if d.Dir != "" {
			seen = append(seen, "-", d.Dir)
		}
		made := strings.Join(slices.Sorted(maps.Keys(merge(a.Files, a.ConfigChanges))), " ")
		if got := strings.Join(seen, " "); got != x.detected || strings.Join(a.Steps, "; ") != x.steps || made != x.made ||
			!strings.Contains(strings.Join(a.Missing, "; "), x.missing) || !strings.Contains(a.Hint, x.hint) {
			t.Errorf("%s: detected %q, steps %q, made %q, missing %q, hint %q", x.name, got, a.Steps, made, a.Missing, a.Hint)
		}
		if x.next == "" {
			if a.Next != nil {
				t.Errorf("%s: next %+v", x.name, a.Next)
			}
			continue
		}
		if a.Next.Framework != x.next || a.Next.ProjectRoot != filepath.Join(root, d.Dir) || a.RunCommand == "" ||
			a.RerunTemplate == "" {
			t.Errorf("%s: next %+v, run %q, rerun %q", x.name, a.Next, a.RunCommand, a.RerunTemplate)
		}
		for name := range a.Files {
			if _, err := os.Stat(filepath.Join(root, name)); err == nil {
				t.Errorf("%s: %s would be overwritten", x.name, name)
			}
		}
	}
}

func merge(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// TestRefused: what does not fit is refused, with what does.
func TestRefused(t *testing.T) {
	for _, x := range []struct {
		files               map[string]string
		language, framework string
		code                fault.Code
		says                string
	}{
		{map[string]string{"Cargo.toml": manifest, "src/lib.rs": ""}, "rust", "pytest", fault.ValidationError,
			"cargo, nextest"},
		{map[string]string{"package.json": "{}", "a.js": ""}, "", "gtest", fault.ValidationError,
			"node, vitest, jest, mocha, bun"},
		{map[string]string{"package.json": "{}", "a.js": ""}, "", "playwright", fault.Unsupported, "npm init playwright"},
		{nil, "cobol", "", fault.ValidationError, "typescript"},
		{map[string]string{"pom.xml": "<project/>"}, "", "", fault.Unsupported, "below src/test/java; debug_test runs it"},
		{map[string]string{"configure.ac": "", "Makefile": "", "a.c": ""}, "", "", fault.Unsupported, "make check"},
	} {
		a, _, err := plan(t, x.files, everything, x.language, x.framework)
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != x.code || !strings.Contains(f.Hint, x.says) {
			t.Errorf("language %q, framework %q in %v: %+v, %v", x.language, x.framework, slices.Sorted(maps.Keys(x.files)), a,
				err)
		}
	}
}

// TestLarge: a project that is not looked at whole says so.
func TestLarge(t *testing.T) {
	files := map[string]string{"go.mod": "module x\n", "a.go": "package x\n"}
	for i := range 5100 {
		files[fmt.Sprintf("data/%d.txt", i)] = ""
	}
	a, _, err := plan(t, files, everything, "", "")
	if err != nil || !strings.Contains(a.Hint, "The project is large") {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestFetched: where a library is not installed, CMake fetches its source. The text of it is configured with Debian's
// copy of that source in the archive's place, so that the targets and the modules are known to have these names.
func TestFetched(t *testing.T) {
	strobetest.NeedCommand(t, "cmake", "g++", "make")
	const source = "/usr/src/googletest"
	if _, err := os.Stat(source); err != nil {
		strobetest.Lack(t, "no %s, of the package googletest", source)
	}
	files := map[string]string{"CMakeLists.txt": "cmake_minimum_required(VERSION 3.14)\nproject(shop " +
		"CXX)\nadd_library(shop shop.cpp)\n", "shop.cpp": "int total() { return 1; }\n"}
	a, root, err := plan(t, files, everything, "", "gtest")
	if err != nil || !strings.Contains(a.ConfigChanges["CMakeLists.txt"], "FetchContent_MakeAvailable(googletest)") {
		t.Fatalf("%+v, %v", a, err)
	}
	write(t, root, a.Files)
	write(t, root, map[string]string{"CMakeLists.txt": files["CMakeLists.txt"] + a.ConfigChanges["CMakeLists.txt"]})
	for _, argv := range [][]string{{"cmake", "-S", ".", "-B", "build", "-DFETCHCONTENT_SOURCE_DIR_GOOGLETEST=" + source},
		{"cmake", "--build", "build", "--target", "help"}} {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Dir = root
		out, err := cmd.CombinedOutput()
		if err != nil || argv[1] == "--build" && !strings.Contains(string(out), "first_test") {
			t.Fatalf("%q: %v\n%s", argv, err, out)
		}
	}
}

// TestInstalledCatch2: the package's own targets and module have the names that the plan uses. It is configured alone:
// to compile the framework takes longer than all other first tests together.
func TestInstalledCatch2(t *testing.T) {
	strobetest.NeedCommand(t, "cmake", "g++", "make")
	m := everything
	for _, header := range []string{"/usr/include/catch2/catch.hpp", "/usr/include/catch2/catch_test_macros.hpp"} {
		if _, err := os.Stat(header); err == nil {
			m.files = append(m.files, header)
		}
	}
	if len(m.files) == 0 {
		strobetest.Lack(t, "the package catch2 is not installed")
	}
	a, root, err := plan(t, nil, m, "c++", "")
	if err != nil || len(a.Steps) != 1 || !strings.Contains(a.Files["CMakeLists.txt"], "find_package(Catch2") {
		t.Fatalf("%+v, %v", a, err)
	}
	write(t, root, a.Files)
	cmd := exec.Command("sh", "-c", a.Steps[0])
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", a.Steps[0], err, out)
	}
}

// FuzzPlan: whatever stands in a project's files, a plan is made, or a fault says why not.
func FuzzPlan(f *testing.F) {
	names := []string{"CMakeLists.txt", "meson.build", "Makefile", "Cargo.toml", "go.mod", "package.json", "deno.json",
		"pyproject.toml", "src/lib.rs", "shop.h", "shop.c", "shop.cpp", "shop.go", "shop.py", "shop.js", "shop.ts"}
	f.Add(uint8(0), uint8(9), "project(x)\nadd_library(${PROJECT_NAME} shop.cpp)",
		"namespace a { int f(int); class b { void g(); }; }")
	f.Add(uint8(5), uint8(14), `{"scripts": {"test": "x"}, "type": 1}`, "module.exports = {")
	f.Add(uint8(7), uint8(13), "[project]\ndependencies = [", "def f(:\n")
	f.Add(uint8(3), uint8(8), "[package]\nname =", "pub fn x(")
	root := f.TempDir()
	f.Fuzz(func(t *testing.T, one, two uint8, first, second string) {
		p := &testadapter.Project{Root: root, LookPath: func(string) (string, error) { return "", exec.ErrNotFound },
			FS: fstest.MapFS{
				names[int(one)%len(names)]: {Data: []byte(first)}, names[int(two)%len(names)]: {Data: []byte(second)}}}
		for _, language := range append(slices.Clone(testsetup.Languages), "") {
			a, err := testsetup.For(testsetup.Request{Project: p, Adapters: testadapter.Builtin(), Language: language,
				Exists: func(string) bool { return false }})
			var fail *fault.Error
			switch {
			case err != nil && !errors.As(err, &fail):
				t.Fatalf("%v is no fault", err)
			case err == nil && a.Next == nil:
				t.Fatalf("%s: no next of %+v", language, a)
			}
		}
		if s, hint := testsetup.Summarize(p); hint == "" {
			t.Fatalf("no hint of %+v", s)
		}
	})
}
