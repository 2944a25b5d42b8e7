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
	cmakeComment = lazyregexp.MustCompile(`#\[\[(?s:.*?)\]\]|#[^\n]*`)
	cmakeCall    = lazyregexp.MustCompile(
		`(?i)\b(project|add_library|add_executable|enable_testing|include|add_test|\w+_discover_tests)\s*\(([^()]*)\)`)
	cmakeProject = lazyregexp.MustCompile(`\$\{(PROJECT_NAME|CMAKE_PROJECT_NAME)\}`)
)

// cmakeFile is what some CMakeLists.txt say that matters to a test.
type cmakeFile struct {
	project     string
	languages   []string // "" in it: both
	libraries   []string // targets that can be linked
	executables []cmakeTarget
	tests       bool // registered
	enabled     bool // enable_testing
}

type cmakeTarget struct {
	name, dir string
	sources   []string
}

// readCMake reads the calls of the root's CMakeLists.txt and of those below it; what variables hold is not known.
func (s *setup) readCMake() cmakeFile {
	var c cmakeFile
	names := []string{s.at("CMakeLists.txt")}
	for _, name := range s.p.Find(s.f.dir, regexp.MustCompile(`^CMakeLists\.txt$`), 50) {
		if name != names[0] && !foreign.MatchString(s.below(name)) {
			names = append(names, name)
		}
	}
	for i, name := range names {
		for _, m := range cmakeCall.FindAllStringSubmatch(cmakeComment.ReplaceAllString(s.p.Read(name), ""), 1000) {
			words := strings.Fields(cmakeProject.ReplaceAllLiteralString(strings.ReplaceAll(m[2], `"`, ""), c.project))
			if len(words) == 0 {
				words = []string{""}
			}
			switch call := strings.ToLower(m[1]); {
			case call == "project" && i == 0:
				c.project = words[0]
				for _, w := range words[1:] {
					if w == "C" || w == "CXX" {
						c.languages = append(c.languages, w)
					}
				}
			case call == "add_library" && !slices.Contains(words, "IMPORTED") && !slices.Contains(words, "ALIAS") &&
				!strings.Contains(words[0], "$"):
				if slices.Contains(words, "MODULE") || slices.Contains(words, "OBJECT") {
					continue
				}
				c.libraries = append(c.libraries, words[0])
			case call == "add_executable":
				c.executables = append(c.executables, cmakeTarget{words[0], path.Dir(s.below(name)), words[1:]})
			case call == "enable_testing", call == "include" && words[0] == "CTest":
				c.enabled = c.enabled || i == 0
			case call == "add_test", strings.HasSuffix(call, "_discover_tests"):
				c.tests = true
			}
		}
	}
	return c
}

// cmake plans a test that CTest runs.
func (s *setup) cmake() error {
	s.need("cmake", "", "cmake")
	s.Next = &Next{ProjectRoot: filepath.Join(s.p.Root, s.f.dir), Framework: "ctest"}
	build, generator := s.cmakeBuild(), ""
	if !s.installed("make") {
		if s.need("ninja", "", "ninja-build"); s.installed("ninja") {
			generator = " -G Ninja"
		}
	}
	s.runs(fmt.Sprintf("cmake --build %s && ctest --test-dir %s --output-on-failure", build, build),
		fmt.Sprintf("ctest --test-dir %s --output-on-failure -R '^{name}$'", build))
	have := s.readCMake()
	configured := s.p.Has(s.at(path.Join(build, "CTestTestfile.cmake")))
	s.has = have.tests && (s.has || s.r.Framework == "")
	if s.has {
		if !configured {
			s.miss("a build folder: no %s/CTestTestfile.cmake", build)
			s.step("cmake -S . -B " + build + generator)
		}
		return nil
	}
	var text strings.Builder
	if e := s.unregistered(have); e.name != "" {
		s.has = true
		s.miss("enable_testing() and add_test(): CTest does not know the program %s", e.name)
		register := fmt.Sprintf("add_test(NAME %s COMMAND %s)\n", e.name, e.name)
		if s.want == "gtest" && e.dir == "." { // whose module is CMake's own, for targets of its folder
			register = fmt.Sprintf("include(GoogleTest)\ngtest_discover_tests(%s)\n", e.name)
		}
		s.change("CMakeLists.txt", "\nenable_testing()\n"+register)
		s.step("cmake -S . -B " + build + generator)
		return nil
	}
	s.miss("a test: CMakeLists.txt registers none")
	if s.f.system == "" {
		s.miss("CMakeLists.txt")
		s.newCMake(&text, &have)
	}
	c := s.cmakeCode(have)
	s.cmakeTest(&text, have, c, build)
	s.change("CMakeLists.txt", text.String())
	if !configured {
		s.miss("a build folder: no %s/CTestTestfile.cmake", build)
	}
	s.step("cmake -S . -B " + build + generator + " -DCMAKE_BUILD_TYPE=Debug")
	return nil
}

// unregistered is a program of tests that is built and that CTest is not told of, where no other framework is asked
// for.
func (s *setup) unregistered(have cmakeFile) cmakeTarget {
	for _, e := range have.executables {
		for _, w := range e.sources {
			if s.r.Framework == "" && !strings.Contains(e.name, "$") && slices.Contains(s.f.tests, s.at(path.Join(e.dir, w))) {
				return e
			}
		}
	}
	return cmakeTarget{}
}

// cmakeBuild is the build folder: one that is there, else build.
func (s *setup) cmakeBuild() string {
	if dir := s.p.CTestFolder(); dir != "" && s.f.dir == "." {
		return dir
	}
	for _, name := range []string{"build", "cmake-build-debug", "out", "_build", "builddir", "cmake-build-release"} {
		if s.p.Has(s.at(path.Join(name, "CMakeCache.txt"))) {
			return name
		}
	}
	return "build"
}

