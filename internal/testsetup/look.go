package testsetup

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/sorting"
	"github.com/strobe-debug/strobe/internal/testadapter"
)

// family are languages whose projects are set up alike.
type family struct {
	name    string
	sources *regexp.Regexp // of base names
	markers []marker       // the first of them wins where several stand in one folder
	// isTest says whether a source is a test; text reads it.
	isTest func(name string, text func() string) bool
	// language is which of its languages a folder's sources are.
	language func(p *testadapter.Project, f *found) string
	// frameworks are those that fit, the default first.
	frameworks func(s *setup) []string
	// silent are frameworks whose adapters detect them by the build system alone, which is no choice of the project's.
	silent []string
	// known are frameworks that a project may have and that no first test is made with.
	known []string
	plan  func(s *setup) error
}

// marker is a file that says that a folder is a project.
type marker struct {
	name, system string
	weak         bool // says nothing without sources
}

// found is a project of one family.
type found struct {
	family    *family
	language  string
	system    string // "" where there are only sources
	dir       string // "." for Root
	framework string // known by the system alone
	evidence  []string
	sources   []string // below Root, with tests
	tests     []string
	also      []string // further folders that are projects of this family
	cut       bool     // some sources were not read
}

// families are literal, so that one can follow them from here; a func since their plans use what uses them.
func families() []*family {
	return []*family{rustFamily(), goFamily(), nodeFamily(), pythonFamily(), nativeFamily()}
}

// maxTexts is how many sources are read for tests in them, and for what a test can name: more cost seconds.
const maxTexts = 400

// look finds the projects below a root, the most likely first: those with sources, near the root, with tests, with many
// sources.
func look(p *testadapter.Project) (list []*found, whole bool) {
	all, whole := p.All()
	for _, fam := range families() {
		if f := fam.find(p, all); f != nil {
			list = append(list, f)
		}
	}
	sorting.By(list, func(a, b *found) int {
		for _, d := range []int{order(len(a.sources) > 0, len(b.sources) > 0), depth(a.dir) - depth(b.dir),
			order(a.system != "", b.system != ""),
			order(len(a.tests) > 0, len(b.tests) > 0), len(b.sources) - len(a.sources)} {
			if d != 0 {
				return d
			}
		}
		return 0
	})
	return list, whole
}

