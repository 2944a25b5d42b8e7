package natvis

import (
	"fmt"
	"strings"
)

// Limits on what one description has.
const (
	maxProblems = 200
	maxNames    = 200
)

// Parse reads a file. The error says why it is none; what of it is not understood is in Problems.
func Parse(path string, data []byte) (*File, error) {
	root, err := readTree(data)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	r := &reader{file: &File{Path: path}}
	for _, e := range root.kids {
		switch e.name {
		case "Type":
			r.typ(e)
		case "Intrinsic":
			r.intrinsic(e, &r.file.Intrinsics)
		case "UIVisualizer", "Version", "HResult", "LocalizedStrings":
		default:
			r.unknown(e, root)
		}
	}
	return r.file, nil
}

type reader struct{ file *File }

func (r *reader) problem(line int, format string, args ...any) {
	if len(r.file.Problems) < maxProblems {
		r.file.Problems = append(r.file.Problems, Problem{r.file.Path, line, fmt.Sprintf(format, args...)})
	}
}

func (r *reader) unknown(e, in *element) {
	r.problem(e.line, "%s in %s is not known", e.name, in.name)
}

var priorities = map[string]int{"Low": -2, "MediumLow": -1, "": 0, "Medium": 0, "MediumHigh": 1, "High": 2}

func (r *reader) typ(e *element) {
	t := &Type{File: r.file, Line: e.line, Inheritable: e.yes("Inheritable", true), Views: views(e)}
	prio, ok := priorities[e.attr("Priority")]
	if !ok {
		r.problem(e.line, "the priority %q is not known", e.attr("Priority"))
	}
	t.Priority = prio
	name := e.attr("Name")
	if name == "" {
		r.problem(e.line, "a Type without a Name")
		return
	}
	t.Names = append(t.Names, NewPattern(name))
	for _, k := range e.kids {
		switch k.name {
		case "AlternativeType":
			if n := k.attr("Name"); n != "" && len(t.Names) < maxNames {
				t.Names = append(t.Names, NewPattern(n))
			}
		case "DisplayString":
			t.Displays = append(t.Displays, r.display(k))
		case "StringView":
			t.Strings = append(t.Strings, r.single(k))
		case "SmartPointer":
			t.Smart = append(t.Smart, r.single(k))
		case "Expand":
			if !views(k).In("") {
				continue
			}
			t.HasExpand = true
			t.Expand = append(t.Expand, r.children(k)...)
		case "Intrinsic":
			r.intrinsic(k, &t.Intrinsics)
		case "Version", "UIVisualizer", "CustomVisualizer", "MostDerivedType":
		default:
			r.unknown(k, e)
		}
	}
	r.file.Types = append(r.file.Types, t)
}

func views(e *element) Views {
	return Views{Include: viewNames(e.attr("IncludeView")), Exclude: viewNames(e.attr("ExcludeView"))}
}

func viewNames(s string) []string {
	return strings.FieldsFunc(s, func(c rune) bool { return c == ';' || c == ',' || c == ' ' })
}

func (r *reader) display(e *element) Display {
	parts, problem := parseText(e.text)
	if problem != "" {
		r.problem(e.line, "%s in %q", problem, short(e.text))
	}
	return Display{Line: e.line, Cond: e.attr("Condition"), Optional: e.yes("Optional", false), Views: views(e),
		Parts: parts}
}

// single is an element whose text is one expression.
func (r *reader) single(e *element) Display {
	return Display{Line: e.line, Cond: e.attr("Condition"), Optional: e.yes("Optional", false), Views: views(e),
		Parts: []Part{{Expr: r.expr(e)}}}
}

func (r *reader) expr(e *element) *Expr {
	x, problem := parseExpr(e.text)
	if problem != "" {
		r.problem(e.line, "%s", problem)
	}
	return x
}

func (r *reader) name(e *element) []Part {
	parts, problem := parseText(e.attr("Name"))
	if problem != "" {
		r.problem(e.line, "%s in the name %q", problem, short(e.attr("Name")))
	}
	return parts
}

