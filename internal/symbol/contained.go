package symbol

// No type contains itself by value, and whoever walks through members relies on it: a struct with three members of its
// own type is a walk of 3 to the power of its depth. Damaged debug information may say so; the members that lead back
// are of an unknown type then.

// settle looks through all that t contains by value, and cuts what leads back to a type that is being looked through.
func (t *Type) settle() {
	if t == nil || t.m == nil || t.settled.Load() {
		return
	}
	t.m.settling.Lock()
	defer t.m.settling.Unlock()
	t.contained(map[*Type]bool{}, 0)
}

// contained does so for one type. open are the types around it. Real types are far from maxDepth; what lies deeper is
// not known.
func (t *Type) contained(open map[*Type]bool, depth int) {
	if t.settled.Load() {
		return
	}
	open[t] = true
	b := t.loaded()
	cut := func(f *Field) {
		if f.Static {
			return
		}
		of := f.Type.Strip()
		for n := 0; of.Kind == KindArray && n < maxTypeChain; n++ {
			of = of.Elem().Strip()
		}
		switch {
		case of == nil || of.Kind != KindStruct && of.Kind != KindUnion && of.Kind != KindArray:
		case open[of] || of.Kind == KindArray || depth >= maxDepth:
			f.Type = unknownType
		default:
			of.contained(open, depth+1)
		}
	}
	for i := range b.fields {
		cut(&b.fields[i])
	}
	if v := b.variants; v != nil {
		if v.Discr != nil {
			cut(v.Discr)
		}
		for i := range v.Variants {
			for k := range v.Variants[i].Fields {
				cut(&v.Variants[i].Fields[k])
			}
		}
	}
	delete(open, t)
	t.settled.Store(true)
}
