package query

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/columns"
	"github.com/strobe-debug/strobe/internal/sorting"
	"github.com/strobe-debug/strobe/internal/store"
)

// Bounds of view invariants of two sessions.
const (
	learnedDepth  = 1    // members of arguments, not theirs: what lies deeper differs between any two runs
	learnedFuncs  = 2048 // of a program with everything traced
	learnedCalls  = 4    // of the other session, at least
	maxLearned    = 2    // rules told of one function
	maxFirst      = 3    // functions that are told to have given first what broke a rule
	maxSeeing     = 3    // functions that tell of the same member
	maxSharing    = 10   // functions that are given the same member
	addressSample = 512  // rows in which addresses are looked for
)

// bothSessions reads the calls of the other session and behind them those of this one into the same tables; learned is
// how many of a function's rows are the other's. depth is that of the tables.
func (a *asker) bothSessions(parts []part, env Env, depth int) (g *gathered, learned map[*calls]int, err error) {
	if g, err = a.gatherSession(env.Other, depth); err != nil {
		return nil, nil, err
	}
	if env.Like != nil {
		like, err := a.gatherSession(env.Like, depth)
		if err != nil {
			return nil, nil, err
		}
		like.putCallees()
		g.findNoise(like)
	}
	learned = map[*calls]int{}
	for _, c := range g.all {
		learned[c] = len(c.table.Rows)
	}
	if err := a.gatherInto(g, parts, newEnters(), putExit); err != nil {
		return nil, nil, err
	}
	g.putCallees()
	return g, learned, nil
}

// gatherSession reads the calls of another session.
func (a *asker) gatherSession(other *store.Store, depth int) (*gathered, error) {
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
	g := newGathered()
	g.depth, g.most, g.ways = depth, learnedFuncs, true
	return g, b.gatherInto(g, theirs, newEnters(), putExit)
}

// invariantsOfOther is view invariants against another session: what held in all of its calls and in nearly all of this
// one's, with those calls here that broke it.
func (a *asker) invariantsOfOther(parts []part, res *Result, env Env) (notes []string, err error) {
	g, learned, err := a.bothSessions(parts, env, learnedDepth)
	if err != nil {
		return nil, err
	}
	var all []broken
	unknown, shared := 0, g.shared()
	for _, c := range g.all {
		res.TotalCount += int64(len(c.table.Rows) - learned[c])
		if len(c.table.Rows) == learned[c] {
			continue
		}
		if learned[c] < learnedCalls {
			unknown++
			continue
		}
		if rules := brokenHere(c, learned[c], shared); len(rules) > 0 {
			all = append(all, broken{c: c, rules: rules})
		}
	}
	// State that many functions see is told where it first shows.
	first, seen := map[string]int64{}, map[string]int{}
	for i := range all {
		f := &all[i]
		for _, r := range f.rules {
			at := f.c.table.Rows[r.Breaks[0].Row].Enter
			path := strings.TrimPrefix(r.Columns[0].Path, outPrefix)
			if have, ok := first[path]; !ok || at < have {
				first[path] = at
			}
			seen[path]++
		}
	}
	for i := range all {
		f := &all[i]
		f.rules = slices.DeleteFunc(f.rules, func(r columns.Rule) bool {
			path := strings.TrimPrefix(r.Columns[0].Path, outPrefix)
			return r.Columns[0].Place != columns.Computed && strings.Contains(path, ".") && seen[path] > maxSeeing &&
				f.c.table.Rows[r.Breaks[0].Row].Enter > first[path]
		})
		if len(f.rules) > 0 {
			f.score = f.rules[0].Surprise
		}
	}
	for i := range all {
		f := &all[i]
		if slices.ContainsFunc(all, func(g broken) bool { return f.c != g.c && handedUp(f.c, f.rules, g.c, g.rules) }) {
			f.score *= 0.5
		}
	}
	all = slices.DeleteFunc(all, func(f broken) bool { return len(f.rules) == 0 })
	sorting.By(all, func(x, y broken) int { return cmp.Compare(y.score, x.score) })
	var b strings.Builder
	b.WriteString(gaveFirst(all))
	for i := range all {
		text, err := a.brokenText(all[i].c, all[i].rules, learned[all[i].c])
		if err != nil {
			return nil, err
		}
		b.WriteString(text)
	}
	if len(all) == 0 {
		b.WriteString("nothing that held in all calls of the other session is broken here\n")
	}
	if unknown > 0 {
		notes = append(notes, fmt.Sprintf("%s not compared: called fewer than %d times in the other session.",
			plural(int64(unknown), "function"), learnedCalls))
	}
	notes = append(notes, a.paged(res, b.String(), a.short())...)
	return append(notes, g.notes()...), nil
}

