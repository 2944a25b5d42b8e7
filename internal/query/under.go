package query

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/store"
)

// findUnder resolves under: the call, its thread, and where it ended.
func (a *asker) findUnder() error {
	id := a.req.Under
	if id == 0 {
		return nil
	}
	rows, err := a.sn.Rows(a.ctx, []event.ID{id})
	if err != nil {
		return fmt.Errorf("read event %d: %w", id, err)
	}
	if len(rows) == 1 && rows[0].Kind == event.FunctionExit && rows[0].Enter != 0 {
		if rows, err = a.sn.Rows(a.ctx, []event.ID{rows[0].Enter}); err != nil {
			return fmt.Errorf("read event %d: %w", id, err)
		}
	}
	if len(rows) != 1 || rows[0].Kind != event.FunctionEnter {
		what := "is no call"
		if first := a.sn.FirstCallID(); len(rows) == 0 && id < first {
			what = "was dropped by the session's limit of events; the oldest call kept is " + strconv.FormatInt(first, 10)
		} else if len(rows) == 0 {
			what = "does not exist; the newest event is " + strconv.FormatInt(a.sn.LastID(), 10)
		}
		return fault.New(fault.ValidationError, "Give the id of a function_enter event, e.g. a #id of view tree.", "under: event %d %s", id, what)
	}
	r := rows[0]
	a.scope.enter, a.scope.thread = r.ID, r.Thread
	end, err := a.exitOf(&r)
	if err != nil {
		return err
	}
	if end != nil {
		a.scope.exit = end.ID
	}
	return nil
}

// exitOf returns where a call ends, nil where it has not.
func (a *asker) exitOf(enter *store.Row) (*store.Row, error) {
	exits, err := a.exitsOf([]store.Row{*enter})
	return exits[enter.ID], err
}

// exitsOf returns where calls end, by their enters, in one scan; those that have not ended are not in it.
func (a *asker) exitsOf(enters []store.Row) (map[event.ID]*store.Row, error) {
	exits := make(map[event.ID]*store.Row, len(enters))
	if len(enters) == 0 {
		return exits, nil
	}
	f := store.Filter{FromID: enters[0].ID + 1, Kinds: 1 << event.FunctionExit, Funcs: &store.Bits{}, Threads: &store.Bits{}}
	for i := range enters {
		e := &enters[i]
		exits[e.ID] = nil
		f.FromID = min(f.FromID, e.ID+1)
		f.Funcs.Set(uint32(e.Func))
		f.Threads.Set(uint32(e.Thread))
	}
	left := len(exits)
	err := a.sn.Scan(a.ctx, f, store.ScanOptions{Cold: true}, func(row *store.Row) bool {
		if exit, asked := exits[row.Enter]; !asked || exit != nil {
			return true
		}
		exit := *row
		exit.Payload = slices.Clone(row.Payload)
		exits[row.Enter] = &exit
		left--
		return left > 0
	})
	if err != nil {
		return nil, fmt.Errorf("find where %d calls from event %d on end: %w", len(enters), enters[0].ID, err)
	}
	return exits, nil
}
