package query

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/store"
	"github.com/strobe-debug/strobe/internal/value"
)

// Recalled is what one event holds, by the names that its program has for it.
type Recalled struct {
	Event  Event
	Values value.Object // names are unique; the first of several of one name is the nearest
}

// Recall returns the values of an event: of a call its arguments, result, pointees and watches, of a pause or a crash
// the arguments and locals of its innermost frame, of any other event its members. An exit has the arguments of its
// enter, too.
func Recall(ctx context.Context, st *store.Store, id int64, env Env) (*Recalled, error) {
	f, err := compile(Request{Verbose: true})
	if err != nil {
		return nil, err
	}
	if err := flush(ctx, st, env); err != nil {
		return nil, err
	}
	sn, err := st.Snapshot(ctx)
	if err != nil {
		return nil, fmt.Errorf("take snapshot: %w", err)
	}
	defer sn.Close()
	a := newAsker(ctx, st, sn, f)
	row, err := a.row(id)
	if err != nil {
		return nil, err
	}
	r := &Recalled{Event: a.render(row)}
	if row.Kind == event.Crash {
		r.Event = a.renderCrash(row, false)
	}
	if !row.Kind.IsCall() {
		r.ofData()
		return r, nil
	}
	if row.Kind == event.FunctionExit {
		if v := r.Event.ReturnValue; v != nil {
			r.add(value.Object{{Name: "$return", Value: *v}})
		}
		r.add(r.Event.Out)
	}
	r.add(r.Event.WatchValues)
	enter := &r.Event
	if row.Kind == event.FunctionExit && row.Enter > 0 {
		if row, err := a.row(row.Enter); err == nil {
			e := a.render(row)
			enter = &e
		}
	}
	if enter.Arguments != nil {
		r.add(*enter.Arguments)
	}
	if enter != &r.Event {
		r.add(enter.WatchValues)
	}
	return r, nil
}

// row reads one event.
func (a *asker) row(id int64) (*store.Row, error) {
	rows, err := a.sn.Rows(a.ctx, []event.ID{event.ID(id)})
	if err != nil {
		return nil, fmt.Errorf("read event %d: %w", id, err)
	}
	if len(rows) == 0 {
		return nil, fault.New(fault.ValidationError, "debug_query lists events with their ids.",
			"there is no event %d: ids go from 1 to %d, and the oldest calls are dropped beyond the session's limit", id,
			a.sn.LastID())
	}
	return &rows[0], nil
}

func (r *Recalled) add(o value.Object) {
	for _, m := range o {
		if !slices.ContainsFunc(r.Values, func(have value.Member) bool { return have.Name == m.Name }) {
			r.Values = append(r.Values, m)
		}
	}
}

// ofData takes the values out of an event's own members.
func (r *Recalled) ofData() {
	var all value.Object
	for _, m := range r.Event.Data {
		v, err := value.ParseJSON(m.Value)
		if err != nil {
			continue
		}
		switch m.Name {
		case "locals", "arguments", "data":
			r.add(v.Object())
		}
		all = append(all, value.Member{Name: m.Name, Value: v})
	}
	if t := r.Event.Text; t != nil {
		all = append(all, value.Member{Name: "text", Value: value.NewText(*t)})
	}
	r.add(all)
}

// Get returns the value that a name or path of the program's language leads to: x, p->next.id, (*p).id, v[2]. The error
// names what there is.
func (r *Recalled) Get(path string) (value.Value, error) {
	if v, ok := r.Values.Get(path); ok { // a watch's label is an expression itself
		return v, nil
	}
	plain := strings.NewReplacer("->", ".", " ", "", "(*", "", ")", "").Replace(path)
	if v, ok := r.Values.Path(strings.TrimLeft(plain, "*")); ok {
		return v, nil
	}
	e := &r.Event
	what := e.EventType
	if e.Function != "" {
		what += " of " + e.Function
	}
	names := make([]string, len(r.Values))
	for i := range r.Values {
		names[i] = r.Values[i].Name
	}
	has := "nothing"
	if len(names) > 0 {
		has = cut(strings.Join(names, ", "), 300)
	}
	return value.Value{}, fault.New(fault.ValidationError,
		"To have it recorded, add it to debug_trace watches, or trace with a larger serializationDepth, and run again.",
		"event %d (%s) did not record %q; it has %s", e.ID, what, path, has)
}
