package query

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/columns"
	"github.com/strobe-debug/strobe/internal/sorting"
)

// Bounds of view invariants.
const (
	maxBrokenRules = 12 // of one function
	maxHeldRules   = 24
	maxShownBreaks = 4  // calls that a rule names
	breakWidth     = 32 // bytes of a value in them
)

// found is what was found about one function.
type found struct {
	c      *calls
	rules  []columns.Rule
	notes  []string
	broken int // of rules: the first ones
}

// invariants is view invariants: for each function what held in all calls but a few, and those.
func (a *asker) invariants(parts []part, res *Result) (notes []string, err error) {
	g, err := a.gather(parts)
	if err != nil {
		return nil, err
	}
	var all []found
	for _, c := range g.all {
		f := found{c: c}
		f.rules, f.notes = c.table.Rules()
		for f.broken < len(f.rules) && f.rules[f.broken].Broken > 0 {
			f.broken++
		}
		res.TotalCount += c.seen
		all = append(all, f)
	}
	sorting.By(all, func(x, y found) int { return cmp.Compare(y.surprise(), x.surprise()) })
	w := &ruleWriter{a: a, limit: a.budget()}
	var plain []string
	for i := range all {
		f := &all[i]
		if f.broken == 0 && len(all) > 1 {
			plain = append(plain, fmt.Sprintf("%s ×%d", f.c.name, f.c.seen))
			continue
		}
		if err := w.function(f, len(all) == 1); err != nil {
			return nil, err
		}
		notes = append(notes, f.notes...)
	}
	list(&w.b, "nothing odd in ", plain, maxHeldRules, w.limit/2)
	notes = append(notes, a.paged(res, w.b.String(), w.limit)...)
	if w.rules > 0 {
		res.HasMore = true
		notes = append(notes, fmt.Sprintf("%d broken rules are not shown; function shows all of one.", w.rules))
	}
	return append(notes, g.notes()...), nil
}

func (f *found) surprise() float64 {
	if f.broken == 0 {
		return 0
	}
	return f.rules[0].Surprise
}

// ruleWriter writes what was found.
type ruleWriter struct {
	a     *asker
	b     strings.Builder
	limit int
	rules int // broken ones that are not shown
}

func (w *ruleWriter) function(f *found, alone bool) error {
	fmt.Fprintf(&w.b, "%s: %s", f.c.name, plural(f.c.seen, "call"))
	if open := int64(len(f.c.table.Rows)) - f.c.ended; open > 0 {
		fmt.Fprintf(&w.b, ", %d without an end", open)
	}
	w.b.WriteByte('\n')
	if err := w.brokenRules(f, alone); err != nil {
		return err
	}
	if len(f.rules) == 0 && len(f.c.table.Rows) < columns.MinCalls {
		fmt.Fprintf(&w.b, "  fewer than %d calls show no rule\n", columns.MinCalls)
	}
	if alone {
		list(&w.b, "  in all: ", w.held(f), maxHeldRules, w.limit/2)
	}
	return nil
}

// brokenRules writes the rules that calls broke, with these.
func (w *ruleWriter) brokenRules(f *found, alone bool) error {
	t := f.c.table
	var rows []int
	for _, r := range f.rules[:f.broken] {
		for _, b := range r.Breaks {
			if rows = append(rows, b.Row); b.Before >= 0 {
				rows = append(rows, b.Before)
			}
		}
	}
	reader, err := w.a.readCalls(t, rows)
	if err != nil {
		return err
	}
	for i := range f.rules[:f.broken] {
		r := &f.rules[i]
		var calls []string
		for k, b := range r.Breaks {
			if k == maxShownBreaks {
				break
			}
			calls = append(calls, reader.broke(t, r, b))
		}
		line := fmt.Sprintf("  %s in %d of %d, not %s", r.Text, r.Calls-r.Broken, r.Calls, strings.Join(calls, ", "))
		if n := r.Broken - len(calls); n > 0 {
			line += fmt.Sprintf(" …+%d", n)
		}
		if n := len(r.Also); n > 0 {
			line += "; nor " + strings.Join(r.Also[:min(n, 2)], ", ")
			if n > 2 {
				line += fmt.Sprintf(" …+%d", n-2)
			}
		}
		if i == maxBrokenRules && !alone {
			w.rules += f.broken - i
			break
		}
		w.b.WriteString(line + "\n")
	}
	return nil
}

// broke names a call with the values in which it broke a rule.
func (r *callReader) broke(t *columns.Table, rule *columns.Rule, b columns.Break) string {
	shown := rule.Columns
	if b.Row != rule.Breaks[0].Row { // what else is odd is told of the first
		shown = shown[:rule.Own]
	}
	var values []string
	for _, c := range shown {
		s := r.value(t, b.Row, c, breakWidth)
		if s == "" {
			s = "none"
		}
		if b.Before >= 0 {
			s += fmt.Sprintf(" after #%d %s", t.Rows[b.Before].Enter, r.value(t, b.Before, c, breakWidth))
		}
		values = append(values, c.Path+"="+s)
	}
	return fmt.Sprintf("#%d (%s)", t.Rows[b.Row].Enter, strings.Join(values, ", "))
}

// held is what holds in all calls: relations, then what each value is.
func (w *ruleWriter) held(f *found) (out []string) {
	t := f.c.table
	for _, r := range f.rules[f.broken:] {
		repeats, ok := strings.CutSuffix(r.Text, " never repeats")
		if !ok || !slices.Contains(out, repeats+" always grows") {
			out = append(out, r.Text)
		}
	}
	for _, c := range t.Columns() {
		if c.Place == columns.Took || c.Len() == 0 || c.Inner() {
			continue
		}
		cell, same := c.Same()
		switch lo, hi, ok := c.Range(); {
		case c.Place == columns.Thrown:
			if same && cell.Kind == columns.Null {
				out = append(out, "no exception")
			}
		case same:
			out = append(out, c.Path+"="+cut(t.Show(cell), sameWidth))
		case ok:
			out = append(out, fmt.Sprintf("%s in %s..%s", c.Path, t.Show(lo), t.Show(hi)))
		}
	}
	return out
}
