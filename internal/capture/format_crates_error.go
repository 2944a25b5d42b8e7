package capture

import (
	"strings"

	"github.com/strobe-debug/strobe/internal/symbol"
)

// erased lists the types that an anyhow::Error of a module may hold, as the types that a trait object may be of: their
// tables are known by the function that says whether an error is of a type, which no two types share.
func erased(t *symbol.Type, crate string, slot int64) []dynCase {
	_, names := erasedTypes(t, crate, slot)
	return names
}

func erasedCases(t *symbol.Type, crate string, slot int64) []dynCase {
	cases, _ := erasedTypes(t, crate, slot)
	return cases
}

func erasedTypes(t *symbol.Type, crate string, slot int64) (cases, names []dynCase) {
	for _, function := range []string{"object_downcast", "context_downcast", "context_chain_downcast"} {
		for _, v := range t.SlotTables(crate+"::error::"+function, slot) {
			if len(names) >= maxDynValues || len(v.Params) == 0 || v.Params[0] == nil {
				break
			}
			v.Type, v.Of = v.Params[0], v.Params[0].QualifiedName()
			if function != "object_downcast" {
				if v.Type, v.Of = contextError(t, crate, v.Params), ""; v.Type == nil {
					continue
				}
			} else if plainMessage(v.Of) {
				v.Of = ""
			}
			c := dynCase{Vtable: v, number: uint64(len(names) + 1), whole: sizeOf(v.Type.Strip()) >= 0 &&
				v.Type.Strip().Align <= 8}
			names, cases = append(names, c), append(cases, c)
		}
	}
	return cases, names
}

// contextError finds ContextError<C, E> by its arguments' names; E is another error where none is given.
func contextError(t *symbol.Type, crate string, params []*symbol.Type) *symbol.Type {
	args := params[0].QualifiedName() + ", " + t.QualifiedName()
	if len(params) > 1 && params[1] != nil {
		args = params[0].QualifiedName() + ", " + params[1].QualifiedName()
	}
	name := crate + "::error::ContextError<" + args + ">"
	for _, found := range t.Namesakes(name) {
		if s := found.Strip(); s != nil && !s.Declared && s.QualifiedName() == name {
			return s
		}
	}
	return nil
}

// plainMessage reports text, and boxes that say themselves what they hold.
func plainMessage(name string) bool {
	return rustTexts[rustReferent(name)] || name == "alloc::string::String" || rustTrait(rustReferent(name)) != "" ||
		strings.HasPrefix(name, "alloc::borrow::Cow<str")
}
