package query

import (
	"github.com/strobe-debug/strobe/internal/columns"
	"github.com/strobe-debug/strobe/internal/expr"
	"github.com/strobe-debug/strobe/internal/record"
	"github.com/strobe-debug/strobe/internal/store"
)

// fieldValues computes the expressions that fields asks for, call by call, as columns of their own.
type fieldValues struct {
	c       *checker
	sources []string
	open    openRows
	at      map[tableRow]int // in open
}

type tableRow struct {
	t   *columns.Table
	row int
}

// fieldExpressions returns nil where fields has paths only.
func (a *asker) fieldExpressions() (*fieldValues, error) {
	var sources []string
	for _, f := range a.req.Fields {
		if err := checkLength("fields", f); err != nil {
			return nil, err
		}
		s, err := expr.ParseRecorded(f, "")
		if err != nil {
			continue // a path that is no expression, such as $class, or nothing: then the table says what there is
		}
		if p := s.Paths(); len(p) != 1 || p[0] != f {
			sources = append(sources, f)
		}
	}
	switch {
	case len(sources) == 0:
		return nil, nil
	case len(sources) > maxEndWords:
		return nil, invalid("fields", "Ask in two questions.", "%d expressions, the limit is %d", len(sources), maxEndWords)
	}
	return newFieldValues(a, sources), nil
}

func newFieldValues(a *asker, sources []string) *fieldValues {
	return &fieldValues{c: newChecker(a, claim{holds: sources[0], per: sources[1:]}, a.claimNames), sources: sources,
		at: map[tableRow]int{}}
}

// gatherFields is gather with those columns.
func (a *asker) gatherFields(parts []part) (*gathered, error) {
	v, err := a.fieldExpressions()
	if err != nil {
		return nil, err
	}
	if v == nil {
		return a.gather(parts)
	}
	return a.gatherValues(parts, v)
}

// gatherValues is gather with columns for the values of expressions.
func (a *asker) gatherValues(parts []part, v *fieldValues) (*gathered, error) {
	putEnter := newEnters()
	begin := func(t *columns.Table, row int, fn *record.Function, enter *store.Row) {
		putEnter(t, row, fn, enter)
		v.c.call.enter = enter
		if f := v.c.of(enter.Func); f.atEnd {
			v.at[tableRow{t, row}] = v.open.keep(enter)
		} else {
			v.put(t, row, f, enter, nil)
		}
	}
	g, err := a.gatherWith(parts, begin, func(t *columns.Table, row int, fn *record.Function, exit *store.Row) {
		putExit(t, row, fn, exit)
		if n, ok := v.at[tableRow{t, row}]; ok {
			v.put(t, row, v.c.of(exit.Func), v.open.rows[n], exit)
			v.open.free(n)
			delete(v.at, tableRow{t, row})
		}
	})
	if err != nil {
		return nil, err
	}
	for _, k := range v.c.all {
		if k.err != nil {
			return nil, claimError(v.sources[0], k.err)
		}
	}
	return g, nil
}

// put computes the expressions of one call; one that cannot be told has no value.
func (v *fieldValues) put(t *columns.Table, row int, f *claimOf, enter, exit *store.Row) {
	if f.err != nil {
		return
	}
	lookup := v.c.lookup(f, enter, exit)
	for i, s := range append([]*expr.Syntax{f.holds}, f.per...) {
		if val, err := s.Recorded(lookup); err == nil {
			t.Put(row, columns.Computed, v.sources[i], val)
		} else {
			f.cannot(err, exit)
		}
	}
}
