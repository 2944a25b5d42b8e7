package natvis

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/strobe-debug/strobe/internal/plainfile"
)

// Library finds the user's files: those of a home directory, and those of a project. Safe for concurrent use.
type Library struct {
	dir string // of the user, "" none

	mu    sync.Mutex // guards what follows; files are read under it, each once
	roots map[string]*found
	files map[string]*opened
}

// found is what was found of one project.
type found struct {
	set    *Set
	key    string
	paths  []string
	more   string // what of the project was not looked at
	looked time.Time
}

// opened is one file as it was read.
type opened struct {
	key  string
	file *File
	err  error
}

// Bounds on what is looked at of a project.
const (
	maxEntries   = 20_000 // files and folders
	maxFolders   = 12     // nesting
	maxFiles     = 100
	maxRoots     = 32
	lookInterval = 2 * time.Second // between two walks through the same project
)

// NewLibrary returns a library. dir is the user's own directory of files.
func NewLibrary(dir string) *Library {
	return &Library{dir: dir, roots: map[string]*found{}, files: map[string]*opened{}}
}

// Later is For at the first type that is looked up: of many programs none is, and looking through a large project takes
// longer than starting its program.
func (l *Library) Later(root string) *Set {
	if l == nil {
		return nil
	}
	return &Set{find: func() *Set { return l.For(root) }}
}

// For returns the descriptions that are in force for a project; root "" is none. What was changed since the last call
// is read anew; if nothing was, the set is the same.
func (l *Library) For(root string) *Set {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.roots[root]
	if f == nil {
		if len(l.roots) >= maxRoots {
			clear(l.roots)
			clear(l.files)
		}
		f = &found{}
		l.roots[root] = f
	}
	if now := time.Now(); f.looked.IsZero() || now.Sub(f.looked) > lookInterval {
		f.looked, f.paths, f.more = now, nil, ""
		if l.dir != "" {
			list, _ := filepath.Glob(filepath.Join(escaped(l.dir), "*.natvis"))
			f.paths = append(f.paths, list...)
		}
		more, cut := project(root)
		if len(more) == 0 { // a large project that has none is not told at each launch that it could have some
			cut = ""
		}
		f.paths, f.more = append(f.paths, more...), cut
		if len(f.paths) > maxFiles {
			f.paths, f.more = f.paths[:maxFiles], "there are more than 100 .natvis files"
		}
	}
	key := f.more
	keys := make([]string, len(f.paths))
	for i, p := range f.paths {
		keys[i] = fileKey(p)
		key += "\x00" + p + "\x00" + keys[i]
	}
	if f.set == nil || f.key != key {
		f.set, f.key = l.read(f, keys, root), key
	}
	return f.set
}

// escaped keeps a directory's name from being a pattern.
func escaped(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

// fileKey changes when a file does.
func fileKey(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return "gone"
	}
	return info.ModTime().String() + "\x00" + strconv.FormatInt(info.Size(), 10) + info.Mode().String()
}

func (l *Library) read(f *found, keys []string, root string) *Set {
	var files []*File
	var broken []Problem
	for i, p := range f.paths {
		o := l.files[p]
		if o == nil || o.key != keys[i] {
			o = &opened{key: keys[i]}
			o.file, o.err = readFile(p)
			l.files[p] = o
		}
		switch {
		case o.err != nil:
			broken = append(broken, Problem{File: p, What: o.err.Error()})
		case o.file != nil:
			files = append(files, o.file)
		}
	}
	if f.more != "" {
		broken = append(broken, Problem{File: root, What: f.more})
	}
	s := NewSet(files...)
	s.broken = broken
	return s
}

// readFile reads one file, if it is a regular one.
func readFile(path string) (*File, error) {
	f, err := plainfile.OpenStored(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxFile+1)) // it may grow meanwhile
	switch {
	case err != nil:
		return nil, err
	case len(data) > MaxFile:
		return nil, &fs.PathError{Op: "read", Path: path, Err: fs.ErrInvalid}
	}
	return Parse(path, data)
}

// project finds the files below a directory. cut says what was not looked at.
func project(root string) (paths []string, cut string) {
	if root == "" || root == "/" {
		return nil, ""
	}
	entries := 0
	_ = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if entries++; entries > maxEntries {
			cut = "only 20000 files and folders were looked through for .natvis files"
			return fs.SkipAll
		}
		switch {
		case err != nil:
			return nil
		case d.IsDir():
			name := d.Name()
			if p != root && (strings.HasPrefix(name, ".") || name == "node_modules" || name == "__pycache__") {
				return fs.SkipDir
			}
			if rel, err := filepath.Rel(root, p); err == nil && strings.Count(rel, string(filepath.Separator)) >= maxFolders {
				return fs.SkipDir
			}
		case strings.EqualFold(filepath.Ext(p), ".natvis"):
			paths = append(paths, p)
		}
		return nil
	})
	slices.Sort(paths)
	return paths, cut
}
