package expr

import (
	"encoding/binary"

	"github.com/strobe-debug/strobe/internal/ring"
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/value"
)

// Result is what an expression evaluated to.
type Result struct {
	Type     *Type
	Value    value.Value // scalars and text; an object is "<T at 0x…>": read Addr with the type's walk
	Addr     uint64      // where the value is, if InMemory
	InMemory bool
	Object   bool // a struct, union, array or the like, which Value does not show
}

// Eval evaluates an expression. The error is an *EvalError. Pointers to and arrays of characters and
// strings are read as text of at most value.MaxText bytes; text that cannot be read shows as
// <unreadable>, the other arrays and structs as a marker with the address.
func (e *Expr) Eval(env *Env) (Result, error) {
	r := Result{Type: e.typ}
	v := evaluator{env: env}
	switch {
	case e.lit != nil:
		r.Value = value.NewText(*e.lit)
		return r, nil
	case e.name:
		r.Value = value.NewText(env.ThreadName)
		return r, nil
	}
	var err error
	if e.addr != nil {
		if r.Addr, err = v.word(e.addr); err != nil {
			return Result{}, err
		}
		r.InMemory = true
	}
	switch {
	case e.text != nil:
		r.Value, err = v.textValue(e)
	case e.val != nil:
		var w uint64
		if w, err = e.Word(env); err == nil {
			r.Value = e.typ.render(scalarBytes(e.typ, w))
		}
	case e.typ.ValueType().Class != value.ClassOpaque:
		b := make([]byte, e.typ.size)
		if err = v.read(r.Addr, b, 0); err == nil {
			r.Value = e.typ.render(b)
		}
	default:
		r.Value, r.Object = value.TypeAt(e.typ.String(), r.Addr), true
	}
	if err != nil {
		return Result{}, err
	}
	return r, nil
}

// scalarBytes is a word as its type lies in memory.
func scalarBytes(t *Type, w uint64) []byte {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], w)
	return b[:min(max(t.size, 1), 8)]
}

// Render shows the word that a compiled program put out, of a scalar.
func (t *Type) Render(w uint64) value.Value { return t.render(scalarBytes(t, w)) }

// render shows a value's bytes as the timeline does.
func (t *Type) render(b []byte) value.Value {
	l := &value.Layout{
		OnExit: value.Shape{Parts: []value.Part{{Size: uint32(len(b))}}},
		Ret:    &value.Field{Type: 0, Pieces: []value.Piece{{Chunk: 1, Size: uint32(len(b))}}},
		Types:  []value.Type{t.ValueType()},
	}
	out, _ := l.Exit(append(b[:len(b):len(b)], make([]byte, 8)...), 0, true)
	return out
}

// ValueType describes a scalar to package value, for layouts of types that have no Symbol; ClassOpaque where it
// is none. Of a program's word the low Size bytes are the value.
func (t *Type) ValueType() value.Type {
	v := value.Type{Name: t.String(), Size: uint32(max(t.size, 0)), Elem: -1, Discr: value.TypeField{Type: -1},
		Class: value.ClassOpaque}
	switch t.kind {
	case KindBool:
		v.Class = value.ClassBool
	case KindInt:
		v.Class = value.ClassUint
		if t.signed {
			v.Class = value.ClassInt
		}
		if t.isEnum() {
			v.Class, v.Signed = value.ClassEnum, t.signed
			for _, e := range t.stripped().Enumerators() {
				v.Enums = append(v.Enums, value.Enumerator{Name: e.Name, Value: e.Val})
			}
		}
	case KindChar:
		v.Class, v.Signed = value.ClassChar, t.signed
	case KindFloat:
		v.Class = value.ClassFloat
	case KindPointer:
		v.Class = value.ClassPointer
	case KindObject:
		if s := t.stripped(); s != nil && s.Kind == symbol.KindBase && s.Encoding == symbol.EncFloat {
			switch s.Size {
			case 2:
				v.Class = value.ClassFloat
			case 10, 12, 16:
				v.Class = value.ClassX87
			}
		}
	}
	return v
}

// textValue reads text and shows it as captured text is shown: cut at value.MaxText bytes with the rest
// counted, base64 where it is no UTF-8.
func (v *evaluator) textValue(e *Expr) (value.Value, error) {
	limit := value.MaxText
	if e.text.count == nil && e.text.max < 0 {
		limit += maxTextRead // to say how long it is
	}
	b, whole, null, err := v.bytes(e.text, limit, 0)
	switch {
	case null:
		return value.Value{}, nil
	case err != nil && len(b) > value.MaxText: // what is shown is there
	case err != nil:
		var at *EvalError
		if ok := asEval(err, &at); ok && at.Reason == Unreadable && e.val != nil {
			if w, perr := v.word(e.val); perr == nil {
				return value.UnreadableAt(w), nil // the pointer could be read; what it points to could not
			}
		}
		return value.Value{}, err
	}
	kept := b[:min(len(b), value.MaxText)]
	// As the agent captures text: a pointer that is not null, and the node that it leads to.
	const addr = 1
	p := binary.LittleEndian.AppendUint64(nil, addr)
	p = binary.LittleEndian.AppendUint64(p, addr)
	p = binary.LittleEndian.AppendUint32(p, uint32(len(kept)))
	p = binary.LittleEndian.AppendUint16(p, value.WalkText)
	if whole > uint64(len(kept)) {
		if e.text.count == nil && e.text.max < 0 && (err != nil || len(b) == limit) {
			whole |= 1 << 63 // its end was not found
		}
		p = binary.LittleEndian.AppendUint64(append(p, 1, ring.StatusCut), whole)
	} else {
		p = append(p, 1, ring.StatusOK)
	}
	p = append(p, kept...)
	p = append(p, make([]byte, -len(p)&7)...)
	l := &value.Layout{
		OnExit: value.Shape{GPRs: 1, Nodes: true}, Depth: 1,
		Ret:   &value.Field{Pieces: []value.Piece{{Size: 8}}},
		Types: []value.Type{{Class: value.ClassCString, Size: 8, Elem: -1, Discr: value.TypeField{Type: -1}}},
	}
	out, _ := l.Exit(p, 0, true)
	return out, nil
}

func asEval(err error, to **EvalError) bool {
	e, ok := err.(*EvalError)
	*to = e
	return ok
}
