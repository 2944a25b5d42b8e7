package query

import (
	"regexp"
	"strings"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/store"
)

// bareName returns a qualified name without template arguments: a<b>::c<d> is a::c. Angle brackets that are
// no arguments stay: operators, and the <T as Trait> that a Rust path begins with.
func bareName(name string) string {
	if !strings.Contains(name, "<") {
		return name
	}
	var b strings.Builder
	depth := 0
	for i := 0; i < len(name); i++ {
		c := name[i]
		if depth == 0 && strings.HasPrefix(name[i:], "operator") && (i == 0 || !identByte(name[i-1])) {
			n := operatorLen(name[i:])
			b.WriteString(name[i : i+n])
			i += n - 1
			continue
		}
		switch {
		case c == '<' && (depth > 0 || opensArguments(b.String())):
			if depth == 0 { // a turbofish, Rust's foo::<T>
				s := strings.TrimSuffix(b.String(), "::")
				b.Reset()
				b.WriteString(s)
			}
			depth++
		case c == '>' && depth > 0 && name[i-1] != '-':
			depth--
		case depth == 0:
			b.WriteByte(c)
		}
	}
	if depth != 0 {
		return name
	}
	return b.String()
}

// opensArguments reports whether a < after s begins template arguments.
func opensArguments(s string) bool {
	if strings.HasSuffix(s, "::") {
		return len(s) > 2
	}
	if s == "" {
		return false
	}
	c := s[len(s)-1]
	return c == '>' || c == '}' || c == ')' || identByte(c)
}

func identByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// operatorLen returns the length of the operator name that s begins with, or of the word "operator".
func operatorLen(s string) int {
	const word = "operator"
	for _, op := range []string{"<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "<", ">"} {
		if strings.HasPrefix(s[len(word):], op) {
			return len(word) + len(op)
		}
	}
	return len(word)
}

// plainName returns a name without what compilers add and nobody writes: ABI tags and anonymous namespaces.
func plainName(name string) string {
	name = strings.ReplaceAll(name, "(anonymous namespace)::", "")
	for {
		i := strings.Index(name, "[abi:")
		if i < 0 {
			return name
		}
		end := strings.IndexByte(name[i:], ']')
		if end < 0 {
			return name
		}
		name = name[:i] + name[i+end+1:]
	}
}

// sameName reports whether a function is meant by a name: with or without template arguments, ABI tags and anonymous namespaces.
func sameName(fn *event.Function, want string) bool {
	if fn.Name == want || fn.Raw == want || bareName(fn.Name) == want {
		return true
	}
	plain := plainName(fn.Name)
	return plain != fn.Name && (plain == want || bareName(plain) == want)
}

// matchName reports whether a function fulfils all conditions of the filter.
func matchName(f *NameFilter, re *regexp.Regexp, fn *event.Function) bool {
	if f.Equals != "" && !sameName(fn, f.Equals) {
		return false
	}
	if f.Contains != "" && !strings.Contains(fn.Name, f.Contains) && !strings.Contains(plainName(fn.Name), f.Contains) {
		return false
	}
	return re == nil || re.MatchString(fn.Name)
}

// matchFile reports whether a source path is the filter's, or ends in it at a slash.
func matchFile(f *FileFilter, path string) bool {
	if path == "" {
		return false
	}
	if f.Equals != "" && path != f.Equals && !strings.HasSuffix(path, "/"+strings.TrimPrefix(f.Equals, "./")) {
		return false
	}
	return strings.Contains(path, f.Contains)
}

// functionSet resolves a predicate over functions to ids, cached by key while no function is added.
func (c *cache) functionSet(key string, fns []event.Function, match func(*event.Function) bool) *store.Bits {
	c.mu.Lock()
	got, ok := c.sets[key]
	c.mu.Unlock()
	if ok && got.of == len(fns) {
		return got.bits
	}
	set := &store.Bits{}
	for i := range fns {
		if match(&fns[i]) {
			set.Set(uint32(i))
		}
	}
	c.mu.Lock()
	if len(c.sets) >= maxCachedSets {
		clear(c.sets)
	}
	c.sets[key] = cachedSet{bits: set, of: len(fns)}
	c.mu.Unlock()
	return set
}
