package query

import (
	"fmt"
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
		return fault.New(fault.ValidationError, "Give the id of a function_enter event, e.g. a #id of view tree.",
			"under: event %d %s", id, what)
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
	exits, err := a.calls.Exits(a.ctx, []store.Row{*enter})
	return exits[enter.ID], err
}
