package capture

import (
	"strings"

	"github.com/strobe-debug/strobe/internal/expr"
	"github.com/strobe-debug/strobe/internal/natvis"
	"github.com/strobe-debug/strobe/internal/symbol"
)

// listShape is how the records of a list are collected.
type listShape struct {
	kind   natvis.ChildKind
	number int    // of the description's lists
	sized  bool   // the first word is how many elements there are
	record *shape // of one element; its words are pushed for each

	next, left, right *expr.Expr // of a node
	show              *expr.Expr // whether a node is shown, nil: always

	vars []listVar
	code []listCode
}

// listVar is a variable of CustomListItems.
type listVar struct {
	in      reg
	initial *expr.Expr
	typ     *expr.Type
}

// listCode is a statement of CustomListItems.
type listCode struct {
	kind natvis.StatementKind
	cond *expr.Expr
	body []listCode
	els  []listCode
	to   *listVar
	e    *expr.Expr
}

// Registers of lists; the expressions have those before listTemps.
const (
	listTemps = 7
	listJ     = reg(7)  // trees: how far down the path
	listDepth = reg(8)  // trees: of the node at hand
	listPath  = reg(9)  // trees: the way to it, a bit for each level
	listHead  = reg(10) //
	listTotal = reg(11) // elements seen
	listI     = reg(12) // index
	listFuel  = reg(13) // steps left
	listLeft  = reg(14) // elements that may still be shown
	listNode  = reg(15) // address of the node at hand; of custom lists: elements seen

	customTotal = reg(15)
	firstVar    = 7 // variables of custom lists: up to listI
)

// listOf makes a child of Expand that stands for several elements.
func (c *visualCompiler) listOf(k *natvis.Child) (*shape, *misfit) {
	if c.lists++; c.lists > 8 {
		return nil, &misfit{k.Line, "it has more than eight lists"}
	}
	s := &shape{kind: shapeList, list: &listShape{kind: k.Kind, number: c.lists}}
	size := combined(k.Sizes)
	if k.Kind == natvis.ArrayItems {
		return c.array(k, size)
	}
	if size != "" {
		n, err := c.number(size, c.self, k.Line)
		if err != nil {
			return nil, err
		}
		s.list.sized = true
		s.words = append(s.words, pushed{e: n, asValue: true})
	}
	var err *misfit
	switch k.Kind {
	case natvis.IndexListItems:
		err = c.indexed(k, s)
	case natvis.LinkedListItems, natvis.TreeItems:
		err = c.nodes(k, s)
	default:
		err = c.custom(k, s)
	}
	if err != nil {
		return nil, err
	}
	n := 0
	c.assign(s.list.record, &n)
	return s, nil
}

// combined makes one expression of several with conditions.
func combined(list []natvis.Conditional) string {
	text, open := "", 0
	for i, one := range list {
		switch {
		case one.Cond == "":
			text += "(" + one.Expr.Text + ")"
			return text + strings.Repeat(")", open)
		case i+1 == len(list):
			return text + "((" + one.Cond + ") ? (" + one.Expr.Text + ") : 0)" + strings.Repeat(")", open)
		}
		text += "((" + one.Cond + ") ? (" + one.Expr.Text + ") : "
		open++
	}
	return text
}

