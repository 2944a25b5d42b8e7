package symbol

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/strobe-debug/strobe/internal/fault"
)

// A Pattern selects functions. The forms:
//
//	ns::Class::method     exact name; no wildcard
//	ns::f(int, char)      exact name and parameters (C++; for languages whose symbols have no
//	                      parameters the part in parentheses is ignored)
//	ns::*                 * is any text within one segment: it stops at ::, in Go at . and /
//	ns::**  **::run       ** is any text, across segments; between separators also none: a::**::b is a::b, too;
//	                      in Go, a/b/** are the functions of a/b and of the packages below
//	get?                  ? is one character within a segment
//	@exceptions           no function, but exceptions thrown and caught
//	@coverage             no function's calls, but which of the user's functions run at all
//	@sockets @sockets:N   no function, but what the program does on the network; N bytes of each message are shown
//	@locks                no function, but which locks are held in which order, and waited for
//	@switches             no function, but when each thread ran, was kept from a CPU, or waited and why
//	@goroutines           no function, but goroutines of Go: who made them and where, what they wait for, who wakes them
//	@channels             no function, but what is done to Go's channels
//	@usercode             every function whose source is under the project root
//	@file:NAME            functions whose source path contains NAME
//	file:src/**/*.c       a glob on the source path relative to the project root; * stops at /
//	!PATTERN              takes functions out
//
// A segment without template or generic arguments matches with any: foo::Bar::baz matches
// foo::Bar<int>::baz<char>; foo::Bar<int>::baz only that one. The text between < and > may hold
// wildcards. A :: inside <>, (), [] or {} does not separate, so * matches a whole segment such as
// Map<std::string, int>. ABI tags ([abi:cxx11]) and hash suffixes are ignored, spaces do not
// matter, and (anonymous namespace):: may be left out. An exact pattern may also be the symbol as
// linked (_ZN2ns1fEv, f.constprop.0).
//
// Rust: <a::T as b::Trait>::f also answers to a::T::f and b::Trait::f; a::<impl b::T>::f to b::T::f.
// Closures are a segment of their own: a::f::{{closure}} is matched by a::f::* and a::f::**, not by a::f.
//
// In operator*, operator*= and operator->* the star is literal; operator** means all operators.
// Inside parentheses * and ? are literal. [ and ] are always literal: there are no character classes.
type Pattern struct {
	text     string
	exclude  bool
	kind     patternKind
	arg      string // @file:, file:
	bytes    int    // @sockets:N
	exact    bool   // no wildcard
	native   []byte // tokens for :: names
	golang   []byte // tokens for Go names
	goRoot   []byte // of pkg/**: for functions of pkg itself, as pkg/... of Go's tools has it
	hasArgs  bool   // native has < >
	params   []byte // tokens of the parameter list, nil without one
	literal  string // longest identifier that a matching name must hold
	fileGlob [][]byte
}

type patternKind uint8

const (
	patternName patternKind = iota
	patternUserCode
	patternExceptions
	patternCoverage
	patternSockets
	patternLocks
	patternGoroutines
	patternGoChannels
	patternSwitches
	patternFile
	patternFileGlob
)

// maxPattern bounds a pattern's length; names longer than this are matched by a wildcard.
const maxPattern = 4096

const patternHelp = "Use a name such as ns::Class::method, ns::*, ns::**, @usercode, @file:NAME, file:src/*.c or " +
	"@exceptions; a leading ! excludes."

func badPattern(s string, pos int, format string, args ...any) error {
	return fault.New(fault.InvalidPattern, patternHelp, "pattern %q, position %d: "+format,
		append([]any{clip(s), pos + 1}, args...)...)
}

func clip(s string) string {
	if len(s) > 100 {
		return strings.ToValidUTF8(s[:100], "") + "…"
	}
	return s
}

