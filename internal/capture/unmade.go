package capture

import (
	"strings"

	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/value"
)

// constructs reports a C++ constructor, whose object is none yet when it is called: its memory has what was there
// before.
func constructs(sig *symbol.Signature, f *symbol.Function) bool {
	if sig.Language != symbol.LangCPP || len(sig.Params) == 0 || !sig.Params[0].Artificial ||
		sig.Params[0].Name != "this" {
		return false
	}
	e := sig.Params[0].Type.Strip().Elem()
	if e == nil || e.Strip() == nil {
		return false
	}
	class, name := plainName(e.Strip().Name), plainName(lastSegment(f.Name))
	return class != "" && class == name
}

// plainName is a name without template arguments and ABI tags.
func plainName(name string) string {
	if i := strings.IndexAny(name, "<["); i > 0 {
		name = name[:i]
	}
	return name
}

// lastSegment is what follows the last :: that is in no brackets. Of a name with parameters they are left out.
func lastSegment(name string) string {
	depth, from := 0, 0
	for i := 0; i < len(name); i++ {
		switch name[i] {
		case '<':
			depth++
		case '>':
			depth--
		case '(':
			if depth == 0 && i > from {
				return name[from:i]
			}
		case ':':
			if depth == 0 {
				from = i + 1
			}
		}
	}
	return name[from:]
}

// unmade adds a parameter that points to memory for an object to be: its address is shown.
func (b *builder) unmade(name string, t *symbol.Type, h *home) {
	e := t.Strip().Elem().Strip()
	of := b.types.add(value.Type{Class: value.ClassOpaque, Name: e.Name, Elem: -1, Discr: value.TypeField{Type: -1}})
	v := value.Type{Class: value.ClassStructPtr, Size: 8, Elem: of, Walk: value.WalkBytes,
		Discr: value.TypeField{Type: -1}}
	f := value.Field{Name: name, Type: b.types.add(v), Missing: h.missing || h.indirect}
	if !f.Missing {
		for _, p := range h.places {
			f.Pieces = append(f.Pieces, b.piece(p))
		}
	}
	b.lay.Args = append(b.lay.Args, f)
}
