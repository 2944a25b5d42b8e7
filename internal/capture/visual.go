package capture

import (
	"fmt"
	"strings"

	"github.com/strobe-debug/strobe/internal/expr"
	"github.com/strobe-debug/strobe/internal/natvis"
	"github.com/strobe-debug/strobe/internal/symbol"
	"github.com/strobe-debug/strobe/internal/value"
)

// Descriptions of types that are not the program's own business to know: package natvis reads them, and here one
// becomes what a formatter is, a layout and a walk. A description of a type is made into a tree of shapes first
// (visual_shape.go), whose expressions are compiled to parts of walk programs:
//
//   - the object's own program (visual_slots.go) opens a node of words at the object's address, and pushes what
//     conditions, values, addresses and sizes come to, each in a place of its own, zeros for what does not hold;
//   - that node's program (visual_follow.go) copies what the words lead to, and follows lists (visual_list.go), each
//     of which has a node of records;
//   - the layout (visual_form.go) is the tree over these words.

// visual is a description that fits a type.
type visual struct {
	t    *symbol.Type
	view string
	root *shape
	n    int // words of its node; 0 and no lists: it has none
}

// described returns the formatter of a type that one of the sets describes, nil if none does.
func (tt *typeTable) described(t *symbol.Type, set *natvis.Set, view string) *formatter {
	if set == nil {
		return nil
	}
	v := tt.visualOf(t, t, set, view, 0)
	if v == nil {
		return nil
	}
	return &formatter{name: describedAs + t.Name, form: v.form}
}

// describedAs begins the names of formatters that were made of descriptions.
const describedAs = "description of "

// visualOf finds the description of a type by the name of a class: the type's own, or that of a base which is all that
// it has.
func (tt *typeTable) visualOf(t, named *symbol.Type, set *natvis.Set, view string, depth int) *visual {
	var failed []natvis.Problem
	for _, m := range set.Lookup(named.QualifiedName()) {
		if !m.Type.Views.In(view) || depth > 0 && !m.Type.Inheritable {
			continue
		}
		v, err := tt.compileVisual(t, named, m, view)
		if err == nil {
			return v
		}
		failed = append(failed, natvis.Problem{File: m.Type.File.Path, Line: err.line,
			What: fmt.Sprintf("%s: %s", short(named.Name), err.what)})
	}
	for _, p := range failed {
		set.Note(p)
	}
	if base := onlyBase(named); base != nil && depth < maxInherited {
		return tt.visualOf(t, base, set, view, depth+1)
	}
	return nil
}

// maxInherited bounds the bases that a description may come from.
const maxInherited = 8

// onlyBase returns the base class that is all of a class: it begins where that does, and adds no member.
func onlyBase(t *symbol.Type) *symbol.Type {
	var base *symbol.Type
	for _, f := range t.Fields() {
		switch {
		case f.Static:
		case f.Base && !f.Virtual && sizeOf(f.Type.Strip()) <= 1 && base != nil: // empty
		case f.Base && !f.Virtual && f.Off == 0 && (base == nil || sizeOf(base) <= 1):
			base = f.Type.Strip()
		default:
			return nil
		}
	}
	return base
}

func short(s string) string {
	if len(s) > 60 {
		return strings.ToValidUTF8(s[:60], "") + "…"
	}
	return s
}

// misfit is why a description does not fit a type.
type misfit struct {
	line int
	what string
}

// visualScope is what names mean in a description's expressions.
type visualScope struct {
	c    *visualCompiler
	this expr.Place // "this"
	of   *symbol.Type
	vars map[string]expr.Place
}

// Lookup implements expr.Scope.
func (s *visualScope) Lookup(name string) (expr.Place, bool) {
	if name == "this" {
		return s.this, true
	}
	if p, ok := s.vars[name]; ok {
		return p, true
	}
	if i, ok := wildcard(name); ok && i < len(s.c.bound) {
		return s.c.numberBound(i)
	}
	last := name
	in := []*symbol.Type{s.of, s.c.t, s.c.named}
	if at := strings.LastIndex(name, "::"); at >= 0 {
		t, ok := s.TypeNamed(name[:at])
		if !ok {
			return expr.Place{}, false
		}
		last, in = name[at+2:], []*symbol.Type{t}
	}
	for _, t := range in {
		if t == nil || hasMember(t, last) {
			continue
		}
		if v, of, ok := t.Constant(last); ok {
			return expr.Place{Kind: expr.PlaceConst, Addr: uint64(v), Type: of}, true
		}
		if v, ok := argumentNamed(t, last); ok {
			return expr.Place{Kind: expr.PlaceConst, Addr: uint64(v)}, true
		}
	}
	return expr.Place{}, false
}

func hasMember(t *symbol.Type, name string) bool {
	_, _, ok := member(t.Strip(), name, 0)
	return ok
}

// argumentNamed finds a number among a class's template arguments by its parameter's name.
func argumentNamed(t *symbol.Type, name string) (int64, bool) {
	for _, p := range t.Strip().TemplateParams() {
		if p.Name == name && p.Const {
			return p.Value, true
		}
	}
	return 0, false
}

// wildcard reads $T1.
func wildcard(name string) (i int, ok bool) {
	if !strings.HasPrefix(name, "$T") || len(name) < 3 || len(name) > 4 {
		return 0, false
	}
	for _, c := range name[2:] {
		if c < '0' || c > '9' {
			return 0, false
		}
		i = 10*i + int(c-'0')
	}
	return i - 1, i > 0
}

// Arg implements expr.Scope.
func (s *visualScope) Arg(int) (expr.Place, bool) { return expr.Place{}, false }

