package capture

import (
	"github.com/strobe-debug/strobe/internal/value"
)

// layout makes the layout's types of a shape. off is where in the object's words, or in a record, its bytes begin.
func (v *visual) layout(f *form, s *shape) (index int32, off uint32) {
	off = uint32(8 * s.slot)
	words := uint32(8 * len(s.words))
	add := func(t value.Type) int32 {
		t.Name, t.Discr.Type = f.V.Name, -1
		if t.Class != value.ClassVariant {
			t.Discr = value.TypeField{Type: -1}
		}
		return f.tt.add(t)
	}
	switch s.kind {
	case shapeMine:
		field := value.TypeField{Type: v.number(f, f.tt.formOf(s.t, s.view, f.level), s.base), Off: uint32(s.off)}
		if s.bits > 0 {
			field = value.TypeField{Type: f.Elem(s.t), BitOff: uint32(s.off), BitSize: uint32(s.bits)}
		}
		return add(value.Type{Class: value.ClassMine, Elem: -1, Fields: []value.TypeField{field}}), 0
	case shapeWord:
		return v.number(f, f.tt.at(s.t, f.level), s.base), off
	case shapePlace:
		if s.deeper {
			i := add(value.Type{Class: value.ClassPlace, Signed: true, Size: 8, Elem: -1,
				ElemWalk: f.tt.pointeeWalk(s.t.Strip())})
			f.tt.later(i, &f.tt.types[i], s.t, f.level)
			return i, off
		}
		return add(value.Type{Class: value.ClassPlace, Size: 8, Elem: f.tt.formOf(s.t, s.view, f.level),
			ElemWalk: f.tt.walkOf(s.t, s.view), Deeper: v.recurs(f.tt, s)}), off
	case shapeString:
		return add(value.Type{Class: value.ClassString, Size: words, Count: value.InPlace, Elem: f.Elem(s.t)}), off
	case shapeWide:
		return add(value.Type{Class: value.ClassWide, Size: words, Elem: f.Elem(s.t)}), off
	case shapeSpan, shapeGrid:
		t := value.Type{Class: value.ClassSpan, Size: words, Count: value.InPlace, Elem: v.number(f, f.Elem(s.t), s.base),
			ElemWalk: f.tt.arrayWalk(s.t), Deeper: v.recurs(f.tt, s)}
		if s.kind == shapeGrid {
			t.Class, t.Count, t.Signed = value.ClassGrid, uint32(len(s.words)-1), s.back
		}
		return add(t), off
	case shapeList:
		return add(v.listType(f, s)), 0
	case shapeChoice:
		return v.choiceType(f, s, add), 0
	case shapeItems, shapeFormat:
		t := value.Type{Class: value.ClassItems, Size: uint32(8 * s.n), Elem: -1}
		if s.kind == shapeFormat {
			t.Class = value.ClassFormat
		}
		if s.map_ {
			t.Class = value.ClassTuple
		}
		for i := range s.parts {
			part := &s.parts[i]
			field := value.TypeField{Name: part.name, Type: -1}
			if part.s != nil {
				field.Type, field.Off = v.layout(f, part.s)
			}
			if part.bare {
				field.BitOff = 1
			}
			t.Fields = append(t.Fields, field)
		}
		return add(t), 0
	case shapeAbsent:
		return add(value.Type{Class: value.ClassAbsent, Elem: -1}), 0
	}
	return add(value.Type{Class: value.ClassVoid, Elem: -1}), 0
}

// number shows a number in another base.
func (v *visual) number(f *form, t int32, base uint32) int32 {
	if base == 0 {
		return t
	}
	size := f.tt.types[t].Size
	return f.tt.add(value.Type{Class: value.ClassNumber, Size: size, Elem: t, Count: base,
		Discr: value.TypeField{Type: -1}})
}

func (v *visual) listType(f *form, s *shape) value.Type {
	t := value.Type{Class: value.ClassList, Walk: v.id(f.tt, walkSeq, listPart(s.list))}
	if s.map_ {
		t.Count = value.AsMap
	}
	if s.list.sized {
		t.Fields = []value.TypeField{{Type: -1, Off: uint32(8 * s.slot)}}
	} else {
		t.ElemWalk = v.id(f.tt, walkWords, " total"+listPart(s.list))
	}
	record := s.list.record
	inner, off := v.layout(f, record)
	t.Deeper = v.recurs(f.tt, record)
	for i := range record.parts {
		t.Deeper = t.Deeper || v.recurs(f.tt, record.parts[i].s)
	}
	t.Elem = f.tt.add(value.Type{Class: value.ClassTuple, Size: uint32(8 * max(record.n, 1)), Elem: -1,
		Discr:  value.TypeField{Type: -1},
		Fields: []value.TypeField{{Type: inner, Off: off}}})
	return t
}

func (v *visual) choiceType(f *form, s *shape, add func(value.Type) int32) int32 {
	word := f.tt.add(value.Type{Class: value.ClassUint, Size: 8, Elem: -1, Discr: value.TypeField{Type: -1}})
	t := value.Type{Class: value.ClassVariant, Plain: true, Elem: -1, Size: uint32(8 * s.n)}
	for i := range s.parts {
		one := value.Variant{Values: []uint64{uint64(i + 1)}}
		one.Type, one.Off = v.layout(f, s.parts[i].s)
		t.Variants = append(t.Variants, one)
	}
	t.Variants = append(t.Variants, value.Variant{Type: -1})
	i := add(t)
	f.tt.types[i].Discr = value.TypeField{Type: word, Off: uint32(8 * s.slot)}
	return i
}

// recurs reports a part that may hold the described type again: it counts as deeper, since nothing else ends it.
func (v *visual) recurs(tt *typeTable, s *shape) bool {
	switch s.kind {
	case shapePlace, shapeSpan, shapeGrid:
		return !s.deeper && !(s.kind == shapePlace && tt.isContainer(s.t)) && tt.recursive(v.t, s.t)
	}
	return false
}

// tell names the types of the parts.
func (v *visual) tell(f *form, s *shape) {
	switch {
	case s.kind == shapeMine && s.bits == 0 && s.t.Strip() != v.t:
		f.tell(s.t, true)
	case (s.kind == shapePlace || s.kind == shapeSpan || s.kind == shapeGrid) && !s.deeper:
		f.tell(s.t, false)
	case s.kind == shapeList:
		v.tell(f, s.list.record)
	}
	for i := range s.parts {
		if s.parts[i].s != nil {
			v.tell(f, s.parts[i].s)
		}
	}
}
