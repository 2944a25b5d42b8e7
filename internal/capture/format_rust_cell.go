package capture

import (
	"strconv"
	"strings"

	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/value"
)

// rustCell is what has its contents in a member "value", whatever else it keeps: a RefCell shows them while it is
// borrowed, too.
var rustCell = &formatter{
	name:  "rust cell",
	match: rustType("UnsafeCell", "SyncUnsafeCell", "Cell", "RefCell", "ManuallyDrop", "MaybeDangling"),
	form: func(f *form) bool {
		off, t, ok := f.Field("value")
		if !ok {
			off, t, ok = f.Field("__0")
		}
		return ok && f.Alias(t, off)
	},
}

// rustLock is Mutex, RwLock and ReentrantLock: what they guard.
var rustLock = &formatter{
	name:  "rust lock",
	match: rustType("Mutex", "RwLock", "ReentrantLock"),
	form: func(f *form) bool {
		off, t, ok := f.Field("data")
		return ok && strings.Contains(f.T.Name, "<") && f.Alias(t, off)
	},
}

// rustOnce is OnceCell: what it has, or null.
var rustOnce = &formatter{
	name:  "rust OnceCell",
	match: rustType("OnceCell"),
	form: func(f *form) bool {
		off, t, ok := f.Field("inner")
		return ok && f.Alias(t, off)
	},
}

// onceComplete is the state of a std::sync::Once that is done, in Rust 1.95 and later. Once it was that of one that has
// not begun; in which release they changed is not known here, and nothing in the type tells.
const onceComplete = 0

// rustSince reports whether a type is of the standard library of Rust 1.minor or a later one.
func rustSince(t *symbol.Type, minor int) bool {
	_, version, ok := strings.Cut(t.Compiler(), "1.")
	if !ok {
		return false
	}
	version, _, _ = strings.Cut(version, ".")
	n, err := strconv.Atoi(version)
	return err == nil && n >= minor
}

// rustOnceLock is OnceLock: what it has, or null.
var rustOnceLock = &formatter{
	name:  "rust OnceLock",
	match: rustType("OnceLock"),
	form: func(f *form) bool {
		state, ok := rustNumber(f.T, "state_and_queued", 4)
		inner, ok1 := rustParam(f.T, "T")
		off, _, ok2 := f.Field("value")
		if !ok || !ok1 || !ok2 || !rustSince(f.T, 95) {
			return false
		}
		return f.Choice(state, 4, choice{name: "set", is: []uint64{onceComplete}, t: inner, off: off}, choice{name: "empty"})
	},
}

// rustAtomic is AtomicU32 and the like: the number.
var rustAtomic = &formatter{
	name: "rust atomic",
	match: func(name string) bool {
		rest, ok := strings.CutPrefix(name, "core::sync::atomic::Atomic")
		return ok && !strings.Contains(rest, "::")
	},
	form: func(f *form) bool {
		off, t, ok := rustFind(f.T, func(_ string, m *symbol.Type) bool {
			return m.Kind == symbol.KindBase && sizeOf(m) > 0 || m.Kind == symbol.KindPointer
		})
		return ok && f.Alias(t, off)
	},
}

// rustAtomicBool is AtomicBool, which has a u8.
var rustAtomicBool = &formatter{
	name: "rust AtomicBool",
	match: func(name string) bool {
		return name == "core::sync::atomic::AtomicBool" || name == "core::sync::atomic::Atomic<bool>"
	},
	form: func(f *form) bool {
		f.V.Class = value.ClassBool
		f.P.Return()
		return sizeOf(f.T) == 1
	},
}

// rustWrapper is what only says something about the one thing in it.
var rustWrapper = &formatter{
	name:  "rust wrapper",
	match: rustType("Pin", "NonNull", "Unique"),
	form: func(f *form) bool {
		for _, name := range []string{"pointer", "__pointer"} {
			if off, t, ok := f.Field(name); ok {
				return f.Alias(t, off)
			}
		}
		return false
	},
}

// rustClosure is a closure: an object of what it captured, by the names that it has outside.
var rustClosure = &formatter{
	name: "rust closure",
	match: func(name string) bool {
		return strings.Contains(name[strings.LastIndex(name, "::")+1:], "{closure_env#")
	},
	form: func(f *form) bool {
		f.V.Class = value.ClassStruct
		if f.dry {
			eachField(f.T, f.tellInside)
			return f.T.Variants() == nil
		}
		if f.index >= 0 {
			f.V.Fields = f.tt.fields(f.T.Fields(), f.level)
		}
		for i := range f.V.Fields {
			f.V.Fields[i].Name = strings.TrimPrefix(f.V.Fields[i].Name, "_ref__")
		}
		f.tt.members(f.P, f.T)
		return true
	},
}
