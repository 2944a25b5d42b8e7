package testsetup

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/lazyregexp"
)

var (
	mesonComment = lazyregexp.MustCompile(`#[^\n]*`)
	mesonLibrary = lazyregexp.MustCompile(
		`(?m)^\s*(\w+)\s*=\s*(?:library|static_library|shared_library|both_libraries)\s*\(`)
	mesonTest    = lazyregexp.MustCompile(`(?m)^\s*test\s*\(`)
	mesonProject = lazyregexp.MustCompile(`(?s)\bproject\s*\(([^)]*)\)`)
)

// meson plans a test that meson runs.
func (s *setup) meson() error {
	s.need("meson", "", "meson")
	s.need("ninja", "", "ninja-build")
	s.Next = &Next{ProjectRoot: filepath.Join(s.p.Root, s.f.dir), Framework: "meson"}
	build, set := "builddir", false
	if dir := s.p.MesonFolder(); dir != "" && s.f.dir == "." {
		build, set = dir, true
	}
	for _, name := range []string{"builddir", "build", "_build", "out"} {
		if !set && s.p.Has(s.at(path.Join(name, "meson-info", "intro-tests.json"))) {
			build, set = name, true
			break
		}
	}
	s.runs("meson test -C "+build, "meson test -C "+build+" {name}")
	var text strings.Builder
	for _, name := range s.p.Find(s.f.dir, regexp.MustCompile(`^meson\.build$`), 50) {
		text.WriteString(mesonComment.ReplaceAllString(s.p.Read(name), "") + "\n")
	}
	all := text.String()
	if s.has = mesonTest.MatchString(all); !s.has {
		s.miss("a test: meson.build has no test()")
		s.mesonTest(all)
	}
	if !set {
		s.miss("a build folder: no %s/meson-info", build)
		s.step("meson setup " + build)
	}
	return nil
}

func (s *setup) mesonTest(all string) {
	c := code{}
	plain, mains := s.nativeSources()
	var linked string
	if m := mesonLibrary.FindStringSubmatch(all); m != nil {
		linked = m[1]
		c.libraries = []string{linked}
	}
	var text strings.Builder
	text.WriteString("\n# Tests: meson test\n")
	if m := mesonProject.FindStringSubmatch(all); m != nil && s.f.language == "c++" && !strings.Contains(m[1], "'cpp'") {
		text.WriteString("add_languages('cpp')\n")
	}
	switch {
	case len(s.f.sources) == 0:
		s.begin()
		c = code{header: "greeting.h", function: greetingC,
			sources: []string{"greeting" + map[bool]string{true: ".cpp", false: ".c"}[s.f.language == "c++"]}}
	case linked != "":
	case len(plain) > 0:
		c.sources = plain
	case len(mains) > 0:
		c.sources, c.main = mains[:1], true
	}
	if c.function == "" {
		s.find(&c)
	}
	ext := map[bool]string{true: ".cpp", false: ".c"}[s.f.language == "c++"]
	file := s.fresh("tests/first_test", ext)
	options := ""
	link := slices.Clone(c.libraries)
	sources := append([]string{file}, c.sources...)
	if c.main {
		language := map[bool]string{true: "cpp", false: "c"}[s.f.language == "c++"]
		sources, link = []string{file}, append(link, "first_test_program")
		fmt.Fprintf(&text, "first_test_program = static_library('first_test_program', '%s', %s_args: "+
			"'-Dmain=program_main')\n", c.sources[0], language)
	}
	if len(link) > 0 {
		options += ",\n  link_with: [" + strings.Join(link, ", ") + "]"
	}
	folders := append([]string{"."}, c.includes...)
	options += ",\n  include_directories: include_directories('" + strings.Join(folders, "', '") + "')"
	protocol := ""
	if s.want == "gtest" {
		options += ",\n  dependencies: dependency('gtest', main: true)"
		protocol = ", protocol: 'gtest'"
		if !s.header("gtest/gtest.h") {
			s.miss("gtest is not installed")
			s.first = appendNew(s.first, orWord(s.debian("libgtest-dev"), "meson wrap install gtest"))
		}
	}
	fmt.Fprintf(&text, "first_test = executable('first_test', '%s'%s)\ntest('first', first_test%s)\n",
		strings.Join(sources, "', '"), options, protocol)
	s.change("meson.build", text.String())
	if s.want == "gtest" {
		all := s.libraries()
		s.file(file, c.framed(all[slices.IndexFunc(all, func(l library) bool { return l.name == "gtest" })]))
		return
	}
	s.file(file, c.program(s.f.language))
}

// make plans a target check of a Makefile, which runs a program.
func (s *setup) make() error {
	s.need("make", "", "make")
	file := "Makefile"
	for _, name := range []string{"GNUmakefile", "makefile", "Makefile"} { // make's own order
		if s.p.Has(s.at(name)) {
			file = name
			break
		}
	}
	s.Next = &Next{ProjectRoot: filepath.Join(s.p.Root, s.f.dir), Framework: "generic"}
	text := s.p.Read(s.at(file))
	if m := makeTests.FindStringSubmatch(text); m != nil {
		s.has = true
		s.runs("make "+m[1], "make "+m[1])
		return nil
	}
	s.has = false
	s.runs("make check", "make check")
	s.miss("a test: %s has no target check or test", file)
	plain, mains := s.nativeSources()
	c := code{sources: plain}
	compile, flags, ext := "$(CC)", "$(CFLAGS)", ".c"
	if s.f.language == "c++" {
		compile, flags, ext = "$(CXX)", "$(CXXFLAGS)", ".cpp"
	}
	if len(plain) == 0 && len(mains) > 0 {
		c.sources, c.main = mains[:1], true
	}
	s.find(&c)
	test := s.fresh("tests/first_test", ext)
	include := " -I."
	for _, dir := range c.includes {
		include += " -I" + dir
	}
	recipe := fmt.Sprintf("\t%s $(CPPFLAGS) %s -g%s -o $@ %s $(LDFLAGS) $(LDLIBS)\n", compile, flags, include,
		strings.Join(append([]string{test}, c.sources...), " "))
	if c.main {
		object := "tests/first_test_program.o"
		recipe = fmt.Sprintf("\t%s $(CPPFLAGS) %s -g%s -Dmain=program_main -c -o %s %s\n", compile, flags, include, object,
			c.sources[0]) +
			fmt.Sprintf("\t%s $(CPPFLAGS) %s -g%s -o $@ %s %s $(LDFLAGS) $(LDLIBS)\n", compile, flags, include, test, object)
	}
	s.change(file, fmt.Sprintf("\n.PHONY: check\ncheck: "+
		"tests/first_test\n\t./tests/first_test\n\ntests/first_test: %s\n%s",
		strings.Join(append([]string{test}, c.sources...), " "), recipe))
	s.file(test, c.program(s.f.language))
	return nil
}