// array is ArrayItems.
func (c *visualCompiler) array(k *natvis.Child, size string) (*shape, *misfit) {
	pointer := combined(k.Pointers)
	if size == "" || pointer == "" {
		return nil, &misfit{k.Line, "ArrayItems needs a Size and a ValuePointer"}
	}
	at, err := c.parse(pointer, c.self, k.Line)
	if err != nil {
		return nil, err
	}
	elem := at.Pointee()
	if elem == nil {
		return nil, &misfit{k.Line, short(pointer) + " is no pointer"}
	}
	if k.Rank == "" {
		n, err := c.number(size, c.self, k.Line)
		if err != nil {
			return nil, err
		}
		return c.span(at, elem, n, k.Pointers[0].Expr.Format.Spec, k.Line)
	}
	rank, err := c.number(k.Rank, c.self, k.Line)
	if err != nil {
		return nil, err
	}
	dims, ok := rank.Constant()
	et := c.tt.walks.symbolOf(elem)
	if !ok || dims < 1 || dims > 4 || et == nil || sizeOf(et.Strip()) <= 0 {
		return nil, &misfit{k.Line, "the rank is no number from 1 to 4, or the elements have no size"}
	}
	s := &shape{kind: shapeGrid, t: et, back: k.Backward}
	for i := range dims {
		sc := *c.self
		sc.vars = map[string]expr.Place{"$i": {Kind: expr.PlaceConst, Addr: i}}
		n, err := c.number(size, &sc, k.Line)
		if err != nil {
			return nil, err
		}
		s.words = append(s.words, pushed{e: n, asValue: true})
	}
	_, isArray := at.IsArray()
	s.words = append(s.words, pushed{e: at, asValue: !isArray})
	return s, nil
}

// indexed is IndexListItems: an expression with $i for each element.
func (c *visualCompiler) indexed(k *natvis.Child, s *shape) *misfit {
	if !s.list.sized || len(k.Pointers) != 1 {
		return &misfit{k.Line, "IndexListItems needs a Size and one ValueNode"}
	}
	sc := *c.self
	sc.vars = map[string]expr.Place{"$i": {Kind: expr.PlaceWalk, Reg: int(listI)}}
	show, err := c.condition(k.Pointers[0].Cond, &sc, k.Line)
	if err != nil {
		return err
	}
	s.list.show = show
	return c.record(s, k.Pointers[0].Expr, k.NodeName, &sc, k.Line)
}

// nodes is LinkedListItems and TreeItems, whose expressions mean something in a node.
func (c *visualCompiler) nodes(k *natvis.Child, s *shape) *misfit {
	l := s.list
	if k.Head == "" || k.Node == nil {
		return &misfit{k.Line, "a list of nodes needs a HeadPointer and a ValueNode"}
	}
	head, err := c.parse(k.Head, c.self, k.Line)
	if err != nil {
		return err
	}
	pointer := c.tt.walks.symbolOf(head.Type())
	if head.Type().Kind() != expr.KindPointer || pointer == nil || head.Pointee().Symbol() == nil {
		return &misfit{k.Line, short(k.Head) + " is no pointer to a node"}
	}
	s.words = append(s.words, pushed{e: head, asValue: true})
	node := head.Pointee().Symbol().Strip()
	sc := &visualScope{c: c, of: node, this: expr.Place{Kind: expr.PlaceWalk, Reg: int(listNode), Type: pointer}}
	if l.show, err = c.condition(k.NodeCond, sc, k.Line); err != nil {
		return err
	}
	for _, way := range []struct {
		text string
		to   **expr.Expr
	}{{k.Next, &l.next}, {k.Left, &l.left}, {k.Right, &l.right}} {
		if way.text == "" {
			continue
		}
		e, err := c.parse(way.text, sc, k.Line)
		if err != nil {
			return err
		}
		if e.Type().Kind() != expr.KindPointer {
			return &misfit{k.Line, short(way.text) + " is no pointer"}
		}
		*way.to = e
	}
	if k.Kind == natvis.LinkedListItems && l.next == nil || k.Kind == natvis.TreeItems &&
		(l.left == nil || l.right == nil) {
		return &misfit{k.Line, "it does not say where the next node is"}
	}
	return c.record(s, k.Node, k.NodeName, sc, k.Line)
}

// record makes what one element is: a value, or with a name that is computed a key and a value.
func (c *visualCompiler) record(s *shape, x *natvis.Expr, name []natvis.Part, sc *visualScope, line int) *misfit {
	v, err := c.leaf(x, sc, line, true)
	if err != nil {
		return err
	}
	made, isMap := v, isKeyed(v)
	for _, part := range name {
		if part.Expr == nil || isIndex(part.Expr.Text) {
			continue
		}
		key, err := c.leaf(part.Expr, sc, line, true)
		if err != nil {
			return err
		}
		made, isMap = &shape{kind: shapeItems, map_: true, parts: []shapePart{{s: key}, {s: v}}}, true
		break
	}
	if old := s.list.record; old != nil && !sameRecord(old, made) {
		return &misfit{line, "items of different types in one list"}
	}
	s.list.record, s.map_ = made, isMap
	return nil
}

