package testsetup

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/lazyregexp"
	"github.com/strobe-debug/strobe/internal/testadapter"
)

func nativeFamily() *family {
	return &family{
		name: "native", sources: regexp.MustCompile(`\.(c|cc|cpp|cxx|h|hh|hpp|hxx)$`),
		markers: []marker{{name: "CMakeLists.txt", system: "cmake"}, {name: "meson.build", system: "meson"},
			{name: "Makefile", system: "make", weak: true},
			{name: "makefile", system: "make", weak: true}, {name: "GNUmakefile", system: "make", weak: true}},
		isTest: isNativeTest, language: nativeLanguage, frameworks: nativeFrameworks,
		silent: []string{"ctest", "meson", "generic"}, plan: (*setup).native,
	}
}

var (
	nativeTestName = lazyregexp.MustCompile(`(?i)(^|[_-])(unit)?tests?([_.-]|$)|_test\b`)
	nativeTestHead = lazyregexp.MustCompile(
		`(?m)^\s*#\s*include\s*[<"](gtest/|gmock/|catch2?/|catch\.hpp|catch_amalgamated|doctest)`)
	nativeTestDir   = lazyregexp.MustCompile(`(?i)(^|/)(unit)?tests?/`)
	nativeMain      = lazyregexp.MustCompile(`(?m)^\s*(int|auto)\s+main\s*\(`)
	nativeCompiled  = lazyregexp.MustCompile(`\.(c|cc|cpp|cxx)$`)
	nativeCPlusPlus = lazyregexp.MustCompile(`\.(cc|cpp|cxx|hh|hpp|hxx)$`)
	makeTests       = lazyregexp.MustCompile(`(?m)^(check|test|tests)\s*:`)
)

func isNativeTest(name string, text func() string) bool {
	if !nativeCompiled.MatchString(name) {
		return false
	}
	return nativeTestName.MatchString(path.Base(name)) || nativeTestDir.MatchString(name) &&
		nativeMain.MatchString(text()) || nativeTestHead.MatchString(text())
}

func nativeLanguage(p *testadapter.Project, f *found) string {
	c, cpp := 0, 0
	for _, name := range f.sources {
		switch {
		case nativeCPlusPlus.MatchString(name):
			cpp++
		case strings.HasSuffix(name, ".c"):
			c++
		}
	}
	if c == 0 && cpp == 0 {
		text := p.Read(path.Join(f.dir, "CMakeLists.txt")) + p.Read(path.Join(f.dir, "meson.build"))
		if regexp.MustCompile(`(?i)\b(LANGUAGES\s+C\b|project\s*\(\s*[\w'.-]+\s*,?\s*'?C'?\s*[),])`).MatchString(text) &&
			!strings.Contains(text, "CXX") && !strings.Contains(text, "cpp") {
			return "c"
		}
		return "c++"
	}
	if c > cpp {
		return "c"
	}
	return "c++"
}

// library is a C++ test framework: how it shows on a machine, and how CMake takes it in.
type library struct {
	name, header, debian string
	find, target         string // CMake
	discover             string // the module and its function
	fetch, modules       string // FetchContent, and where the module then is
	include, open, check string // of the test's source
}

