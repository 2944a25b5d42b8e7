package inspect

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/strobe-debug/strobe/internal/capture"
	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/expr"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/unwind"
	"github.com/strobe-debug/strobe/internal/value"
)

type localVariable = unwind.Local

// partsKind says how a value's parts are found.
type partsKind uint8

const (
	partsNone  partsKind = iota // it has none
	partsNamed                  // members, each with an expression
	partsList                   // elements, each with an expression
	partsShown                  // as the value is shown: of a library's type that no expression goes into
)

// parts are those of a value.
type parts struct {
	kind  partsKind
	count int
	names []string
	expr  func(i int) string
}

func (k *parts) part(i int) (name, src string) {
	if k.kind == partsList {
		return fmt.Sprintf("[%d]", i), k.expr(i)
	}
	return k.names[i], k.expr(i)
}

// partsOf finds the parts of what an expression means, without reading them.
func (s *scene) partsOf(src string, e *expr.Expr) parts {
	t := e.Type().Target()
	if t == nil || e.IsText() {
		return parts{}
	}
	st := t.Strip()
	if st == nil {
		return parts{}
	}
	if st.Kind != symbol.KindPointer && st.Kind != symbol.KindReference && st.Kind != symbol.KindRValueReference {
		return s.insideOf(src, e, st)
	}
	if w, err := e.Word(s.env()); err != nil || w == 0 {
		return parts{}
	}
	to := st.Elem().Strip()
	if to == nil || to.Kind == symbol.KindVoid || to.Kind == symbol.KindFunction || to.Kind == symbol.KindUnknown {
		return parts{}
	}
	target := "*" + grouped(src)
	pointee, err := expr.New(target, s.language(), s)
	if err != nil {
		return parts{}
	}
	switch to.Kind {
	case symbol.KindStruct, symbol.KindUnion:
		in := s.insideOf("("+target+")", pointee, to)
		if in.kind == partsNamed { // members are reached through pointers
			in = s.membersOf(src, s.arrow(), in.names)
		}
		return in
	case symbol.KindArray:
		return s.insideOf("("+target+")", pointee, to)
	}
	return parts{kind: partsNamed, count: 1, names: []string{target}, expr: func(int) string { return target }}
}

// arrow is between a pointer and a member.
func (s *scene) arrow() string {
	if s.language() == symbol.LangRust {
		return "."
	}
	return "->"
}

// insideOf are the parts of an object.
func (s *scene) insideOf(src string, e *expr.Expr, st *symbol.Type) parts {
	switch st.Kind {
	case symbol.KindArray:
		if e.IsText() || st.Elem().Strip() == nil {
			return parts{}
		}
		return s.list(src, int(max(st.Count, 0)))
	case symbol.KindStruct, symbol.KindUnion:
	default:
		return parts{}
	}
	if s.formatted(st) || st.Variants() != nil {
		if n, ok := s.length(src); ok {
			return s.list(src, n)
		}
		return parts{kind: partsShown}
	}
	names, ok := s.memberNames(st, nil, 0)
	if !ok {
		return parts{kind: partsShown}
	}
	return s.membersOf(src, ".", names)
}

func (s *scene) membersOf(src, by string, names []string) parts {
	return parts{kind: partsNamed, count: len(names), names: names,
		expr: func(i int) string { return grouped(src) + by + names[i] }}
}

func (s *scene) list(src string, n int) parts {
	return parts{kind: partsList, count: n, expr: func(i int) string { return fmt.Sprintf("%s[%d]", grouped(src), i) }}
}

// grouped is an expression that something can follow.
func grouped(src string) string {
	for i := range len(src) {
		c := src[i]
		if c != '_' && c != '$' && c != '.' && c != '[' && c != ']' && c != ':' && (c < '0' || c > '9') &&
			(c|0x20 < 'a' || c|0x20 > 'z') &&
			!(c == '-' && strings.HasPrefix(src[i:], "->")) && !(c == '>' && i > 0 && src[i-1] == '-') {
			if strings.HasPrefix(src, "(") && strings.HasSuffix(src, ")") && strings.Count(src, "(") == 1 {
				return src
			}
			return "(" + src + ")"
		}
	}
	return src
}

