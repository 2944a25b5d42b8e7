package query

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/near"
	"github.com/strobe-debug/strobe/internal/sorting"
	"github.com/strobe-debug/strobe/internal/store"
)

// checkClaim prepares view check.
func (f *filters) checkClaim() error {
	r := &f.req
	if r.View != "check" && r.View != "diff" {
		if r.Against != "" && r.View != "invariants" {
			return invalid("against", `Ask with view "diff" or "invariants".`, "view %s is of one session", r.View)
		}
		if r.Claim != "" {
			return invalid("claim", `Ask with view "check" or "diff".`, "view %s takes none", r.View)
		}
		return nil
	}
	if err := checkLength("claim", r.Claim); err != nil {
		return err
	}
	if r.Against != "" {
		if r.View != "diff" || r.Claim != "" {
			return invalid("against", `Ask with view "diff", and without a claim.`, "two sessions are compared as they are")
		}
		return nil
	}
	if strings.TrimSpace(r.Claim) == "" {
		return invalid("claim", claimHint, "missing")
	}
	var function string
	var err error
	if f.claim, function, f.claimNames, err = parseClaim(r.Claim); err != nil {
		return err
	}
	if len(f.claim.expressions()) > maxEndWords {
		return invalid("claim", "Name fewer behind per.", "it has more than %d expressions", maxEndWords)
	}
	if c := &f.claim; r.View == "diff" && (c.when != "" || c.steps != "") {
		return invalid("claim", "Say which calls are on the one side: result < 0, $thread == 7, $time > 1000000.",
			"diff takes an expression alone")
	}
	if function != "" && r.Function == nil {
		r.Function = &NameFilter{Equals: function}
	}
	return nil
}

// check is view check: whether a claim holds in all calls that are recorded.
func (a *asker) check(parts []part, res *Result) (notes []string, err error) {
	s, err := a.selectCalls(parts)
	if err != nil {
		return nil, err
	}
	c := newChecker(a, a.claim, a.claimNames)
	var open openRows // calls whose end the claim needs
	begin := func(row *store.Row, _ bool) (int, bool) {
		c.call.enter = row
		f := c.of(row.Func)
		if !f.atEnd {
			c.look(f, row, nil)
			return -1, true
		}
		return open.keep(row), true
	}
	err = s.each(begin, func(n int, row *store.Row) {
		c.look(c.of(row.Func), open.rows[n], row)
		open.free(n)
	})
	if err != nil {
		return nil, err
	}
	for _, row := range open.rows {
		if row.ID != 0 {
			c.look(c.of(row.Func), row, nil)
		}
	}
	if s.beyond > 0 {
		notes = append(notes, fmt.Sprintf("%d selected calls beyond the first %d were not looked at.", s.beyond, maxSelected))
	}
	for _, k := range c.all {
		res.TotalCount += k.calls
		if k.err != nil {
			return nil, claimError(a.claim.source, k.err)
		}
	}
	return append(notes, c.write(res)...), nil
}

// openRows are begins of calls that are needed at their ends.
type openRows struct {
	rows   []*store.Row // ID 0: free
	unused []int
}

// keep copies a row and says where it is.
func (o *openRows) keep(row *store.Row) int {
	n := len(o.rows)
	if k := len(o.unused); k > 0 {
		n, o.unused = o.unused[k-1], o.unused[:k-1]
	} else {
		o.rows = append(o.rows, &store.Row{})
	}
	payload := append(o.rows[n].Payload[:0], row.Payload...)
	*o.rows[n] = *row
	o.rows[n].Payload = payload
	return n
}

func (o *openRows) free(n int) {
	o.rows[n].ID = 0
	o.unused = append(o.unused, n)
}

// rank orders verdicts: broken ones first, then those that hold, then those that cannot be told.
func (k *checked) rank() int {
	switch {
	case k.broken > 0:
		return 0
	case k.held > 0:
		return 1
	case k.outside > 0:
		return 2
	}
	return 3
}

// write puts the verdicts into res.
func (c *checker) write(res *Result) (notes []string) {
	sorting.By(c.all, func(x, y *checked) int {
		return cmp.Or(cmp.Compare(x.rank(), y.rank()), cmp.Compare(y.broken, x.broken), cmp.Compare(y.calls, x.calls))
	})
	var b strings.Builder
	untold := 0
	for i, k := range c.all {
		if k.rank() == 3 && i > 0 { // one of several functions that the claim is not about
			untold++
			continue
		}
		c.verdict(&b, k)
	}
	if untold > 0 {
		fmt.Fprintf(&b, "not observable in %s: no such values\n", plural(int64(untold), "other function"))
	}
	return c.a.paged(res, b.String(), c.a.budget())
}