// Near implements expr.Scope.
func (s *visualScope) Near(string) []string { return nil }

// TypeNamed implements expr.Scope: what a wildcard stands for, what the class or its bases name, what stands beside it,
// anything.
func (s *visualScope) TypeNamed(name string) (*symbol.Type, bool) {
	if i, ok := wildcard(name); ok {
		return s.c.typeBound(i)
	}
	name = s.c.withBound(name)
	if t := s.c.types[name]; t != nil {
		return t, true
	}
	t := s.lookType(name)
	s.c.types[name] = t
	return t, t != nil
}

func (s *visualScope) lookType(name string) *symbol.Type {
	for _, in := range []*symbol.Type{s.of, s.c.t, s.c.named} {
		if in == nil {
			continue
		}
		if p, ok := paramNamed(in, name); ok {
			return p
		}
		if t := nestedIn(in, name); t != nil {
			return t
		}
	}
	around := s.c.named.QualifiedName()
	for range 8 {
		at := strings.LastIndex(cutArguments(around), "::")
		if at < 0 {
			break
		}
		around = around[:at]
		if t := pick(s.c.t.Namesakes(around+"::"+name), around+"::"+name); t != nil {
			return t
		}
	}
	return pick(s.c.t.Namesakes(name), name)
}

// cutArguments blots out template arguments, so that "::" in them is not found.
func cutArguments(name string) string {
	depth := 0
	b := []byte(name)
	for i, c := range b {
		switch c {
		case '<':
			depth++
		case '>':
			depth--
		}
		if depth > 0 || c == '>' {
			b[i] = '_'
		}
	}
	return string(b)
}

// pick takes the type that is defined and whose name is what was asked for.
func pick(ts []*symbol.Type, name string) *symbol.Type {
	for _, t := range ts {
		if s := t.Strip(); s != nil && !s.Declared && natvis.Plain(t.QualifiedName()) == natvis.Plain(name) {
			return t
		}
	}
	for _, t := range ts {
		if s := t.Strip(); s != nil && !s.Declared {
			return t
		}
	}
	return nil
}

func nestedIn(t *symbol.Type, name string) *symbol.Type {
	for _, part := range strings.Split(name, "::") {
		if t = t.Nested(part); t == nil {
			return nil
		}
	}
	return t
}

func paramNamed(t *symbol.Type, name string) (*symbol.Type, bool) {
	for _, p := range t.Strip().TemplateParams() {
		if p.Name == name && !p.Const && p.Type != nil {
			return p.Type, true
		}
	}
	return nil, false
}

// rawForm and viewForm are forms of a type other than its usual one.
type formKey struct {
	t    *symbol.Type
	view string // "!": as a plain struct
}

const rawView = "!"

// formOf returns the layout's type of t as a description asks for it.
func (tt *typeTable) formOf(t *symbol.Type, view string, level int) int32 {
	s := t.Strip()
	if view == "" || view != rawView && tt.viewFormatter(s, view) == nil || s.Kind != symbol.KindStruct &&
		s.Kind != symbol.KindUnion || s.Declared {
		return tt.at(t, level)
	}
	key := formKey{s, view}
	if i, ok := tt.viewForms[key]; ok {
		return i
	}
	if len(tt.types) >= maxLayoutTypes {
		return tt.at(t, level)
	}
	i := tt.add(value.Type{Name: s.Name, Size: size32(s), Elem: -1, Discr: value.TypeField{Type: -1}})
	if tt.viewForms == nil {
		tt.viewForms = map[formKey]int32{}
	}
	tt.viewForms[key] = i
	tt.near = append(tt.near, unmade{i: i, t: s, level: level, view: view})
	return i
}

// fillView makes the form of a type in a view.
func (tt *typeTable) fillView(i int32, v *value.Type, t *symbol.Type, view string, level int) {
	if f := tt.viewFormatter(t, view); f == nil || !f.form(&form{T: t, V: v, P: &prog{}, tt: tt, index: i, level: level}) {
		tt.plainStruct(v, t, level)
	}
}

// viewFormatter is formatter in a view; nil where none is meant for it.
func (tt *typeTable) viewFormatter(t *symbol.Type, view string) *formatter {
	if view == "" || view == rawView || t == nil || t.Kind != symbol.KindStruct && t.Kind != symbol.KindUnion {
		return nil
	}
	key := formKey{t, view}
	if f, ok := tt.walks.viewForms.Load(key); ok {
		return f.(*formatter)
	}
	var f *formatter
	if f = tt.described(t, tt.walks.Own(), view); f == nil {
		f = tt.described(t, natvis.Builtin(), view)
	}
	tt.walks.viewForms.Store(key, f)
	return f
}

// walkOf returns the walk of an object as a description asks for it, and makes it.
func (tt *typeTable) walkOf(t *symbol.Type, view string) uint16 {
	s := t.Strip()
	f := tt.viewFormatter(s, view)
	if view == "" || f == nil && view != rawView || s.Kind != symbol.KindStruct && s.Kind != symbol.KindUnion {
		return tt.walk(t)
	}
	id := tt.walks.partID(s, walkObject, view)
	if key := (formKey{s, view}); !tt.walks.defined(id) && !tt.viewWalks[key] {
		if tt.viewWalks == nil {
			tt.viewWalks = map[formKey]bool{}
		}
		tt.viewWalks[key] = true
		p := &prog{}
		if f == nil || !f.form(&form{T: s, V: &value.Type{}, P: p, tt: tt, index: -1}) {
			p = &prog{}
			tt.members(p, s)
		}
		tt.define(id, p)
	}
	return id
}