// broken is a function with rules that its calls broke.
type broken struct {
	c     *calls
	rules []columns.Rule
	score float64
}

// gaveFirst names the functions whose calls were the first to end with a result that broke a rule: later ones may have
// been given it, and those around them have it from them. Numbers outside a range are left out: another input is enough
// for that.
func gaveFirst(all []broken) string {
	type gave struct {
		name        string
		enter, exit int64
	}
	var first []gave
	for _, f := range all {
		one := gave{name: f.c.name}
		for _, r := range f.rules {
			at := f.c.table.Rows[r.Breaks[0].Row]
			if !r.OfValues() || givenAlone(&r) || handedOn(f.c.table, &r) || r.Columns[0].Place == columns.Computed {
				continue
			}
			if at.Exit != 0 && (one.exit == 0 || at.Exit < one.exit) {
				one.enter, one.exit = at.Enter, at.Exit
			}
		}
		if one.exit != 0 {
			first = append(first, one)
		}
	}
	sorting.By(first, func(x, y gave) int { return cmp.Compare(x.exit, y.exit) })
	var texts []string
	for _, g := range first[:min(len(first), maxFirst)] {
		texts = append(texts, fmt.Sprintf("%s #%d", cut(g.name, 80), g.enter))
	}
	if len(first) < 2 { // what stands below says it
		return ""
	}
	return "first to end with what broke one: " + strings.Join(texts, "; ") + "\n"
}

// handedUp reports whether what a function gave may be what another one, called by it, gave: the call that broke a rule
// made the one that did.
func handedUp(c *calls, rules []columns.Rule, by *calls, byRules []columns.Rule) bool {
	for i := range rules {
		r := &rules[i]
		at := c.table.Rows[r.Breaks[0].Row]
		for k := range byRules {
			if !givenAlone(&byRules[k]) {
				in := by.table.Rows[byRules[k].Breaks[0].Row]
				if in.Thread == at.Thread && in.Enter > at.Enter && in.Exit != 0 && (in.Exit < at.Exit || at.Exit == 0) {
					return true
				}
			}
		}
		if i == maxLearned {
			break
		}
	}
	return false
}

// givenAlone reports whether a rule is about what a function was given.
func givenAlone(r *columns.Rule) bool {
	return !slices.ContainsFunc(r.Columns[:r.Own], func(c *columns.Column) bool { return c.Place != columns.Argument })
}

// handedOn reports whether the call that broke a rule left what it is about as it was given.
func handedOn(t *columns.Table, r *columns.Rule) bool {
	row := r.Breaks[0].Row
	return !slices.ContainsFunc(r.Columns[:r.Own], func(c *columns.Column) bool {
		given := t.Find(strings.TrimPrefix(c.Path, outPrefix))
		return c.Place != columns.Argument && (c.Place != columns.Out || given == nil || given.At(row) != c.At(row))
	})
}

