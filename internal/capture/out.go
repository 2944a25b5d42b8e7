package capture

import (
	"slices"

	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/value"
)

// outs has what pointer arguments lead to read again at the exit. The agent keeps the argument registers for that;
// arguments on the stack belong to the function, which may have changed them.
func (b *builder) outs(sig *symbol.Signature, names []string, homes []home) {
	s := &b.exit
	for i := range sig.Params {
		h, t := &homes[i], sig.Params[i].Type
		// glibc's union of sockaddrs
		e, known := outTarget(t), b.types.formatter(t.Strip()) != nil && t.Strip().Kind == symbol.KindUnion
		if b.types.secret(names[i], t) {
			continue
		}
		if e == nil && !known || h.missing || h.indirect || len(h.places) != 1 || h.places[0].kind != srcGPR ||
			h.places[0].off != 0 || h.places[0].size != 8 {
			continue
		}
		at := slices.Index(argGPRs[:], h.places[0].reg)
		if at < 0 {
			continue
		}
		if len(b.lay.Out) == 0 {
			b.enter.ops = append(b.enter.ops, ring.Op{Code: ring.OpSave})
		}
		f := value.Field{Name: names[i], Pieces: []value.Piece{{Chunk: s.fix(ring.Op{Code: ring.OpSaved, Src: uint8(at)}, 8),
			Size: 8}}}
		if b.types.followable(t.Strip()) || b.types.formatter(t.Strip()) != nil {
			f.Type = b.types.of(t, b.depth)
			b.lead(s, &f, t)
		} else { // a pointer to a number: not followed as an argument, where it may be an array
			v := value.Type{Class: value.ClassRef, Size: 8, Walk: b.types.walks.id(e, walkObject), Elem: b.types.of(e, b.depth)}
			v.Discr.Type = -1
			f.Type = b.types.add(v)
			s.root(f.Pieces, rootPointee, v.Walk, min(size32(e), maxObject), 0)
		}
		b.lay.Out = append(b.lay.Out, f)
	}
}

// outTarget returns what a function can change through a pointer, or nil.
func outTarget(t *symbol.Type) *symbol.Type {
	s := t.Strip()
	if s == nil || s.Kind != symbol.KindPointer && s.Kind != symbol.KindReference {
		return nil
	}
	for e := s.Elem(); e != nil; e = e.Elem() {
		switch e.Kind {
		case symbol.KindConst:
			return nil
		case symbol.KindTypedef, symbol.KindVolatile, symbol.KindOther:
			continue
		case symbol.KindFunction, symbol.KindVoid, symbol.KindUnknown:
			return nil
		}
		if e.Declared || sizeOf(e) <= 0 {
			return nil
		}
		return e
	}
	return nil
}
