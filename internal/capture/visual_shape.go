package capture

import (
	"strconv"
	"strings"

	"github.com/strobe-debug/strobe/internal/expr"
	"github.com/strobe-debug/strobe/internal/natvis"
	"github.com/strobe-debug/strobe/internal/symbol"
)

// shapeKind is how a part of a description is shown.
type shapeKind uint8

const (
	shapeNull   shapeKind = iota // null
	shapeAbsent                  // not at all
	shapeMine                    // a member of the object
	shapeWord                    // a scalar, in a word
	shapePlace                   // an object, by its address
	shapeString                  // text: its length and address
	shapeWide                    // text up to a NUL, of units of 2 or 4 bytes: its address
	shapeSpan                    // elements that lie together: how many, and their address
	shapeGrid                    // the same in several dimensions
	shapeList                    // elements that are collected
	shapeItems                   // named parts
	shapeChoice                  // the first part whose condition holds
	shapeFormat                  // text with values in it
)

// shape is one part of a description that was made for a type.
type shape struct {
	kind shapeKind
	t    *symbol.Type // of the value, element or unit
	view string
	off  int64 // of a member, in bits if it is a bit-field
	bits int64
	base uint32 // to show a number in; 0: as usual
	map_ bool   // a list of keys and values
	back bool   // a grid whose first dimension varies fastest

	deeper bool // an object that a pointer leads to, so one level deeper
	parts  []shapePart
	words  []pushed // that it pushes
	list   *listShape

	slot int // of its first word
	n    int // words with those of its parts
}

// shapePart is a named part, one of a choice, or a piece of text.
type shapePart struct {
	name string
	cond *expr.Expr // nil: always
	bare bool       // text without quotes
	s    *shape
}

// pushed is what a word comes to.
type pushed struct {
	e       *expr.Expr
	asValue bool // of what is in memory its value, else its address
}

// visualCompiler makes the shape of one type by one description.
type visualCompiler struct {
	tt    *typeTable
	t     *symbol.Type // shown
	named *symbol.Type // the class that the description is of: t or a base of it
	m     natvis.Match
	view  string
	bound []natvis.Bound
	types map[string]*symbol.Type
	self  *visualScope
	lists int
	depth int
	under int // conditions that what is made stands under
}

// Bounds on one description.
const (
	maxSlots  = 250
	maxShapes = 16 // nesting
)

func (tt *typeTable) compileVisual(t, named *symbol.Type, m natvis.Match, view string) (*visual, *misfit) {
	c := &visualCompiler{tt: tt, t: t, named: named, m: m, view: view, bound: m.Bound, types: map[string]*symbol.Type{}}
	this := expr.Place{Kind: expr.PlaceSelf, Type: tt.walks.pointerTo(named)}
	c.self = &visualScope{c: c, this: this, of: named}
	root, err := c.root()
	if err != nil {
		return nil, err
	}
	v := &visual{t: t, view: view, root: root}
	c.assign(root, &v.n)
	if v.n > maxSlots {
		return nil, &misfit{m.Type.Line, "it shows more than fits an object"}
	}
	// Both programs are made once for nothing, to find out whether registers and operations suffice.
	f := &form{T: t, V: newVisualType(t), P: &prog{}, tt: tt, dry: true}
	if line, what := v.emit(f, &prog{}); what != "" {
		return nil, &misfit{max(line, m.Type.Line), what}
	}
	return v, nil
}

// assign gives words their places.
func (c *visualCompiler) assign(s *shape, next *int) {
	s.slot = *next
	*next += len(s.words)
	if s.kind == shapeChoice {
		*next++
	}
	for i := range s.parts {
		if s.parts[i].s != nil {
			c.assign(s.parts[i].s, next)
		}
	}
	s.n = *next - s.slot
}

