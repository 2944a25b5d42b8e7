package ui

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Text limits of a line.
const (
	nameShown    = 60
	contentShown = 80
	sameRows     = 40 // siblings of one role that are listed; more are counted
)

// Written is a tree as a model reads it.
type Written struct {
	Text  string
	Lines int
	Left  int // elements that did not fit
	Ask   string
}

// Write makes lines of elements, each two blanks deeper than what it is in. depth bounds the levels, 0: none; most is
// the bytes that it may have, 0: as many as there are.
func Write(nodes []*Node, depth int, all bool, most int) Written {
	w := &writer{depth: depth, all: all, most: most}
	for _, n := range nodes {
		w.node(n, 0, nil)
	}
	return Written{Text: strings.TrimRight(w.b.String(), "\n"), Lines: w.lines, Left: w.left}
}

type writer struct {
	b     strings.Builder
	depth int
	all   bool
	most  int
	lines int
	left  int
}

func (w *writer) line(level int, s string) {
	if w.most > 0 && w.b.Len()+2*level+len(s)+1 > w.most {
		w.left++
		return
	}
	w.lines++
	w.b.WriteString(strings.Repeat("  ", level))
	w.b.WriteString(s)
	w.b.WriteByte('\n')
}

func (w *writer) node(n *Node, level int, in *Node) {
	next := level
	if w.all || !folded(n, in) {
		w.line(level, Line(n, w.all))
		next++
		in = n
	}
	if w.depth > 0 && next >= w.depth && next > level {
		if k := shownBelow(n); k > 0 {
			w.line(next, fmt.Sprintf("… %d elements below: ask with id %s", k, n.ID))
		}
		return
	}
	run := map[Role]int{}
	beyond := map[Role]int{}
	for _, c := range n.Children {
		if run[c.Role]++; run[c.Role] > sameRows && !w.all && n.Role.manyRows() {
			beyond[c.Role]++
			continue
		}
		w.node(c, next, in)
	}
	more := n.Beyond
	for _, k := range beyond {
		more += k
	}
	if n.Role.manyRows() {
		more += n.Hidden
	}
	if more > 0 {
		w.line(next, fmt.Sprintf("… %d more in %s: scroll, or all", more, n.ID))
	}
}

// shownBelow counts what would have lines of its own.
func shownBelow(n *Node) int {
	k := 0
	for _, c := range n.Children {
		c.Walk(func(d *Node) bool {
			if !folded(d, n) {
				k++
			}
			return true
		})
	}
	return k
}

// folded reports whether an element says nothing by itself: a box for layout, or the label of what it is in.
func folded(n, in *Node) bool {
	if n.Parent == nil || n.Is(Focused) && (!boxes[n.Role] || len(n.Children) == 0 && !n.Parent.Is(Focused)) {
		return false
	}
	if (boxes[n.Role] || n.Role == RoleWindow) && n.Name == "" && n.Text == "" {
		return true
	}
	if (n.Role == RoleLabel || n.Role == "static" || n.Role == "image" || n.Role == "icon") && in != nil &&
		in.Name != "" && (in.Name == n.Name ||
		strings.Contains(in.Name, cmp.Or(n.Name, n.Text)) && in.Can&(CanAct|CanSelect) != 0) {
		return true
	}
	return n.Role == RoleScrollBar || n.Role == RoleLabel && n.Name == "" && n.Text == "" ||
		n.Role == "separator" && n.Name == ""
}

// Line is one element in words.
func Line(n *Node, whole bool) string {
	var b strings.Builder
	b.WriteString(n.ID)
	if n.ID == "" || strings.HasPrefix(n.ID, "el#") {
		b.WriteString(" " + string(n.Role))
	}
	if n.Name != "" {
		b.WriteString(" [" + short(n.Name, nameShown) + "]")
	}
	if !n.Rect.Empty() {
		fmt.Fprintf(&b, " (%dx%d+%d+%d)", n.Rect.W, n.Rect.H, n.Rect.X, n.Rect.Y)
	}
	for _, word := range Words(n) {
		b.WriteString(" " + word)
	}
	if n.Value != nil {
		fmt.Fprintf(&b, " val=%s min=%s max=%s", number(n.Value.Now), number(n.Value.Min), number(n.Value.Max))
	}
	if n.Text != "" && n.Text != n.Name {
		b.WriteString(" text=" + quoted(n))
	}
	if whole && !n.Is(Visible) {
		b.WriteString(" hidden")
	}
	if n.Mute {
		b.WriteString(" (did not answer)")
	}
	return b.String()
}

