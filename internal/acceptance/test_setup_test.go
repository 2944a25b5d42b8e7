package acceptance

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// setupAnswer is an answer of debug_setup_tests.
type setupAnswer struct {
	Detected struct {
		Language, BuildSystem, Framework, Dir string
		OtherLanguages, Evidence, Tests       []string
		TestFiles                             int
	}
	Missing, Steps            []string
	Files, ConfigChanges      map[string]string
	RunCommand, RerunTemplate string
	Next                      map[string]any
	Hint                      string
}

// setUp asks how a project gets its first test, and carries out exactly that.
func setUp(t *testing.T, s *strobetest.Strobe, dir string, more args) setupAnswer {
	t.Helper()
	ask := args{"projectRoot": dir}
	for k, v := range more {
		ask[k] = v
	}
	var a setupAnswer
	s.Call(t, "debug_setup_tests", ask, &a)
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range a.Files {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s is there already", name)
		}
		write(name, text)
	}
	for name, text := range a.ConfigChanges {
		have, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, ".json") {
			write(name, merged(t, have, text))
		} else {
			write(name, string(have)+text)
		}
	}
	for _, step := range a.Steps {
		shell(t, dir, step)
	}
	return a
}

// merged is a JSON object with another one laid over it.
func merged(t *testing.T, have []byte, change string) string {
	t.Helper()
	var to, from map[string]any
	if err := json.Unmarshal(have, &to); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(change), &from); err != nil {
		t.Fatalf("%v in %s", err, change)
	}
	var lay func(to, from map[string]any)
	lay = func(to, from map[string]any) {
		for k, v := range from {
			below, ok := v.(map[string]any)
			if under, both := to[k].(map[string]any); ok && both {
				lay(under, below)
				continue
			}
			to[k] = v
		}
	}
	lay(to, from)
	b, err := json.Marshal(to)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func shell(t *testing.T, dir, command string) {
	t.Helper()
	cmd := exec.Command("sh", "-c", command)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s in %s: %v\n%s", command, dir, err, out)
	}
}

// firstTest is a bare project, and how its first test is spoiled.
type firstTest struct {
	name             string
	files            map[string]string
	ask              args
	language, system string
	framework        string // of next
	needs            []string
	old, wrong       string // in the test's file: what is there, and what fails in its place
	message          string // a part of what the failure then says, in its message or in its two sides
	steps            string // a part of the steps, joined by "; "
}

const (
	totalRust = "pub fn total(items: &[i32]) -> i32 { items.iter().sum() }\n"
	totalGo   = "package shop\n\nfunc Total(items ...int) (sum int) {\n\tfor _, n := range items {\n\t\tsum += " +
		"n\n\t}\n\treturn sum\n}\n"
	totalPython = "def total(items):\n    return sum(items)\n"
	totalCJS    = "function total(items) { return items.reduce((a, b) => a + b, 0); }\nmodule.exports = { total };\n"
	totalESM    = "export function total(items) { return items.reduce((a, b) => a + b, 0); }\n"
	totalTS     = "export function total(items: number[]): number { return items.reduce((a, b) => a + b, 0); }\n"
	totalC      = "#include \"shop.h\"\nint total(const int *items, int n) { int sum = 0; while (n > 0) sum += " +
		"items[--n]; return sum; }\n"
	headC    = "#ifndef SHOP_H\n#define SHOP_H\nint total(const int *items, int n);\n#endif\n"
	headCpp  = "#pragma once\nnamespace shop {\nint total(const int *items, int n);\n}\n"
	totalCpp = "#include \"shop.hpp\"\nint shop::total(const int *items, int n) { int sum = 0; while (n > 0) sum += " +
		"items[--n]; return sum; }\n"
	cmakeLists = "cmake_minimum_required(VERSION 3.14)\nproject(shop LANGUAGES CXX)\nadd_library(shop " +
		"src/shop.cpp)\ntarget_include_directories(shop PUBLIC include)\nadd_executable(app " +
		"src/main.cpp)\ntarget_link_libraries(app PRIVATE shop)\n"
)

