package value

// RetClass says how much of a result event.Ret holds, for who asks about many results without rendering each.
type RetClass uint8

const (
	RetNone     RetClass = iota // the function returns nothing
	RetSigned                   // an integer that event.Ret is
	RetUnsigned                 // an integer whose 64 bits event.Ret has
	RetWord                     // all of it can be rendered from event.Ret: bool, enum, character, address
	RetPayload                  // it can be rendered from the payload only
	NumRetClasses
)

// RetClass returns how much of the results event.Ret holds.
func (l *Layout) RetClass() RetClass {
	if l.Ret == nil {
		return RetNone
	}
	size, signed, ok := l.ScalarRet()
	if !ok || int(l.Ret.Type) >= len(l.Types) || l.Ret.Type < 0 {
		return RetPayload
	}
	switch l.Types[l.Ret.Type].Class {
	case ClassInt, ClassUint:
		if !signed && size == 8 {
			return RetUnsigned
		}
		return RetSigned
	case ClassBool, ClassEnum, ClassChar, ClassPointer:
		return RetWord
	}
	return RetPayload
}

// ScalarArg reports whether the i-th argument is an integer of size bytes at off of an enter's payload, which has 8
// bytes from there on; see Normalize.
func (l *Layout) ScalarArg(i int) (off, size int, signed, ok bool) {
	f := &l.Args[i]
	if f.Missing || len(f.Pieces) != 1 || f.Type < 0 || int(f.Type) >= len(l.Types) {
		return 0, 0, false, false
	}
	p, t := &f.Pieces[0], &l.Types[f.Type]
	if p.Chunk != 0 || p.Size == 0 || p.Size > 8 || p.Size != t.Size || int64(p.Off)+8 > int64(8*l.OnEnter.GPRs) ||
		t.Class != ClassInt && t.Class != ClassUint {
		return 0, 0, false, false
	}
	return int(p.Off), int(p.Size), t.Class == ClassInt, true
}

// Parameter is a function's parameter as a reader is told of it.
type Parameter struct{ Name, Type string }

// Parameters lists the function's parameters; a Type may be "".
func (l *Layout) Parameters() []Parameter {
	out := make([]Parameter, len(l.Args))
	for i := range l.Args {
		out[i].Name = l.Args[i].Name
		if t := l.Args[i].Type; t >= 0 && int(t) < len(l.Types) {
			out[i].Type = l.Types[t].Name
		}
	}
	return out
}
