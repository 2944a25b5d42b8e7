package capture

import (
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/strobe-debug/strobe/internal/symbol"
)

// One function of Go's is made for all instances of a generic one whose types are alike in memory, and is given a
// dictionary of the types that it is called with. Debug information says which word of that is whose type.

// goDictionary is the type of the argument that names what an instance is called with.
var goDictionary = symbol.MadePointer(&symbol.Type{Kind: symbol.KindFunction})

// goShapeArg begins the name of a type that stands for all of one form.
const goShapeArg = "go.shape."

// goInstances are the dictionaries that a function may be given.
func goInstances(m *symbol.Module, f *symbol.Function) (dicts []symbol.Addr) {
	at := strings.Index(f.Name, "["+goShapeArg)
	if at < 0 {
		return nil
	}
	slash := strings.LastIndexByte(f.Name[:at], '/') + 1
	pkg, generic, _ := strings.Cut(f.Name[slash:at], ".")
	generic = strings.TrimPrefix(generic, "(*")
	shapes := goList(f.Name[at:])
	types := m.GoTypeNames()
	for addr, name := range m.GoDicts().Name {
		real := goList(strings.TrimPrefix(name, f.Name[:slash]+pkg+"..dict."+generic))
		fits := len(real) == len(shapes)
		for i := 0; fits && i < len(real); i++ {
			fits = goHasShape(types.Type[real[i]], real[i], strings.TrimPrefix(shapes[i], goShapeArg))
		}
		if fits {
			dicts = append(dicts, addr)
		}
	}
	return dicts
}

// goList are the types in brackets at the beginning of a text.
func goList(s string) (list []string) {
	if !strings.HasPrefix(s, "[") {
		return nil
	}
	depth, from := 0, 1
	for i, c := range s {
		switch c {
		case '[', '(', '{':
			depth++
		case ']', ')', '}':
			depth--
		}
		if depth == 0 || depth == 1 && c == ',' {
			list = append(list, s[from:i])
			from = i + 1
		}
		if depth == 0 {
			break
		}
	}
	return list
}

// goHasShape reports whether a type may have a shape.
func goHasShape(t *symbol.Type, name, shape string) bool {
	switch {
	case name == shape:
		return true
	case strings.HasPrefix(name, "*"):
		return shape == "*uint8"
	}
	s := t.Strip()
	if s == nil { // it has no description
		return strings.Contains(name, ".")
	}
	return s.Name == shape || s.Kind == symbol.KindStruct && s.Name == name && strings.HasPrefix(shape, "struct")
}

// goReal is the type that a parameter has in all instances; else one that is safe to show.
func goReal(m *symbol.Module, t *symbol.Type, dicts []symbol.Addr) *symbol.Type {
	index, is := strings.CutPrefix(t.Name, ".param")
	n, err := strconv.Atoi(index)
	if !is || err != nil {
		return t
	}
	types := m.GoTypeNames()
	real := ""
	for _, d := range dicts {
		b, err := m.BytesAt(d+symbol.Addr(8*n), 8)
		if err != nil {
			return goSafe(t)
		}
		name := types.Name[symbol.Addr(binary.LittleEndian.Uint64(b))]
		if real != "" && name != real {
			return goSafe(t)
		}
		real = name
	}
	if r := types.Type[real]; r != nil && sizeOf(goStrip(r)) == sizeOf(goStrip(t)) {
		return r
	}
	return goSafe(t)
}

// goSafe is the type itself, but for the shape of all pointers, which is not what they lead to.
func goSafe(t *symbol.Type) *symbol.Type {
	if p := t.Strip(); p != nil && strings.HasPrefix(p.Name, goShapeArg+"*") {
		return symbol.MadePointer(nil)
	}
	return t
}