// libraries are the C++ frameworks, the default first. The versions that are fetched are those of Debian 13.
func (s *setup) libraries() []library {
	catch := library{name: "catch2", header: "catch2/catch_test_macros.hpp", debian: "catch2", find: "Catch2 3 REQUIRED",
		target: "Catch2::Catch2WithMain", discover: "Catch catch_discover_tests",
		fetch: fetched("Catch2", "catchorg/Catch2", "v3.7.1"), modules: "${catch2_SOURCE_DIR}/extras",
		include: "#include <catch2/catch_test_macros.hpp>\n", open: "TEST_CASE(%q) {", check: "CHECK"}
	if !s.header(catch.header) && s.header("catch2/catch.hpp") {
		catch.header, catch.find, catch.target = "catch2/catch.hpp", "Catch2 REQUIRED", "Catch2::Catch2"
		catch.include = "#define CATCH_CONFIG_MAIN // gives the program its main\n#include <catch2/catch.hpp>\n"
	}
	return []library{
		{name: "doctest", header: "doctest/doctest.h", debian: "doctest-dev", find: "doctest REQUIRED",
			target: "doctest::doctest", discover: "doctest doctest_discover_tests",
			fetch: fetched("doctest", "doctest/doctest", "v2.4.11"), modules: "${doctest_SOURCE_DIR}/scripts/cmake",
			include: "#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN // gives the program its main\n#include <doctest/doctest.h>\n",
			open:    "TEST_CASE(%q) {", check: "CHECK"},
		catch,
		{name: "gtest", header: "gtest/gtest.h", debian: "libgtest-dev", find: "GTest REQUIRED", target: "GTest::gtest_main",
			discover: "GoogleTest gtest_discover_tests",
			fetch:    fetched("googletest", "google/googletest", "v1.16.0"), include: "#include <gtest/gtest.h>\n",
			open: "TEST(First, %s) {", check: "EXPECT_TRUE"},
	}
}

func fetched(name, repository, tag string) string {
	return fmt.Sprintf("include(FetchContent)\nFetchContent_Declare(%s URL "+
		"https://github.com/%s/archive/refs/tags/%s.tar.gz)\nFetchContent_MakeAvailable(%s)\n", name, repository, tag, name)
}

// header says whether a library's header is installed where compilers look by themselves.
func (s *setup) header(name string) bool {
	for _, dir := range append(strings.Split(s.p.Variable("CPLUS_INCLUDE_PATH"), ":"), "/usr/include",
		"/usr/local/include", "/opt/homebrew/include") {
		if dir != "" && s.r.Exists(path.Join(dir, name)) {
			return true
		}
	}
	return false
}

// nativeFrameworks: what is installed before what is fetched. C has programs alone, which CTest or Meson runs.
func nativeFrameworks(s *setup) []string {
	switch {
	case s.f.system == "make":
		return []string{"generic"}
	case s.f.system == "meson" && s.f.language == "c":
		return []string{"meson"}
	case s.f.system == "meson":
		return []string{"meson", "gtest"}
	case s.f.language == "c":
		return []string{"ctest"}
	}
	var here, there []string
	for _, l := range s.libraries() {
		if s.header(l.header) {
			here = append(here, l.name)
		} else {
			there = append(there, l.name)
		}
	}
	return append(append(here, there...), "ctest")
}

func (s *setup) native() error {
	compiler, debian := "gcc", "gcc"
	if s.f.language == "c++" {
		compiler, debian = "g++", "g++"
	}
	if !s.installed(compiler) && !s.installed(map[string]string{"gcc": "clang", "g++": "clang++"}[compiler]) &&
		!s.installed(map[string]string{"gcc": "cc", "g++": "c++"}[compiler]) {
		s.need(compiler, "", debian)
	}
	switch s.f.system {
	case "meson":
		return s.meson()
	case "make":
		return s.make()
	}
	return s.cmake()
}

// code is what a native test is made with: what it links or compiles in, and what it names.
type code struct {
	libraries []string // of the build system
	sources   []string // compiled in, below the project's folder
	main      bool     // among them is the program's main, to be renamed
	includes  []string // folders of headers below the project's folder, but "."
	header    string   // to be included; "" for none
	function  string   // that it declares, qualified
	declare   string   // the function's declaration, where no header has it
}

// below is a path below the project's folder.
func (s *setup) below(name string) string {
	return strings.TrimPrefix(strings.TrimPrefix(name, s.f.dir), "/")
}

// nativeSources are the project's own, those of dependencies and tests left out; with the main's or without.
func (s *setup) nativeSources() (plain, mains []string) {
	for _, name := range s.f.own() {
		if !nativeCompiled.MatchString(name) || foreign.MatchString(s.below(name)) || !plainName.MatchString(name) {
			continue
		}
		if nativeMain.MatchString(s.p.Read(name)) {
			mains = append(mains, s.below(name))
		} else {
			plain = append(plain, s.below(name))
		}
	}
	return plain, mains
}

