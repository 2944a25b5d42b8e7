package testadapter

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/lazyregexp"
)

// goModule is a main module: its import path and folder below Root.
type goModule struct{ path, dir string }

// goIndex finds packages' folders and tests' lines in a project's files, each read once.
type goIndex struct {
	fsys    fs.FS
	dir     string // where commands run, below Root
	modules []goModule
	files   map[string]map[string]goPlace // by folder, by test
}

type goPlace struct {
	File string
	Line int
}

var (
	goModuleLine = lazyregexp.MustCompile(`(?m)^module\s+"?([^\s"]+)"?`)
	goUseLine    = lazyregexp.MustCompile(`(?m)^\s*(?:use\s+)?"?(\.[^\s"()]*)"?\s*(?://.*)?$`)
	goTestFunc   = lazyregexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Example)[\pL\pN_]*)\(`)
	goBuildLine  = lazyregexp.MustCompile(`(?m)^//go:build (.+)$`)
)

// goModules are the main modules of a folder: its own, or those of its workspace.
func goModules(fsys fs.FS, dir string) []goModule {
	dirs := []string{orElse(dir, ".")}
	if work := readSome(fsys, path.Join(dir, "go.work"), 1<<20); work != nil {
		dirs = nil
		for _, m := range goUseLine.FindAllSubmatch(work, 1000) {
			dirs = append(dirs, path.Join(orElse(dir, "."), string(m[1])))
		}
	}
	var modules []goModule
	for _, d := range dirs {
		if m := goModuleLine.FindSubmatch(readSome(fsys, path.Join(d, "go.mod"), 1<<20)); m != nil {
			modules = append(modules, goModule{string(m[1]), d})
		}
	}
	return modules
}

// all are the patterns of every package.
func (x *goIndex) all() []string {
	var patterns []string
	for _, m := range x.modules {
		patterns = append(patterns, x.pattern(m.dir)+"/...")
	}
	if len(patterns) == 0 {
		return []string{"./..."}
	}
	return patterns
}

// pattern is a folder below Root as an argument of a command in x.dir.
func (x *goIndex) pattern(folder string) string {
	base := orElse(x.dir, ".")
	if folder == base {
		return "."
	}
	if base != "." {
		folder = strings.TrimPrefix(folder, base+"/")
	}
	return "./" + folder
}

// folder is a package's, below Root; "" where it is not of the main modules.
func (x *goIndex) folder(pkg string) string {
	best, found := goModule{}, false
	for _, m := range x.modules {
		if (pkg == m.path || strings.HasPrefix(pkg, m.path+"/")) && (!found || len(m.path) > len(best.path)) {
			best, found = m, true
		}
	}
	if !found {
		return ""
	}
	return path.Join(best.dir, strings.TrimPrefix(pkg, best.path))
}

// relative is a package as an argument: its folder where that is known.
func (x *goIndex) relative(pkg string) string {
	if folder := x.folder(pkg); folder != "" {
		return x.pattern(folder)
	}
	return pkg
}

// isPackage says whether a name is a package of the main modules: its import path, or a folder with a dot before it.
func (x *goIndex) isPackage(name string) bool {
	folder := x.folder(name)
	if rest, ok := strings.CutPrefix(name, "./"); ok {
		folder = path.Join(orElse(x.dir, "."), rest)
	}
	if folder == "" || !fs.ValidPath(folder) {
		return false
	}
	i, err := fs.Stat(x.fsys, folder)
	return err == nil && i.IsDir()
}

// otherModules are folders with a go.mod that is none of the main modules', the first ones.
func (x *goIndex) otherModules() []string {
	const most = 5
	var other []string
	for _, name := range below(x.fsys, 4, func(name string) bool { return path.Base(name) == "go.mod" }) {
		if dir := path.Dir(name); !x.main(dir) && len(other) < most {
			other = append(other, dir)
		}
	}
	return other
}

// main says whether a folder is a main module's own.
func (x *goIndex) main(dir string) bool {
	return slices.ContainsFunc(x.modules, func(m goModule) bool { return m.dir == dir })
}

// outside says whether a folder below Root is of a module that is none of the main ones.
func (x *goIndex) outside(folder string) bool {
	for at := folder; len(x.modules) > 0; at = path.Dir(at) {
		if x.main(at) {
			return false
		}
		if at == "." || isFile(x.fsys, path.Join(at, "go.mod")) {
			return true
		}
	}
	return false
}

