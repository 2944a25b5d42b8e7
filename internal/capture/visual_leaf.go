package capture

import (
	"strconv"
	"strings"

	"github.com/strobe-debug/strobe/internal/expr"
	"github.com/strobe-debug/strobe/internal/natvis"
	"github.com/strobe-debug/strobe/internal/symbol"
)

// bases are the specifiers that show a number in another base.
var bases = map[string]uint32{"d": 10, "x": 16, "X": 16, "h": 16, "H": 16, "xb": 16, "hb": 16, "Xb": 16, "Hb": 16,
	"o": 8, "b": 2, "bb": 2}

// units are the specifiers of text: bytes of a unit.
var units = map[string]int64{"s": 1, "sb": 1, "s8": 1, "s8b": 1, "su": 2, "sub": 2, "bstr": 2, "s32": 4, "s32b": 4}

// leaf is the value of one expression. cond: it is not always there, so what it leads to is not always followed.
func (c *visualCompiler) leaf(x *natvis.Expr, sc *visualScope, line int, cond bool) (*shape, *misfit) {
	e, err := c.parse(x.Text, sc, line)
	if err != nil {
		return nil, err
	}
	if x.Format.Size != "" {
		return c.sized(e, x, sc, line)
	}
	view := x.Format.View
	if x.Format.Raw {
		view = rawView
	}
	t := c.tt.walks.symbolOf(e.Type())
	if t == nil {
		return nil, &misfit{line, short(x.Text) + " has no type that can be shown"}
	}
	if unit, ok := units[x.Format.Spec]; ok {
		if s := c.text(e, unit); s != nil {
			return s, nil
		}
	}
	if off, bits, bt, ok := e.BitMember(); ok && sc == c.self {
		return &shape{kind: shapeMine, t: bt, off: off, bits: bits, base: bases[x.Format.Spec]}, nil
	}
	if off, mt, ok := e.Member(); ok && sc == c.self {
		if off == 0 && mt.Strip() == c.t && (view == "" || view == c.view) && view != rawView {
			return nil, &misfit{line, short(x.Text) + " is the object itself"}
		}
		_, needs := c.tt.needs(mt)
		if inside := off >= 0 && off+max(sizeOf(mt.Strip()), 0) <= sizeOf(c.t); inside &&
			(!cond && c.under == 0 || !needs || view == rawView) {
			return &shape{kind: shapeMine, t: mt, view: view, off: off, base: bases[x.Format.Spec]}, nil
		}
	}
	s := &shape{t: t, view: view, base: bases[x.Format.Spec]}
	scalar := isWord(t) && sizeOf(t.Strip()) <= 8
	s.kind, s.words = shapeWord, []pushed{{e: e, asValue: true}}
	if e.Follows() && sc == c.self { // null shows as null
		s.deeper = !scalar && view == "" && !c.tt.isContainer(t)
		scalar = false
	}
	if !scalar {
		if !e.InMemory() {
			return nil, &misfit{line, short(x.Text) + " is nowhere in memory"}
		}
		if sizeOf(t.Strip()) < 0 {
			return nil, &misfit{line, "the size of " + t.String() + " is not known"}
		}
		s.kind, s.words[0].asValue = shapePlace, false
	}
	return s, nil
}

// isContainer reports a type that our own formatters show: where it may hold its own type again, its elements count as
// deeper.
func (tt *typeTable) isContainer(t *symbol.Type) bool {
	s := t.Strip()
	if s.Kind != symbol.KindStruct || s.Declared {
		return false
	}
	f := tt.formatter(s)
	return f != nil && !strings.HasPrefix(f.name, describedAs)
}

// isWord reports a type whose values are numbers or pointers.
func isWord(t *symbol.Type) bool {
	switch s := t.Strip(); s.Kind {
	case symbol.KindBase:
		return s.Encoding != symbol.EncComplex
	case symbol.KindEnum, symbol.KindPointer, symbol.KindReference, symbol.KindRValueReference, symbol.KindMemberPointer:
		return true
	}
	return false
}

// text is what a specifier of text makes of a pointer or an array; nil if it makes nothing of it.
func (c *visualCompiler) text(e *expr.Expr, unit int64) *shape {
	elem := e.Pointee()
	if elem == nil || elem.Size() > 4 {
		return nil
	}
	ut := c.tt.walks.unitType(c.tt.walks.symbolOf(elem), unit)
	if n, ok := e.IsArray(); ok {
		if unit > 1 || n < 0 {
			return &shape{kind: shapeWide, t: ut, words: []pushed{{e: e}}}
		}
		array := c.tt.walks.arrayOf(ut, n)
		if off, _, ok := e.Member(); ok {
			return &shape{kind: shapeMine, t: array, off: off}
		}
		return &shape{kind: shapePlace, t: array, words: []pushed{{e: e}}}
	}
	if unit == 1 {
		return &shape{kind: shapeWord, t: c.tt.walks.pointerTo(ut), words: []pushed{{e: e, asValue: true}}}
	}
	return &shape{kind: shapeWide, t: ut, words: []pushed{{e: e, asValue: true}}}
}

