package jvm

import (
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// mostSources bounds what is looked at below a root: a project has fewer, and a root that is none has more.
	mostSources = 200_000
	// sourcesAgain is how old what was found must be before a file that was not among it is looked for again.
	sourcesAgain = 5 * time.Second
)

// sources finds source files by what classes say of them: a package and a name without a folder. Safe for concurrent
// use.
type sources struct {
	mu    sync.Mutex
	roots map[string]*sourceTree
}

// sourceTree are the files below one root.
type sourceTree struct {
	at    time.Time
	files map[string][]string // paths by their last element
}

func newSources() *sources { return &sources{roots: map[string]*sourceTree{}} }

var sourceEndings = []string{".java", ".kt", ".kts", ".scala", ".groovy", ".clj"}

// find returns the path of a class's source; "" where there is none below root. pkg has slashes.
func (s *sources) find(root, pkg, file string) string {
	if root == "" || file == "" || !slices.Contains(sourceEndings, filepath.Ext(file)) {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	path := ""
	s.look(root, func(t *sourceTree) bool {
		path = t.find(pkg, file)
		return path != ""
	})
	return path
}

// look asks for something in the sources below root, and again where they were read a while ago and it is not there.
// s.mu is held.
func (s *sources) look(root string, there func(t *sourceTree) bool) bool {
	t := s.roots[root]
	if t == nil || !there(t) && time.Since(t.at) >= sourcesAgain {
		t = readSources(root)
		s.roots[root] = t
	}
	return there(t)
}

// any reports whether there is a source below root.
func (s *sources) any(root string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.look(root, func(t *sourceTree) bool { return len(t.files) > 0 })
}

// find takes the file in its package's folder; one that is alone with its name may stand anywhere, as Kotlin has it.
func (t *sourceTree) find(pkg, file string) string {
	all := t.files[file]
	for _, path := range all {
		if pkg == "" || strings.HasSuffix(filepath.ToSlash(filepath.Dir(path)), "/"+pkg) {
			return path
		}
	}
	if len(all) == 1 && filepath.Ext(file) != ".java" {
		return all[0]
	}
	return ""
}

func readSources(root string) *sourceTree {
	t := &sourceTree{at: time.Now(), files: map[string][]string{}}
	seen := 0
	// What cannot be read is not there.
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if seen++; seen > mostSources {
			return filepath.SkipAll
		}
		switch {
		case err != nil:
			return nil
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules"):
			return filepath.SkipDir
		case !d.IsDir() && slices.Contains(sourceEndings, filepath.Ext(path)):
			t.files[d.Name()] = append(t.files[d.Name()], path)
		}
		return nil
	})
	return t
}

// of is agentlink.Kind.File: agents know a source by its package and name.
func (s *sources) of(root, said string) string {
	if filepath.IsAbs(said) {
		return said
	}
	pkg, file := path.Split(said)
	if found := s.find(root, strings.TrimSuffix(pkg, "/"), file); found != "" {
		return found
	}
	return said
}
