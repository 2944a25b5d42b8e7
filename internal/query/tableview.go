package query

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/strobe-debug/strobe/internal/columns"
	"github.com/strobe-debug/strobe/internal/sorting"
	"github.com/strobe-debug/strobe/internal/store"
)

// Bounds of view table.
const (
	cellWidth    = 28      // bytes of one cell
	rowWidth     = 130     // of a row: what does not fit is named below the table
	sameWidth    = 24      // of a value that is the same in all rows
	maxSame      = 24      // of these
	sameDepth    = 2       // members of members: what is deeper is counted
	maxOthers    = 5       // functions that are named beside the one that is shown
	toldRules    = 4       // rules that say why rows are marked
	maxRowGroups = 1 << 17 // different rows that are counted
	firstRows    = 3       // shown whatever is in them
	lastRows     = 2
)

// callTable is one answer of view table.
type callTable struct {
	a      *asker
	c      *calls
	t      *columns.Table
	rules  []columns.Rule
	marked map[int][]*columns.Column // rows with what is odd in them
	shown  []*columns.Column
	left   []string // columns that vary and are not shown
	groups []rowGroup
}

// rowGroup is rows that look the same.
type rowGroup struct {
	first, last int // rows
	n           int
	odd         bool
}

// table is view table.
func (a *asker) callTable(parts []part, res *Result) (notes []string, err error) {
	most, others := a.busiest(parts)
	g, err := a.gatherFields(most)
	if err == nil && len(g.all) == 0 && len(others) > 0 {
		g, err = a.gatherFields(parts)
	}
	if err != nil {
		return nil, err
	}
	if len(g.all) == 0 {
		return nil, nil
	}
	v := &callTable{a: a, c: g.all[0], t: g.all[0].table}
	res.TotalCount = v.c.seen
	if err := v.choose(); err != nil {
		return nil, err
	}
	v.group()
	others = slices.DeleteFunc(others, func(o string) bool { return strings.HasPrefix(o, v.c.name+" ×") })
	if n := len(others); n > 0 {
		more := ""
		if n > maxOthers {
			more = fmt.Sprintf(" …+%d", n-maxOthers)
		}
		notes = append(notes, "The function called most; function selects another: "+
			strings.Join(others[:min(n, maxOthers)], ", ")+more+".")
	}
	said, err := v.write(res)
	if err != nil {
		return nil, err
	}
	return append(append(notes, said...), g.notes()...), nil
}

// busiest restricts parts to the function that the session called most, and says which others the filters select.
func (a *asker) busiest(parts []part) (most []part, others []string) {
	made := map[string]int64{}
	for _, s := range a.st.FuncStats() {
		selected := func(p part) bool { return p.filter.Funcs == nil || p.filter.Funcs.Has(uint32(s.Func)) }
		if s.Made() > 0 && slices.ContainsFunc(parts, selected) {
			made[a.fn(s.Func).Name] += s.Made()
		}
	}
	names := slices.SortedFunc(maps.Keys(made), func(x, y string) int {
		return cmp.Or(cmp.Compare(made[y], made[x]), cmp.Compare(x, y))
	})
	if len(names) < 2 {
		return parts, nil
	}
	for _, p := range parts {
		funcs := &store.Bits{}
		for i := range a.fns {
			if (p.filter.Funcs == nil || p.filter.Funcs.Has(uint32(i))) && a.fns[i].Name == names[0] {
				funcs.Set(uint32(i))
			}
		}
		p.filter.Funcs = funcs
		most = append(most, p)
	}
	for _, n := range names {
		others = append(others, fmt.Sprintf("%s ×%d", n, made[n]))
	}
	return most, others
}

// choose decides which columns are shown, and which rows are odd.
func (v *callTable) choose() error {
	v.rules, _ = v.t.Rules()
	v.marked = map[int][]*columns.Column{}
	odd := map[*columns.Column]bool{}
	for i := range v.rules {
		r := &v.rules[i]
		if r.Broken == 0 {
			break
		}
		for _, b := range r.Breaks {
			v.marked[b.Row] = append(v.marked[b.Row], r.Columns...)
		}
		for _, c := range r.Columns {
			odd[c] = true
		}
	}
	if len(v.a.req.Fields) > 0 {
		return v.named()
	}
	var rest []*columns.Column
	for _, c := range v.t.Columns() {
		if v.varies(c) {
			rest = append(rest, c)
		}
	}
	copies := v.copies()
	sorting.By(rest, func(x, y *columns.Column) int {
		return cmp.Compare(v.weight(y, odd, copies), v.weight(x, odd, copies))
	})
	width := 0
	for _, c := range rest {
		w := v.width(c)
		if width += w + 2; width > rowWidth && len(v.shown) > 1 || copies[c] != "" && !odd[c] {
			width -= w + 2
			v.left = append(v.left, v.span(c, copies[c]))
			continue
		}
		v.shown = append(v.shown, c)
	}
	all := v.t.Columns()
	sorting.By(v.shown, func(x, y *columns.Column) int {
		return cmp.Or(cmp.Compare(x.Place, y.Place), cmp.Compare(slices.Index(all, x), slices.Index(all, y)))
	})
	return nil
}

// named takes the columns that fields asks for.
func (v *callTable) named() error {
	for _, f := range v.a.req.Fields {
		c := v.t.Find(f)
		if c == nil {
			return invalid("fields", "Its columns are "+cut(strings.Join(v.paths(), ", "), 400)+".", "%s has no %q", v.c.name,
				excerpt([]byte(f)))
		}
		v.shown = append(v.shown, c)
	}
	return nil
}