// verdict writes what the claim came to for one function.
func (c *checker) verdict(b *strings.Builder, k *checked) {
	cond := ""
	if c.claim.when != "" {
		cond = fmt.Sprintf(", %d without %s", k.outside, c.claim.when)
	}
	told := k.held + k.broken
	switch k.rank() {
	case 0:
		fmt.Fprintf(b, "broken by %d of %s of %s%s:\n", k.broken, plural(told, "call"), k.name, cond)
	case 1:
		fmt.Fprintf(b, "proved on this recording: %s of %s%s\n", plural(told, "call"), k.name, cond)
	case 2:
		fmt.Fprintf(b, "nothing to tell: of %s of %s none has %s\n", plural(k.calls, "call"), k.name, c.claim.when)
	default:
		fmt.Fprintf(b, "not observable in %s of %s\n", plural(k.calls, "call"), k.name)
	}
	if missing := c.missed(k); missing != "" {
		b.WriteString("  " + missing + "\n")
	}
	for i, w := range k.breaks {
		line := fmt.Sprintf("  #%d %s", w.id, w.text)
		if w.before != 0 {
			line += fmt.Sprintf(" of #%d", w.before)
		}
		b.WriteString(line + "\n")
		if i == len(k.breaks)-1 && k.broken > int64(len(k.breaks)) {
			fmt.Fprintf(b, "  …+%d\n", k.broken-int64(len(k.breaks)))
		}
	}
	c.reasons(b, k)
}

// missed says how many calls there were that nobody can tell about.
func (c *checker) missed(k *checked) string {
	if c.missing == nil {
		c.missing = map[string][2]int64{}
		for _, s := range c.a.st.FuncStats() {
			n := c.missing[c.a.fn(s.Func).Name]
			c.missing[c.a.fn(s.Func).Name] = [2]int64{n[0] + s.Made(), n[1] + s.Recorded()}
		}
	}
	made, recorded := c.missing[k.name][0], c.missing[k.name][1]
	if made <= recorded {
		return ""
	}
	return fmt.Sprintf("%d of its %d calls were not recorded (sampled or lost)", made-recorded, made)
}

// reasons says why calls could not tell, and what could be asked instead.
func (c *checker) reasons(b *strings.Builder, k *checked) {
	reasons := slices.SortedFunc(maps.Keys(k.untold), func(x, y string) int {
		return cmp.Or(cmp.Compare(k.untold[y], k.untold[x]), cmp.Compare(x, y))
	})
	for i, r := range reasons {
		if i == 3 {
			fmt.Fprintf(b, "  %d more reasons\n", len(reasons)-i)
			break
		}
		fmt.Fprintf(b, "  %s cannot tell: %s\n", plural(k.untold[r], "call"), r)
	}
	if len(k.unknown) == 0 || k.held+k.broken > 0 {
		return
	}
	names := c.recordedNames(k)
	if like := near.Parts(k.unknown[0], names, 3); len(like) > 0 {
		fmt.Fprintf(b, "  did you mean %s?\n", strings.Join(like, ", "))
	}
	fmt.Fprintf(b, "  recorded: %s\n", cut(strings.Join(names, ", "), 300))
}

// recordedNames are the paths of one of the function's calls.
func (c *checker) recordedNames(k *checked) (names []string) {
	one := k.sample
	if one == 0 {
		return nil
	}
	rows, err := c.a.sn.Rows(c.a.ctx, []event.ID{one})
	if err != nil || len(rows) == 0 {
		return nil
	}
	t := newOneCall(k.fn, &rows[0])
	for _, col := range t.Columns() {
		names = append(names, col.Path)
	}
	far := func(name string) int { // what is the nearest is meant most often
		return strings.Count(name, ".") + strings.Count(name, "[") + 2*btoi(strings.HasPrefix(name, "this.") ||
			strings.HasPrefix(name, "self."))
	}
	sorting.By(names, func(x, y string) int { return far(x) - far(y) })
	return append([]string{"result"}, names...)
}
