package query

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/record"
	"github.com/strobe-debug/strobe/internal/store"
)

// Bounds of view why.
const (
	whyArgs   = 160     // bytes of a call's arguments
	whyBeside = 3       // calls before and after
	whyRows   = 400_000 // that are looked at
	whyAround = 50_000  // events around a call that nothing called
	whyPath   = 12      // calls of the path that are shown
)

// why is view why: an event, how the program came there, what stood beside it, and what became of it.
func (a *asker) why(res *Result) (notes []string, err error) {
	row, err := a.one(a.req.Under)
	if err != nil {
		return nil, err
	}
	if row != nil && row.Kind == event.FunctionExit && row.Enter != 0 {
		if enter, err := a.one(row.Enter); err != nil || enter != nil {
			row = enter
		}
		if err != nil {
			return nil, err
		}
	}
	if row == nil {
		return nil, fault.New(fault.ValidationError, "Give the id of an event, e.g. a #id of view tree.",
			"under: there is no event %d: ids go from 1 to %d, and the oldest calls are dropped beyond the session's limit",
			a.req.Under, a.sn.LastID())
	}
	if row.Kind == event.Crash && row.Parent == 0 {
		if row.Parent, err = a.endedBy(row); err != nil {
			return nil, err
		}
	}
	w := &whyWriter{summaryWriter: summaryWriter{a: a}, row: row}
	res.TotalCount = 1
	for _, step := range []func() error{w.itself, w.unlike, w.path, w.beside, w.below, w.outputBefore, w.after} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return a.paged(res, w.b.String(), a.short()), nil
}

type whyWriter struct {
	summaryWriter
	row  *store.Row
	exit *store.Row
	up   *store.Row // the call that it stands in
	end  *store.Row // of that
}

// endedBy is the innermost call that a crash ended, where these were closed before it: all at once, so that others,
// which exceptions left before, are not among them.
func (a *asker) endedBy(crash *store.Row) (enter event.ID, err error) {
	f := store.Filter{ToID: crash.ID - 1, Kinds: callKinds, Threads: &store.Bits{}}
	f.Threads.Set(uint32(crash.Thread))
	at := int64(-1)
	err = a.sn.Scan(a.ctx, f, store.ScanOptions{Reverse: true, Cold: true}, func(row *store.Row) bool {
		if row.Kind != event.FunctionExit || row.Flags&event.Unwound == 0 || at >= 0 && row.TS != at {
			return false
		}
		at, enter = row.TS, row.Enter
		return true
	})
	if err != nil {
		return 0, fmt.Errorf("read calls before a crash: %w", err)
	}
	return enter, nil
}

// callLine is a call in one line.
func (a *asker) callLine(enter, exit *store.Row, width int) string {
	fn := a.fn(enter.Func)
	s := fmt.Sprintf("#%d %s(%s)", enter.ID, cut(fn.Name, 100), fn.Arguments(enter).Short(width))
	if exit == nil {
		return s + " has not ended"
	}
	if exit.Flags&event.Unwound != 0 {
		if by, _ := fn.Thrown(exit); by != "" {
			return s + " left by " + cut(by, width)
		}
		return s + " left without a result (exception, longjmp or exit)"
	}
	if v, ok := fn.Result(exit); ok {
		s += " → " + v.Short(width/2)
	}
	if out := fn.Out(exit); len(out) > 0 {
		s += ", then " + out.Short(width/2)
	}
	return s
}

// place is where a function begins.
func (a *asker) place(id event.FuncID) string {
	fn := a.fn(id)
	if fn.File == "" {
		return ""
	}
	return fmt.Sprintf(" (%s:%d)", path.Base(fn.File), fn.Line)
}

func (w *whyWriter) itself() (err error) {
	t := w.a.thread(w.row.Thread)
	on := fmt.Sprintf("at %s on thread %d", duration(w.row.TS), t.TID)
	if name := w.a.threadName(w.row); name != "" {
		on += " " + name
	}
	if w.row.Kind != event.FunctionEnter {
		what := w.a.other(w.row)
		if w.row.Kind == event.FunctionExit {
			what = w.a.fn(w.row.Func).Name + " ended, and its begin was not recorded"
		}
		w.line("#%d %s, %s", w.row.ID, what, on)
		return nil
	}
	if w.exit, err = w.a.exitOf(w.row); err != nil {
		return err
	}
	took := ""
	if w.exit != nil {
		took = ", took " + duration(w.exit.Duration)
	}
	w.line("%s%s%s, %s", w.a.callLine(w.row, w.exit, whyArgs), w.a.place(w.row.Func), took, on)
	if watched := w.a.fn(w.row.Func).Watches(w.row); len(watched) > 0 {
		w.line("  watched: %s", watched.Short(whyArgs))
	}
	return nil
}

