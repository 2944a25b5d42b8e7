package testadapter

import (
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// projectFiles are what a project of its own has at its root.
var projectFiles = []string{"go.mod", "Cargo.toml", "package.json", "deno.json", "deno.jsonc", "pyproject.toml",
	"pytest.ini", "setup.py", "setup.cfg", "requirements.txt", "CMakeLists.txt", "meson.build"}

// Bounds of Siblings.
const (
	maxSiblings = 5
	maxDetected = 30 // projects that are looked at
)

// Siblings are folders of other projects below p that a framework runs tests of, beside the one in dir, which detection
// chose: a repository of several without a root that runs them all. It tells the first ones, and whether there may be
// more.
func Siblings(a Adapter, p *Project, dir string) (dirs []string, more bool) {
	looked := map[string]bool{".": true, dir: true}
	for _, name := range below(p.FS, 3, func(name string) bool { return slices.Contains(projectFiles, path.Base(name)) }) {
		at := path.Dir(name)
		if looked[at] || within(at, dir) || within(dir, at) ||
			slices.ContainsFunc(dirs, func(have string) bool { return within(at, have) }) {
			continue
		}
		looked[at] = true
		if len(dirs) == maxSiblings || len(looked) > maxDetected {
			return dirs, true
		}
		sub, err := fs.Sub(p.FS, at)
		if err != nil {
			continue
		}
		q := *p
		q.Root, q.FS = filepath.Join(p.Root, at), sub
		if d := a.Detect(&q); d.Confidence >= 50 && d.dir() == "." {
			dirs = append(dirs, at)
		}
	}
	return dirs, false
}

// within says whether a folder is below another.
func within(dir, above string) bool { return strings.HasPrefix(dir, above+"/") }