// length evaluates how many elements there are, of text none.
func (s *scene) length(src string) (int, bool) {
	e, err := expr.New("len("+src+")", s.language(), s)
	if err != nil {
		return 0, false
	}
	if first, err := expr.New(grouped(src)+"[0]", s.language(), s); err != nil || first.Type().Size() <= 0 {
		return 0, false
	}
	n, err := e.Word(s.env())
	if err != nil || n > maxListed {
		return 0, false
	}
	return int(n), true
}

// maxListed bounds a list that is believed: what is not made yet may say anything.
const maxListed = 1 << 30

// memberNames lists a struct's members with those of its bases. False: two have one name, or a base is where only the
// shown value finds it.
func (s *scene) memberNames(t *symbol.Type, names []string, depth int) ([]string, bool) {
	fields := t.Fields()
	for i := range fields {
		f := &fields[i]
		switch {
		case f.Static || f.Artificial && !f.Base:
			continue
		case f.Virtual || depth > MaxDepth:
			return nil, false
		case f.Base || f.Name == "":
			in := f.Type.Strip()
			if in == nil || s.formatted(in) {
				return nil, false
			}
			var ok bool
			if names, ok = s.memberNames(in, names, depth+1); !ok {
				return nil, false
			}
			continue
		}
		for _, other := range names {
			if other == f.Name {
				return nil, false
			}
		}
		names = append(names, f.Name)
	}
	return names, true
}

// partsIn are those of a shown value; -1: what is in it is not read yet.
func partsIn(v value.Value) (n int, list bool) {
	switch v.Kind() {
	case value.Array:
		elems, _ := v.Elems()
		return len(elems), true
	case value.Obj:
		return len(v.Object()), false
	case value.Marker:
		if strings.HasPrefix(v.Text(), "<max depth ") {
			return -1, false
		}
	}
	return 0, false
}

// maxShownDepth bounds the pointers that are followed for one part of a shown value.
const maxShownDepth = 10

// shownParts are the parts of a value as it is shown, or of a part of it. Each level may lead through a pointer more.
func (v *View) shownParts(s *scene, t Thing, from, n int) ([]collector.Variable, error) {
	steps := strings.Count(t.Path, ".")
	whole, err := s.shown(t.Expr, min(steps+2, maxShownDepth))
	if err != nil {
		return nil, clientFault(err)
	}
	at := whole
	for step := range strings.SplitSeq(strings.TrimSuffix(t.Path, "."), ".") {
		if step == "" {
			continue
		}
		i, err := strconv.Atoi(step)
		ok := err == nil
		if ok {
			_, at, ok = partAt(at, i)
		}
		if !ok {
			return nil, fault.New(fault.ValidationError, "Ask for the variables of the frame again.",
				"%s has changed, and this part of it is gone", t.Expr)
		}
	}
	count, _ := partsIn(at)
	out := []collector.Variable{}
	for i := from; i < count && i < from+n; i++ {
		name, part, _ := partAt(at, i)
		one := collector.Variable{Name: name, Type: part.TypeName(), Value: part.Short(shortValue), Fixed: true}
		if k, list := partsIn(part); k != 0 {
			one.Ref, one.Count, one.List = v.put(Thing{Frame: t.Frame, Expr: t.Expr, Path: fmt.Sprintf("%s%d.", t.Path, i)}), k,
				list
		}
		out = append(out, one)
	}
	if _, more := at.Elems(); more > 0 && from+n >= count {
		out = append(out, collector.Variable{Name: "…", Value: fmt.Sprintf("+%d not shown", more), Fixed: true})
	}
	return out, nil
}

func partAt(v value.Value, i int) (name string, part value.Value, ok bool) {
	if elems, _ := v.Elems(); i >= 0 && i < len(elems) {
		return fmt.Sprintf("[%d]", i), elems[i], true
	}
	if o := v.Object(); i >= 0 && i < len(o) {
		return o[i].Name, o[i].Value, true
	}
	return "", value.Value{}, false
}

// shown is what an expression means as it is shown, with pointers followed.
func (s *scene) shown(src string, depth int) (value.Value, error) {
	was := s.reader
	s.reader = capture.NewReader(s, depth, s.functionAt, s.pic.Described, s.pic.Secrets)
	defer func() { s.reader = was }()
	r, err := s.eval(src)
	return r.Value, err
}