// brokenHere are rules that hold in the first learned rows and are broken in others, the most surprising first.
func brokenHere(of *calls, learned int, shared map[string]bool) (out []columns.Rule) {
	t := of.table
	rules, _ := t.Rules()
	for _, r := range oftenBroken(t, learned) {
		same := func(have columns.Rule) bool { return have.Text == r.Text }
		if !slices.ContainsFunc(rules, same) {
			rules = append(rules, r)
		}
	}
	for _, r := range rules {
		if r.Broken == 0 || len(r.Breaks) == 0 || r.Breaks[0].Row < learned || r.Calls-r.Broken < columns.MinCalls {
			continue
		}
		repeatable := strings.HasPrefix(r.Text, "equal arguments")
		if b := r.Breaks[0].Before; b >= 0 && b < learned && !repeatable { // from one session to the other
			continue
		}
		if slices.ContainsFunc(r.Columns[:r.Own], func(c *columns.Column) bool { return of.isNoise(c) }) &&
			!strings.HasSuffix(r.Text, "null") {
			continue
		}
		if slices.ContainsFunc(r.Columns[:r.Own], func(c *columns.Column) bool {
			return shared[strings.TrimPrefix(c.Path, outPrefix)] || unchanged(t, c)
		}) && !strings.HasSuffix(r.Text, ">= 0") {
			continue
		}
		if r.Calls > r.Broken { // how often it held says how sure it is, not how often it is broken here
			r.Surprise *= math.Log2(float64(r.Calls-r.Broken)) / math.Log2(float64(r.Calls)/float64(r.Broken+1)+1)
		}
		r.Surprise *= farAway(&r, learned)
		// What a function gave is nearer to the cause than what it was given.
		if givenAlone(&r) || handedOn(t, &r) {
			r.Surprise *= 0.7
		}
		if repeatable { // state that arguments do not show, or input that is read
			r.Surprise *= 0.8
			if b := r.Breaks[0].Before; b >= 0 && b < learned {
				r.Surprise *= 0.6
			}
		}
		out = append(out, r)
	}
	sorting.By(out, func(x, y columns.Rule) int { return cmp.Compare(y.Surprise, x.Surprise) })
	return out
}

// oftenBroken are signs and nulls of the learned rows that the others break, however many do: what a table's own rules
// leave out as no rule.
func oftenBroken(t *columns.Table, learned int) (out []columns.Rule) {
	for _, c := range t.Columns() {
		if c.Place == columns.Took || c.Place == columns.Thrown || c.Inner() {
			continue
		}
		negative := columns.Rule{Text: c.Path + " >= 0", Columns: []*columns.Column{c}, Own: 1}
		null := columns.Rule{Text: c.Path + " is never null", Columns: []*columns.Column{c}, Own: 1}
		for row := range t.Rows {
			cell := c.At(row)
			if cell.Kind == columns.Absent {
				continue
			}
			tellBroken(&null, row, cell.Kind == columns.Null)
			if cell.Number() {
				tellBroken(&negative, row, cell.Float() < 0)
			}
		}
		for _, r := range []columns.Rule{negative, null} {
			if r.Broken > 0 && r.Breaks[0].Row >= learned {
				r.Surprise = math.Log2(float64(r.Calls) / float64(r.Broken+1))
				out = append(out, r)
			}
		}
	}
	return append(out, resultOrders(t, learned)...)
}

// resultOrders are results that in the learned rows are never below, or never above, a number that was given, and
// elsewhere are.
func resultOrders(t *columns.Table, learned int) (all []columns.Rule) {
	for _, result := range t.Columns() {
		name, out := strings.CutPrefix(result.Path, outPrefix)
		if result.Place == columns.Result && result.Path == "result" || // or what a pointer to a number got
			result.Place == columns.Out && out && !strings.ContainsAny(name, ".[(") {
			all = append(all, ordersOf(t, result, learned)...)
		}
	}
	return all
}

// ordersOf are those of one result.
func ordersOf(t *columns.Table, result *columns.Column, learned int) (out []columns.Rule) {
	for _, c := range t.Columns() {
		if c.Place != columns.Argument || strings.Contains(c.Path, ".") {
			continue
		}
		for _, sign := range []int{-1, 1} {
			r := columns.Rule{Text: c.Path + map[int]string{-1: " <= ", 1: " >= "}[sign] + result.Path,
				Columns: []*columns.Column{c, result}, Own: 2}
			given, gave := map[columns.Cell]bool{}, map[columns.Cell]bool{} // one value is above or below by itself
			for row := range t.Rows {
				order, ok := columns.Compare(c.At(row), result.At(row))
				if !ok {
					continue
				}
				if row < learned {
					given[c.At(row)], gave[result.At(row)] = true, true
				}
				tellBroken(&r, row, order == -sign)
			}
			if r.Broken > 0 && r.Breaks[0].Row >= learned && min(len(given), len(gave)) >= columns.MinCalls/2 {
				r.Surprise = math.Log2(float64(r.Calls) / float64(r.Broken+1))
				out = append(out, r)
			}
		}
	}
	return out
}

func tellBroken(r *columns.Rule, row int, broken bool) {
	if r.Calls++; !broken {
		return
	}
	if r.Broken++; len(r.Breaks) == 0 {
		r.Breaks = []columns.Break{{Row: row, Before: -1}}
	}
}

