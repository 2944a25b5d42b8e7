package symbol

import (
	"slices"
)

// tell notes that a scope has what its abstract instance has at ref.
func (w *scopeWalk) tell(scope int, ref dieRef) {
	if ref != 0 && w.locals {
		w.told[scope][ref] = true
	}
}

// inherit adds to a scope the variables of the function's abstract instance that this instance does not mention: those
// that the compiler removed here, which are optimized out, and statics, of which there is one for all instances.
func (w *scopeWalk) inherit(scope int, b *block) {
	if !w.locals || !b.abstract {
		return
	}
	u, ab, r := w.d.die(b.origin)
	if ab == nil || ab.tag != tagSubprogram || !ab.children {
		return
	}
	ab.skipAttrs(&r)
	var params []dieRef
	before := len(w.scopes[scope].Locals)
	w.abstract(u, &r, scope, 0, 0, &params)
	if locals := w.scopes[scope].Locals; len(locals) > before {
		order := func(l Local) int {
			if l.Param {
				return slices.Index(params, l.origin)
			}
			return len(params)
		}
		slices.SortStableFunc(locals, func(a, b Local) int { return order(a) - order(b) })
	}
}

// abstract walks the children of an abstract instance. params are its parameters, in order.
func (w *scopeWalk) abstract(u *unit, r *reader, scope, depth, blocks int, params *[]dieRef) {
	for r.off < len(r.b) && !r.bad && w.steps < maxChildren && depth < maxDepth {
		w.steps++
		ref := u.ref(uint64(r.off))
		code := r.uleb()
		if code == 0 {
			return
		}
		ab := u.abbrevs.get(code)
		if ab == nil {
			r.fail()
			return
		}
		param := ab.tag == tagFormalParameter && blocks == 0
		if param {
			*params = append(*params, ref)
		}
		sibling := uint64(0)
		switch told := w.told[scope][ref]; {
		case !told && ab.tag == tagLexicalBlock && ab.children:
			ab.skipAttrs(r)
			w.abstract(u, r, scope, depth+1, blocks+1, params)
			continue
		case !told && (param || ab.tag == tagVariable):
			w.local(u, ab, r, ref, scope, blocks)
		default:
			sibling = siblingOf(u, ab, r)
		}
		if ab.children {
			w.skipTree(u, r, sibling)
		}
	}
}

// dropDoubles leaves out variables without a place that stand a second time with one: gcc describes the parts of a
// block that it took apart.
func dropDoubles(locals []Local) []Local {
	return slices.DeleteFunc(slices.Clone(locals), func(l Local) bool {
		return l.Loc.Kind == LocNone && slices.ContainsFunc(locals,
			func(other Local) bool { return other.origin == l.origin && other.Loc.Kind != LocNone })
	})
}
