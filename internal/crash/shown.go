package crash

import (
	"slices"

	"github.com/strobe-debug/strobe/internal/value"
)

// placed are the members in which places of the program stand. Arguments and locals are the program's.
var placed = []string{"thrownAt", "causes", "backtrace", "report", "stacks"}

// ParseShown reads a crash event as queries show it whole: places have the names that calls have for them, sourceFile
// for file, and members of every event stand beside.
func ParseShown(shown []byte) (*Crash, error) {
	v, err := value.ParseJSON(shown)
	if err != nil {
		return nil, err
	}
	return Parse(storedNames(v).AppendJSON(nil))
}

func storedNames(v value.Value) value.Value {
	switch elems, more := v.Elems(); v.Kind() {
	case value.Array:
		out := make([]value.Value, len(elems))
		for i := range elems {
			out[i] = storedNames(elems[i])
		}
		return value.NewArray(out, more)
	case value.Obj:
		o := slices.Clone(v.Object())
		for i := range o {
			switch m := &o[i]; {
			case m.Name == "sourceFile":
				m.Name = "file"
			case slices.Contains(placed, m.Name):
				m.Value = storedNames(m.Value)
			}
		}
		return value.NewObject(o)
	}
	return v
}
