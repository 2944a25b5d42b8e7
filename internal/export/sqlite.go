package export

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/store"
)

// sqlite is an SQLite file with one table, events, in which each event's row says all of it, its indexes, the view
// calls that lays begins and ends side by side, and the table session of what was recorded.
var sqlite = &Format{Name: "sqlite", Extension: ".sqlite", file: writeSQLite,
	About: "SQLite with one table of events, a view of calls, and indexes, for sqlite3, DuckDB, pandas"}

func writeSQLite(ctx context.Context, s *session, path string) error {
	args, err := json.Marshal(s.meta.Args)
	if err != nil {
		return err
	}
	flat, err := store.CreateFlat(ctx, path, [][2]string{{"session_id", s.meta.SessionID}, {"command", s.meta.Command},
		{"args", string(args)}, {"cwd", s.meta.Cwd}, {"pid", strconv.Itoa(s.meta.PID)}, {"strobe", s.meta.Version},
		{"started_at_unix_ns", strconv.FormatInt(s.meta.StartedAt, 10)}})
	if err != nil {
		return err
	}
	err = s.scan(ctx, store.Filter{}, func(r *store.Row) error {
		s.report.Written++
		row := s.flatRow(r)
		return flat.Add(&row)
	})
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		flat.Abandon()
		return err
	}
	return flat.Finish(ctx)
}

func (s *session) flatRow(r *store.Row) store.FlatRow {
	row := store.FlatRow{ID: r.ID, TS: r.TS, Kind: r.Kind.String(), Parent: r.Parent, Call: r.Kind.IsCall()}
	if t, ok := s.track(r.Thread); ok {
		row.PID, row.TID, row.Thread = t.PID, t.TID, valid(t.Name)
	}
	row.Flags = strings.Join(flagNames(r.Flags), ",")
	if !row.Call {
		if r.Kind.IsBytes() {
			row.Stream = s.eventName(r)
			if row.Text = string(r.Payload); !utf8.ValidString(row.Text) {
				row.Text, row.Data = "", r.Payload
			}
		} else if o := object(r); o != nil {
			row.Text = string(o)
		}
		return row
	}
	f := s.calls.Function(r.Func)
	row.Function, row.Raw, row.Module, row.File, row.Line = valid(f.Name), valid(f.Raw), valid(f.Module), valid(f.File),
		f.Line
	row.Depth = r.Depth
	if w := f.Watches(r); len(w) > 0 {
		row.Watches = string(w.AppendJSON(nil))
	}
	if r.Kind == event.FunctionEnter {
		if args := f.Arguments(r); len(args) > 0 {
			row.Arguments = string(args.AppendJSON(nil))
		}
		return row
	}
	row.Exit, row.Enter, row.Duration = true, r.Enter, r.Duration
	if out := f.Out(r); len(out) > 0 {
		row.Out = string(out.AppendJSON(nil))
	}
	switch e := s.end(r); {
	case e.unwound:
		row.Outcome, row.Thrown = "unwound", valid(e.thrown)
	case e.lost:
		row.Outcome = "lost"
	default:
		row.Outcome = "returned"
		if e.has {
			row.Result = string(e.result.AppendJSON(nil))
		}
	}
	return row
}