// root decides what of a description is shown: text; or the elements of a list, or what an item expands to; or the
// items as members; or what the display strings say.
func (c *visualCompiler) root() (*shape, *misfit) {
	t := c.m.Type
	var cases []shapePart
	text, err := c.displays(t.Strings, true)
	if err != nil {
		return nil, err
	}
	c.under += len(text)
	kids := inView(t.Expand, c.view)
	cases = append(cases, text...)
	main := withoutMeta(kids)
	listed := len(main) > 0 && onlyValues(main)
	if listed {
		c.under++
	}
	shown, err := c.displays(t.Displays, false)
	if listed {
		c.under--
	}
	if err != nil {
		return nil, err
	}
	switch {
	case listed:
		values, err := c.values(main)
		if err != nil {
			return nil, err
		}
		cases = append(cases, values...)
		cases = append(cases, shown...)
	case len(main) <= 1 && singles(t.Displays, c.view) || len(kids) == 0:
		cases = append(cases, shown...)
	default:
		items, err := c.items(kids)
		if err != nil {
			return nil, err
		}
		if len(items.parts) > 0 {
			shown = append(states(shown), shapePart{s: items})
		}
		cases = append(cases, shown...)
	}
	if len(cases) == 0 {
		smart, err := c.displays(t.Smart, false)
		if err != nil {
			return nil, err
		}
		cases = append(cases, smart...)
	}
	if len(cases) == 0 {
		return nil, &misfit{t.Line, "nothing of it fits the type"}
	}
	return choose(cases), nil
}

// states are the texts without values that hold under a condition: null, empty, OK. They are shown instead of the
// members.
func states(shown []shapePart) []shapePart {
	var out []shapePart
	for _, p := range shown {
		if p.cond != nil && (p.s.kind == shapeNull || p.s.kind == shapeFormat && p.s.n == 0 && len(p.s.parts) == 1 &&
			p.s.parts[0].s == nil) {
			out = append(out, p)
		}
	}
	return out
}

// choose is the first of several whose condition holds; null if none does.
func choose(cases []shapePart) *shape {
	if len(cases) == 1 && cases[0].cond == nil {
		return cases[0].s
	}
	for i := range cases {
		if cases[i].cond == nil {
			cases = cases[:i+1]
			break
		}
	}
	return &shape{kind: shapeChoice, parts: cases}
}

func inView(kids []natvis.Child, view string) []natvis.Child {
	var out []natvis.Child
	for _, k := range kids {
		if k.Views.In(view) {
			out = append(out, k)
		}
	}
	return out
}

// isMeta reports an item such as [size] or [allocator], which stands beside a list's elements.
func isMeta(k *natvis.Child) bool {
	if k.Kind != natvis.Item && k.Kind != natvis.Synthetic || len(k.Name) != 1 || k.Name[0].Expr != nil {
		return false
	}
	n := k.Name[0].Text
	if len(n) < 3 || n[0] != '[' || n[len(n)-1] != ']' {
		return false
	}
	return strings.Trim(n[1:len(n)-1], "0123456789") != ""
}

func withoutMeta(kids []natvis.Child) []natvis.Child {
	var out []natvis.Child
	for _, k := range kids {
		if !isMeta(&k) {
			out = append(out, k)
		}
	}
	return out
}

// onlyValues reports children each of which is shown as the object itself.
func onlyValues(kids []natvis.Child) bool {
	open := 0
	for i := range kids {
		if kids[i].Kind == natvis.Item || kids[i].Kind == natvis.Synthetic {
			return false
		}
		if kids[i].Cond == "" {
			open++
		}
	}
	return open <= 1 // else several stand beside each other
}

// singles reports display strings that are one expression each, or text alone.
func singles(ds []natvis.Display, view string) bool {
	some := false
	for i := range ds {
		if !ds[i].Views.In(view) {
			continue
		}
		if len(ds[i].Parts) > 1 {
			return false
		}
		some = some || len(ds[i].Parts) == 1 && ds[i].Parts[0].Expr != nil
	}
	return some
}

func (c *visualCompiler) displays(ds []natvis.Display, text bool) ([]shapePart, *misfit) {
	var out []shapePart
	for i := range ds {
		d := &ds[i]
		if !d.Views.In(c.view) {
			continue
		}
		if len(out) > 0 {
			c.under++
		}
		p, err := c.display(d, text)
		if len(out) > 0 {
			c.under--
		}
		if err != nil {
			if d.Optional {
				continue
			}
			return nil, err
		}
		if p.cond != nil {
			if v, ok := p.cond.Constant(); ok {
				if v == 0 {
					continue
				}
				p.cond = nil
			}
		}
		out = append(out, p)
		if p.cond == nil {
			break
		}
	}
	return out, nil
}

