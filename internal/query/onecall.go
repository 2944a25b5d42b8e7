package query

import (
	"cmp"
	"context"
	"fmt"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/sorting"
	"github.com/strobe-debug/strobe/internal/store"
)

// OneEvent is an event and what stands around it. Of a call both ends are there as far as they are known.
type OneEvent struct {
	Event   *Event        `json:"event,omitempty"` // one that is no call
	Enter   *Event        `json:"enter,omitempty"`
	Exit    *Event        `json:"exit,omitempty"`
	Lane    int64         `json:"lane"` // -1: of no thread
	Callers []Event       `json:"callers"`
	Callees []CalleeCount `json:"callees"`
	More    string        `json:"more,omitempty"` // what was not looked at
}

// CalleeCount is what a call did by calls of one function.
type CalleeCount struct {
	Function string `json:"function"`
	Calls    int64  `json:"calls"`
	TotalNs  int64  `json:"totalNs"`
	Longest  int64  `json:"longestId"` // exit of the longest of them
	longest  int64
}

// Bounds of what is looked at for one call.
const (
	maxCallers    = 64
	maxCalleeRows = 400_000
	maxCallees    = 200
)

// LookAt returns the event of an id. Of a call either end may be given.
func LookAt(ctx context.Context, st *store.Store, id event.ID) (*OneEvent, error) {
	sn, err := st.Snapshot(ctx)
	if err != nil {
		return nil, fmt.Errorf("take snapshot: %w", err)
	}
	defer sn.Close()
	f, err := compile(Request{Verbose: true})
	if err != nil {
		return nil, err
	}
	a := newAsker(ctx, st, sn, f)
	if err := a.findProcesses(); err != nil {
		return nil, fmt.Errorf("look for processes: %w", err)
	}
	row, err := a.one(id)
	if err != nil {
		return nil, err
	}
	if row == nil {
		return nil, fault.New(fault.ValidationError, "debug_query lists events with their ids; the session's limit may have "+
			"dropped it.", "no event %d", id)
	}
	one := &OneEvent{Lane: -1, Callers: []Event{}, Callees: []CalleeCount{}}
	if int(row.Thread) < len(a.threads) {
		one.Lane = int64(row.Thread)
	}
	parent := row.Parent
	if !row.Kind.IsCall() {
		e := a.render(row)
		one.Event = &e
	} else if err := a.bothEnds(one, row); err != nil {
		return nil, err
	}
	if err := a.callersOf(one, parent); err != nil {
		return nil, err
	}
	return one, nil
}

func (a *asker) one(id event.ID) (*store.Row, error) {
	rows, err := a.sn.Rows(a.ctx, []event.ID{id})
	if err != nil {
		return nil, fmt.Errorf("read event %d: %w", id, err)
	}
	if len(rows) == 0 {
		return nil, nil
	}
	return &rows[0], nil
}

// bothEnds fills in a call's enter, its exit and what it called.
func (a *asker) bothEnds(one *OneEvent, row *store.Row) (err error) {
	enter, exit := row, (*store.Row)(nil)
	if row.Kind == event.FunctionExit {
		exit = row
		if enter, err = a.one(row.Enter); err != nil {
			return err
		}
	} else if exit, err = a.exitOf(row); err != nil {
		return err
	}
	upTo := a.sn.LastID()
	if exit != nil {
		e := a.render(exit)
		one.Exit, upTo = &e, exit.ID-1
	}
	if enter == nil {
		return nil
	}
	e := a.render(enter)
	one.Enter = &e
	return a.calleesOf(one, enter.ID, upTo)
}

func (a *asker) callersOf(one *OneEvent, parent event.ID) error {
	for parent != 0 && len(one.Callers) < maxCallers {
		row, err := a.one(parent)
		if err != nil {
			return err
		}
		if row == nil {
			break
		}
		one.Callers = append(one.Callers, a.render(row))
		parent = row.Parent
	}
	return nil
}

// calleesOf adds up what was called directly, by function, the longest first.
func (a *asker) calleesOf(one *OneEvent, enter, upTo event.ID) error {
	if upTo <= enter {
		return nil
	}
	counts, rows := map[event.FuncID]*CalleeCount{}, 0
	f := store.Filter{FromID: enter + 1, ToID: upTo, Kinds: 1 << event.FunctionExit}
	err := a.sn.Scan(a.ctx, f, store.ScanOptions{Cold: true}, func(r *store.Row) bool {
		rows++
		if r.Parent == enter {
			c := counts[r.Func]
			if c == nil {
				c = &CalleeCount{Function: a.fn(r.Func).Name, longest: -1}
				counts[r.Func] = c
			}
			c.Calls, c.TotalNs = c.Calls+1, c.TotalNs+r.Duration
			if r.Duration > c.longest {
				c.longest, c.Longest = r.Duration, r.ID
			}
		}
		return rows < maxCalleeRows
	})
	if err != nil {
		return fmt.Errorf("look for what call %d called: %w", enter, err)
	}
	for _, c := range counts {
		one.Callees = append(one.Callees, *c)
	}
	sorting.By(one.Callees, func(x, y CalleeCount) int {
		return cmp.Or(cmp.Compare(y.TotalNs, x.TotalNs), cmp.Compare(x.Function, y.Function))
	})
	if len(one.Callees) > maxCallees {
		one.Callees, one.More = one.Callees[:maxCallees], fmt.Sprintf("the %d functions that took longest, of %d", maxCallees,
			len(counts))
	}
	if rows == maxCalleeRows {
		one.More = fmt.Sprintf("callees are of the first %d events in the call", maxCalleeRows)
	}
	return nil
}