func short(s string) string {
	if s = strings.Join(strings.Fields(s), " "); len(s) > 60 {
		return strings.ToValidUTF8(s[:60], "") + "…"
	}
	return s
}

func (r *reader) intrinsic(e *element, to *[]Intrinsic) {
	in := Intrinsic{Line: e.line, Name: e.attr("Name"), Expr: e.attr("Expression")}
	for _, k := range e.kids {
		if k.name == "Parameter" {
			in.Params = append(in.Params, k.attr("Name"))
		}
	}
	if in.Name == "" || in.Expr == "" {
		r.problem(e.line, "an Intrinsic needs a Name and an Expression")
		return
	}
	*to = append(*to, in)
}

func (r *reader) children(e *element) []Child {
	var out []Child
	for _, k := range e.kids {
		c := Child{Line: k.line, Cond: k.attr("Condition"), Optional: k.yes("Optional", false), Views: views(k)}
		switch k.name {
		case "Item":
			c.Kind, c.Name, c.Value = Item, r.name(k), r.expr(k)
		case "ExpandedItem":
			c.Kind, c.Value = ExpandedItem, r.expr(k)
		case "Synthetic":
			r.synthetic(k, &c)
		case "ArrayItems":
			r.array(k, &c)
		case "IndexListItems":
			c.Kind = IndexListItems
			r.list(k, &c)
		case "LinkedListItems":
			c.Kind = LinkedListItems
			r.list(k, &c)
		case "TreeItems":
			c.Kind = TreeItems
			r.list(k, &c)
		case "CustomListItems":
			c.Kind = CustomListItems
			r.custom(k, &c)
		default:
			r.unknown(k, e)
			continue
		}
		out = append(out, c)
	}
	return out
}

func (r *reader) synthetic(e *element, c *Child) {
	c.Kind, c.Name = Synthetic, r.name(e)
	for _, k := range e.kids {
		switch k.name {
		case "DisplayString":
			c.Shown = append(c.Shown, r.display(k))
		case "StringView":
			c.Strings = append(c.Strings, r.single(k))
		case "Expand":
			c.Expand = append(c.Expand, r.children(k)...)
		default:
			r.unknown(k, e)
		}
	}
}

func (r *reader) conditional(e *element) Conditional {
	return Conditional{Cond: e.attr("Condition"), Expr: r.expr(e)}
}

func (r *reader) array(e *element, c *Child) {
	c.Kind = ArrayItems
	for _, k := range e.kids {
		switch k.name {
		case "Size":
			c.Sizes = append(c.Sizes, r.conditional(k))
		case "ValuePointer":
			c.Pointers = append(c.Pointers, r.conditional(k))
		case "Rank":
			c.Rank = strings.TrimSpace(k.text)
		case "Direction":
			switch d := strings.TrimSpace(k.text); d {
			case "Forward":
			case "Backward":
				c.Backward = true
			default:
				r.problem(k.line, "the direction %q is not known", short(d))
			}
		case "LowerBound": // only names elements
		default:
			r.unknown(k, e)
		}
	}
}

// list reads what lists of nodes have.
func (r *reader) list(e *element, c *Child) {
	for _, k := range e.kids {
		text := strings.TrimSpace(k.text)
		switch k.name {
		case "Size":
			c.Sizes = append(c.Sizes, r.conditional(k))
		case "HeadPointer":
			c.Head = text
		case "NextPointer":
			c.Next = text
		case "LeftPointer":
			c.Left = text
		case "RightPointer":
			c.Right = text
		case "ValueNode":
			if c.Kind == IndexListItems {
				c.Pointers, c.NodeName = append(c.Pointers, r.conditional(k)), r.name(k)
				continue
			}
			c.Node, c.NodeCond, c.NodeName = r.expr(k), k.attr("Condition"), r.name(k)
		default:
			r.unknown(k, e)
		}
	}
}