func cppProject() map[string]string {
	return map[string]string{"CMakeLists.txt": cmakeLists, "include/shop.hpp": headCpp, "src/shop.cpp": totalCpp,
		"src/main.cpp": "int main() { return 0; }\n"}
}

const wrongCpp = "int one = 1; CHECK(shop::total(&one, 1) == 2);"

var firstTests = []firstTest{
	{name: "cargo library", files: map[string]string{"Cargo.toml": "[package]\nname = \"little-shop\"\nversion = " +
		"\"0.1.0\"\nedition = \"2021\"\n", "src/lib.rs": totalRust},
		language: "rust", system: "cargo", framework: "cargo", needs: []string{"cargo"}, old: "let _function = total;",
		wrong: "assert_eq!(total(&[1]), 2);", message: "1 2"},
	{name: "cargo program", files: map[string]string{"Cargo.toml": "[package]\nname = \"tool\"\nversion = " +
		"\"0.1.0\"\nedition = \"2021\"\n", "src/main.rs": "fn main() { println!(\"{}\", twice(2)); }\nfn twice(n: i32) -> " +
		"i32 { 2 * n }\n"},
		language: "rust", system: "cargo", framework: "cargo", needs: []string{"cargo"}, old: "let _function = twice;",
		wrong: "assert_eq!(twice(1), 3);", message: "2 3"},
	{name: "go", files: map[string]string{"go.mod": "module example.com/shop\n\ngo 1.21\n",
		"main.go": "package main\n\nfunc main() {}\n", "shop/shop.go": totalGo},
		language: "go", system: "go", framework: "go", needs: []string{"go"}, old: "t.Logf(\"it is a %T\", Total)",
		wrong: "if n := Total(1); n != 2 { t.Errorf(\"Total(1) = %d, want 2\", n) }", message: "Total(1) = 1, want 2"},
	{name: "go sources only", files: map[string]string{"shop.go": totalGo}, language: "go", framework: "go",
		needs: []string{"go"}, steps: "go mod init example.com/",
		old: "t.Logf(", wrong: "t.Errorf(", message: "it is a func(...int) int"},
	{name: "unittest", files: map[string]string{"shop.py": totalPython}, ask: args{"framework": "unittest"},
		language: "python", framework: "unittest", needs: []string{"python3"},
		old: "self.assertTrue(callable(total))", wrong: "self.assertEqual(total([1]), 2)", message: "1 != 2"},
	{name: "unittest in src", files: map[string]string{"pyproject.toml": "[project]\nname = \"shop\"\nversion = \"1\"\n",
		"src/shop/__init__.py": "", "src/shop/prices.py": totalPython}, ask: args{"framework": "unittest"},
		language: "python", system: "pyproject", framework: "unittest", needs: []string{"python3"},
		old: "self.assertTrue(callable(total))", wrong: "self.assertEqual(total([1]), 2)", message: "1 != 2"},
	{name: "empty unittest", ask: args{"framework": "unittest"}, language: "python", framework: "unittest",
		needs: []string{"python3"}, old: "\"Hello, Ada!\"", wrong: "\"Hello\"", message: "Hello"},
	{name: "pytest", files: map[string]string{"pyproject.toml": "[project]\nname = \"shop\"\nversion = \"1\"\n",
		"src/shop/__init__.py": "", "src/shop/prices.py": totalPython},
		language: "python", system: "pyproject", framework: "pytest", needs: []string{"python3"},
		steps: ".venv/bin/python -m pip install pytest", old: "assert callable(total)", wrong: "assert total([1]) == 2",
		message: "assert 1 == 2"},
	{name: "node", files: map[string]string{"package.json": "{\"name\": \"shop\", \"main\": \"lib/shop.js\", " +
		"\"scripts\": {\"test\": \"echo \\\"Error: no test specified\\\" && exit 1\"}}\n", "lib/shop.js": totalCJS},
		language: "javascript", system: "npm", framework: "node", needs: []string{"npm"},
		old: "assert.notEqual(total, undefined);", wrong: "assert.equal(total([1]), 2);", message: "1 2"},
	{name: "node sources only", files: map[string]string{"shop.js": totalESM}, language: "javascript", framework: "node",
		system: "npm", needs: []string{"npm"},
		old: "assert.notEqual(total, undefined);", wrong: "assert.equal(total([1]), 2);", message: "1 2"},
	{name: "vitest", files: map[string]string{"package.json": "{\"name\": \"shop\", \"private\": true}\n",
		"tsconfig.json": "{}\n", "src/index.ts": totalTS},
		language: "typescript", system: "npm", framework: "vitest", needs: []string{"npm"},
		steps: "npm install --save-dev vitest", old: "expect(total).toBeDefined();", wrong: "expect(total([1])).toBe(2);",
		message: "1 2"},
	{name: "mocha", files: map[string]string{"package.json": "{\"name\": \"shop\", \"type\": \"module\"}\n",
		"index.js": totalESM}, ask: args{"framework": "mocha"},
		language: "javascript", system: "npm", framework: "mocha", needs: []string{"npm"},
		steps: "npm install --save-dev mocha", old: "assert.notEqual(total, undefined);",
		wrong: "assert.equal(total([1]), 2);", message: "1 2"},
	{name: "npm workspaces", files: map[string]string{"package.json": "{\"private\": true, \"workspaces\": " +
		"[\"packages/*\"]}\n", "packages/a/package.json": "{\"name\":\"a\",\"type\":\"module\"}",
		"packages/a/index.js": totalESM},
		language: "javascript", system: "npm", framework: "node", needs: []string{"npm"},
		old: "assert.notEqual(total, undefined);", wrong: "assert.equal(total([1]), 2);", message: "1 2"},
	{name: "bun", files: map[string]string{"package.json": "{\"name\": \"shop\"}\n", "bunfig.toml": "",
		"index.ts": totalTS},
		language: "typescript", system: "bun", framework: "bun", needs: []string{"npm"}, old: "expect(total).toBeDefined();",
		wrong: "expect(total([1])).toBe(2);", message: "1 2"},
	{name: "deno", files: map[string]string{"deno.json": "{}\n", "mod.ts": totalTS},
		language: "typescript", system: "deno", framework: "deno", needs: []string{"npm"},
		old: "assert.notEqual(total, undefined);", wrong: "assert.equal(total([1]), 2);", message: "1"},
	{name: "doctest", files: cppProject(), language: "c++", system: "cmake", framework: "ctest",
		needs: []string{"cmake", "g++"}, steps: "cmake -S . -B build",
		old: "CHECK((function != nullptr));", wrong: wrongCpp, message: "shop::total(&one, 1) == 2"},
	{name: "gtest", files: cppProject(), ask: args{"framework": "gtest"}, language: "c++", system: "cmake",
		framework: "ctest", needs: []string{"cmake", "g++"},
		old: "EXPECT_TRUE((function != nullptr));", wrong: "int one = 1; EXPECT_EQ(shop::total(&one, 1), 2);",
		message: "shop::total(&one, 1)"},
	{name: "ctest", files: map[string]string{"CMakeLists.txt": "cmake_minimum_required(VERSION 3.14)\nproject(shop " +
		"C)\nset(SOURCES shop.c main.c)\nadd_executable(shop ${SOURCES})\n", "shop.c": totalC, "shop.h": headC,
		"main.c": "int main(void) { return 0; }\n"},
		language: "c", system: "cmake", framework: "ctest", needs: []string{"cmake", "gcc"}, old: "assert(function != 0);",
		wrong: "int one = 1; assert(total(&one, 1) == 2);", message: "total(&one, 1) == 2"},
	{name: "c sources only", files: map[string]string{"main.c": "#include <stdio.h>\nstatic int zero(void) { return 0; " +
		"}\nint twice(int n) {\n    return 2 * n;\n}\nint main(void) { printf(\"%d\", twice(zero())); return 0; }\n"},
		language: "c", framework: "ctest", needs: []string{"cmake", "gcc"}, old: "assert(function != 0);",
		wrong: "assert(twice(1) == 3);", message: "twice(1) == 3"},
	{name: "meson", files: map[string]string{"meson.build": "project('shop', 'c')\nshop_lib = static_library('shop', " +
		"'shop.c')\n", "shop.c": totalC, "shop.h": headC},
		language: "c", system: "meson", framework: "meson", needs: []string{"meson", "ninja", "gcc"},
		steps: "meson setup builddir", old: "assert(function != 0);", wrong: "int one = 1; assert(total(&one, 1) == 2);",
		message: "total(&one, 1) == 2"},
	{name: "make", files: map[string]string{"Makefile": "app: main.c shop.c\n\t$(CC) -o $@ main.c shop.c\n",
		"shop.c": totalC, "shop.h": headC, "main.c": "int main(void) { return 0; }\n"},
		language: "c", system: "make", framework: "generic", needs: []string{"make", "gcc"}, old: "assert(function != 0);",
		wrong: "int one = 1; assert(total(&one, 1) == 2);", message: "total(&one, 1) == 2"},
}