// shared are members that very many functions are given, of a context that is handed to all: what they are says nothing
// of any one of these.
func (g *gathered) shared() map[string]bool {
	n, out := map[string]int{}, map[string]bool{}
	for _, c := range g.all {
		for _, col := range c.table.Columns() {
			if col.Place == columns.Argument && strings.Contains(col.Path, ".") {
				n[col.Path]++
			}
		}
	}
	for path, k := range n {
		out[path] = k >= maxSharing
	}
	return out
}

// farAway weighs a number outside its range by how far it is outside: what differs by input is near.
func farAway(r *columns.Rule, learned int) float64 {
	c := r.Columns[0]
	at := c.At(r.Breaks[0].Row)
	if r.Own != 1 || !at.Number() || !strings.Contains(r.Text, "..") && !strings.Contains(r.Text, " one of ") {
		return 1
	}
	lo, hi := math.Inf(1), math.Inf(-1)
	for row := range learned {
		if v := c.At(row); v.Number() {
			lo, hi = min(lo, v.Float()), max(hi, v.Float())
		}
	}
	x := at.Float()
	if !(lo <= hi) || x >= lo && x <= hi {
		return 1
	}
	away := max(lo-x, x-hi) / max(hi-lo, 1)
	return 0.6 + 0.2*min(math.Log2(1+away), 8)
}

// runsOwn reports a column whose values are others in each run, or mean nothing: addresses, what is written with them,
// times, and members of what is not made yet, which hold parts of addresses.
func runsOwn(t *columns.Table, c *columns.Column) bool {
	if lo, hi, ok := c.Range(); ok && c.Different() == 2 && lo.Kind == columns.Int && hi.Kind == columns.Int &&
		int64(lo.Word) > 1e9 {
		return true // a time, or a number of the process
	}
	if lo, hi, ok := c.Range(); ok && lo.Kind == columns.Float && lo.Float() > 1e9 && hi.Float() < lo.Float()*1.0001 {
		return true // a time
	}
	member := strings.Contains(c.Path, ".")
	n := len(t.Rows)
	for row := 0; row < n; row += max(n/addressSample, 1) {
		switch cell := c.At(row); cell.Kind {
		case columns.Address:
			return true
		case columns.Marker, columns.Text:
			if strings.Contains(t.Show(cell), "0x") {
				return true
			}
		case columns.Int, columns.Uint, columns.Name:
			if ofAddress(cell.Word>>32) || member && (ofAddress(cell.Word) || int64(cell.Word) > 1e8 ||
				int64(cell.Word) < -1e8) {
				return true
			}
		case columns.Float:
			if x := math.Abs(cell.Float()); x > 0 && x < 1e-200 { // an address's bits
				return true
			}
		case columns.Whole:
			if cell.Word != 1 {
				return true
			}
		}
	}
	return false
}

// ofAddress reports what may be the upper half of an address of a program, its heap, a library or a stack.
func ofAddress(upper uint64) bool {
	return upper>>8 == 0x55 || upper>>8 == 0x56 || upper>>8 == 0x7f
}

// brokenText tells of one function.
func (a *asker) brokenText(c *calls, rules []columns.Rule, learned int) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d calls, %d there\n", cut(c.name, 80), len(c.table.Rows)-learned, learned)
	for i := range rules[:min(len(rules), maxLearned)] {
		r := &rules[i]
		at := r.Breaks[0]
		shown := at
		if at.Before >= 0 && at.Before < learned {
			shown.Before = -1
		}
		rows := []int{shown.Row}
		if shown.Before >= 0 {
			rows = append(rows, shown.Before)
		}
		reader, err := a.readCalls(c.table, rows)
		if err != nil {
			return "", err
		}
		line := fmt.Sprintf("  %s, not %s", r.Text, reader.broke(c.table, r, shown))
		if at.Before != shown.Before {
			line += fmt.Sprintf(" and %s there", c.table.Show(r.Columns[0].At(at.Before)))
		}
		if n := r.Broken - 1; n > 0 {
			line += fmt.Sprintf(" …+%d", n)
		}
		b.WriteString(cut(line, 260) + "\n")
	}
	if n := len(rules) - maxLearned; n > 0 {
		fmt.Fprintf(&b, "  …+%d\n", n)
	}
	return b.String(), nil
}