// find is where a test is declared.
func (x *goIndex) find(pkg, test string) goPlace {
	folder := x.folder(pkg)
	if folder == "" {
		return goPlace{}
	}
	tests := x.files[folder]
	if tests == nil {
		tests = map[string]goPlace{}
		entries, err := fs.ReadDir(x.fsys, folder)
		for _, e := range entries {
			if err == nil && strings.HasSuffix(e.Name(), "_test.go") {
				declared(readSome(x.fsys, path.Join(folder, e.Name()), 4<<20), path.Join(folder, e.Name()), tests)
			}
		}
		if x.files == nil {
			x.files = map[string]map[string]goPlace{}
		}
		x.files[folder] = tests
	}
	return tests[test]
}

func declared(text []byte, name string, tests map[string]goPlace) {
	line, from := 1, 0
	for _, m := range goTestFunc.Get().FindAllSubmatchIndex(text, 10_000) {
		line += strings.Count(string(text[from:m[0]]), "\n")
		from = m[0]
		tests[string(text[m[2]:m[3]])] = goPlace{name, line}
	}
}

// goLevel is what a level means in a project.
type goLevel struct {
	packages []string
	names    []string // only these tests; nil: all
	flags    []string
}

// level maps a level as Go projects do: integration and e2e are tests behind the build tag of that name, and packages
// in folders of that name; unit is the rest, with -short where tests ask for it.
func (x *goIndex) level(level Level) (*goLevel, error) {
	named := map[Level][]string{Integration: {"integration", "integrationtest", "integration_test", "integrationtests",
		"integration_tests", "inttest"},
		EndToEnd: {"e2e", "e2etest", "e2e_test", "e2etests", "endtoend", "end2end"}}
	found := map[Level]*goLevel{Unit: {}, Integration: {}, EndToEnd: {}}
	short := false
	for _, name := range below(x.fsys, 20, func(name string) bool { return strings.HasSuffix(name, "_test.go") }) {
		folder := path.Dir(name)
		base := orElse(x.dir, ".")
		if base != "." && folder != base && !strings.HasPrefix(folder, base+"/") || x.outside(folder) {
			continue
		}
		text := readSome(x.fsys, name, 4<<20)
		short = short || strings.Contains(string(text), "testing.Short()")
		of, tagged := Unit, false
		for l, words := range named {
			if m := goBuildLine.FindSubmatch(text); m != nil &&
				slices.ContainsFunc(goTags(string(m[1])), func(tag string) bool { return slices.Contains(words, tag) }) {
				of, tagged = l, true
			}
			if slices.ContainsFunc(strings.Split(folder, "/"), func(part string) bool { return slices.Contains(words, part) }) {
				of = l
			}
		}
		if of == Unit && !strings.Contains(string(text), "func Test") && !strings.Contains(string(text), "func Fuzz") &&
			!strings.Contains(string(text), "func Example") {
			continue
		}
		g := found[of]
		if pattern := x.pattern(folder); !slices.Contains(g.packages, pattern) {
			g.packages = append(g.packages, pattern)
		}
		tests := map[string]goPlace{}
		declared(text, name, tests)
		for test := range tests {
			g.names = append(g.names, test)
		}
		if tagged && len(g.flags) == 0 {
			m := goBuildLine.FindSubmatch(text)
			for _, tag := range goTags(string(m[1])) {
				if slices.Contains(named[of], tag) {
					g.flags = []string{"-tags=" + tag}
				}
			}
		}
	}
	g := found[level]
	if len(g.packages) == 0 {
		return nil, fault.New(fault.Unsupported, "Leave level out; or put a build tag (//go:build "+string(level)+
			") into those test files, or them into a folder of that name.",
			"this project has no tests that Go projects would call %s: no build tag and no folder of that name", level)
	}
	slices.Sort(g.names)
	g.names = slices.Compact(g.names)
	if level == Unit {
		g.names = nil // without tags, all that is compiled is of it
		if short {
			g.flags = []string{"-short"}
		}
	}
	return g, nil
}

// goTags are the tags that a build line asks for.
func goTags(line string) []string {
	return strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" ()&|", r) })
}

// maxWalk bounds how many entries of a project are looked at.
const maxWalk = 50_000

// skipFolders hold what is not a project's own.
var skipFolders = []string{"node_modules", "vendor", "testdata", "target", "_build", "dist", "third_party",
	"site-packages", "__pycache__"}

// below finds a project's files to a depth, in their order.
func below(fsys fs.FS, depth int, want func(name string) bool) []string {
	var found []string
	seen := 0
	_ = fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if seen++; seen > maxWalk {
			return fs.SkipAll
		}
		if err != nil {
			if d != nil && d.IsDir() {
				return fs.SkipDir
			}
			return nil // what cannot be read is not looked at
		}
		if d.IsDir() {
			base := d.Name()
			if name != "." && (strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") ||
				slices.Contains(skipFolders, base) || strings.Count(name, "/") >= depth) {
				return fs.SkipDir
			}
			return nil
		}
		if want(name) {
			found = append(found, name)
		}
		return nil
	})
	return found
}