// ParsePattern compiles a pattern. Errors are INVALID_PATTERN faults with the 1-based byte position.
func ParsePattern(s string) (*Pattern, error) {
	if len(s) > maxPattern {
		return nil, badPattern(s, maxPattern, "it is longer than %d bytes", maxPattern)
	}
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] == 0x7f {
			return nil, badPattern(s, i, "a control character")
		}
	}
	p := &Pattern{text: strings.TrimSpace(s)}
	at := strings.Index(s, p.text)
	body := p.text
	if strings.HasPrefix(body, "!") {
		p.exclude = true
		body = strings.TrimLeft(body[1:], " ")
		at = max(strings.LastIndex(s, body), 0)
	}
	if body == "" {
		return nil, badPattern(s, at, "it is empty")
	}
	switch {
	case body == "@usercode":
		p.kind = patternUserCode
		return p, nil
	case body == "@exceptions" && !p.exclude:
		p.kind = patternExceptions
		return p, nil
	case body == "@coverage" && !p.exclude:
		p.kind = patternCoverage
		return p, nil
	case body == "@locks" && !p.exclude:
		p.kind = patternLocks
		return p, nil
	case body == "@switches" && !p.exclude:
		p.kind = patternSwitches
		return p, nil
	case body == "@goroutines" && !p.exclude:
		p.kind = patternGoroutines
		return p, nil
	case body == "@channels" && !p.exclude:
		p.kind = patternGoChannels
		return p, nil
	case (body == "@sockets" || strings.HasPrefix(body, "@sockets:")) && !p.exclude:
		p.kind = patternSockets
		if text, some := strings.CutPrefix(body, "@sockets:"); some {
			var err error
			if p.bytes, err = strconv.Atoi(text); err != nil || p.bytes < 1 || p.bytes > MaxSocketBytes {
				return nil, badPattern(s, at+len("@sockets:"), "@sockets: needs a number of bytes, 1 to %d", MaxSocketBytes)
			}
		}
		return p, nil
	case strings.HasPrefix(body, "@file:"):
		if p.kind, p.arg = patternFile, body[len("@file:"):]; p.arg == "" {
			return nil, badPattern(s, at+len("@file:"), "@file: needs a part of a path")
		}
		return p, nil
	case strings.HasPrefix(body, "@"):
		return nil, badPattern(s, at, "unknown %q; there are @usercode, @file:NAME, @exceptions, @coverage, "+
			"@sockets, @locks, @switches, @goroutines and @channels", clip(body))
	case strings.HasPrefix(body, "file:"):
		if p.kind, p.arg = patternFileGlob, strings.TrimPrefix(body[len("file:"):], "./"); p.arg == "" {
			return nil, badPattern(s, at+len("file:"), "file: needs a glob such as src/*.c")
		}
		p.fileGlob = compilePath(p.arg)
		return p, nil
	}
	if pos, msg := p.compile(body); msg != "" {
		return nil, badPattern(s, at+pos, "%s", msg)
	}
	return p, nil
}

// String returns the pattern as given, without surrounding space.
func (p *Pattern) String() string { return p.text }

// Excludes reports whether the pattern began with "!".
func (p *Pattern) Excludes() bool { return p.exclude }

// Exact reports whether the pattern is one name without wildcards.
func (p *Pattern) Exact() bool { return p.kind == patternName && p.exact }

// Exceptions reports whether the pattern asks for exceptions. It matches no function.
func (p *Pattern) Exceptions() bool { return p.kind == patternExceptions }

// Coverage reports whether the pattern asks which functions run at all. It matches none itself.
func (p *Pattern) Coverage() bool { return p.kind == patternCoverage }

// Sockets reports whether the pattern asks what is done on the network, and how many bytes of each message are to be
// shown. It matches no function.
func (p *Pattern) Sockets() (bytes int, ok bool) { return p.bytes, p.kind == patternSockets }

// Locks reports whether the pattern asks for locks. It matches no function.
func (p *Pattern) Locks() bool { return p.kind == patternLocks }

// Switches reports whether the pattern asks when threads ran and when they waited. It matches no function.
func (p *Pattern) Switches() bool { return p.kind == patternSwitches }

// Functions reports whether functions can match the pattern.
func (p *Pattern) Functions() bool {
	return p.kind < patternExceptions || p.kind > patternSwitches
}

// Goroutines and GoChannels report patterns that ask what goroutines do, and what is done to Go's channels. They match
// no function.
func (p *Pattern) Goroutines() bool { return p.kind == patternGoroutines }

// GoChannels is said at Goroutines.
func (p *Pattern) GoChannels() bool { return p.kind == patternGoChannels }

// MaxSocketBytes bounds the bytes of @sockets:N.
const MaxSocketBytes = 4096

// NeedsSource reports whether the pattern can only match functions with debug information.
func (p *Pattern) NeedsSource() bool { return p.kind != patternName }

// Match reports whether the pattern selects f, the leading "!" aside. projectRoot is for @usercode
// and file: patterns.
func (p *Pattern) Match(f *Function, projectRoot string) bool {
	if p.kind == patternName {
		return p.matchFunction(f)
	}
	return p.Matcher(projectRoot)(f)
}

// Matcher returns Match for one project root: cheaper for many functions.
func (p *Pattern) Matcher(projectRoot string) func(*Function) bool {
	switch p.kind {
	case patternExceptions, patternCoverage, patternSockets, patternLocks, patternGoroutines, patternGoChannels,
		patternSwitches:
		return func(*Function) bool { return false }
	case patternUserCode:
		in := project(projectRoot)
		return func(f *Function) bool { _, ok := in(f.File); return ok }
	case patternFile:
		return func(f *Function) bool { return f.File != "" && strings.Contains(f.File, p.arg) }
	case patternFileGlob:
		in := project(projectRoot)
		abs := strings.HasPrefix(p.arg, "/")
		return func(f *Function) bool {
			rel, ok := f.File, f.File != ""
			if !abs {
				rel, ok = in(f.File)
			}
			return ok && globPath(p.fileGlob, rel)
		}
	}
	return p.matchFunction
}

// MatchName reports whether a name pattern matches a bare name of the language. File patterns match nothing.
func (p *Pattern) MatchName(name string, lang Language) bool {
	return p.kind == patternName && p.matchFunction(&Function{Name: name, Raw: name, Language: lang})
}