// newCMake begins a CMakeLists.txt for sources that have none.
func (s *setup) newCMake(text *strings.Builder, have *cmakeFile) {
	have.project = slug(path.Base(path.Join(s.p.Root, s.f.dir)), "_")
	language := "C"
	if s.f.language == "c++" {
		language = "C CXX"
	}
	fmt.Fprintf(text, "cmake_minimum_required(VERSION 3.14)\nproject(%s LANGUAGES %s)\n", have.project, language)
	plain, mains := s.nativeSources()
	library := have.project + "_code"
	if len(s.f.sources) == 0 {
		s.begin()
		plain = []string{"greeting.c"}
		if s.f.language == "c++" {
			plain = []string{"greeting.cpp"}
		}
	}
	if len(plain) > 0 {
		fmt.Fprintf(text, "\nadd_library(%s STATIC %s)\ntarget_include_directories(%s PUBLIC .)\n", library,
			strings.Join(plain, " "), library)
		have.libraries = []string{library}
	}
	for _, main := range mains {
		name := slug(strings.TrimSuffix(path.Base(main), path.Ext(main)), "_")
		if name == "project_main" {
			name = have.project
		}
		fmt.Fprintf(text, "\nadd_executable(%s %s)\n", name, main)
		if len(plain) > 0 {
			fmt.Fprintf(text, "target_link_libraries(%s PRIVATE %s)\n", name, library)
		}
		if len(plain) == 0 && len(have.executables) == 0 {
			have.executables = []cmakeTarget{{name, ".", []string{main}}}
		}
	}
}

// cmakeCode is what the test links: a library of the project, else a program's sources, whose main is renamed.
func (s *setup) cmakeCode(have cmakeFile) code {
	c := code{}
	if len(s.f.sources) == 0 {
		return code{libraries: have.libraries, header: "greeting.h", function: greetingC}
	}
	plain, mains := s.nativeSources()
	switch {
	case len(have.libraries) > 0:
		c.libraries = have.libraries[:1]
		for _, name := range have.libraries { // the one that the project is named for, before parts of it
			if name == have.project || name == "lib"+have.project || name == have.project+"_lib" {
				c.libraries = []string{name}
			}
		}
	case len(plain) > 0:
		c.sources = plain
		for _, e := range have.executables { // what one program is made of
			var own []string
			for _, w := range e.sources {
				if name := path.Join(e.dir, w); slices.Contains(plain, name) {
					own = append(own, name)
				}
			}
			if len(own) > 0 {
				c.sources = own
				break
			}
		}
	case len(mains) > 0:
		c.sources, c.main = mains[:1], true
	}
	s.find(&c)
	if len(c.libraries)+len(c.sources) == 0 {
		return code{} // targets by variables only: nothing is known to link
	}
	return c
}

// cmakeTest is the target of the test.
func (s *setup) cmakeTest(text *strings.Builder, have cmakeFile, c code, build string) {
	target := "first_test"
	if strings.Contains(s.p.Read(s.at("CMakeLists.txt")), target) {
		target = have.project + "_first_test"
	}
	ext := ".c"
	if s.f.language == "c++" {
		ext = ".cpp"
	}
	file := s.fresh("tests/"+target, ext)
	fmt.Fprintf(text, "\n# Tests: cmake --build %s && ctest --test-dir %s\n", build, build)
	if !have.enabled {
		text.WriteString("enable_testing()\n")
	}
	if s.f.language == "c++" && len(have.languages) > 0 && !slices.Contains(have.languages, "CXX") {
		text.WriteString("enable_language(CXX)\n")
	}
	all := s.libraries()
	i := slices.IndexFunc(all, func(l library) bool { return l.name == s.want })
	if i >= 0 {
		l := all[i]
		module, _, _ := strings.Cut(l.discover, " ")
		if s.header(l.header) {
			fmt.Fprintf(text, "find_package(%s)\n", l.find)
		} else {
			s.miss("%s is not installed (Debian: %s): CMake fetches its source", l.name, l.debian)
			text.WriteString(l.fetch)
			if l.modules != "" {
				fmt.Fprintf(text, "list(APPEND CMAKE_MODULE_PATH %s)\n", l.modules)
			}
		}
		fmt.Fprintf(text, "include(%s)\n", module)
	}
	sources := append([]string{file}, c.sources...)
	link := slices.Clone(c.libraries)
	if c.main { // the program's functions, whose own main gives way to the test's
		sources, link = []string{file}, append(link, target+"_program")
		fmt.Fprintf(text, "add_library(%s_program OBJECT %s)\ntarget_compile_definitions(%s_program PRIVATE "+
			"main=program_main)\n", target, c.sources[0], target)
	}
	fmt.Fprintf(text, "add_executable(%s %s)\n", target, strings.Join(sources, " "))
	if s.f.language == "c++" {
		fmt.Fprintf(text, "target_compile_features(%s PRIVATE cxx_std_17)\n", target)
	}
	fmt.Fprintf(text, "target_include_directories(%s PRIVATE %s)\n", target,
		strings.Join(append([]string{"."}, c.includes...), " "))
	if i >= 0 {
		link = append(link, all[i].target)
	}
	if len(link) > 0 {
		fmt.Fprintf(text, "target_link_libraries(%s PRIVATE %s)\n", target, strings.Join(link, " "))
	}
	if i >= 0 {
		_, function, _ := strings.Cut(all[i].discover, " ")
		fmt.Fprintf(text, "%s(%s)\n", function, target)
		s.file(file, c.framed(all[i]))
		return
	}
	fmt.Fprintf(text, "add_test(NAME %s COMMAND %s)\n", target, target)
	s.file(file, c.program(s.f.language))
}
