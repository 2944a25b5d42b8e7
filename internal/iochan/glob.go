package iochan

import (
	"path"
	"path/filepath"
	"strings"
)

// glob is a pattern over the paths of files: * and ? and [] stop at a slash, ** does not.
type glob struct {
	base  string   // the directory, absolute, below which all of it lies
	parts []string // behind base
}

// newGlob reads a pattern; a relative one begins at root.
func newGlob(root, pattern string) (glob, error) {
	if !filepath.IsAbs(pattern) {
		pattern = filepath.Join(root, filepath.FromSlash(pattern))
	}
	parts := strings.Split(strings.TrimPrefix(path.Clean(filepath.ToSlash(pattern)), "/"), "/")
	g := glob{base: "/"}
	for len(parts) > 1 && !strings.ContainsAny(parts[0], "*?[\\") {
		g.base, parts = path.Join(g.base, parts[0]), parts[1:]
	}
	g.parts = parts
	for _, p := range parts {
		if _, err := path.Match(p, "x"); err != nil {
			return g, invalid("Write *, ?, [a-z] and ** for any directories.", "file pattern %q: %w", pattern, err)
		}
	}
	return g, nil
}

// match reports whether an absolute path is one of the pattern's.
func (g *glob) match(p string) bool {
	rest, ok := strings.CutPrefix(filepath.ToSlash(p), strings.TrimSuffix(g.base, "/")+"/")
	return ok && matchParts(g.parts, strings.Split(rest, "/"))
}

func matchParts(want, have []string) bool {
	for len(want) > 0 {
		if want[0] == "**" {
			for i := range len(have) + 1 {
				if matchParts(want[1:], have[i:]) {
					return true
				}
			}
			return false
		}
		if len(have) == 0 {
			return false
		}
		if ok, err := path.Match(want[0], have[0]); err != nil || !ok {
			return false
		}
		want, have = want[1:], have[1:]
	}
	return len(have) == 0
}

// deep reports whether directories below base can have files of the pattern, and how many levels: -1 is any.
func (g *glob) deep() int {
	for _, p := range g.parts {
		if p == "**" {
			return -1
		}
	}
	return len(g.parts) - 1
}
