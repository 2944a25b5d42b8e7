package capture

import "github.com/strobe-debug/strobe/internal/value"

// rustOption is Option<T>: what is in it, or null. Other enums, Result among them, are shown with the name of the
// variant.
var rustOption = &formatter{name: "rust Option", match: rustType("Option"), form: rustPlain}

// rustCow is Cow<'_, T>: what it has, whether it is its own or not.
var rustCow = &formatter{name: "rust Cow", match: rustType("Cow"), form: rustPlain}

// rustPlain shows an enum as the payload of its variant, or null where that has none.
func rustPlain(f *form) bool {
	parts := f.T.Variants()
	if parts == nil || len(parts.Variants) == 0 {
		return false
	}
	f.V.Class, f.V.Plain = value.ClassVariant, true
	f.V.Discr = value.TypeField{Type: -1}
	if parts.Discr != nil {
		f.V.Discr = value.TypeField{Type: f.Elem(parts.Discr.Type), Off: uint32(max(parts.Discr.Off, 0))}
	}
	for i := range parts.Variants {
		v := &parts.Variants[i]
		out := value.Variant{Name: v.Name, Type: -1}
		for _, s := range v.Discr {
			for d := s.Lo; len(out.Values) < maxEnumerators; d++ {
				out.Values = append(out.Values, d)
				if d >= s.Hi {
					break
				}
			}
		}
		if v.Default {
			out.Values = nil
		}
		if len(v.Fields) > 1 {
			return false
		}
		if len(v.Fields) == 1 {
			if off, t, ok := field(v.Fields[0].Type, "__0"); ok {
				out.Type, out.Off = f.Elem(t), uint32(v.Fields[0].Off+off)
			}
		}
		f.V.Variants = append(f.V.Variants, out)
	}
	if f.dry {
		eachField(f.T, f.tellInside)
	} else {
		f.tt.variantParts(f.P, parts)
	}
	return true
}
