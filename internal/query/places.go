package query

import (
	"slices"

	"github.com/strobe-debug/strobe/internal/value"
)

// placed are the members of an event's own object in which places of the program stand, one or a list.
var placed = []string{"backtrace", "stacks", "report", "caughtIn", "thrownAt", "rethrownAt", "causedBy", "causes"}

// namePlaces gives an event's place the names that calls have for it: sourceFile and line. Recorded events say file.
func namePlaces(data []DataMember) {
	has := func(name string) bool {
		return slices.ContainsFunc(data, func(m DataMember) bool { return m.Name == name })
	}
	if !has("function") && !has("line") {
		return
	}
	for i := range data {
		switch m := &data[i]; {
		case m.Name == "file":
			m.Name = "sourceFile"
		case slices.Contains(placed, m.Name):
			if v, err := value.ParseJSON(m.Value); err == nil {
				m.Value = nameIn(v).AppendJSON(nil)
			}
		}
	}
}

// nameIn is namePlaces within a value: frames, lists of frames, reports with stacks. Arguments and locals are the
// program's.
func nameIn(v value.Value) value.Value {
	if elems, more := v.Elems(); v.Kind() == value.Array {
		out := make([]value.Value, len(elems))
		for i := range elems {
			out[i] = nameIn(elems[i])
		}
		return value.NewArray(out, more)
	}
	if v.Kind() != value.Obj {
		return v
	}
	out := slices.Clone(v.Object())
	for i, m := range out {
		switch {
		case m.Name == "file":
			out[i].Name = "sourceFile"
		case slices.Contains(placed, m.Name):
			out[i].Value = nameIn(m.Value)
		}
	}
	return value.NewObject(out)
}