func (r *reader) custom(e *element, c *Child) {
	for _, k := range e.kids {
		switch k.name {
		case "Variable":
			c.Vars = append(c.Vars, Variable{Line: k.line, Name: k.attr("Name"), Initial: k.attr("InitialValue")})
		case "Size":
			c.Sizes = append(c.Sizes, r.conditional(k))
		case "Skip":
			r.unknown(k, e)
		}
	}
	c.Code = r.statements(e, 0)
}

// maxStatements bounds how deep statements nest.
const maxStatements = 12

func (r *reader) statements(e *element, depth int) []Statement {
	if depth > maxStatements {
		r.problem(e.line, "statements nest deeper than %d", maxStatements)
		return nil
	}
	var out []Statement
	var chain *[]Statement // where an Else belongs
	for _, k := range e.kids {
		s := Statement{Line: k.line, Cond: k.attr("Condition")}
		was := chain
		chain = nil
		switch k.name {
		case "Variable", "Size", "Skip":
			continue
		case "Loop":
			s.Kind, s.Body = Loop, r.statements(k, depth+1)
		case "If":
			s.Kind, s.Body = If, r.statements(k, depth+1)
		case "Elseif", "ElseIf", "Else":
			if was == nil {
				r.problem(k.line, "%s without an If", k.name)
				continue
			}
			if k.name == "Else" {
				*was = r.statements(k, depth+1)
				continue
			}
			*was = []Statement{{Kind: If, Line: k.line, Cond: s.Cond, Body: r.statements(k, depth+1)}}
			chain = &(*was)[0].Else
			continue
		case "Break":
			s.Kind = Break
		case "Exec":
			for _, x := range r.assignments(k) {
				x.Cond = s.Cond
				out = append(out, x)
			}
			continue
		case "Item":
			s.Kind, s.Name, s.Item = Emit, r.name(k), r.expr(k)
		default:
			r.unknown(k, e)
			continue
		}
		out = append(out, s)
		if s.Kind == If {
			chain = &out[len(out)-1].Else
		}
	}
	return out
}

// assignments reads i++, --i, i += n, p = p->next, one behind the other with commas or semicolons.
func (r *reader) assignments(e *element) []Statement {
	var out []Statement
	for _, text := range splitAssignments(e.text) {
		s := Statement{Kind: Exec, Line: e.line}
		switch {
		case strings.HasSuffix(text, "++"), strings.HasSuffix(text, "--"):
			s.Var = strings.TrimSpace(text[:len(text)-2])
			s.Expr = s.Var + " " + text[len(text)-1:] + " 1"
		case strings.HasPrefix(text, "++"), strings.HasPrefix(text, "--"):
			s.Var = strings.TrimSpace(text[2:])
			s.Expr = s.Var + " " + text[:1] + " 1"
		default:
			name, value, ok := strings.Cut(text, "=")
			if !ok || strings.HasPrefix(value, "=") {
				r.problem(e.line, "%q is no assignment", short(text))
				continue
			}
			s.Expr = strings.TrimSpace(value)
			for _, op := range []string{"<<", ">>", "+", "-", "*", "/", "%", "&", "|", "^"} {
				if left, is := strings.CutSuffix(name, op); is {
					s.Expr = "(" + strings.TrimSpace(left) + ") " + op + " (" + s.Expr + ")"
					name = left
					break
				}
			}
			s.Var = strings.TrimSpace(name)
		}
		if !isName(s.Var) {
			r.problem(e.line, "%q assigns to what is no variable", short(text))
			continue
		}
		out = append(out, s)
	}
	return out
}

func isName(s string) bool {
	for i := 0; i < len(s); i++ {
		if !wordByte(s[i]) {
			return false
		}
	}
	return s != "" && (s[0] < '0' || s[0] > '9')
}

func splitAssignments(s string) []string {
	var out []string
	for s = strings.TrimSpace(s); s != ""; {
		at := strings.IndexByte(s, ';')
		if c := lastComma(s); at < 0 && c > 0 {
			out = append(splitAssignments(s[:c]), strings.TrimSpace(s[c+1:]))
			return out
		}
		part := s
		if at >= 0 {
			part, s = s[:at], s[at+1:]
		} else {
			s = ""
		}
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}
