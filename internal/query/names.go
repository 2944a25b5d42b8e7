package query

import (
	"regexp"
	"strings"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/store"
)

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

// sameName reports whether a function is meant by a name: with or without template arguments, ABI tags and anonymous
// namespaces.
func sameName(fn *event.Function, want string) bool {
	if fn.Name == want || fn.Raw == want || event.BareName(fn.Name) == want {
		return true
	}
	plain := plainName(fn.Name)
	return plain != fn.Name && (plain == want || event.BareName(plain) == want)
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
	if c.sets == nil || len(c.sets) >= maxCachedSets {
		c.sets = make(map[string]cachedSet)
	}
	c.sets[key] = cachedSet{bits: set, of: len(fns)}
	c.mu.Unlock()
	return set
}