func (p *Pattern) matchFunction(f *Function) bool {
	if p.exact && f.Raw == p.bare() {
		return true
	}
	if p.matchOne(f, f.Name) {
		return p.matchParams(f)
	}
	for _, a := range f.Aliases {
		if p.matchOne(f, a) {
			return p.params == nil
		}
	}
	return false
}

func (p *Pattern) bare() string { return strings.TrimPrefix(p.text, "!") }

func (p *Pattern) matchOne(f *Function, name string) bool {
	if p.literal != "" && !strings.Contains(name, p.literal) {
		return false
	}
	var buf [256]byte
	if f.Language == LangGo {
		n := normalizeGo(buf[:0], name, !p.hasArgs)
		return glob(p.golang, n) || p.goRoot != nil && glob(p.goRoot, n)
	}
	n := normalize(buf[:0], name, !p.hasArgs)
	if glob(p.native, n) {
		return true
	}
	if strings.Contains(name, anonymous) && glob(p.native, dropAnonymous(n)) {
		return true
	}
	if strings.HasPrefix(name, "<") || strings.Contains(name, "::<impl ") {
		for _, alt := range implNames(name) {
			if glob(p.native, normalize(buf[:0], alt, !p.hasArgs)) {
				return true
			}
		}
	}
	return false
}

// matchParams compares the parameter list, where the pattern and the symbol have one.
func (p *Pattern) matchParams(f *Function) bool {
	if p.params == nil || !isMangled(f.Raw) {
		return true
	}
	full := f.Full()
	list, ok := paramList(full)
	if !ok {
		return true
	}
	var buf [256]byte
	n := squeeze(buf[:0], list)
	if glob(p.params, n) {
		return true
	}
	// f(int) also means f(int) const, f(int) &.
	if i := strings.LastIndexByte(string(n), ')'); i >= 0 && i < len(n)-1 {
		return glob(p.params, n[:i+1])
	}
	return false
}

var rootCache sync.Map // project root -> []string

// rootsOf returns the spellings of a project root that source paths may use.
func rootsOf(root string) []string {
	if root == "" {
		return nil
	}
	if r, ok := rootCache.Load(root); ok {
		return r.([]string)
	}
	clean := filepath.Clean(root)
	roots := []string{clean}
	if real, err := filepath.EvalSymlinks(clean); err == nil && real != clean {
		roots = append(roots, real)
	}
	rootCache.Store(root, roots)
	return roots
}

// project returns what tells the path of a file below the root. A path that is not absolute, because nothing was found
// above the program, is of the project where a file of it has it.
func project(root string) func(file string) (rel string, ok bool) {
	roots := rootsOf(root)
	module := sync.OnceValue(func() string { return moduleOf(root) })
	var known sync.Map
	return func(file string) (string, bool) {
		if file == "" || file[0] == '/' || len(roots) == 0 {
			return under(file, roots)
		}
		if rel, ok := known.Load(file); ok {
			return rel.(string), rel != ""
		}
		rel := file
		if strings.HasSuffix(file, ".go") {
			rel = strings.TrimPrefix(file, module()+"/")
		}
		if st, err := os.Stat(filepath.Join(roots[0], rel)); err != nil || !st.Mode().IsRegular() {
			rel = ""
		}
		known.Store(file, rel)
		return rel, rel != ""
	}
}

// moduleOf returns the name of the Go module at a root, or "".
func moduleOf(root string) string {
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "module "); ok {
			return strings.Trim(strings.TrimSpace(name), `"`)
		}
	}
	return ""
}

// under returns the path relative to the first root that holds it.
func under(path string, roots []string) (rel string, ok bool) {
	for _, r := range roots {
		if r == "/" && strings.HasPrefix(path, "/") {
			return path[1:], true
		}
		if len(path) > len(r) && path[len(r)] == '/' && path[:len(r)] == r {
			return path[len(r)+1:], true
		}
	}
	return "", false
}

// PatternSet is what is included and what is taken out again. The zero value matches nothing.
type PatternSet struct{ Include, Exclude []*Pattern }

// ParseSet compiles patterns; the first bad one is the error.
func ParseSet(patterns []string) (*PatternSet, error) {
	s := &PatternSet{}
	for _, text := range patterns {
		p, err := ParsePattern(text)
		if err != nil {
			return nil, err
		}
		if p.exclude {
			s.Exclude = append(s.Exclude, p)
		} else {
			s.Include = append(s.Include, p)
		}
	}
	return s, nil
}

// Match reports whether some pattern includes f and none excludes it.
func (s *PatternSet) Match(f *Function, projectRoot string) bool {
	for _, p := range s.Include {
		if p.Match(f, projectRoot) {
			return !s.Excluded(f, projectRoot)
		}
	}
	return false
}

// Excluded reports whether a "!" pattern takes f out.
func (s *PatternSet) Excluded(f *Function, projectRoot string) bool {
	for _, p := range s.Exclude {
		if p.Match(f, projectRoot) {
			return true
		}
	}
	return false
}