// isIndex reports a name that only counts: [{i}].
func isIndex(text string) bool {
	text = strings.TrimSpace(text)
	return text == "$i" || text == "i" || text == "index" || text == "idx"
}

// isKeyed reports an element that is a key and a value: a std::pair<const K, V>.
func isKeyed(s *shape) bool {
	if s.kind != shapePlace || s.view != "" || !strings.HasPrefix(s.t.Strip().QualifiedName(), "std::pair<") {
		return false
	}
	first, ok := typeArg(s.t, 0)
	return ok && first.Kind == symbol.KindConst
}

func sameRecord(a, b *shape) bool {
	if a.kind != b.kind || a.view != b.view || len(a.parts) != len(b.parts) || len(a.words) != len(b.words) {
		return false
	}
	if a.t != b.t && (a.t == nil || b.t == nil || a.t.Strip() != b.t.Strip()) {
		return false
	}
	for i := range a.parts {
		if !sameRecord(a.parts[i].s, b.parts[i].s) {
			return false
		}
	}
	return true
}

// custom is CustomListItems.
func (c *visualCompiler) custom(k *natvis.Child, s *shape) *misfit {
	sc := *c.self
	sc.vars = map[string]expr.Place{}
	vars := map[string]*listVar{}
	if n := len(k.Vars); n > int(listI)-firstVar+1 {
		return &misfit{k.Line, "it has more than six variables"}
	}
	s.list.vars = make([]listVar, len(k.Vars))
	for i, v := range k.Vars {
		e, err := c.parse(v.Initial, &sc, v.Line)
		if err != nil {
			return err
		}
		switch e.Type().Kind() {
		case expr.KindInt, expr.KindChar, expr.KindBool, expr.KindPointer:
		default:
			return &misfit{v.Line, v.Name + " is neither a number nor a pointer"}
		}
		s.list.vars[i] = listVar{in: reg(firstVar + i), initial: e, typ: e.Type()}
		vars[v.Name] = &s.list.vars[i]
		sc.vars[v.Name] = expr.Place{Kind: expr.PlaceWalk, Reg: firstVar + i, Made: e.Type()}
	}
	code, err := c.statements(k.Code, s, &sc, vars)
	if err != nil {
		return err
	}
	if s.list.record == nil {
		return &misfit{k.Line, "it has no Item"}
	}
	s.list.code = code
	return nil
}

func (c *visualCompiler) statements(code []natvis.Statement, s *shape, sc *visualScope,
	vars map[string]*listVar) ([]listCode, *misfit) {
	var out []listCode
	for i := range code {
		st := &code[i]
		to := listCode{kind: st.Kind}
		var err *misfit
		if to.cond, err = c.condition(st.Cond, sc, st.Line); err != nil {
			return nil, err
		}
		switch st.Kind {
		case natvis.Loop, natvis.If:
			if to.body, err = c.statements(st.Body, s, sc, vars); err == nil {
				to.els, err = c.statements(st.Else, s, sc, vars)
			}
		case natvis.Exec:
			if to.to = vars[st.Var]; to.to == nil {
				return nil, &misfit{st.Line, st.Var + " is no variable"}
			}
			to.e, err = c.parse(st.Expr, sc, st.Line)
			if err == nil && (to.e.Type().Kind() == expr.KindFloat || to.e.Type().Kind() == expr.KindObject ||
				to.e.Type().Kind() == expr.KindText) {
				err = &misfit{st.Line, short(st.Expr) + " is neither a number nor a pointer"}
			}
		case natvis.Emit:
			err = c.record(s, st.Item, st.Name, sc, st.Line)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, to)
	}
	return out, nil
}
