package acceptance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// TestNoTests: a project without tests is not an error but an answer: what it is, and the next step.
func TestNoTests(t *testing.T) {
	t.Parallel()
	strobetest.NeedCommand(t, "go", "cargo", "cmake", "meson", "node", "python3")
	s := strobetest.Start(t, nil)
	for _, x := range []struct {
		name             string
		files            map[string]string
		language, system string
		testFiles        int
		run              bool // something can be run, and finds none
		hint             string
	}{
		{name: "empty", hint: "debug_setup_tests with language"},
		{name: "cargo", files: map[string]string{"Cargo.toml": "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = " +
			"\"2021\"\n", "src/lib.rs": totalRust},
			language: "rust", system: "cargo", run: true,
			hint: "Cargo projects support inline #[test] functions and a tests/ directory."},
		{name: "go", files: map[string]string{"go.mod": "module example.com/shop\n\ngo 1.21\n", "shop.go": totalGo},
			language: "go", system: "go", run: true, hint: "_test.go"},
		{name: "node", files: map[string]string{"package.json": "{}", "index.js": totalCJS}, language: "javascript",
			system: "npm", hint: "node --test"},
		{name: "python", files: map[string]string{"shop.py": totalPython}, language: "python", hint: "tests/test_*.py"},
		{name: "cmake", files: map[string]string{"CMakeLists.txt": "project(shop C)\n", "shop.c": totalC, "shop.h": headC},
			language: "c", system: "cmake", hint: "add_test()"},
		{name: "meson", files: map[string]string{"meson.build": "project('shop', 'c')\n", "shop.c": totalC, "shop.h": headC},
			language: "c", system: "meson", hint: "test('name', executable)"},
		{name: "unknown tests", files: map[string]string{"package.json": "{}", "index.js": totalCJS,
			"test/index.test.js": "it('is not known', () => {})\n"},
			language: "javascript", system: "npm", testFiles: 1, hint: "test/index.test.js looks like one"},
	} {
		dir := project(t, x.files)
		r := runTests(t, s, args{"projectRoot": dir, "waitMs": 60000})
		if r.Status != "completed" || r.Result == nil || !r.Result.NoTests || r.Result.Project == nil ||
			(r.TestRunID != "") != x.run {
			t.Errorf("%s: %+v %+v", x.name, r, r.Result)
			continue
		}
		p := r.Result.Project
		if p.Language != x.language || p.BuildSystem != x.system || p.TestFiles != x.testFiles ||
			!strings.Contains(r.Result.Hint, x.hint) || !strings.Contains(r.Result.Hint, "debug_setup_tests") {
			t.Errorf("%s: %+v, %q", x.name, p, r.Result.Hint)
		}
	}
}

// TestBrokenIsNotNoTests: where the code does not compile, there may well be tests.
func TestBrokenIsNotNoTests(t *testing.T) {
	t.Parallel()
	strobetest.NeedCommand(t, "go", "cargo", "cmake", "gcc", "python3")
	s := strobetest.Start(t, nil)
	for name, x := range map[string]struct {
		files map[string]string
		file  string
	}{
		"cargo": {map[string]string{"Cargo.toml": "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
			"src/lib.rs": "pub fn total( -> i32 { 1 }\n"}, "src/lib.rs"},
		"build script": {map[string]string{"Cargo.toml": "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = " +
			"\"2021\"\n", "src/lib.rs": "pub fn total() -> i32 { 1 }\n",
			"build.rs": "fn main() { panic!(\"no\") }\n"}, "build.rs"},
		"go": {map[string]string{"go.mod": "module example.com/shop\n\ngo 1.21\n",
			"shop.go": "package shop\n\nfunc Total() int { return missing }\n"}, "shop.go"},
		"cmake": {map[string]string{"CMakeLists.txt": "cmake_minimum_required(VERSION 3.14)\nproject(shop " +
			"C)\nenable_testing()\nadd_library(shop shop.c)\n", "shop.c": "int total(void) { return missing; }\n"}, "shop.c"},
		"python": {map[string]string{"pytest.ini": "[pytest]\n", "tests/test_shop.py": "import unittest\n\nclass Total(:\n"},
			"tests/test_shop.py"},
	} {
		dir := project(t, x.files)
		ask := args{"projectRoot": dir, "waitMs": 60000}
		switch name {
		case "cmake":
			shell(t, dir, "cmake -S . -B build")
		case "python":
			ask["framework"] = "unittest"
		}
		r := runTests(t, s, ask)
		if r.Status != "completed" || r.Result.NoTests || r.Result.Summary.Failed == 0 || len(r.Result.Failures) == 0 ||
			r.Result.Failures[0].File != x.file {
			t.Errorf("%s: %+v %+v", name, r, r.Result)
		}
		if name == "build script" && (len(r.Result.Failures) != 1 ||
			r.Result.Failures[0].Rerun.Command != "cargo test --no-run") {
			t.Errorf("%s: %+v", name, r.Result.Failures) // told once
		}
	}
}

// TestFirstTestOfABug is scenario D of the seeds: somebody reports a bug in a project without tests. debug_test says so
// and names the next step; that gives a first test; made to show the bug, it fails at its place; with the bug mended it
// passes, and stays.
func TestFirstTestOfABug(t *testing.T) {
	t.Parallel()
	strobetest.NeedCommand(t, "cargo")
	s := strobetest.Start(t, nil)
	const manifest = "[package]\nname = \"parser\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"
	const bug = "pub fn fields(line: &str) -> usize { line.split(',').count() }\n"
	dir := project(t, map[string]string{"Cargo.toml": manifest, "src/lib.rs": bug})
	r := runTests(t, s, args{"projectRoot": dir, "waitMs": 60000})
	if !r.Result.NoTests || r.Result.Project.Language != "rust" || r.Result.Project.BuildSystem != "cargo" ||
		!strings.Contains(r.Result.Hint, "debug_setup_tests") {
		t.Fatalf("%+v %+v", r, r.Result)
	}
	a := setUp(t, s, dir, nil)
	file := ""
	for name := range a.Files {
		file = name
	}
	if len(a.Files) != 1 || len(a.Steps) > 0 || a.RunCommand != "cargo test" || a.RerunTemplate != "cargo test {name}" {
		t.Fatalf("%+v", a)
	}
	next := args{"waitMs": 60000}
	for k, v := range a.Next {
		next[k] = v
	}
	text := strings.Replace(a.Files[file], "let _function = fields;", "assert_eq!(fields(\"\"), 0);", 1)
	if text == a.Files[file] {
		t.Fatalf("the test does not begin with the function: %s", text)
	}
	if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r = runTests(t, s, next)
	if r.Result.Summary.Failed != 1 || r.Result.Failures[0].File != file ||
		r.Result.Failures[0].Line != lineOf(text, "assert_eq!(fields") || r.Result.Failures[0].Actual != "1" ||
		r.Result.Failures[0].Expected != "0" {
		t.Fatalf("the bug: %+v", r.Result)
	}
	mended := strings.Replace(bug, "line.split(',').count()", "if line.is_empty() { 0 } else { line.split(',').count() }",
		1)
	if err := os.WriteFile(filepath.Join(dir, "src", "lib.rs"), []byte(mended), 0o600); err != nil {
		t.Fatal(err)
	}
	r = runTests(t, s, next)
	if r.Result.NoTests || r.Result.Summary.Passed != 1 || r.Result.Summary.Failed != 0 {
		t.Errorf("mended: %+v", r.Result)
	}
}