func (v *callTable) paths() (all []string) {
	for _, c := range v.t.Columns() {
		all = append(all, c.Path)
	}
	return all
}

// varies reports whether a column says something about the differences between calls.
func (v *callTable) varies(c *columns.Column) bool {
	if c.Place == columns.Took {
		return false
	}
	if _, same := c.Same(); !same {
		return true
	}
	rows := len(v.t.Rows)
	if c.Place != columns.Argument && c.Place != columns.Watch {
		rows = int(v.c.ended)
	}
	return c.Len() < c.Expected(rows)
}

// copies says which columns are always equal to another one.
func (v *callTable) copies() map[*columns.Column]string {
	out := map[*columns.Column]string{}
	for i := range v.rules {
		r := &v.rules[i]
		if r.Broken == 0 && len(r.Columns) == 2 && strings.Contains(r.Text, " == ") && r.Calls == r.Columns[1].Len() &&
			r.Calls == len(v.t.Rows) && r.Columns[1].Place != columns.Result {
			out[r.Columns[1]] = r.Text
		}
	}
	return out
}

// weight orders columns by what they tell.
func (v *callTable) weight(c *columns.Column, odd map[*columns.Column]bool, copies map[*columns.Column]string) int {
	w := 0
	switch {
	case odd[c]:
		w += 8
	case copies[c] != "":
		w -= 8
	}
	switch c.Place {
	case columns.Result, columns.Thrown:
		w += 4
	}
	if strings.HasPrefix(c.Path, "len(") || strings.Contains(c.Path, "[") {
		w -= 2
	}
	if w -= strings.Count(c.Path, "."); c.Inner() {
		w -= 10
	}
	for i := range min(len(v.t.Rows), 8) {
		if k := c.At(i).Kind; k == columns.Address || k == columns.Whole {
			return w - 3
		}
	}
	return w
}

// width is about how wide a column will be.
func (v *callTable) width(c *columns.Column) int {
	w := utf8.RuneCountInString(c.Path)
	for i := range min(len(v.t.Rows), 50) {
		if cell := c.At(i); cell.Kind == columns.Whole {
			return max(w, cellWidth)
		} else if cell.Kind != columns.Absent {
			w = max(w, min(len(v.t.Show(cell)), cellWidth))
		}
	}
	return w
}

// span says of a column that is not shown what is in it.
func (v *callTable) span(c *columns.Column, copied string) string {
	if copied != "" {
		return copied
	}
	if lo, hi, ok := c.Range(); ok {
		return fmt.Sprintf("%s=%s..%s", c.Path, v.t.Show(lo), v.t.Show(hi))
	}
	return c.Path
}

// group puts rows together that show the same.
func (v *callTable) group() {
	at := map[string]int{}
	var key []byte
	for row := range v.t.Rows {
		key = key[:0]
		for _, c := range v.shown {
			cell := c.At(row)
			key = append(key, byte(cell.Kind))
			for shift := 0; shift < 64; shift += 8 {
				key = append(key, byte(cell.Word>>shift))
			}
		}
		if v.t.Rows[row].Exit == 0 {
			key = append(key, 1)
		}
		odd := len(v.marked[row]) > 0
		if i, ok := at[string(key)]; ok && !odd {
			g := &v.groups[i]
			g.n, g.last = g.n+1, row
			continue
		}
		v.groups = append(v.groups, rowGroup{first: row, last: row, n: 1, odd: odd})
		if !odd && len(at) < maxRowGroups {
			at[string(key)] = len(v.groups) - 1
		}
	}
}

// sorted orders the groups by a column, which order names; false: they are in the order of time.
func (v *callTable) sorted() (bool, error) {
	name, falling := strings.CutPrefix(v.a.req.Order, "-")
	if name == Orders[0] && !falling || name == Orders[1] {
		return false, nil
	}
	c := v.t.Find(name)
	if c == nil {
		return false, invalid("order", "Its columns are "+cut(strings.Join(v.paths(), ", "), 400)+".", "%s has no column %q",
			v.c.name, excerpt([]byte(name)))
	}
	sorting.By(v.groups, func(x, y rowGroup) int {
		a, b := c.At(x.first), c.At(y.first)
		order, ok := columns.Compare(a, b)
		if !ok { // numbers first
			order = cmp.Or(cmp.Compare(btoi(b.Number()), btoi(a.Number())), cmp.Compare(v.t.Show(a), v.t.Show(b)))
		} else if falling {
			order = -order
		}
		return order
	})
	return true, nil
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// pick returns the groups that n lines show: the odd ones, the first, the last, then what stands between.
func (v *callTable) pick(n int, byColumn bool) []rowGroup {
	if byColumn {
		rest := v.groups[min(v.a.req.Offset, len(v.groups)):]
		return rest[:min(n, len(rest))]
	}
	if len(v.groups) <= n {
		return v.groups
	}
	if v.a.req.AfterEventID != nil {
		return v.groups[:n]
	}
	take := make([]bool, len(v.groups))
	left := n
	mark := func(i int) {
		if i >= 0 && i < len(take) && !take[i] && left > 0 {
			take[i] = true
			left--
		}
	}
	mark(0)
	for i, g := range v.groups {
		if g.odd {
			mark(i)
		}
	}
	mark(len(v.groups) - 1)
	for i := range firstRows {
		mark(i)
	}
	for i := range lastRows {
		mark(len(v.groups) - 1 - i)
	}
	for i := range v.groups {
		if g := v.groups[i]; g.n > 1 {
			mark(i)
		}
	}
	for i := range v.groups {
		mark(i)
	}
	out := make([]rowGroup, 0, n)
	for i, yes := range take {
		if yes {
			out = append(out, v.groups[i])
		}
	}
	return out
}
