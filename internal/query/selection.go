package query

import (
	"fmt"
	"slices"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/record"
	"github.com/strobe-debug/strobe/internal/store"
)

// selection is the calls that the filters select, by where they begin.
type selection struct {
	a      *asker
	bounds store.Filter // of enters
	ids    []event.ID   // of enters, ascending; nil: all in bounds
	beyond int64        // selected too, and not in ids
}

// maxSelected bounds the calls whose ids are kept for one answer.
const maxSelected = 4_000_000

// selectCalls turns parts into a selection. What the filters say of ends selects their calls.
func (a *asker) selectCalls(parts []part) (*selection, error) {
	s := &selection{a: a}
	if len(parts) == 0 {
		s.ids = []event.ID{}
		return s, nil
	}
	enters := uint32(1) << event.FunctionEnter
	if p := &parts[0]; len(parts) == 1 && p.pred == nil && p.filter.Kinds&enters != 0 {
		s.bounds = p.filter
		s.bounds.Kinds = enters
		return s, nil
	}
	s.ids = []event.ID{}
	all := &store.Bits{}
	for _, p := range parts {
		if p.filter.Kinds&callKinds == 0 {
			continue
		}
		for i := range a.fns {
			if p.filter.Funcs == nil || p.filter.Funcs.Has(uint32(i)) {
				all.Set(uint32(i))
			}
		}
		if p.filter.Kinds&enters != 0 {
			p.filter.Kinds = enters
			p = p.leanly()
		} else {
			p.filter.Kinds, p.cold = 1<<event.FunctionExit, true
		}
		err := a.scan(p, func(row *store.Row) bool {
			id := row.ID
			if row.Kind == event.FunctionExit {
				id = row.Enter
			}
			switch {
			case id == 0:
			case len(s.ids) < maxSelected:
				s.ids = append(s.ids, id)
			default:
				s.beyond++
			}
			return true
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(s.ids)
	s.ids = slices.Compact(s.ids)
	if len(s.ids) > 0 {
		s.bounds = store.Filter{FromID: s.ids[0], ToID: s.ids[len(s.ids)-1], Funcs: all, Kinds: enters}
	}
	return s, nil
}

// has reports whether a call is selected by its enter.
func (s *selection) has(row *store.Row) bool {
	if !admits(&s.bounds, row) {
		return false
	}
	if s.ids == nil {
		return true
	}
	_, ok := slices.BinarySearch(s.ids, row.ID)
	return ok
}

// past reports whether no selected call begins at row or later.
func (s *selection) past(row *store.Row) bool {
	b := &s.bounds
	return b.ToID != 0 && row.ID > b.ToID || b.ToTS != 0 && row.TS > b.ToTS
}

// openRow is a selected call that has not ended.
type openRow struct {
	keep int
	fn   event.FuncID
}

// each reads the calls in the order in which they begin. begin says what number end gets for the call, below 0: it does
// not ask for its end. more false ends the reading, but calls that are open still get their ends.
func (s *selection) each(begin func(row *store.Row, within bool) (keep int, more bool), end func(keep int,
	row *store.Row)) error {
	if s.ids != nil && len(s.ids) == 0 {
		return nil
	}
	f := s.bounds
	f.Kinds, f.ToID, f.ToTS = callKinds, 0, 0
	lanes := make([]record.Stack[openRow], len(s.a.threads)+1)
	open, over := 0, false
	err := s.a.scan(part{filter: f, cold: true}, func(row *store.Row) bool {
		l := &lanes[min(int(row.Thread), len(lanes)-1)]
		over = over || s.past(row)
		if row.Kind == event.FunctionEnter {
			if over || !s.has(row) {
				return !over || open > 0
			}
			within := slices.ContainsFunc(l.Open(), func(o openRow) bool { return o.fn == row.Func })
			keep, more := begin(row, within)
			if over = !more; keep >= 0 {
				l.Begin(row.ID, openRow{keep, row.Func})
				open++
			}
			return !over || open > 0
		}
		if o := l.End(row.Enter, func(openRow) { open-- }); o != nil {
			open--
			end(o.keep, row)
		}
		return !over || open > 0
	})
	if err != nil {
		return fmt.Errorf("read calls: %w", err)
	}
	return nil
}

// count is how many calls are selected.
func (s *selection) count() (int64, error) {
	if s.ids != nil {
		return int64(len(s.ids)) + s.beyond, nil
	}
	return s.a.count([]part{{filter: s.bounds}})
}
