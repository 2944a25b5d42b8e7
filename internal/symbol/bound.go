package symbol

import "bytes"

// bound says how many elements an array has that is made while the program runs.
type bound struct {
	expr     []byte // computes it, or
	variable dieRef // has it
	upper    bool   // the last index, not the count
}

func boundOf(v value, upper bool) bound {
	switch v.class {
	case clsBlock:
		return bound{expr: bytes.Clone(v.b), upper: upper}
	case clsRef:
		return bound{variable: dieRef(v.u), upper: upper}
	}
	return bound{}
}

// Sized returns a type with the number of elements that arrays have in a frame: t itself, unless its size is not known
// before. eval computes an expression, and variable reads the variable that is described at an offset of the debug
// information.
func (t *Type) Sized(eval func(expr []byte) (uint64, bool), variable func(off uint64) (uint64, bool)) *Type {
	return t.sized(eval, variable, 0)
}

// maxDimensions bounds how many arrays lie in each other.
const maxDimensions = 16

func (t *Type) sized(eval func([]byte) (uint64, bool), variable func(uint64) (uint64, bool), depth int) *Type {
	s := t.Strip()
	if s == nil || s.Kind != KindArray || s.Size >= 0 || depth > maxDimensions {
		return t
	}
	elem := s.Elem().sized(eval, variable, depth+1)
	n := s.Count
	if n < 0 {
		v, ok := uint64(0), false
		switch {
		case s.bound.expr != nil:
			v, ok = eval(s.bound.expr)
		case s.bound.variable != 0:
			v, ok = variable(s.bound.variable.off())
		}
		if n = int64(v); s.bound.upper {
			n++
		}
		if !ok || n < 0 {
			return t
		}
	}
	size := arraySize(n, elem)
	if size < 0 {
		return t
	}
	out := &Type{Kind: KindArray, Vector: s.Vector, Align: s.Align, Count: n, Size: size, m: s.m, elem: elem}
	out.elemOnce.Do(func() {})
	return out
}