// unlike says what the other calls of the function keep, and this one does not.
func (w *whyWriter) unlike() error {
	if w.row.Kind != event.FunctionEnter {
		return nil
	}
	name, funcs := w.a.fn(w.row.Func).Name, &store.Bits{}
	for i := range w.a.fns {
		if w.a.fns[i].Name == name {
			funcs.Set(uint32(i))
		}
	}
	g, err := w.a.gather([]part{{filter: store.Filter{Kinds: callKinds, Funcs: funcs}}})
	if err != nil || len(g.all) == 0 {
		return err
	}
	c := g.all[0]
	rules, _ := c.table.Rules()
	for i := range rules {
		r := &rules[i]
		for _, b := range r.Breaks {
			if c.table.Rows[b.Row].Enter != w.row.ID {
				continue
			}
			reader, err := w.a.readCalls(c.table, []int{b.Row, max(b.Before, 0)})
			if err != nil {
				return err
			}
			texts := strings.Join(append([]string{r.Text}, r.Also[:min(len(r.Also), 2)]...), "; ")
			w.line("unlike %d of its %d calls: %s, not %s", r.Calls-r.Broken, r.Calls, texts, reader.broke(c.table, r, b))
		}
	}
	if g.read < g.total {
		w.line("  (compared with the first %d of its %d calls)", g.read, g.total)
	}
	return nil
}

// path is the calls that it stands in, innermost first.
func (w *whyWriter) path() error {
	parent, depth := w.row.Parent, 0
	for ; parent != 0; depth++ {
		row, err := w.a.one(parent)
		if err != nil {
			return err
		}
		if row == nil {
			w.line("  in #%d, which the session's limit dropped", parent)
			return nil
		}
		if depth == 0 {
			w.up = row
			if w.end, err = w.a.exitOf(row); err != nil {
				return err
			}
		}
		if depth == whyPath {
			w.line("  … %d more", row.Depth+1)
			return nil
		}
		fn, where := w.a.fn(row.Func), ""
		if depth == 0 {
			where = w.a.place(row.Func)
		}
		w.line("  in #%d %s(%s)%s", row.ID, cut(fn.Name, 100), fn.Arguments(row).Short(whyArgs), where)
		parent = row.Parent
	}
	if depth == 0 {
		w.line("  in no call that was recorded")
	}
	return nil
}

// beside are the calls that the same call made.
func (w *whyWriter) beside() error {
	f := store.Filter{Kinds: 1 << event.FunctionEnter, Threads: &store.Bits{}}
	f.Threads.Set(uint32(w.row.Thread))
	if w.up != nil {
		if f.FromID = w.up.ID + 1; w.end != nil {
			f.ToID = w.end.ID
		}
	} else {
		f.FromID, f.ToID = max(1, w.row.ID-whyAround), w.row.ID+whyAround
	}
	var before, after []store.Row
	counts := map[string]int{}
	n, all, index := 0, 0, 0
	err := w.a.scan(part{filter: f, cold: true}, func(row *store.Row) bool {
		n++
		if row.Parent != w.row.Parent || row.ID == w.row.ID {
			if row.ID == w.row.ID {
				index = counts[w.a.fn(row.Func).Name] + 1
			}
			return n < whyRows
		}
		all++
		counts[w.a.fn(row.Func).Name]++
		if row.ID < w.row.ID {
			if before = append(before, keepRow(row)); len(before) > whyBeside {
				before = before[1:]
			}
		} else if len(after) < whyBeside {
			after = append(after, keepRow(row))
		}
		return n < whyRows
	})
	if err != nil || all == 0 {
		return err
	}
	names := slices.SortedFunc(maps.Keys(counts), func(x, y string) int {
		return cmp.Or(cmp.Compare(counts[y], counts[x]), cmp.Compare(x, y))
	})
	var items []string
	for _, name := range names {
		items = append(items, fmt.Sprintf("%s ×%d", cut(name, 80), counts[name]))
	}
	head := "calls beside it: "
	if w.row.Kind == event.FunctionEnter && counts[w.a.fn(w.row.Func).Name] > 0 {
		head = fmt.Sprintf("it is number %d of its kind there; beside it: ", index)
	}
	if n == whyRows {
		head = fmt.Sprintf("among the first %d calls in there, ", n) + head
	}
	w.items(head, items)
	exits, err := w.a.calls.Exits(w.a.ctx, slices.Concat(before, after))
	if err != nil {
		return err
	}
	for i := range before {
		w.line("  before: %s", w.a.callLine(&before[i], exits[before[i].ID], whyArgs/2))
	}
	for i := range after {
		w.line("  after: %s", w.a.callLine(&after[i], exits[after[i].ID], whyArgs/2))
	}
	return nil
}

