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

var (
	goFunc    = lazyregexp.MustCompile(`(?m)^func ([A-Za-z]\w*)\(`)
	goPackage = lazyregexp.MustCompile(`(?m)^package (\w+)`)
	goBound   = lazyregexp.MustCompile(`(?m)^//go:build |^import "C"|^\s+"C"$`)
	goApart   = lazyregexp.MustCompile(
		`(^|/)(testdata|_[^/]*)/|_(windows|darwin|linux|freebsd|netbsd|openbsd|js|wasip1|plan9|android|ios|amd64|arm64` +
			`|arm|386|wasm)\.go$`)
)

func goFamily() *family {
	return &family{
		name: "go", sources: regexp.MustCompile(`\.go$`),
		markers:    []marker{{name: "go.work", system: "go"}, {name: "go.mod", system: "go"}},
		isTest:     func(name string, _ func() string) bool { return strings.HasSuffix(name, "_test.go") },
		language:   func(*testadapter.Project, *found) string { return "go" },
		frameworks: func(*setup) []string { return []string{"go"} },
		plan:       (*setup).golang,
	}
}

func (s *setup) golang() error {
	s.need("go", "", "golang-go")
	modules, patterns := s.goModules(), "./..."
	if len(modules) > 0 && !s.p.Has(s.at("go.mod")) && s.f.system != "" { // a workspace: ./... is none of its modules'
		patterns = "./" + strings.Join(modules, "/... ./") + "/..."
	}
	s.runs("go test "+patterns, "go test -count=1 -run '^{name}$' "+patterns)
	name := slug(path.Base(path.Join(s.p.Root, s.f.dir)), "")
	if s.f.system == "" {
		s.miss("go.mod")
		s.step("go mod init example.com/" + name)
	}
	if s.has {
		return nil
	}
	s.miss("a test: there is no _test.go file")
	if !s.p.Has(s.at("go.mod")) {
		modules = nil // each of them is as good
	}
	dir, pkg, function := s.goTarget(modules)
	if pkg == "" {
		dir, pkg = s.f.dir, name
		s.Files[s.at("greeting.go")] = fmt.Sprintf(
			"// Package %s is a beginning.\npackage %s\n\nfunc Greeting(name string) string { return \"Hello, \" + name + "+
				"\"!\" }\n", pkg, pkg)
		s.Files[s.at("greeting_test.go")] = fmt.Sprintf(
			"package %s\n\nimport \"testing\"\n\nfunc TestGreeting(t *testing.T) {\n\tif got := Greeting(\"Ada\"); got != "+
				"\"Hello, Ada!\" {\n\t\tt.Errorf(\"Greeting(Ada) = %%q\", got)\n\t}\n}\n", pkg)
		return nil
	}
	rel := strings.TrimPrefix(strings.TrimPrefix(dir, s.f.dir), "/")
	if function == "" {
		s.file(s.fresh(path.Join(rel, "first"), "_test.go"),
			fmt.Sprintf("package %s\n\nimport \"testing\"\n\nfunc TestFirst(t *testing.T) {\n\t// Begin here: use what the "+
				"package has, and t.Errorf where a result is wrong.\n\tt.Log(\"the package compiles with its tests\")\n}\n", pkg))
		return nil
	}
	test := "Test" + strings.ToUpper(function[:1]) + function[1:]
	s.file(s.fresh(path.Join(rel, strings.ToLower(function)), "_test.go"),
		fmt.Sprintf("package %s\n\nimport \"testing\"\n\nfunc %s(t *testing.T) {\n\t// Begin here: call %s, and t.Errorf "+
			"where its result is wrong.\n\tt.Logf(\"it is a %%T\", %s)\n}\n", pkg, test, function, function))
	return nil
}

// goModules are the folders below the project's that are modules of their own.
func (s *setup) goModules() []string {
	var dirs []string
	for _, name := range s.p.Find(s.f.dir, regexp.MustCompile(`^go\.mod$`), 50) {
		if dir := path.Dir(s.below(name)); dir != "." && !goApart.MatchString(dir+"/") {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// goTarget is the package that gets the test, outside of other modules: one with an exported function before others, a
// library before a program.
func (s *setup) goTarget(modules []string) (dir, pkg, function string) {
	best := -1
	own := s.f.own()
	for _, name := range own[:min(len(own), maxTexts)] {
		text := s.p.Read(name)
		m := goPackage.FindStringSubmatch(text)
		if m == nil || goBound.MatchString(text) || goApart.MatchString(s.below(name)) ||
			slices.ContainsFunc(modules, func(dir string) bool { return strings.HasPrefix(s.below(name), dir+"/") }) {
			continue
		}
		score, found := 0, ""
		for _, f := range goFunc.FindAllStringSubmatch(text, 100) {
			exported := f[1][0] >= 'A' && f[1][0] <= 'Z'
			if !slices.Contains([]string{"main", "init"}, f[1]) && (found == "" || exported && score < 2) {
				if found, score = f[1], 1; exported {
					score = 2
				}
			}
		}
		if score *= 2; m[1] != "main" {
			score++
		}
		if score > best {
			best, dir, pkg, function = score, path.Dir(name), m[1], found
		}
	}
	return dir, pkg, function
}