// plainName is a path that build files take as it is.
var plainName = lazyregexp.MustCompile(`^[\w./+-]+$`)

var foreign = lazyregexp.MustCompile(
	`(?i)(^|/)(third_?party|external|extern|deps|vendor|examples?|bench(marks?)?|docs?|subprojects|build[^/]*` +
		`|CMakeFiles)/`)

// maxDeclared is how many of a header's functions are looked for in the sources: one is wanted.
const maxDeclared = 20

// find fills in what the test names: a function that a header declares, of which a source of the project has the body.
func (s *setup) find(c *code) {
	var bodies strings.Builder
	own := s.f.own()
	own = own[:min(len(own), maxTexts)]
	for _, name := range own {
		if nativeCompiled.MatchString(name) && !foreign.MatchString(s.below(name)) {
			bodies.WriteString(s.p.Read(name))
		}
	}
	body := bodies.String()
	for _, name := range own {
		text := s.p.Read(name)
		if nativeCompiled.MatchString(name) || foreign.MatchString(s.below(name)) || s.f.language == "c++" &&
			strings.HasSuffix(name, ".h") && s.p.Has(strings.TrimSuffix(name, ".h")+".c") &&
			!strings.Contains(text, `extern "C"`) {
			continue
		}
		functions := declared(text)
		for _, function := range functions[:min(len(functions), maxDeclared)] {
			short := function[strings.LastIndex(function, ":")+1:]
			if short != "function" && regexp.MustCompile(`\b`+short+`\s*\([^;{}]*\)[^;{}]*\{`).MatchString(body) {
				c.header, c.function = s.below(name), function
				break
			}
		}
		if dir := path.Dir(s.below(name)); dir != "." && !slices.Contains(c.includes, dir) {
			c.includes = append(c.includes, dir)
		}
		if c.function != "" {
			return
		}
	}
	for _, name := range own {
		text := s.p.Read(name)
		if !slices.Contains(c.sources, s.below(name)) || strings.Contains(text, "namespace") || s.f.language == "c++" &&
			strings.HasSuffix(name, ".c") {
			continue
		}
		for _, m := range definition.FindAllStringSubmatch(text, 100) {
			if m[2] != "main" && c.function == "" {
				c.function, c.declare = m[2], strings.Join(strings.Fields(m[1]+m[2]+"("+m[3]+")"), " ")+";"
			}
		}
	}
}

// definition is a function of built-in types alone, which can be declared anywhere.
var definition = lazyregexp.MustCompile(`(?m)^(` + builtin + `[\s*]+)(\w+)\s*\(((?:` + builtin +
	`[\s*]*\w*(?:\[\d*\])?\s*,?\s*)*)\)\s*\{`)

const builtin = `(?:(?:const|unsigned|signed|long|short)\s+)*(?:void|int|char|long|short|unsigned|float|double|bool)\b`

var (
	nativeComment = lazyregexp.MustCompile(`(?m)/\*(?s:.*?)\*/|//[^\n]*|^\s*#[^\n]*?(\\\n[^\n]*?)*$`)
	declaration   = lazyregexp.MustCompile(
		`^(?:extern\s+)?[A-Za-z_][\w:<>,*&\s]*?[\s*&]([A-Za-z_]\w*)\s*\([^(){}]*\)\s*(?:noexcept)?$`)
	namespace = lazyregexp.MustCompile(`^(?:inline\s+)?namespace\s+([\w:]+)$`)
)