// quoted is what an element holds, in quotes, and how much more there is.
func quoted(n *Node) string {
	if n.Text == Redacted {
		return Redacted
	}
	s := strconv.Quote(cutRunes(n.Text, contentShown))
	if shown := min(utf8.RuneCountInString(n.Text), contentShown); n.Length > shown {
		s += fmt.Sprintf("…(+%d)", n.Length-shown)
	}
	return s
}

// Words are an element's states that are worth a word.
func Words(n *Node) []string {
	var out []string
	add := func(s States, word string) {
		if n.Is(s) {
			out = append(out, word)
		}
	}
	add(Focused, "focused")
	add(Checked, "checked")
	if n.Role == "toggle button" && !n.Is(Checked) {
		add(Pressed, "pressed")
	}
	if n.Role != RoleLabel {
		add(Selected, "selected")
	}
	if n.Is(Expandable) || n.Is(Expanded) {
		if n.Is(Expanded) {
			out = append(out, "expanded")
		} else {
			out = append(out, "collapsed")
		}
	}
	add(Indeterminate, "mixed")
	add(Modal, "modal")
	add(Busy, "busy")
	if n.Is(Disabled) && n.Role != RoleLabel && !boxes[n.Role] {
		out = append(out, "disabled")
	}
	if n.Role.HoldsText() && n.Has(CanText) && !n.Is(Editable) && n.Role != RoleSpin && n.Role != "paragraph" {
		out = append(out, "readonly")
	}
	return out
}

func short(s string, most int) string {
	s = strings.Join(strings.Fields(s), " ")
	if n := utf8.RuneCountInString(s); n > most {
		return fmt.Sprintf("%s…(+%d)", cutRunes(s, most), n-most)
	}
	return s
}

// Short is a description as a name.
func Short(s string) string { return short(s, nameShown) }

func cutRunes(s string, most int) string {
	for i := range s {
		if most--; most < 0 {
			return s[:i]
		}
	}
	return s
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// Diff is what is other in one look than in an earlier one.
type Diff struct{ Came, Went, Changed []string }

// Len is how many elements differ.
func (d *Diff) Len() int { return len(d.Came) + len(d.Went) + len(d.Changed) }

// Text is the difference in lines: + came, - went, ~ changed.
func (d *Diff) Text(most int) (s string, left int) {
	var b strings.Builder
	for _, part := range []struct {
		mark  string
		lines []string
	}{{"~ ", d.Changed}, {"+ ", d.Came}, {"- ", d.Went}} {
		for _, l := range part.lines {
			if most > 0 && b.Len()+len(l)+3 > most {
				left++
				continue
			}
			b.WriteString(part.mark + l + "\n")
		}
	}
	return strings.TrimRight(b.String(), "\n"), left
}

// Shot is a look as it is kept to compare with: what each element that has a line of its own says of itself.
type Shot struct {
	lines map[string]string // by id
	order []string
}

// ShotOf is what a tree's lines are.
func ShotOf(t *Tree) *Shot {
	s := &Shot{lines: map[string]string{}}
	var in func(n, above *Node)
	in = func(n, above *Node) {
		if !folded(n, above) {
			s.lines[n.ID] = Line(n, false)
			s.order = append(s.order, n.ID)
			above = n
		}
		for _, c := range n.Children {
			in(c, above)
		}
	}
	for _, w := range t.Windows {
		in(w, nil)
	}
	return s
}

// Since is what is other in s than in an earlier one. Of what came with all that is in it, each element is told.
func (s *Shot) Since(old *Shot) *Diff {
	d := &Diff{}
	for _, id := range s.order {
		before, ok := old.lines[id]
		switch {
		case !ok:
			d.Came = append(d.Came, s.lines[id])
		case before != s.lines[id]:
			d.Changed = append(d.Changed, s.lines[id])
		}
	}
	for _, id := range old.order {
		if _, ok := s.lines[id]; !ok {
			d.Went = append(d.Went, old.lines[id])
		}
	}
	return d
}

// Lines are the first lines of a difference.
func (d *Diff) Lines(most int) []string {
	out := []string{}
	for _, part := range []struct {
		mark  string
		lines []string
	}{{"~ ", d.Changed}, {"+ ", d.Came}, {"- ", d.Went}} {
		for _, l := range part.lines {
			if len(out) < most {
				out = append(out, part.mark+l)
			}
		}
	}
	return out
}