func (c *visualCompiler) display(d *natvis.Display, text bool) (p shapePart, err *misfit) {
	if p.cond, err = c.condition(d.Cond, c.self, d.Line); err != nil {
		return p, err
	}
	if len(d.Parts) == 1 && d.Parts[0].Expr != nil {
		x := *d.Parts[0].Expr
		if text && x.Format.Spec == "" {
			x.Format.Spec = "s"
		}
		p.s, err = c.leaf(&x, c.self, d.Line, p.cond != nil)
		return p, err
	}
	p.s, err = c.format(d.Parts, d.Line, p.cond != nil)
	return p, err
}

// format is text with values in it.
func (c *visualCompiler) format(parts []natvis.Part, line int, cond bool) (*shape, *misfit) {
	if len(parts) == 1 {
		switch strings.ToLower(strings.Trim(parts[0].Text, "()<> ")) {
		case "null", "nullptr", "nullopt", "none":
			return &shape{kind: shapeNull}, nil
		}
	}
	s := &shape{kind: shapeFormat}
	lead := ""
	for i := range parts {
		if parts[i].Expr == nil {
			lead += parts[i].Text
			continue
		}
		leaf, err := c.leaf(parts[i].Expr, c.self, line, cond)
		if err != nil {
			return nil, err
		}
		spec := parts[i].Expr.Format.Spec
		s.parts = append(s.parts, shapePart{name: lead, s: leaf, bare: strings.HasSuffix(spec, "b") && spec != "b" &&
			spec != "bb"})
		lead = ""
	}
	if lead != "" || len(s.parts) == 0 {
		s.parts = append(s.parts, shapePart{name: lead})
	}
	return s, nil
}

func (c *visualCompiler) condition(text string, sc *visualScope, line int) (*expr.Expr, *misfit) {
	if text == "" {
		return nil, nil
	}
	e, err := c.parse(text, sc, line)
	if err != nil {
		return nil, err
	}
	e, cerr := e.Condition()
	if cerr != nil {
		return nil, &misfit{line, cerr.Error()}
	}
	return e, nil
}

// parse gives an expression a meaning.
func (c *visualCompiler) parse(text string, sc *visualScope, line int) (*expr.Expr, *misfit) {
	text, err := c.m.Type.Inline(text)
	if err != nil {
		return nil, &misfit{line, err.Error()}
	}
	e, err := expr.New(text, symbol.LangCPP, sc)
	if err != nil {
		return nil, &misfit{line, short(text) + ": " + err.Error()}
	}
	return e, nil
}

// values are children each of which stands for the whole object.
func (c *visualCompiler) values(kids []natvis.Child) ([]shapePart, *misfit) {
	var out, always []shapePart
	if len(kids) > 1 {
		c.under++
		defer func() { c.under-- }()
	}
	for i := range kids {
		k := &kids[i]
		p, err := c.child(k)
		if err != nil {
			if k.Optional {
				continue
			}
			return nil, err
		}
		if p.cond == nil {
			always = append(always, p)
		} else {
			out = append(out, p)
		}
	}
	return append(out, always...), nil
}

// items are named parts: those with a condition are left out where it does not hold.
func (c *visualCompiler) items(kids []natvis.Child) (*shape, *misfit) {
	s := &shape{kind: shapeItems}
	if c.depth++; c.depth > maxShapes {
		return nil, &misfit{c.m.Type.Line, "its parts nest too deep"}
	}
	defer func() { c.depth-- }()
	listed := !onlyItems(kids)
	for i := range kids {
		k := &kids[i]
		if listed && isMeta(k) {
			continue
		}
		p, err := c.child(k)
		if err != nil {
			if k.Optional {
				continue
			}
			return nil, err
		}
		if p.cond != nil {
			if v, ok := p.cond.Constant(); ok && v == 0 {
				continue
			}
			p.s = &shape{kind: shapeChoice, parts: []shapePart{{cond: p.cond, s: p.s}, {s: &shape{kind: shapeAbsent}}}}
			p.cond = nil
		}
		s.parts = append(s.parts, p)
	}
	s.map_ = numbered(s.parts)
	return s, nil
}

// numbered reports parts that are named [0], [1] and so on: elements rather than members.
func numbered(parts []shapePart) bool {
	for i := range parts {
		if parts[i].name != strconv.Itoa(i) || parts[i].s.kind == shapeChoice {
			return false
		}
	}
	return len(parts) > 0
}

func onlyItems(kids []natvis.Child) bool {
	for i := range kids {
		if kids[i].Kind != natvis.Item && kids[i].Kind != natvis.Synthetic {
			return false
		}
	}
	return true
}
