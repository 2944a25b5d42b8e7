package symbol

import (
	"debug/buildinfo"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// sources finds files whose paths in the debug information are not absolute: builds that are to be reproducible have
// them relative to a directory that they do not name (-ffile-prefix-map=DIR=., Bazel's /proc/self/cwd, Go's -trimpath).
type sources struct {
	program string
	bases   func() []string // directories above the program, the nearest first
	module  func() string   // of Go, "" for others
	found   sync.Map        // path as written -> path
}

// anyCwd is what Bazel has its compilers write for the directory that they work in.
const anyCwd = "/proc/self/cwd/"

func newSources(program string) *sources {
	s := &sources{program: program}
	s.bases = sync.OnceValue(func() []string { return above(program) })
	s.module = sync.OnceValue(func() string {
		if info, err := buildinfo.ReadFile(program); err == nil {
			return info.Main.Path
		}
		return ""
	})
	return s
}

// above returns the directories in which a program may have been built. None is of the system's own.
func above(program string) (dirs []string) {
	path, err := filepath.EvalSymlinks(program)
	if err != nil {
		return nil
	}
	for dir := filepath.Dir(absolute(path)); len(dir) > 1; dir = filepath.Dir(dir) {
		switch dir {
		case "/usr", "/bin", "/sbin", "/lib", "/lib64", "/nix", "/proc", "/dev":
			return nil
		}
		dirs = append(dirs, dir)
	}
	return dirs
}

// locate returns the absolute path of a file as the debug information has it, where it is in a directory above the
// program; else the path as it is written.
func (s *sources) locate(written string) string {
	if written == "" || written[0] == '/' && !strings.HasPrefix(written, anyCwd) {
		return written
	}
	if p, ok := s.found.Load(written); ok {
		return p.(string)
	}
	p := s.search(strings.TrimPrefix(written, anyCwd))
	s.found.Store(written, p)
	return p
}

func (s *sources) search(written string) string {
	tails := []string{filepath.Clean(written)}
	if i := strings.LastIndex(written, "/./"); i >= 0 { // below what was replaced, not below the unit's directory
		tails = append(tails, written[i+3:])
	}
	bases := s.bases()
	if len(bases) > 0 && strings.HasSuffix(written, ".go") && s.module() != "" {
		rest, ok := strings.CutPrefix(tails[0], s.module()+"/")
		if !ok { // the standard library's, or another module's
			return tails[0]
		}
		tails = []string{rest}
	}
	for _, base := range bases {
		for _, tail := range tails {
			path, err := filepath.EvalSymlinks(filepath.Join(base, tail)) // Bazel's tree of links
			if err != nil {
				continue
			}
			if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() {
				return path
			}
		}
	}
	return tails[len(tails)-1]
}

// locateAll gives the functions of an index, whose cached form is true wherever the program lies, their sources.
func (s *sources) locateAll(ix *index) {
	for _, list := range [][]Function{ix.funcs, ix.frags} {
		for i := range list {
			list[i].File = s.locate(list[i].File)
		}
	}
	for i := range ix.ghosts {
		ix.ghosts[i].file = s.locate(ix.ghosts[i].file)
	}
}