// sized is an expression with a number of elements: text or elements that lie together.
func (c *visualCompiler) sized(e *expr.Expr, x *natvis.Expr, sc *visualScope, line int) (*shape, *misfit) {
	n, err := c.number(x.Format.Size, sc, line)
	if err != nil {
		return nil, err
	}
	elem := e.Pointee()
	if elem == nil {
		return nil, &misfit{line, short(x.Text) + " is no pointer"}
	}
	return c.span(e, elem, n, x.Format.Spec, line)
}

// number is an expression that is an integer.
func (c *visualCompiler) number(text string, sc *visualScope, line int) (*expr.Expr, *misfit) {
	n, err := c.parse(text, sc, line)
	if err != nil {
		return nil, err
	}
	if k := n.Type().Kind(); k != expr.KindInt && k != expr.KindChar && k != expr.KindBool {
		return nil, &misfit{line, short(text) + " is no number"}
	}
	return n, nil
}

// span is n elements that lie together from where a pointer or an array is.
func (c *visualCompiler) span(at *expr.Expr, elem *expr.Type, n *expr.Expr, spec string, line int) (*shape, *misfit) {
	et := c.tt.walks.symbolOf(elem)
	_, isArray := at.IsArray()
	words := []pushed{{e: n, asValue: true}, {e: at, asValue: !isArray}}
	if isArray && !at.InMemory() {
		return nil, &misfit{line, "the elements are nowhere in memory"}
	}
	if unit, ok := units[spec]; ok && elem.Size() <= 4 {
		return &shape{kind: shapeString, t: c.tt.walks.unitType(et, unit), words: words}, nil
	}
	if et == nil || sizeOf(et.Strip()) <= 0 {
		return nil, &misfit{line, "the size of the elements is not known"}
	}
	if st := et.Strip(); spec == "" && st.Kind == symbol.KindBase && st.Name == "char" && st.Size == 1 {
		return &shape{kind: shapeString, t: st, words: words}, nil
	}
	return &shape{kind: shapeSpan, t: et, base: bases[spec], words: words}, nil
}

// typeKey names a type that an expression made.
type typeKey struct {
	of   *symbol.Type
	name string // of a base type
	n    int64  // of an array; -1: a pointer
}

func (w *Walks) madeType(k typeKey, make func() *symbol.Type) *symbol.Type {
	if t, ok := w.made.Load(k); ok {
		return t.(*symbol.Type)
	}
	t, _ := w.made.LoadOrStore(k, make())
	return t.(*symbol.Type)
}

func (w *Walks) pointerTo(t *symbol.Type) *symbol.Type {
	return w.madeType(typeKey{of: t, n: -1}, func() *symbol.Type { return symbol.MadePointer(t) })
}

func (w *Walks) arrayOf(t *symbol.Type, n int64) *symbol.Type {
	return w.madeType(typeKey{of: t, n: n}, func() *symbol.Type { return symbol.MadeArray(t, n) })
}

func (w *Walks) baseNamed(name string, enc symbol.Encoding, size int64) *symbol.Type {
	return w.madeType(typeKey{name: name, n: size}, func() *symbol.Type { return symbol.MadeBase(name, enc, size) })
}

// unitType is the type of text's units: t if its size is right.
func (w *Walks) unitType(t *symbol.Type, size int64) *symbol.Type {
	switch size {
	case 2:
		return w.baseNamed("char16_t", symbol.EncUTF, 2)
	case 4:
		return w.baseNamed("char32_t", symbol.EncUTF, 4)
	}
	if t != nil {
		if s := t.Strip(); s.Kind == symbol.KindBase && s.Name == "char" {
			return s
		}
	}
	return w.baseNamed("char", symbol.EncSignedChar, 1)
}

// symbolOf is the target's type of an expression, one for each that the language made; nil for those without a value.
func (w *Walks) symbolOf(t *expr.Type) *symbol.Type {
	if t == nil {
		return nil
	}
	if s := t.Symbol(); s != nil {
		return s
	}
	if t.Kind() == expr.KindPointer {
		return w.pointerTo(w.symbolOf(t.Elem()))
	}
	made := t.Target()
	if made == nil {
		return nil
	}
	return w.madeType(typeKey{name: made.Name + " " + strconv.Itoa(int(made.Encoding)), n: made.Size},
		func() *symbol.Type { return made })
}
