package capture

import (
	"strings"

	"github.com/strobe-debug/strobe/internal/symbol"
)

// rustStd knows the types of Rust's core, alloc and std. Private members are found by the name and type that they have
// had for years, wherever they lie: a Vec's pointer is wrapped three times in one release, four times in the next.
var rustStd = []*formatter{
	rustDyn, rustText, rustString, rustOSString, rustCString,
	rustSlice, rustVec, rustHeap, rustDeque, rustList,
	rustHashMap, rustHashSet, rustBTreeMap, rustBTreeSet,
	rustOption, rustCow,
	rustRc, rustWeak,
	rustCell, rustLock, rustOnce, rustOnceLock, rustAtomicBool, rustAtomic, rustWrapper, rustClosure,
	rustDuration, rustInstant, rustSystemTime,
}

// rustType matches types of the standard library, or of a crate that it re-exports or that stands in for it, by the
// last part of their name: modules move between releases.
func rustType(names ...string) func(string) bool {
	return func(name string) bool {
		head, _, _ := strings.Cut(name, "<")
		crate, _, qualified := strings.Cut(head, "::")
		if !qualified {
			return false
		}
		switch crate {
		case "core", "alloc", "std", "hashbrown", "lock_api", "once_cell":
		default:
			return false
		}
		last := head[strings.LastIndex(head, "::")+2:]
		for _, n := range names {
			if last == n {
				return true
			}
		}
		return false
	}
}

// rustParam returns a generic type's argument.
func rustParam(t *symbol.Type, name string) (*symbol.Type, bool) {
	for _, p := range t.Strip().TemplateParams() {
		if p.Name == name && p.Type != nil {
			return p.Type.Strip(), true
		}
	}
	return nil, false
}

// Bounds on the search for a member: real ones lie less than ten structs deep, among a few dozen.
const (
	maxRustDepth  = 12
	maxRustSearch = 400
)

// rustFind returns the first member inside t, in the order of declaration and at any depth, that is what is asked for.
// It does not go through pointers.
func rustFind(t *symbol.Type, is func(name string, t *symbol.Type) bool) (off int64, found *symbol.Type, ok bool) {
	left := maxRustSearch
	var search func(t *symbol.Type, at int64, depth int) bool
	search = func(t *symbol.Type, at int64, depth int) bool {
		t = t.Strip()
		if t == nil || depth > maxRustDepth || t.Kind != symbol.KindStruct && t.Kind != symbol.KindUnion {
			return false
		}
		each := func(fs []symbol.Field) bool {
			for i := range fs {
				f := &fs[i]
				if left--; left < 0 || f.Static || f.Off < 0 {
					continue
				}
				if m := f.Type.Strip(); m != nil && is(f.Name, m) {
					off, found = at+f.Off, m
					return true
				}
				if search(f.Type, at+f.Off, depth+1) {
					return true
				}
			}
			return false
		}
		if each(t.Fields()) {
			return true
		}
		if v := t.Variants(); v != nil {
			for i := range v.Variants {
				if each(v.Variants[i].Fields) {
					return true
				}
			}
		}
		return false
	}
	ok = search(t, 0, 0)
	return off, found, ok
}

// rustMember is rustFind by name.
func rustMember(t *symbol.Type, member string) (off int64, found *symbol.Type, ok bool) {
	return rustFind(t, func(name string, _ *symbol.Type) bool { return name == member })
}

// rustPointer finds the first thin pointer inside t, or t itself.
func rustPointer(t *symbol.Type) (off int64, to *symbol.Type, ok bool) {
	t = t.Strip()
	if t == nil {
		return 0, nil, false
	}
	if t.Kind != symbol.KindPointer {
		off, t, ok = rustFind(t, func(_ string, m *symbol.Type) bool { return m.Kind == symbol.KindPointer })
		if !ok {
			return 0, nil, false
		}
	}
	return off, t.Elem().Strip(), true
}

// rustWord finds the number of 8 bytes in a member of that name, whatever wraps it.
func rustWord(t *symbol.Type, member string) (off int64, ok bool) { return rustNumber(t, member, 8) }

// rustNumber is rustWord for a size.
func rustNumber(t *symbol.Type, member string, size int64) (off int64, ok bool) {
	off, m, ok := rustMember(t, member)
	if !ok {
		return 0, false
	}
	if m.Kind == symbol.KindBase {
		return off, sizeOf(m) == size
	}
	inner, _, ok := rustFind(m, func(_ string,
		m *symbol.Type) bool {
		return m.Kind == symbol.KindBase && sizeOf(m) == size
	})
	return off + inner, ok
}
