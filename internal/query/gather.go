package query

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/strobe-debug/strobe/internal/columns"
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/record"
	"github.com/strobe-debug/strobe/internal/sorting"
	"github.com/strobe-debug/strobe/internal/store"
	"github.com/strobe-debug/strobe/internal/value"
)

// calls are the selected calls of the functions of one name.
type calls struct {
	name   string
	number int // in the order of first calls
	table  *columns.Table
	seen   int64 // of selected calls; those beyond the table's rows were not read
	ended  int64
	ways   ways  // where gathered.ways is wanted
	noise  noise // where a session is compared with two that ended alike
}

// maxGathered bounds the functions whose calls are read for one answer.
const maxGathered = 256

// gathered is what was read for a view of calls.
type gathered struct {
	all    []*calls // the most called first
	total  int64    // selected calls
	read   int64
	others map[string]bool // names of functions beyond maxGathered
	byName map[string]*calls
	room   *columns.Room
	depth  int  // of the tables; 0: as deep as they go
	most   int  // functions
	ways   bool // what calls called is read, too
}

// newGathered has nothing yet.
func newGathered() *gathered {
	return &gathered{others: map[string]bool{}, byName: map[string]*calls{}, room: &columns.Room{Left: columns.MaxBytes},
		most: maxGathered}
}

// gather reads the selected calls into tables, one for each name.
func (a *asker) gather(parts []part) (*gathered, error) {
	return a.gatherWith(parts, newEnters(), putExit)
}

// newEnters returns putEnter that reads functions of integers alone without rendering them.
func newEnters() putter {
	plain := map[*record.Function][]record.Argument{} // nil: it has other parameters
	return func(t *columns.Table, row int, fn *record.Function, enter *store.Row) {
		args, known := plain[fn]
		if !known {
			for _, p := range fn.Parameters() {
				arg, ok := fn.Argument(p.Name)
				if _, integer := arg.Integer(); !ok || !integer {
					args = nil
					break
				}
				args = append(args, arg)
			}
			plain[fn] = args
		}
		if args == nil || len(fn.Watches(enter)) > 0 {
			putEnter(t, row, fn, enter)
			return
		}
		for i, p := range args {
			if v, ok := p.Value(enter); ok {
				t.Put(row, columns.Argument, fn.ParameterName(i), v)
			}
		}
	}
}

// gatherResults is gather without arguments and what was found at the end but the result: much cheaper.
func (a *asker) gatherResults(parts []part) (*gathered, error) {
	return a.gatherWith(parts, func(*columns.Table, int, *record.Function, *store.Row) {},
		func(t *columns.Table, row int, fn *record.Function, exit *store.Row) {
			if v, ok := fn.Result(exit); ok {
				t.Put(row, columns.Result, resultName(fn), v)
			}
		})
}

// putter puts an event's values into a row.
type putter func(t *columns.Table, row int, fn *record.Function, e *store.Row)

func (a *asker) gatherWith(parts []part, putEnter, putExit putter) (*gathered, error) {
	g := newGathered()
	return g, a.gatherInto(g, parts, putEnter, putExit)
}

// gatherInto adds the selected calls to what was gathered, also of another session.
func (a *asker) gatherInto(g *gathered, parts []part, putEnter, putExit putter) error {
	s, err := a.selectCalls(parts)
	if err != nil {
		return err
	}
	total, err := s.count()
	if err != nil {
		return err
	}
	g.total += total
	byFn := make([]*calls, len(a.fns)+1)
	var rows []keptRow
	open := map[event.ID]keptRow{} // that have not ended
	begin := func(row *store.Row, within bool) (int, bool) {
		c := byFn[min(int(row.Func), len(a.fns))]
		if c == nil {
			name := a.fn(row.Func).Name
			if c = g.byName[name]; c == nil {
				if len(g.byName) == g.most {
					g.others[name] = true
					return -1, true
				}
				c = &calls{name: name, number: len(g.all), table: columns.New(g.room)}
				c.table.Depth = g.depth
				g.byName[name] = c
				g.all = append(g.all, c)
			}
			byFn[min(int(row.Func), len(a.fns))] = c
		}
		c.seen++
		n, ok := c.table.Add(columns.Row{Enter: row.ID, Thread: uint32(row.Thread)})
		if !ok {
			return -1, false
		}
		g.read++
		c.table.Recursive = c.table.Recursive || within
		putEnter(c.table, n, a.fn(row.Func), row)
		rows = append(rows, keptRow{c, n})
		if g.ways {
			up := open[row.Parent]
			open[row.ID] = keptRow{c, n}
			c.ways.begin(n, up)
			if up.calls != nil {
				up.calls.ways.called(up.row, c, c.number)
			}
		}
		return len(rows) - 1, true
	}
	err = s.each(begin, func(keep int, row *store.Row) {
		at := rows[keep]
		at.calls.ended++
		delete(open, row.Enter)
		at.calls.table.Rows[at.row].Exit = row.ID
		putExit(at.calls.table, at.row, a.fn(row.Func), row)
	})
	sorting.By(g.all, func(x, y *calls) int { return cmp.Compare(y.seen, x.seen) })
	return err
}