// TestSetUpTests: in a bare project of every kind, what debug_setup_tests says, carried out to the letter, leads to a
// test that passes and that fails, told with its place, once it is spoiled. Asked again, it says that there are tests.
func TestSetUpTests(t *testing.T) {
	strobetest.NeedCommand(t, "npm")
	t.Setenv("VIRTUAL_ENV", "")     // an active one would be taken
	strobetest.NodeSuite(t, "node") // puts the suites' node, bun and deno into PATH
	s := strobetest.Start(t, nil)
	t.Run("all", func(t *testing.T) { // so that the daemon ends after them
		all := strobetest.Soaks(t, "every second project")
		for i, x := range firstTests {
			if i%2 != 0 && !all {
				continue
			}
			t.Run(x.name, func(t *testing.T) {
				t.Parallel()
				x.check(t, s)
			})
		}
	})
}

func (x *firstTest) check(t *testing.T, s *strobetest.Strobe) {
	strobetest.NeedCommand(t, x.needs...)
	if strings.Contains(x.steps, " install ") {
		strobetest.NeedNetwork(t)
	}
	dir := project(t, x.files)
	a := setUp(t, s, dir, x.ask)
	if a.Detected.Language != x.language || a.Detected.BuildSystem != x.system || a.Detected.TestFiles != 0 ||
		len(a.Missing) == 0 || a.Next["framework"] != x.framework {
		t.Errorf("detected %+v, missing %q, next %v", a.Detected, a.Missing, a.Next)
	}
	if got := strings.Join(a.Steps, "; "); !strings.Contains(got, x.steps) {
		t.Errorf("steps %q", got)
	}
	next := args{"waitMs": 60000}
	for k, v := range a.Next {
		next[k] = v
	}
	r := runTests(t, s, next)
	if r.Status != "completed" || r.Result.Summary.Passed == 0 || r.Result.Summary.Failed > 0 {
		t.Fatalf("%+v %+v\n%+v", r, r.Result, a)
	}
	spoiled := false
	for _, files := range []map[string]string{a.Files, a.ConfigChanges} {
		for name := range files {
			path := filepath.Join(dir, name)
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if text := string(b); strings.Contains(text, x.old) {
				spoiled = true
				if err := os.WriteFile(path, []byte(strings.Replace(text, x.old, x.wrong, 1)), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if !spoiled {
		t.Fatalf("%q stands in none of %+v", x.old, a)
	}
	r = runTests(t, s, next)
	if r.Status != "completed" || r.Result.Summary.Failed == 0 || len(r.Result.Failures) == 0 {
		t.Fatalf("spoiled: %+v %+v", r, r.Result)
	}
	f := r.Result.Failures[0]
	if said := f.Message + "\n" + f.Actual + " " + f.Expected; !strings.Contains(said, x.message) || f.File == "" ||
		f.Line == 0 {
		t.Errorf("spoiled: %+v", f)
	}
	var again setupAnswer
	ask := args{"projectRoot": dir}
	s.Call(t, "debug_setup_tests", ask, &again)
	if again.Detected.TestFiles == 0 || len(again.Files)+len(again.ConfigChanges)+len(again.Steps) > 0 ||
		!strings.Contains(again.Hint, "there already") || again.RunCommand == "" {
		t.Errorf("asked again: %+v", again)
	}
}
