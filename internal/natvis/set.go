package natvis

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/strobe-debug/strobe/internal/sorting"
)

// Set is descriptions from several files, the first of which count most. Safe for concurrent use.
type Set struct {
	Files  []*File
	byHead map[string][]entry
	broken []Problem // files that are none

	mu    sync.Mutex // leaf
	noted []Problem
	seen  map[string]bool

	find  func() *Set // of a set that is found when it is first asked for a type
	once  sync.Once
	found atomic.Pointer[Set]
}

// Is reports whether both are the same descriptions.
func (s *Set) Is(o *Set) bool { return s == o || s != nil && s.find != nil && s.found.Load() == o }

// Asked reports whether a type was looked up in a set of Library.Later; of others it is true.
func (s *Set) Asked() bool { return s == nil || s.find == nil || s.found.Load() != nil }

// real is the set that was found; nil: nobody has asked for a type yet.
func (s *Set) real() *Set {
	if s == nil || s.find == nil {
		return s
	}
	return s.found.Load()
}

// Note keeps what a description says that does not fit the type that it was used for, once.
func (s *Set) Note(p Problem) {
	if s = s.real(); s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := p.File + ":" + strconv.Itoa(p.Line)
	if !s.seen[key] && len(s.noted) < maxProblems {
		if s.seen == nil {
			s.seen = map[string]bool{}
		}
		s.seen[key] = true
		s.noted = append(s.noted, p)
	}
}

// Problems returns what of the files is not understood, and what of them did not fit the types that they were used for
// so far.
func (s *Set) Problems() []Problem {
	if s = s.real(); s == nil {
		return nil
	}
	out := slices.Clone(s.broken)
	for _, f := range s.Files {
		out = append(out, f.Problems...)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return append(out, s.noted...)
}

type entry struct {
	t       *Type
	pattern Pattern
	rank    int // of its file
}

// Match is a description of a type. Bound are what its wildcards stand for.
type Match struct {
	Type  *Type
	Bound []Bound
	rank  int
}

// NewSet makes a set. nil is an empty one.
func NewSet(files ...*File) *Set {
	s := &Set{Files: files, byHead: map[string][]entry{}}
	for rank, f := range files {
		for _, t := range f.Types {
			for _, p := range t.Names {
				head := p.head()
				s.byHead[head] = append(s.byHead[head], entry{t, p, rank})
			}
		}
	}
	return s
}

// Lookup returns the descriptions of a type, the one to be tried first at first. name is qualified, as debug
// information has it.
func (s *Set) Lookup(name string) []Match {
	if s != nil && s.find != nil {
		s.once.Do(func() { s.found.Store(s.find()) })
	}
	if s = s.real(); s == nil || len(s.byHead) == 0 || name == "" {
		return nil
	}
	name = tidy(name)
	out := s.named(name)
	if plain := Plain(name); plain != name {
		out = append(out, s.named(plain)...)
	}
	sorting.By(out, func(a, b Match) int { // names without wildcards count more
		return cmp.Or(a.rank-b.rank, b.Type.Priority-a.Type.Priority, len(a.Bound)-len(b.Bound))
	})
	return out
}

func (s *Set) named(name string) []Match {
	var out []Match
	for _, e := range s.byHead[headOf(name)] {
		if bound, ok := e.pattern.match(name); ok {
			out = append(out, Match{e.t, bound, e.rank})
		}
	}
	return out
}

// maxListed is how many problems of one file Summary names.
const maxListed = 3

// Summary says what is not understood, in a line for each file.
func (s *Set) Summary() []string {
	if s = s.real(); s == nil {
		return nil
	}
	var files []string
	by := map[string][]Problem{}
	for _, p := range s.Problems() {
		if len(by[p.File]) == 0 {
			files = append(files, p.File)
		}
		by[p.File] = append(by[p.File], p)
	}
	var out []string
	for _, f := range files {
		list := by[f]
		var parts []string
		for _, p := range list[:min(len(list), maxListed)] {
			part := p.What
			if p.Line > 0 {
				part = "line " + strconv.Itoa(p.Line) + ": " + part
			}
			parts = append(parts, part)
		}
		text := f + ": not understood: " + strings.Join(parts, "; ")
		if more := len(list) - len(parts); more > 0 {
			text += "; and " + strconv.Itoa(more) + " more"
		}
		out = append(out, text)
	}
	return out
}

// Paths names the files.
func (s *Set) Paths() []string {
	if s = s.real(); s == nil {
		return nil
	}
	var out []string
	for _, f := range s.Files {
		out = append(out, f.Path)
	}
	return out
}
