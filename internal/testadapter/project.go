package testadapter

import (
	"encoding/json"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/fault"
)

// Bounds of what is looked at in a project: detection reads little.
const (
	maxRead   = 1 << 20 // of one file
	maxListed = 5000    // entries of folders
	maxDepth  = 6
)

// skippedFolders hold no tests of the project's own.
var skippedFolders = []string{"node_modules", "venv", "env", "dist", "build", "target", "vendor", "__pycache__",
	"site-packages", "coverage"}

// read is a file's text, "" where there is none; name is relative to Root.
func (p *Project) read(name string) string {
	f, err := p.FS.Open(path.Clean(name))
	if err != nil {
		return ""
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxRead))
	if err != nil {
		return ""
	}
	return string(b)
}

func (p *Project) isFile(name string) bool {
	info, err := fs.Stat(p.FS, path.Clean(name))
	return err == nil && info.Mode().IsRegular()
}

func (p *Project) isDir(name string) bool {
	info, err := fs.Stat(p.FS, path.Clean(name))
	return err == nil && info.IsDir()
}

// first is the first of some files that is there, "" where none is.
func (p *Project) first(dir string, names ...string) string {
	for _, name := range names {
		if p.isFile(path.Join(dir, name)) {
			return name
		}
	}
	return ""
}

// files lists files below a folder whose base name matches, at most limit; folders without tests are left out.
func (p *Project) files(dir string, name *regexp.Regexp, limit int) []string {
	var found []string
	left := maxListed
	root := path.Clean(dir)
	_ = fs.WalkDir(p.FS, root, func(at string, d fs.DirEntry, err error) error {
		if left--; left < 0 || len(found) >= limit {
			return fs.SkipAll
		}
		switch {
		case err != nil:
			return fs.SkipDir
		case d.IsDir():
			base := d.Name()
			deep := strings.Count(strings.TrimPrefix(at, root), "/") > maxDepth
			if at != root && (deep || strings.HasPrefix(base, ".") || slices.Contains(skippedFolders, base) ||
				p.isFile(path.Join(at, "pyvenv.cfg"))) {
				return fs.SkipDir
			}
		case name.MatchString(d.Name()):
			found = append(found, at)
		}
		return nil
	})
	return found
}

// environ is a variable of the environment that the tests will see.
func (p *Project) environ(name string) string {
	for i := len(p.Environ) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(p.Environ[i], name+"="); ok {
			return v
		}
	}
	return ""
}

// upward lists a folder and those above it up to Root, as paths below Root.
func upward(dir string) []string {
	dir = path.Clean(dir)
	list := []string{dir}
	for dir != "." && dir != "/" {
		dir = path.Dir(dir)
		list = append(list, dir)
	}
	return list
}

// command is the absolute path of a program that an adapter starts, or a fault.
func (p *Project) command(name, hint string) (string, error) {
	at, err := p.LookPath(name)
	if err != nil {
		return "", fault.New(fault.LaunchFailed, hint, "%s is not in PATH", name)
	}
	return at, nil
}

// packageJSON is what a package.json says of tests.
type packageJSON struct {
	Dir     string // below Root, "." for Root
	Name    string
	Scripts map[string]string
	Deps    map[string]string // of every kind
	Manager string            // packageManager: "yarn@4.1.0"
	Fields  map[string]json.RawMessage
	spaces  []string
}

// packageAt reads a package.json; nil where there is none that can be read.
func (p *Project) packageAt(dir string) *packageJSON {
	text := p.read(path.Join(dir, "package.json"))
	if text == "" {
		return nil
	}
	pkg := &packageJSON{Dir: path.Clean(dir), Deps: map[string]string{}}
	if json.Unmarshal([]byte(text), &pkg.Fields) != nil {
		return nil
	}
	get := func(name string, into any) { _ = json.Unmarshal(pkg.Fields[name], into) }
	get("name", &pkg.Name)
	get("scripts", &pkg.Scripts)
	get("packageManager", &pkg.Manager)
	for _, kind := range []string{"dependencies", "devDependencies", "optionalDependencies", "peerDependencies"} {
		deps := map[string]string{}
		get(kind, &deps)
		for name, version := range deps {
			pkg.Deps[name] = version
		}
	}
	var object struct{ Packages []string }
	get("workspaces", &pkg.spaces)
	if len(pkg.spaces) == 0 {
		get("workspaces", &object)
		pkg.spaces = object.Packages
	}
	return pkg
}

// packages are the project's package at Root and those of its workspaces, Root's first.
func (p *Project) packages() []*packageJSON {
	const most = 200
	root := p.packageAt(".")
	patterns := pnpmWorkspaces(p.read("pnpm-workspace.yaml"))
	var list []*packageJSON
	if root != nil {
		list = append(list, root)
		patterns = append(patterns, root.spaces...)
	}
	if root == nil && len(patterns) == 0 {
		patterns = []string{"*", "packages/*", "apps/*"} // a repository of several projects
	}
	seen := map[string]bool{".": true}
	for _, pattern := range patterns {
		pattern = strings.TrimSuffix(strings.TrimPrefix(pattern, "./"), "/")
		if strings.HasPrefix(pattern, "!") || !fs.ValidPath(pattern) {
			continue
		}
		for _, dir := range p.glob(pattern) {
			if seen[dir] || len(list) >= most || slices.Contains(skippedFolders, path.Base(dir)) ||
				strings.HasPrefix(path.Base(dir), ".") {
				continue
			}
			seen[dir] = true
			if pkg := p.packageAt(dir); pkg != nil {
				list = append(list, pkg)
			}
		}
	}
	return list
}

// glob is fs.Glob with ** for any number of folders, as far as workspaces need it: one and two levels.
func (p *Project) glob(pattern string) []string {
	before, after, stars := strings.Cut(pattern, "**")
	patterns := []string{pattern}
	if stars {
		after = strings.TrimPrefix(after, "/")
		patterns = nil
		for _, level := range []string{"*", "*/*", "*/*/*"} {
			patterns = append(patterns, path.Join(before, level, after))
		}
	}
	var found []string
	for _, one := range patterns {
		names, err := fs.Glob(p.FS, one)
		if err == nil {
			found = append(found, names...)
		}
	}
	slices.Sort(found)
	return found
}

// pnpmWorkspaces reads the packages of a pnpm-workspace.yaml: a list of quoted or bare patterns.
func pnpmWorkspaces(text string) []string {
	var patterns []string
	within := false
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		switch item, ok := strings.CutPrefix(trimmed, "- "); {
		case strings.HasPrefix(trimmed, "packages:"):
			within = true
		case within && ok:
			patterns = append(patterns, strings.Trim(strings.TrimSpace(item), `'"`))
		case trimmed != "" && !strings.HasPrefix(trimmed, "#"):
			within = false
		}
	}
	return patterns
}
