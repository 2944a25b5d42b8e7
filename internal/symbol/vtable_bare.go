package symbol

import "strings"

// The standard library comes without descriptions of its vtables. Those of errors are found by the function in them
// that gives the type's own number: no two types share it, whatever else of theirs the linker has made one.
const (
	errorTrait  = "core::error::Error"
	errorNumber = " as " + errorTrait + ">::type_id"
	boxedText   = "::from::StringError" // what text becomes in a Box<dyn Error>: a String, by itself
)

// bareVtables finds the vtables of errors that known has not, and names their types.
func (m *Module) bareVtables(known []Vtable) []Vtable {
	var out []Vtable
	_ = m.guarded(func() error {
		out = m.findBareVtables(known)
		return nil
	})
	types := map[string]*Type{}
	kept := out[:0]
	for _, v := range out {
		t, seen := types[v.Of]
		if !seen {
			t = m.typeCalled(v.Of)
			types[v.Of] = t
		}
		if v.Type = t; t != nil && t.Size == v.size {
			kept = append(kept, v)
		}
	}
	return kept
}

// typeCalled finds the type of a qualified name as demanglers write it.
func (m *Module) typeCalled(name string) *Type {
	if strings.HasPrefix(name, "<alloc::boxed::Box<dyn ") && strings.HasSuffix(name, boxedText) {
		name = "alloc::string::String"
	}
	for _, t := range m.TypesNamed(name) {
		if s := t.Strip(); s != nil && !s.Declared && s.QualifiedName() == name {
			return s
		}
	}
	return nil
}

func (m *Module) findBareVtables(known []Vtable) []Vtable {
	words := map[uint64]uint64{} // those that are addresses: of methods, and of other traits' tables
	var numbers []uint64
	numbered := map[uint64]string{}
	m.im.relocations(func(at, info, addend uint64) {
		if info != relocRelative || len(words) >= maxVtables*8 {
			return
		}
		words[at] = addend
		f := m.FunctionAt(Addr(addend))
		if f == nil {
			return
		}
		if of, ok := strings.CutSuffix(f.Name, errorNumber); ok && len(f.Aliases) == 0 && strings.HasPrefix(of, "<") {
			numbers, numbered[at] = append(numbers, at), of[1:]
		}
	})
	have := map[Addr]bool{}
	for i := range known {
		have[known[i].Addr] = true
	}
	var out []Vtable
	for _, at := range numbers {
		first := at // of the methods
		for range 32 {
			if _, ok := words[first-8]; !ok {
				break
			}
			first -= 8
		}
		base := Addr(first - 24) // the drop function, or 0, the size and the alignment come before
		r := newReader(m.im.at(uint64(base)+8), 0)
		size, align := r.u64(), r.u64()
		if r.bad || have[base] || !sane(size, align) {
			continue
		}
		out = append(out, Vtable{Addr: base, Trait: errorTrait, Of: numbered[at], Anchor: int64(at) - int64(base),
			Delta: int64(words[at]) - int64(base),
			size:  int64(size)})
	}
	return out
}

// sane reports a size and an alignment that an object may have.
func sane(size, align uint64) bool {
	return size < 1<<32 && align > 0 && align <= 1<<12 && align&(align-1) == 0 && size%align == 0
}