type keptRow struct {
	calls *calls
	row   int
}

func putEnter(t *columns.Table, row int, fn *record.Function, enter *store.Row) {
	for _, m := range fn.Arguments(enter) {
		t.Put(row, columns.Argument, m.Name, m.Value)
	}
	for _, m := range fn.Watches(enter) {
		t.Put(row, columns.Watch, m.Name, m.Value)
	}
}

// newOneCall is a table of one call's begin.
func newOneCall(fn *record.Function, enter *store.Row) *columns.Table {
	t := columns.New(&columns.Room{Left: columns.MaxBytes})
	row, _ := t.Add(columns.Row{Enter: enter.ID})
	putEnter(t, row, fn, enter)
	return t
}

// outPrefix stands before what pointers led to, and watches were, at the end of a call.
const outPrefix = "out."

func putExit(t *columns.Table, row int, fn *record.Function, exit *store.Row) {
	if v, ok := fn.Result(exit); ok {
		t.Put(row, columns.Result, resultName(fn), v)
	}
	thrown := value.Value{}
	switch {
	case exit.Flags&(event.Lost|event.AtEnd) != 0:
		return
	case exit.Flags&event.Unwound != 0:
		thrown = value.NewText(thrownText(fn, exit))
	}
	t.Put(row, columns.Thrown, "thrown", thrown)
	t.Put(row, columns.Took, "took", value.NewInt(exit.Duration))
	for _, o := range []value.Object{fn.Out(exit), fn.Watches(exit)} {
		for _, m := range o {
			t.Put(row, columns.Out, outPrefix+m.Name, m.Value)
		}
	}
}

func thrownText(fn *record.Function, exit *store.Row) string {
	if s, _ := fn.Thrown(exit); s != "" {
		return s
	}
	return "unwound"
}

// resultName is how a result is called beside the parameters.
func resultName(fn *record.Function) string {
	if _, taken := fn.Argument("result"); taken {
		return "$return"
	}
	return "result"
}

// notes says what was not read.
func (g *gathered) notes() (notes []string) {
	if g.read < g.total {
		notes = append(notes, fmt.Sprintf("The first %d of %d calls were read; function, timeFrom or afterEventId select "+
			"others.", g.read, g.total))
	}
	if n := len(g.others); n > 0 {
		notes = append(notes, fmt.Sprintf("%d functions beyond the first %d were not looked at; function selects them.", n,
			g.most))
	}
	for _, c := range g.all {
		if c.table.Skipped > 0 || c.table.Cut {
			notes = append(notes, fmt.Sprintf("%s has more values than columns are made for (%d); fields names others.", c.name,
				columns.MaxColumns))
			break
		}
	}
	return notes
}

// valueAt reads a column's value of a call from the store again.
type callReader struct {
	a    *asker
	rows map[event.ID]*store.Row
}

// readCalls fetches the events of some rows.
func (a *asker) readCalls(t *columns.Table, rows []int) (*callReader, error) {
	var ids []event.ID
	for _, i := range rows {
		ids = append(ids, t.Rows[i].Enter)
		if exit := t.Rows[i].Exit; exit != 0 {
			ids = append(ids, exit)
		}
	}
	slices.Sort(ids)
	found, err := a.sn.Rows(a.ctx, slices.Compact(ids))
	if err != nil {
		return nil, fmt.Errorf("read %d calls: %w", len(rows), err)
	}
	r := &callReader{a: a, rows: make(map[event.ID]*store.Row, len(found))}
	for i := range found {
		r.rows[found[i].ID] = &found[i]
	}
	return r, nil
}

// value returns what a column shows of a call, in about width bytes; "" where the call has no such value.
func (r *callReader) value(t *columns.Table, row int, c *columns.Column, width int) string {
	cell := c.At(row)
	switch {
	case cell.Kind == columns.Absent:
		return ""
	case c.Place == columns.Took:
		return duration(int64(cell.Word))
	case c.Place == columns.Computed, cell.Kind == columns.Null, cell.Kind == columns.Bool, cell.Number(),
		cell.Kind == columns.Address:
		return t.Show(cell)
	}
	at := r.rows[t.Rows[row].Enter]
	if c.Place != columns.Argument && c.Place != columns.Watch {
		at = r.rows[t.Rows[row].Exit]
	}
	if at == nil {
		return t.Show(cell)
	}
	fn := r.a.fn(at.Func)
	var all value.Object
	switch c.Place {
	case columns.Argument:
		all = fn.Arguments(at)
	case columns.Watch:
		all = fn.Watches(at)
	case columns.Result:
		if v, ok := fn.Result(at); ok {
			all = value.Object{{Name: resultName(fn), Value: v}}
		}
	case columns.Out:
		for _, o := range []value.Object{fn.Out(at), fn.Watches(at)} {
			for _, m := range o {
				all = append(all, value.Member{Name: outPrefix + m.Name, Value: m.Value})
			}
		}
	default:
		return cut(thrownText(fn, at), width)
	}
	if v, ok := all.Path(c.Path); ok {
		return v.Short(width)
	}
	return t.Show(cell)
}