// declared are the functions that a header declares at the level of its namespaces, in its order; overloaded ones are
// left out, since their name alone means none of them.
func declared(text string) []string {
	text = nativeComment.ReplaceAllString(text, "")
	text = regexp.MustCompile(`extern\s+"C"\s*\{`).ReplaceAllString(text, "namespace {")
	text = regexp.MustCompile(`extern\s+"C"`).ReplaceAllString(text, "extern")
	var names []string
	var spaces []string // open braces: a namespace's name, "" of extern "C", "{" of others
	count := map[string]int{}
	at := 0
	for i := 0; i < len(text); i++ {
		piece := strings.TrimSpace(text[at:i])
		switch text[i] {
		case '{':
			switch m := namespace.FindStringSubmatch(piece); {
			case m != nil:
				spaces = append(spaces, m[1])
			case piece == "namespace":
				spaces = append(spaces, "")
			default:
				spaces = append(spaces, "{")
			}
		case '}':
			if len(spaces) > 0 {
				spaces = spaces[:len(spaces)-1]
			}
		case ';':
			m := declaration.FindStringSubmatch(piece)
			word, _, _ := strings.Cut(piece, " ")
			if m != nil && !slices.Contains(spaces, "{") &&
				!slices.Contains([]string{"typedef", "return", "using", "static", "template", "friend", "class", "else"}, word) &&
				!strings.Contains(piece, "template") {
				name := strings.Join(append(slices.DeleteFunc(slices.Clone(spaces), func(s string) bool { return s == "" }), m[1]),
					"::")
				if count[name]++; count[name] == 1 {
					names = append(names, name)
				}
			}
		default:
			continue
		}
		at = i + 1
	}
	return slices.DeleteFunc(names, func(name string) bool { return count[name] > 1 })
}

// program is the source of a test that is a program: it ends with code 0 where all is well.
func (c *code) program(language string) string {
	include, body := "", "    assert(1 + 1 == 2);\n"
	if c.header != "" {
		include = fmt.Sprintf("\n#include %q\n", c.header)
	}
	if c.declare != "" {
		include = "\n" + c.declare + "\n"
	}
	if c.function != "" {
		body = fmt.Sprintf("    void (*volatile function)(void) = (void (*)(void))%s;\n    assert(function != 0);\n",
			c.function)
		if language == "c++" {
			body = fmt.Sprintf("    auto *volatile function = &%s;\n    assert(function != nullptr);\n", c.function)
		}
	}
	if c.function == greetingC {
		return "#undef NDEBUG /* assert checks in release builds, too */\n#include <assert.h>\n#include <string.h>\n" +
			include + "\nint main(void) {\n    /* This is a beginning: change both. */\n    assert(strcmp(greeting(), " +
			"\"Hello!\") == 0);\n    return 0;\n}\n"
	}
	return "#undef NDEBUG /* assert checks in release builds, too */\n#include <assert.h>\n" + include +
		"\nint main(void) {\n    /* Begin here: call it, and assert what it returns. */\n" + body + "    return 0;\n}\n"
}

const greetingC = "greeting"

// framed is the source of a test of a C++ framework.
func (c *code) framed(l library) string {
	title, include := "first", ""
	body := "    " + l.check + "(1 + 1 == 2);\n"
	switch {
	case c.function == greetingC:
		title, body = "greets", "    "+l.check+"(std::string(greeting()) == \"Hello!\");\n"
		include = "\n#include <string>\n"
	case c.function != "":
		title = strings.ReplaceAll(c.function, "::", "_") + "_is_there"
		body = fmt.Sprintf("    auto *function = &%s;\n    %s((function != nullptr));\n", c.function, l.check)
	}
	if c.header != "" {
		include += fmt.Sprintf("\n#include %q\n", c.header)
	}
	if c.declare != "" {
		include += "\n" + c.declare + "\n"
	}
	return l.include + include + "\n" + fmt.Sprintf(l.open, title) + "\n    // Begin here: call it, and " + l.check +
		" what it returns.\n" + body + "}\n"
}

// begin makes a library of nothing, for a directory that has no sources.
func (s *setup) begin() {
	ext := ".c"
	if s.f.language == "c++" {
		ext = ".cpp"
	}
	s.file("greeting.h", "#pragma once\n\nconst char *greeting(void);\n")
	s.file("greeting"+ext, "#include \"greeting.h\"\n\nconst char *greeting(void) { return \"Hello!\"; }\n")
}
