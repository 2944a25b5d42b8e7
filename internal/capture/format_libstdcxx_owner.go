package capture

import (
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/sorting"
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/value"
)

// gnuTuple is a chain of bases _Tuple_impl<i, …>, each with a base _Head_base<i, T, …>, which has T as its member or,
// if that is empty, as its base.
func gnuTuple(f *form) bool {
	heads, ok := gnuHeads(f.T, 0)
	return ok && f.heads(heads)
}

// heads shows the elements of a tuple.
func (f *form) heads(heads []head) bool {
	if len(heads) == 0 && f.T.Name != "tuple<>" {
		return false
	}
	sorting.By(heads, func(a, b head) int { return int(a.index - b.index) })
	var parts []part
	for i, h := range heads {
		if h.index != int64(i) {
			return false
		}
		parts = append(parts, h.part)
	}
	return f.Tuple(parts...)
}

// head is one element of a tuple.
type head struct {
	index int64
	part
}

func gnuHeads(t *symbol.Type, off int64) (out []head, ok bool) {
	if t.Kind != symbol.KindStruct || off < 0 {
		return nil, false
	}
	for _, b := range t.Fields() {
		bt := b.Type.Strip()
		switch {
		case !b.Base || bt == nil:
		case isClass(bt, "_Tuple_impl"):
			inner, ok := gnuHeads(bt, off+b.Off)
			if !ok {
				return nil, false
			}
			out = append(out, inner...)
		case isClass(bt, "_Head_base"):
			i, ok := numberArg(bt, 0)
			if !ok {
				return nil, false
			}
			if at, t, ok := field(bt, "_M_head_impl"); ok {
				out = append(out, head{i, part{t, off + b.Off + at}})
			} else if t, ok := typeArg(bt, 1); ok {
				out = append(out, head{i, part{t, off + b.Off}})
			}
		}
	}
	return out, true
}

// gnuOptional is {_M_payload: {_M_payload: {_M_value, …}, _M_engaged}}; the value was named as what holds it once.
func gnuOptional(f *form) bool {
	engaged, _, ok := f.any(path{"_M_payload", "_M_engaged"})
	off, t, ok1 := f.any(path{"_M_payload", "_M_payload", "_M_value"}, path{"_M_payload", "_M_payload"})
	return ok && ok1 && f.Choice(engaged, 1, choice{name: "value", is: []uint64{1}, t: t, off: off}, choice{})
}

// gnuVariant is {_M_u, _M_index}, with all alternatives at the start of the first.
func gnuVariant(f *form) bool {
	off, union, ok := f.any(path{"_M_u"})
	index, it, ok1 := f.any(path{"_M_index"})
	if !ok || !ok1 {
		return false
	}
	var types []*symbol.Type // GCC leaves packs empty at times: each _Uninitialized<T, …> of the union says one
	for range maxAlternatives {
		_, first, ok := field(union, "_M_first")
		if !ok {
			break
		}
		t, ok := typeArg(first, 0)
		if !ok {
			return false
		}
		types = append(types, t)
		if _, union, ok = field(union, "_M_rest"); !ok {
			break
		}
	}
	return f.alternatives(types, off, index, sizeOf(it))
}

// maxAlternatives bounds what a variant is believed to have.
const maxAlternatives = 200

// alternatives shows one of the types of a std::variant, all of which are at off; null if it has none.
func (f *form) alternatives(types []*symbol.Type, off, index, size int64) bool {
	var choices []choice
	for i, t := range types {
		choices = append(choices, choice{is: []uint64{uint64(i)}, t: t, off: off})
	}
	return len(choices) > 0 && f.Choice(index, size, append(choices, choice{})...)
}

// gnuAny is {_M_manager, _M_storage: {_M_buffer}}: a function that the type names, and the value, if it is small, or
// its address.
func gnuAny(f *form) bool {
	_, ok := f.load(r0, path{"_M_manager"})
	return ok && f.held(path{"_M_storage"})
}

// held shows a std::any by its manager, which is in r0, the word of what it holds, and what that leads to if it is a
// std::string of libstdc++: where nothing of the kind is there, the walk ends.
func (f *form) held(paths ...path) bool {
	off, t, ok := f.any(paths...)
	if !ok || sizeOf(t) < 8 {
		return false
	}
	f.P.Load(r1, off, 8)
	f.words(value.ClassTypeOf, r0, r1)
	none := f.P.Label()
	f.P.JumpZero(r0, none)
	f.P.LoadMem(r2, r1, 8, 8)
	f.P.LoadMem(r3, r1, 0, 8)
	f.P.ALUImm(ring.ALUULt, r4, r2, 1<<24)
	f.P.JumpZero(r4, none)
	f.P.Node(value.WalkBytes, r1, noReg, 32, false)
	f.P.Node(value.WalkBytes, r3, r2, maxString, false)
	f.P.Bind(none)
	return true
}

// gnuFunction is {_M_functor, _M_manager, _M_invoker}: a function that the type of what is held names, and what is held
// or its address.
func gnuFunction(f *form) bool {
	_, ok := f.load(r0, path{"_M_invoker"})
	_, ok1 := f.load(r1, path{"_M_manager"})
	held, _, ok2 := f.any(path{"_M_functor"})
	if !ok || !ok1 || !ok2 {
		return false
	}
	some := f.P.Label()
	f.P.JumpNot(r1, some)
	f.P.Const(r0, 0)
	f.P.Bind(some)
	f.P.Load(r1, held, 8)
	return f.words(value.ClassCallable, r0, r1)
}

// gnuUnique has a tuple of the pointer and its deleter somewhere inside, as _M_t.
func gnuUnique(f *form) bool {
	off, t := int64(0), f.T
	for range 4 {
		o, m, ok := field(t, "_M_t")
		if !ok {
			return false
		}
		if off, t = off+o, m.Strip(); !isClass(t, "tuple") {
			continue
		}
		heads, ok := gnuHeads(t, off)
		i := slices.IndexFunc(heads, func(h head) bool { return h.index == 0 })
		if !ok || i < 0 || heads[i].t.Strip().Kind != symbol.KindPointer {
			return false
		}
		f.P.Load(r0, heads[i].off, 8)
		return f.Box(f.single(heads[i].t.Strip().Elem()), r0)
	}
	return false
}

// gnuShared is {_M_ptr, _M_refcount: {_M_pi}}, the latter to {_M_use_count, …}.
func gnuShared(f *form, weak bool) bool {
	elem, ok := f.loadPointer(r0, path{"_M_ptr"})
	block, ok1 := f.loadPointer(r1, path{"_M_refcount", "_M_pi"})
	if !ok || !ok1 {
		return false
	}
	count, t, ok := field(block, "_M_use_count")
	return ok && sizeOf(t) == 4 && f.counted(f.single(elem), count, 4, false, weak)
}

func gnuReference(f *form) bool { return f.reference(path{"_M_data"}) }

// reference shows what a std::reference_wrapper leads to.
func (f *form) reference(paths ...path) bool {
	off, t, ok := f.any(paths...)
	if !ok || t.Kind != symbol.KindPointer {
		return false
	}
	if e := t.Elem().Strip(); e != nil && e.Kind == symbol.KindFunction {
		return f.Alias(t, off)
	}
	f.P.Load(r0, off, 8)
	return f.Box(t.Elem(), r0)
}

// isSystemClock reports a time_point of the clock that shows the time of day.
func (f *form) isSystemClock() bool {
	clock, ok := typeArg(f.T, 0)
	return ok && strings.HasSuffix(clock.Strip().Name, "system_clock")
}
