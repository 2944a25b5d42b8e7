package query

import (
	"fmt"
	"strings"

	"github.com/strobe-debug/strobe/internal/columns"
	"github.com/strobe-debug/strobe/internal/store"
)

// contrastSessions is view diff of two sessions, this one a and the other b: which functions only one called, how often
// both did, and which values tell their calls apart.
func (a *asker) contrastSessions(parts []part, res *Result, other *store.Store) (notes []string, err error) {
	g := newGathered()
	if err := a.gatherInto(g, parts, newEnters(), putExit); err != nil {
		return nil, err
	}
	split := map[*calls]int{}
	for _, c := range g.all {
		split[c] = len(c.table.Rows)
	}
	sn, err := other.Snapshot(a.ctx)
	if err != nil {
		return nil, fmt.Errorf("take snapshot: %w", err)
	}
	defer sn.Close()
	b := newAsker(a.ctx, other, sn, a.filters)
	if err := b.findProcesses(); err != nil {
		return nil, fmt.Errorf("look for processes: %w", err)
	}
	theirs, err := b.plan()
	if err != nil {
		return nil, err
	}
	if err := b.gatherInto(g, theirs, newEnters(), putExit); err != nil {
		return nil, err
	}
	a.sides = strings.NewReplacer(" with, ", " in a, ", " without", " in b")
	var text strings.Builder
	same, body := 0, strings.Builder{}
	var only [2][]string
	for _, c := range g.all {
		res.TotalCount += c.seen
		nA, nB := split[c], len(c.table.Rows)-split[c]
		switch {
		case nB == 0:
			only[0] = append(only[0], fmt.Sprintf("%s ×%d", cut(c.name, 80), nA))
			continue
		case nA == 0:
			only[1] = append(only[1], fmt.Sprintf("%s ×%d", cut(c.name, 80), nB))
			continue
		}
		said := a.oneOfBoth(c, nA, nB)
		if said == "" {
			same++
		}
		body.WriteString(said)
	}
	fmt.Fprintf(&text, "a is %s, b is %s\n", a.st.Meta().SessionID, other.Meta().SessionID)
	for i, names := range only {
		list(&text, []string{"only in a: ", "only in b: "}[i], names, maxHeldRules, a.short()/4)
	}
	if same > 0 {
		fmt.Fprintf(&text, "%s called as often, with values that say nothing\n", plural(int64(same), "function"))
	}
	return append(a.paged(res, text.String()+body.String(), a.short()), g.notes()...), nil
}

// oneOfBoth compares the calls of a function that both sessions called; "" where nothing is different.
func (a *asker) oneOfBoth(c *calls, nA, nB int) string {
	rowsA, rowsB := make([]int, nA), make([]int, nB)
	for i := range rowsA {
		rowsA[i] = i
	}
	for i := range rowsB {
		rowsB[i] = nA + i
	}
	addresses := map[*columns.Column]bool{} // which are others in each run
	for _, col := range c.table.Columns() {
		for row := range min(len(c.table.Rows), 8) {
			addresses[col] = addresses[col] || col.At(row).Kind == columns.Address
		}
	}
	var b strings.Builder
	a.contrasts(&b, c.table, rowsA, rowsB, func(col *columns.Column) bool { return addresses[col] })
	said := strings.TrimPrefix(b.String(), "  no recorded value tells them apart\n")
	if said == "" && nA == nB {
		return ""
	}
	return fmt.Sprintf("%s: %d in a, %d in b\n%s", c.name, nA, nB, said)
}
