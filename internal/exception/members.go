package exception

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/strobe-debug/strobe/internal/symbol"
)

// Bounds of the short form of a class.
const (
	maxMembers    = 6
	maxMemberText = 80
)

// members renders the simple members of an object of a class that is no std::exception, where there is debug
// information: "code=7, name=\"x\"". Empty where there is none.
func (r *Reader) members(t typeInfo, object uint64) string {
	name := typeText(t.name)
	for _, mod := range r.mods {
		if mod.Mod == nil || !mod.Mod.HasDWARF {
			continue
		}
		for _, typ := range mod.Mod.TypesNamed(name) {
			if typ.Kind != symbol.KindStruct || typ.Declared {
				continue
			}
			var parts []string
			for _, f := range typ.Fields() {
				if len(parts) == maxMembers {
					parts = append(parts, "…")
					break
				}
				if f.Name == "" || f.BitSize != 0 {
					continue
				}
				if v := r.member(f.Type, object+uint64(f.Off)); v != "" {
					parts = append(parts, f.Name+"="+v)
				}
			}
			return strings.Join(parts, ", ")
		}
	}
	return ""
}

// member renders one member, "" where it is not simple.
func (r *Reader) member(t *symbol.Type, at uint64) string {
	t = bare(t)
	if t == nil {
		return ""
	}
	w, ok := r.word(at)
	if !ok {
		return ""
	}
	switch {
	case t.Kind == symbol.KindPointer:
		if e := bare(t.Elem()); e != nil && e.Kind == symbol.KindBase && e.Size == 1 && w != 0 {
			if s, ok := r.machine(r.fsBase).Text(w, maxMemberText); ok {
				return strconv.Quote(clean(s))
			}
		}
		return hex(w)
	case t.Kind == symbol.KindStruct && strings.HasPrefix(t.Name, "basic_string<char"):
		n, ok := r.word(at + 8)
		if !ok || n > maxMessage {
			return ""
		}
		return strconv.Quote(r.bytes(w, min(n, maxMemberText)))
	case t.Kind == symbol.KindEnum:
		v := signed(w, t.Size)
		for _, e := range t.Enumerators() {
			if e.Val == v {
				return e.Name
			}
		}
		return strconv.FormatInt(v, 10)
	case t.Kind == symbol.KindBase:
		return baseText(t, w)
	}
	return ""
}

func baseText(t *symbol.Type, w uint64) string {
	switch t.Encoding {
	case symbol.EncBool:
		return strconv.FormatBool(w&0xff != 0)
	case symbol.EncFloat:
		switch t.Size {
		case 4:
			return fmt.Sprint(math.Float32frombits(uint32(w)))
		case 8:
			return fmt.Sprint(math.Float64frombits(w))
		}
		return ""
	case symbol.EncUnsigned, symbol.EncUnsignedChar:
		return strconv.FormatUint(w<<(64-8*min(max(t.Size, 1), 8))>>(64-8*min(max(t.Size, 1), 8)), 10)
	}
	if t.Size > 8 {
		return ""
	}
	return strconv.FormatInt(signed(w, t.Size), 10)
}

// signed is the low bytes of w as a signed number.
func signed(w uint64, bytes int64) int64 {
	shift := 64 - 8*min(max(bytes, 1), 8)
	return int64(w<<shift) >> shift
}

// bare takes typedefs and qualifiers away.
func bare(t *symbol.Type) *symbol.Type {
	for range 16 {
		if t == nil {
			return nil
		}
		switch t.Kind {
		case symbol.KindTypedef, symbol.KindConst, symbol.KindVolatile, symbol.KindOther:
			t = t.Elem()
		default:
			return t
		}
	}
	return nil
}
