package testadapter

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// What debug_setup_tests (internal/testsetup) wants to know of a project besides what adapters detect: the same reading
// of its files, so that what it proposes is what an adapter then finds.

// Files that are tests by their base names.
var (
	PythonTests = pythonTest
	JSTests     = jsTest
	DenoTests   = denoTest
)

// Read is a file's text below Root, at most 1 MB, "" where there is none.
func (p *Project) Read(name string) string { return p.read(name) }

// Has says whether there is such a file below Root.
func (p *Project) Has(name string) bool { return p.isFile(name) }

// All lists every file below Root, without folders of dependencies and of what was built; whole is false where there
// are more entries than are looked at.
func (p *Project) All() (names []string, whole bool) {
	left := maxListed
	err := fs.WalkDir(p.FS, ".", func(at string, d fs.DirEntry, err error) error {
		if left--; left < 0 {
			return fs.SkipAll
		}
		switch {
		case err != nil:
			return fs.SkipDir
		case !d.IsDir():
			names = append(names, at)
		case at != "." && (strings.Count(at, "/") > maxDepth || strings.HasPrefix(d.Name(), ".") ||
			slices.Contains(skippedFolders, d.Name()) || p.isFile(path.Join(at, "pyvenv.cfg"))):
			return fs.SkipDir
		}
		return nil
	})
	return names, err == nil && left >= 0
}

// Find lists files below a folder whose base names match, at most limit, without folders of dependencies and of what
// was built.
func (p *Project) Find(dir string, name *regexp.Regexp, limit int) []string {
	return p.files(dir, name, limit)
}

// Variable is a variable of the environment that the tests will see.
func (p *Project) Variable(name string) string { return p.environ(name) }

// Package is what a package.json says of tests.
type Package struct {
	Dir     string // below Root, "." for Root
	Name    string
	Manager string            // packageManager: "yarn@4.1.0"
	Scripts map[string]string // by name
	Deps    map[string]string // of every kind
	Runs    map[string]string // framework -> the test script that runs it
	Module  bool              // type is module: its .js files are ES modules
	Main    string            // its entry, as written
	Spaces  bool              // it is the root of workspaces
}

// Packages are those at Root and in its workspaces, Root's first.
func (p *Project) Packages() []Package {
	var list []Package
	for _, k := range p.packages() {
		list = append(list, Package{Dir: k.Dir, Name: k.Name, Manager: k.Manager, Scripts: k.Scripts, Deps: k.Deps,
			Runs:   k.uses(),
			Module: string(k.Fields["type"]) == `"module"`, Main: binOf(k.Fields["main"], ""), Spaces: len(k.spaces) > 0})
	}
	return list
}

// NodeModule says whether a package is in node_modules, of a folder below Root or above that.
func (p *Project) NodeModule(dir, pkg string) bool {
	for _, at := range upward(dir) {
		if p.isFile(path.Join(at, "node_modules", pkg, "package.json")) {
			return true
		}
	}
	return false
}

// CTestFolder is where a CMake project with tests is built, below Root; "" where it is not.
func (p *Project) CTestFolder() string {
	dir, ok := ctestFolder(p)
	if !ok {
		return ""
	}
	return dir
}

// MesonFolder is where a Meson project is set up, below Root; "" where it is not.
func (p *Project) MesonFolder() string {
	dir, ok := mesonFolder(p)
	if !ok {
		return ""
	}
	return dir
}
