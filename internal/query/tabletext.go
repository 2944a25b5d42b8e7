package query

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/strobe-debug/strobe/internal/columns"
	"github.com/strobe-debug/strobe/internal/event"
)

// write writes the table into res.
func (v *callTable) write(res *Result) (notes []string, err error) {
	byColumn, err := v.sorted()
	if err != nil {
		return nil, err
	}
	budget := v.a.budget()
	head := v.head(budget / 3)
	lines := min(v.a.req.Limit, len(v.groups))
	var shown []rowGroup
	for {
		shown = v.pick(lines, byColumn)
		body, err := v.body(shown)
		if err != nil {
			return nil, err
		}
		if res.Text = head + body; len(res.Text) <= budget || lines == 1 {
			break
		}
		lines = max(min(lines-1, lines*max(budget-len(head), 0)/max(len(body), 1)), 1)
	}
	calls, upTo := 0, v.prefix(shown)
	for _, g := range shown {
		calls += g.n
	}
	if byColumn {
		res.HasMore = v.a.req.Offset+len(shown) < len(v.groups)
	} else {
		res.HasMore = len(shown) < len(v.groups)
	}
	if !res.HasMore {
		res.LastEventID = v.a.sn.LastID()
		return nil, nil
	}
	left := len(v.t.Rows) - calls
	if byColumn {
		return []string{fmt.Sprintf("%d of %d rows are shown; offset %d goes on.", len(shown), len(v.groups),
			v.a.req.Offset+len(shown))}, nil
	}
	res.LastEventID = upTo
	return []string{fmt.Sprintf("%s not shown; all in their order: afterEventId %d.", plural(int64(left), "call"), upTo)},
		nil
}

// prefix is the cursor behind the calls of which none is left out.
func (v *callTable) prefix(shown []rowGroup) event.ID {
	in := make(map[int]bool, len(shown))
	for _, g := range shown {
		in[g.first] = true
	}
	upTo := event.ID(0)
	if after := v.a.req.AfterEventID; after != nil {
		upTo = *after
	}
	missing := len(v.t.Rows) // the first row that is in no group that is shown
	for _, g := range v.groups {
		if !in[g.first] {
			missing = min(missing, g.first)
		}
	}
	if missing > 0 && missing <= len(v.t.Rows) {
		upTo = v.t.Rows[missing-1].Enter
	}
	return upTo
}

// head is what is said once: how many calls, what is the same in all, what is odd.
func (v *callTable) head(limit int) string {
	var b strings.Builder
	threads := map[uint32]bool{}
	for i := range v.t.Rows {
		threads[v.t.Rows[i].Thread] = true
	}
	fmt.Fprintf(&b, "%s: %s", v.c.name, plural(v.c.seen, "call"))
	if len(threads) > 1 {
		fmt.Fprintf(&b, " on %d threads", len(threads))
	}
	if open := int64(len(v.t.Rows)) - v.c.ended; open > 0 {
		fmt.Fprintf(&b, ", %d without an end", open)
	}
	b.WriteByte('\n')
	var same []string
	deep := 0 // such as a mutex's innards
	for _, c := range v.t.Columns() {
		cell, ok := c.Same()
		switch {
		case !ok || v.varies(c) || c.Place == columns.Took || c.Place == columns.Thrown && cell.Kind == columns.Null:
		case cell.Kind == columns.Whole || strings.HasSuffix(c.Path, "]"): // its elements and its length are told
		case strings.Count(c.Path, ".") > sameDepth || c.Inner():
			deep++
		default:
			same = append(same, c.Path+"="+cut(v.t.Show(cell), sameWidth))
		}
	}
	if deep > 0 {
		same = append(same, fmt.Sprintf("%d values deeper", deep))
	}
	list(&b, "same in all: ", same, maxSame, limit)
	var odd []string
	for i := range v.rules {
		if r := &v.rules[i]; r.Broken > 0 {
			text := r.Text
			if len(r.Also) > 0 {
				text += " and " + r.Also[0]
			}
			odd = append(odd, fmt.Sprintf("%s in %d of %d", text, r.Calls-r.Broken, r.Calls))
		}
	}
	list(&b, "! breaks: ", odd, toldRules, limit)
	if len(v.left) > 0 && len(v.a.req.Fields) == 0 {
		list(&b, "vary too (fields shows them): ", v.left, maxSame, limit/2)
	}
	return b.String()
}

// list writes a line of at most n items in about limit bytes, and says how many more there are.
func list(b *strings.Builder, head string, items []string, n, limit int) {
	if len(items) == 0 {
		return
	}
	b.WriteString(head)
	size := 0
	for i, s := range items {
		if size += len(s) + 2; i > 0 && (i == n || size > limit) {
			fmt.Fprintf(b, " …+%d", len(items)-i)
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(s)
	}
	b.WriteByte('\n')
}

// body is the rows.
func (v *callTable) body(shown []rowGroup) (string, error) {
	rows := make([]int, len(shown))
	for i, g := range shown {
		rows[i] = g.first
	}
	r, err := v.a.readCalls(v.t, rows)
	if err != nil {
		return "", err
	}
	lines := [][]string{{"call", ""}}
	several := false
	for _, c := range v.shown {
		lines[0] = append(lines[0], c.Path)
	}
	for _, g := range shown {
		id, times := fmt.Sprintf("#%d", v.t.Rows[g.first].Enter), ""
		if g.odd {
			id = "!" + id
		}
		if g.n > 1 {
			times, several = fmt.Sprintf("×%d", g.n), true
		}
		line := []string{id, times}
		for _, c := range v.shown {
			s := r.value(v.t, g.first, c, cellWidth)
			if s == "" {
				s = "-"
			}
			if v.t.Rows[g.first].Exit == 0 && c.Place != columns.Argument && c.Place != columns.Watch {
				s = "open"
			}
			if slices.Contains(v.marked[g.first], c) {
				s += "!"
			}
			line = append(line, s)
		}
		lines = append(lines, line)
	}
	if !several {
		for i := range lines {
			lines[i] = slices.Delete(lines[i], 1, 2)
		}
	}
	return aligned(lines), nil
}

// aligned lines columns up, all but the first to the right.
func aligned(lines [][]string) string {
	width := make([]int, len(lines[0]))
	for _, l := range lines {
		for i, s := range l {
			width[i] = max(width[i], utf8.RuneCountInString(s))
		}
	}
	var b strings.Builder
	for _, l := range lines {
		var line strings.Builder
		for i, s := range l {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(s))
			switch i {
			case 0:
				line.WriteString(s + pad)
			default:
				line.WriteString("  " + pad + s)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}
