package capture

import (
	"slices"

	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/value"
)

// padded puts bytes of no meaning in the place of missing ones that no member of the object has, so that what is there
// can be put together. LLVM describes an object in registers member by member.
func (s *side) padded(at []value.Piece, t *symbol.Type) []value.Piece {
	var out []value.Piece
	off := int64(0)
	for i, p := range at {
		if p.Chunk == value.PieceMissing && p.Size <= s.fixed && !occupied(t, off, off+int64(p.Size), 0) {
			if out == nil {
				out = slices.Clone(at)
			}
			out[i] = value.Piece{Size: p.Size} // the payload's first bytes
		}
		off += int64(p.Size)
	}
	if out == nil {
		return at
	}
	return out
}

// occupied reports whether a scalar of the object lies in the bytes from lo to hi.
func occupied(t *symbol.Type, lo, hi int64, depth int) bool {
	size := sizeOf(t)
	if hi <= 0 || lo >= size || size <= 0 {
		return false
	}
	s := t.Strip()
	switch {
	case depth > maxTypeDepth:
		return true
	case s.Kind == symbol.KindArray:
		elem := sizeOf(s.Elem())
		if elem <= 0 || hi-lo >= elem {
			return true
		}
		first, last := max(lo, 0)/elem, (min(hi, size)-1)/elem
		return occupied(s.Elem(), lo-first*elem, hi-first*elem, depth+1) ||
			occupied(s.Elem(), lo-last*elem, hi-last*elem, depth+1)
	case s.Kind != symbol.KindStruct && s.Kind != symbol.KindUnion || s.Variants() != nil:
		return true
	}
	for _, f := range s.Fields() {
		switch {
		case f.Static:
		case f.Virtual:
			return true
		case f.BitSize > 0:
			if f.BitOff < 8*hi && f.BitOff+f.BitSize > 8*lo {
				return true
			}
		case emptyClass(f.Type): // one byte, shared with others
		case occupied(f.Type, lo-f.Off, hi-f.Off, depth+1):
			return true
		}
	}
	return false
}

// emptyClass reports a class without members, as deleters and allocators are.
func emptyClass(t *symbol.Type) bool {
	s := t.Strip()
	if s.Kind != symbol.KindStruct || s.Declared || s.Variants() != nil {
		return false
	}
	for _, f := range s.Fields() {
		if !f.Static && !emptyClass(f.Type) {
			return false
		}
	}
	return true
}
