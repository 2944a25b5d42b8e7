package capture

import (
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/value"
)

// llvmTuple has in __base_ a base __tuple_leaf<i, T, …> for each element, with T as its member or, if that is empty, as
// its base.
func llvmTuple(f *form) bool {
	off, base, ok := f.any(path{"__base_"})
	if !ok {
		return f.heads(nil)
	}
	var leaves []head
	for _, b := range base.Fields() {
		bt := b.Type.Strip()
		if !b.Base || !isClass(bt, "__tuple_leaf") {
			continue
		}
		i, ok := numberArg(bt, 0)
		if !ok {
			return false
		}
		if at, t, ok := field(bt, "__value_"); ok {
			leaves = append(leaves, head{i, part{t, off + b.Off + at}})
		} else if t, ok := typeArg(bt, 1); ok {
			leaves = append(leaves, head{i, part{t, off + b.Off}})
		}
	}
	return f.heads(leaves)
}

// llvmOptional is {__val_, …, __engaged_}.
func llvmOptional(f *form) bool {
	engaged, _, ok := f.any(path{"__engaged_"})
	off, t, ok1 := f.any(path{"__val_"})
	return ok && ok1 && f.Choice(engaged, 1, choice{name: "value", is: []uint64{1}, t: t, off: off}, choice{})
}

// llvmVariant is {__impl_: {__data, __index}}, with all alternatives at the start of the first.
func llvmVariant(f *form) bool {
	off, _, ok := f.any(path{"__impl_", "__data"}, path{"__impl", "__data"})
	index, it, ok1 := f.any(path{"__impl_", "__index"}, path{"__impl", "__index"})
	var types []*symbol.Type
	for _, a := range f.T.TemplateParams() {
		types = append(types, a.Type)
	}
	return ok && ok1 && f.alternatives(types, off, index, sizeOf(it))
}

// llvmAny is {__h_, …}, whose first member is a function that the type names.
func llvmAny(f *form) bool {
	_, ok := f.load(r0, path{"__h_"}, path{"__h"})
	return ok && f.held(path{"__s_"}, path{"__s"})
}

// llvmFunction is {__f_: {__f_, …}}, a pointer to an object of a class with virtual functions that the type of what is
// held names; what is held comes first in that object.
func llvmFunction(f *form) bool {
	held, ok := f.loadPointer(r2, path{"__f_", "__f_"})
	if !ok || held == nil {
		return false
	}
	none := f.P.Label()
	f.P.Const(r0, 0)
	f.P.Const(r1, 0)
	f.P.JumpZero(r2, none)
	f.P.LoadMem(r0, r2, 0, 8)
	f.P.LoadMem(r0, r0, 16, 8) // the first that every class has of its own: __clone, behind two destructors
	f.P.LoadMem(r1, r2, 8, 8)
	f.P.Bind(none)
	return f.words(value.ClassCallable, r0, r1)
}

func llvmUnique(f *form) bool {
	elem, ok := f.loadPointer(r0, path{"__ptr_", "__value_"}, path{"__ptr_"})
	return ok && f.Box(f.single(elem), r0)
}

// llvmShared is {__ptr_, __cntrl_}, the latter to {__shared_owners_, …}, which is one less than the owners.
func llvmShared(f *form, weak bool) bool {
	elem, ok := f.loadPointer(r0, path{"__ptr_"})
	block, ok1 := f.loadPointer(r1, path{"__cntrl_"})
	if !ok || !ok1 {
		return false
	}
	count, t, ok := field(block, "__shared_owners_")
	if !ok && block.Strip().Declared {
		// A class whose virtual functions are in the library is described only there: the count follows the pointer to them.
		return f.counted(f.single(elem), 8, 8, true, weak)
	}
	return ok && sizeOf(t) == 8 && f.counted(f.single(elem), count, 8, true, weak)
}

// llvmDuration is {__rep_}.
func llvmDuration(f *form) bool { return f.duration(value.ClassDuration, f.T, path{"__rep_"}) }

// llvmTime is {__d_}, a duration.
func llvmTime(f *form) bool {
	off, d, ok := f.any(path{"__d_"})
	if !ok {
		return false
	}
	if f.isSystemClock() {
		return f.duration(value.ClassTime, d, path{"__d_", "__rep_"})
	}
	return f.Alias(d, off)
}