// keepRow copies a row with what it points to.
func keepRow(row *store.Row) store.Row {
	r := *row
	r.Payload = slices.Clone(row.Payload)
	return r
}

// below is what the call did by calls of its own.
func (w *whyWriter) below() error {
	if w.row.Kind != event.FunctionEnter {
		return nil
	}
	f := store.Filter{FromID: w.row.ID + 1, Kinds: 1 << event.FunctionExit, Threads: &store.Bits{}}
	f.Threads.Set(uint32(w.row.Thread))
	if w.exit != nil {
		if f.ToID = w.exit.ID - 1; f.ToID < f.FromID {
			return nil
		}
	}
	type sum struct {
		n, ns   int64
		results valueRange
	}
	sums, n := map[*record.Function]*sum{}, 0
	err := w.a.scan(part{filter: f, cold: true}, func(row *store.Row) bool {
		if n++; row.Parent == w.row.ID {
			fn := w.a.fn(row.Func)
			s := sums[fn]
			if s == nil {
				s = &sum{}
				sums[fn] = s
			}
			if s.n, s.ns = s.n+1, s.ns+row.Duration; row.Flags&event.Unwound == 0 {
				if v, ok := fn.Result(row); ok {
					s.results.add(v, row.ID)
				}
			}
		}
		return n < whyRows
	})
	if err != nil {
		return err
	}
	fns := slices.SortedFunc(maps.Keys(sums), func(x, y *record.Function) int {
		return cmp.Or(cmp.Compare(sums[y].ns, sums[x].ns), cmp.Compare(x.Name, y.Name))
	})
	var items []string
	for _, fn := range fns {
		s := sums[fn]
		item := fmt.Sprintf("%s ×%d %s", cut(fn.Name, 80), s.n, duration(s.ns))
		if s.results.n > 0 {
			item += " → " + s.results.String()
		}
		items = append(items, item)
	}
	w.items("it called: ", items)
	if n == whyRows {
		w.line("  (of the first %d calls in it)", n)
	}
	return nil
}

// outputBefore is what the program wrote last, and what was thrown.
func (w *whyWriter) outputBefore() error {
	f := store.Filter{ToID: w.row.ID - 1, Kinds: 1<<event.Stdout | 1<<event.Stderr | 1<<event.Exception |
		1<<event.Logpoint | 1<<event.VariableWrite}
	if f.ToID == 0 {
		return nil
	}
	n := 0
	err := w.a.sn.Scan(w.a.ctx, f, store.ScanOptions{Reverse: true, Cold: true}, func(row *store.Row) bool {
		n++
		w.line("last before, %s earlier: #%d %s", duration(w.row.TS-row.TS), row.ID, cut(w.a.other(row), lineText))
		return n < 2
	})
	if err != nil {
		return fmt.Errorf("read output: %w", err)
	}
	return nil
}

// after is what became of it: how the caller went on.
func (w *whyWriter) after() error {
	if w.up == nil {
		return nil
	}
	if w.end == nil {
		w.line("its caller #%d has not ended", w.up.ID)
		return nil
	}
	w.line("its caller: %s", w.a.callLine(w.up, w.end, whyArgs/2))
	return nil
}