// order puts what holds first.
func order(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

func depth(dir string) int {
	if dir == "." {
		return 0
	}
	return strings.Count(dir, "/") + 1
}

// find looks for a family's project: its build file nearest to the root that has sources, else its sources.
func (fam *family) find(p *testadapter.Project, all []string) *found {
	var sources []string
	for _, name := range all {
		if fam.sources.MatchString(path.Base(name)) {
			sources = append(sources, name)
		}
	}
	var best *found
	better := func(f *found) bool {
		if best == nil {
			return true
		}
		d := order(len(f.sources) > 0, len(best.sources) > 0)
		return d < 0 || d == 0 && depth(f.dir) < depth(best.dir)
	}
	var dirs []string
	for _, m := range fam.markers {
		for _, name := range all {
			if matched, err := path.Match(m.name, path.Base(name)); err != nil || !matched {
				continue
			}
			f := &found{family: fam, system: m.system, dir: path.Dir(name), evidence: []string{name},
				sources: inside(sources, path.Dir(name))}
			if m.weak && len(f.sources) == 0 {
				continue
			}
			dirs = appendNew(dirs, f.dir)
			if better(f) {
				best = f
			}
		}
	}
	if best == nil && len(sources) == 0 {
		return nil
	}
	if best == nil {
		best = &found{family: fam, dir: common(sources), sources: sources, evidence: []string{sources[0]}}
	}
	for _, dir := range dirs { // beside it, not parts of it
		if best.dir != "." && dir != best.dir && !strings.HasPrefix(dir, best.dir+"/") && depth(dir) <= depth(best.dir) {
			best.also = append(best.also, dir)
		}
	}
	for i, name := range best.sources {
		read := func() string { return p.Read(name) }
		if i >= maxTexts {
			read = func() string { best.cut = true; return "" }
		}
		if fam.isTest(name, read) {
			best.tests = append(best.tests, name)
		}
	}
	best.language = fam.language(p, best)
	return best
}

func inside(names []string, dir string) []string {
	if dir == "." {
		return names
	}
	var list []string
	for _, name := range names {
		if strings.HasPrefix(name, dir+"/") {
			list = append(list, name)
		}
	}
	return list
}

// common is the folder that sources without a build file are a project in: the root where one stands there or in
// several folders.
func common(sources []string) string {
	dir, _, below := strings.Cut(sources[0], "/")
	for _, name := range sources {
		first, _, ok := strings.Cut(name, "/")
		if !ok || !below || first != dir {
			return "."
		}
	}
	if dir == "src" || dir == "lib" || dir == "include" || dir == "test" || dir == "tests" {
		return "."
	}
	return dir
}

// own are the sources that are no tests.
func (f *found) own() []string {
	var list []string
	for _, name := range f.sources {
		if !slices.Contains(f.tests, name) {
			list = append(list, name)
		}
	}
	return list
}

// elsewhere are build systems and languages that have no plan here, and the command that runs their tests.
var elsewhere = []struct{ name, what, command string }{
	{"MODULE.bazel", "Bazel", "bazel test //..."}, {"WORKSPACE", "Bazel", "bazel test //..."},
	{"pom.xml", "Maven", "mvn test"},
	{"build.gradle", "Gradle", "gradle test"}, {"build.gradle.kts", "Gradle", "gradle test"},
	{"*.csproj", ".NET", "dotnet test"}, {"*.sln", ".NET", "dotnet test"},
	{"Package.swift", "Swift", "swift test"}, {"mix.exs", "Elixir", "mix test"},
	{"Gemfile", "Ruby", "bundle exec rake test"}, {"composer.json", "PHP", "composer test"},
	{"build.zig", "Zig", "zig build test"}, {"SConstruct", "SCons", "scons test"}, {"xmake.lua", "xmake", "xmake test"},
	{"configure.ac", "autotools", "make check"},
	{"stack.yaml", "Haskell", "stack test"}, {"dune-project", "OCaml", "dune test"},
	{"rebar.config", "Erlang", "rebar3 eunit"},
}

// choose takes the project that is meant. nil: there is none, and no language was asked for.
func choose(r *Request, all []*found) (*found, error) {
	if r.Language == "" && (len(all) == 0 || all[0].system == "" || all[0].system == "make" || len(all[0].sources) == 0) {
		for _, o := range elsewhere {
			if names := r.Project.Find(".", regexp.MustCompile(`^`+strings.ReplaceAll(regexp.QuoteMeta(o.name), `\*`, `.*`)+`$`),
				1); len(names) > 0 && !strings.Contains(names[0], "/") {
				hint := "debug_test runs any command: framework generic, command " + quoteJSON(o.command)
				if o.what == "Maven" || o.what == "Gradle" {
					hint = "Write one below src/test/java; debug_test runs it"
				}
				return nil, fault.New(fault.Unsupported, hint+". For another language give language.",
					"%s is a project of %s, which debug_setup_tests has no plan for", names[0], o.what)
			}
		}
	}
	if r.Language == "" {
		if f := byFramework(r, all); f != nil {
			return f, nil
		}
		return nil, nil
	}
	for _, f := range all {
		if f.language == r.Language || slices.Contains(familyLanguages[f.family.name], r.Language) {
			f.language = r.Language
			return f, nil
		}
	}
	for _, fam := range families() {
		if slices.Contains(familyLanguages[fam.name], r.Language) {
			return &found{family: fam, language: r.Language, dir: "."}, nil
		}
	}
	return nil, nil
}

func quoteJSON(s string) string { return `"` + strings.ReplaceAll(s, `"`, `\"`) + `"` }

var familyLanguages = map[string][]string{"rust": {"rust"}, "go": {"go"}, "node": {"javascript", "typescript"},
	"python": {"python"}, "native": {"c", "c++"}}

// frameworkLanguages say what a framework alone asks for, in a directory that has nothing.
var frameworkLanguages = map[string]string{"cargo": "rust", "nextest": "rust", "go": "go", "pytest": "python",
	"unittest": "python", "vitest": "typescript", "jest": "javascript",
	"mocha": "javascript", "node": "javascript", "bun": "typescript", "deno": "typescript", "gtest": "c++",
	"catch2": "c++", "doctest": "c++"}

// byFramework is the first project that a framework fits, else the most likely one.
func byFramework(r *Request, all []*found) *found {
	language := frameworkLanguages[r.Framework]
	for _, f := range all {
		if slices.Contains(familyLanguages[f.family.name], language) {
			if f.family.name == "native" {
				f.language = language
			}
			return f
		}
	}
	if len(all) > 0 {
		return all[0]
	}
	for _, fam := range families() {
		if slices.Contains(familyLanguages[fam.name], language) {
			return &found{family: fam, language: language, dir: "."}
		}
	}
	return nil
}

// Summary is a project as debug_test tells of it where it found no tests.
type Summary struct {
	Language    string `json:"language,omitempty"`
	BuildSystem string `json:"buildSystem,omitempty"`
	TestFiles   int    `json:"testFiles"`
}

// firstSteps say how tests are written, by build system or language.
var firstSteps = map[string]string{
	"rust":       "Cargo projects support inline #[test] functions and a tests/ directory.",
	"go":         "Go tests are func TestXxx(t *testing.T) in _test.go files beside the code.",
	"python":     "Python tests are functions test_… in tests/test_*.py for pytest, or classes of unittest.",
	"javascript": "node --test needs nothing installed; Vitest, Jest and Mocha are installed by npm.",
	"typescript": "Vitest runs TypeScript as it is; it is installed by npm.",
	"deno":       "Deno tests are Deno.test(…) in files named *_test.ts.",
	"cmake":      "CMake projects register tests by enable_testing() and add_test().",
	"meson":      "Meson projects register tests by test('name', executable).",
	"c":          "C tests are programs that CTest, Meson or a target check of make runs.",
	"c++":        "C++ tests are programs of GoogleTest, Catch2 or doctest, which CTest runs.",
}

// Summarize tells what a project without tests is, and the next step in few words.
func Summarize(p *testadapter.Project) (Summary, string) {
	const next = " debug_setup_tests gives the files and commands for a first one."
	all, _ := look(p)
	if len(all) == 0 {
		return Summary{}, "No tests found, nor project files or sources that are known. Give command (a program that runs " +
			"tests), or debug_setup_tests with language."
	}
	f := all[0]
	how := firstSteps[f.system]
	if how == "" {
		how = firstSteps[f.language]
	}
	s := Summary{Language: f.language, BuildSystem: f.system, TestFiles: len(f.tests)}
	if len(f.tests) > 0 {
		return s, "No test ran, though " + f.tests[0] +
			" looks like one: debug_setup_tests says what is missing; or give framework, or command."
	}
	return s, "No tests found. " + how + next
}
