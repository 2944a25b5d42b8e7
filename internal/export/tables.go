package export

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/parquet"
	"github.com/strobe-debug/strobe/internal/record"
	"github.com/strobe-debug/strobe/internal/store"
	"github.com/strobe-debug/strobe/internal/value"
)

// tables are Parquet files in a folder: calls.parquet with a row for each call, its begin and end merged, in the order
// of their ends; events.parquet with what is no call; sessions.parquet with one row. Times are nanoseconds, durations
// too. Texts that are JSON are columns of text: every engine reads those.
var tables = &Format{Name: "parquet", Extension: "-parquet", folder: writeTables,
	About: "a folder of Parquet tables (calls, events, sessions), for DuckDB, pandas, Spark, Trino"}

// TablesSchema is what the tables' columns mean, in their footers as strobe.schema. Columns may be added under the same
// number; queries read files of several versions by the columns' names.
const TablesSchema = 1

// Tables are the names of the tables, each a file with the ending .parquet.
var Tables = []string{"calls", "events", "sessions"}

func text1(name string) parquet.Column { return parquet.Column{Name: name, Kind: parquet.Text} }

func textOr(name string) parquet.Column {
	return parquet.Column{Name: name, Kind: parquet.Text, Optional: true}
}

func int1(name string) parquet.Column { return parquet.Column{Name: name} }

func intOr(name string) parquet.Column { return parquet.Column{Name: name, Optional: true} }

// Columns of calls, by their places.
const (
	callSession = iota
	callCommit
	callHost
	callID
	callExitID
	callParent
	callFunction
	callModule
	callFile
	callLine
	callPID
	callTID
	callThread
	callDepth
	callStart
	callDuration
	callSelf
	callOutcome
	callRet
	callResult
	callThrown
	callArgs
	callOut
	callWatches
	callFlags
)

// callColumns: result is JSON and null where ret has an integer result, or where there is none. A call that never ended
// has no duration.
var callColumns = []parquet.Column{text1("session"), textOr("commit"), textOr("host"), intOr("call"), intOr("exit"),
	intOr("parent"), text1("function"), textOr("module"), textOr("file"), intOr("line"), intOr("pid"), intOr("tid"),
	textOr("thread"), int1("depth"), int1("start_unix_ns"), intOr("duration_ns"), intOr("self_ns"), text1("outcome"),
	intOr("ret"), textOr("result"), textOr("thrown"), textOr("args"), textOr("out"), textOr("watches"), textOr("flags")}

// Columns of events, by their places; the first three are those of calls.
const (
	eventID = iota + 3
	eventKind
	eventStream
	eventTime
	eventParent
	eventPID
	eventTID
	eventThread
	eventFlags
	eventText
	eventData
)

// eventColumns: text is output, or the JSON object of an event; data is output that is not UTF-8.
var eventColumns = []parquet.Column{text1("session"), textOr("commit"), textOr("host"), int1("event"), text1("kind"),
	textOr("stream"), int1("ts_unix_ns"), intOr("parent"), intOr("pid"), intOr("tid"), textOr("thread"), textOr("flags"),
	textOr("text"), {Name: "data", Kind: parquet.Bytes, Optional: true}}

// tableWriter writes the tables of one session.
type tableWriter struct {
	*session
	name string // of the session, among all
	w    *parquet.Writer
	buf  []byte
}

func writeTables(ctx context.Context, s *session, dir string) error {
	return writeTablesAs(ctx, s, dir, Name(s.meta))
}

// TablesAs is the form parquet with another name for the session.
func TablesAs(name string) *Format {
	f := *tables
	f.folder = func(ctx context.Context, s *session, dir string) error { return writeTablesAs(ctx, s, dir, name) }
	return &f
}

func writeTablesAs(ctx context.Context, s *session, dir, name string) error {
	t := &tableWriter{session: s, name: name}
	return errors.Join(
		t.table(dir, "calls", callColumns, func() error { return t.calls(ctx) }),
		t.table(dir, "events", eventColumns, func() error { return t.events(ctx) }),
		t.table(dir, "sessions", sessionColumns, t.session1))
}

// table writes one file.
func (t *tableWriter) table(dir, name string, columns []parquet.Column, fill func() error) (err error) {
	f, err := os.OpenFile(filepath.Join(dir, name+".parquet"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("make table: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	out := bufio.NewWriterSize(f, 256<<10)
	t.w, err = parquet.NewWriter(out, columns, [][2]string{{"strobe.schema", strconv.Itoa(TablesSchema)},
		{"strobe.table", name}, {"strobe.version", t.meta.Version}, {"strobe.session", t.name}})
	if err != nil {
		return err
	}
	if err := fill(); err != nil {
		return err
	}
	if err := t.w.Close(); err != nil {
		return err
	}
	return out.Flush()
}

// text sets a column of the row, "" is a gap.
func (t *tableWriter) text(col int, s string) {
	if s != "" {
		t.w.Text(col, valid(s))
	}
}

func (t *tableWriter) int(col int, v int64) {
	if v != 0 {
		t.w.Int(col, v)
	}
}

// head sets what is the same in all rows.
func (t *tableWriter) head() {
	t.w.Text(callSession, t.name)
	t.text(callCommit, t.meta.Commit)
	t.text(callHost, t.meta.Host)
}

func (t *tableWriter) calls(ctx context.Context) error {
	for c, err := range t.session.calls.Calls(ctx, record.Filter{}) {
		if err != nil {
			return err
		}
		t.call(c)
		if err := t.w.EndRow(); err != nil {
			return err
		}
	}
	return nil
}

// json sets a column to values as JSON, none is a gap.
func (t *tableWriter) json(col int, n int, appendJSON func([]byte) []byte) {
	if n == 0 {
		return
	}
	t.buf = appendJSON(t.buf[:0])
	t.w.Bytes(col, t.buf)
}

func (t *tableWriter) call(c *record.Call) {
	t.head()
	f := c.Function()
	t.w.Text(callFunction, valid(f.Name))
	t.text(callModule, f.Module)
	t.text(callFile, f.File)
	t.int(callLine, int64(f.Line))
	r, start := c.Exit, int64(0)
	if r != nil {
		start = r.TS - r.Duration
		t.w.Int(callExitID, r.ID)
		t.report.Written++
	}
	flags := event.Flags(0)
	if c.Enter != nil {
		if r == nil {
			r = c.Enter
		}
		start = c.Enter.TS
		t.w.Int(callID, c.Enter.ID)
		args := c.Arguments()
		t.json(callArgs, len(args), args.AppendJSON)
		flags = c.Enter.Flags
		t.report.Written++
	} else {
		t.report.change("ends of calls", "their begins are not in the session: rows without arguments")
		t.int(callID, c.Exit.Enter)
	}
	t.int(callParent, r.Parent)
	t.w.Int(callDepth, int64(r.Depth))
	if tr, ok := t.track(r.Thread); ok {
		t.w.Int(callPID, int64(tr.PID))
		t.w.Int(callTID, int64(tr.TID))
		t.text(callThread, tr.Name)
	}
	t.w.Int(callStart, t.meta.StartedAt+start)
	begin, end := c.Watches()
	t.watches(callWatches, begin, end)
	t.end(c)
	if c.Exit != nil {
		flags |= c.Exit.Flags
	}
	if flags != 0 {
		t.text(callFlags, strings.Join(flagNames(flags), ","))
	}
}

// end sets what is known of the call's end.
func (t *tableWriter) end(c *record.Call) {
	if c.Exit == nil {
		t.w.Text(callOutcome, "open")
		return
	}
	out := c.Out()
	t.json(callOut, len(out), out.AppendJSON)
	if c.Enter != nil || c.Exit.Duration != 0 {
		t.w.Int(callDuration, c.Exit.Duration)
		t.w.Int(callSelf, max(c.Exit.Duration-c.BelowNs, 0))
	}
	switch e := t.session.end(c.Exit); {
	case e.unwound:
		t.w.Text(callOutcome, "unwound")
		t.text(callThrown, e.thrown)
	case e.lost:
		t.w.Text(callOutcome, "lost")
	default:
		t.w.Text(callOutcome, "returned")
		if !e.has {
			return
		}
		if n, ok := e.result.Int64(); ok && e.result.Kind() == value.Int {
			t.w.Int(callRet, n)
		} else {
			t.json(callResult, 1, e.result.AppendJSON)
		}
	}
}

// watches are those of the begin and of the end of a call.
func (t *tableWriter) watches(col int, begin, end value.Object) {
	if len(begin)+len(end) == 0 {
		return
	}
	t.buf = append(t.buf[:0], `{"begin":`...)
	t.buf = begin.AppendJSON(t.buf)
	t.buf = append(t.buf, `,"end":`...)
	t.buf = append(end.AppendJSON(t.buf), '}')
	t.w.Bytes(col, t.buf)
}

func (t *tableWriter) events(ctx context.Context) error {
	all := uint32(1)<<event.NumKinds - 1
	return t.scan(ctx, store.Filter{Kinds: all &^ (1<<event.FunctionEnter | 1<<event.FunctionExit)},
		func(r *store.Row) error {
			t.head()
			t.event(r)
			t.report.Written++
			return t.w.EndRow()
		})
}

func (t *tableWriter) event(r *store.Row) {
	t.w.Int(eventID, r.ID)
	t.w.Text(eventKind, r.Kind.String())
	t.w.Int(eventTime, t.meta.StartedAt+r.TS)
	t.int(eventParent, r.Parent)
	if tr, ok := t.track(r.Thread); ok {
		t.w.Int(eventPID, int64(tr.PID))
		t.w.Int(eventTID, int64(tr.TID))
		t.text(eventThread, tr.Name)
	}
	t.text(eventFlags, strings.Join(flagNames(r.Flags), ","))
	switch {
	case !r.Kind.IsBytes():
		if o := object(r); o != nil {
			t.w.Bytes(eventText, o)
		}
		return
	case utf8.Valid(r.Payload):
		t.w.Bytes(eventText, r.Payload)
	default:
		t.w.Bytes(eventData, r.Payload)
	}
	t.text(eventStream, t.eventName(r))
}

// sessionColumns describe the recording. There is no column service: so the folders of a place are called.
var sessionColumns = []parquet.Column{text1("session"), textOr("commit"), textOr("host"), text1("id"),
	text1("service_name"), textOr("boot_id"), text1("command"), text1("args"), textOr("cwd"), textOr("project"),
	intOr("pid"), textOr("version"),
	int1("started_unix_ns"), intOr("ended_unix_ns"), textOr("status"), intOr("exit_code"), textOr("signal"),
	text1("interrupted"), int1("events"), int1("calls_made"), int1("calls_recorded"), int1("calls_sampled"),
	int1("calls_dropped"), int1("events_evicted"), int1("crashes")}

func (t *tableWriter) session1() error {
	t.head()
	r := t.st.Result()
	args, err := json.Marshal(t.meta.Args)
	if err != nil {
		return fmt.Errorf("write arguments: %w", err)
	}
	calls := t.report.Calls
	crashes := t.st.Stats().Events[event.Crash]
	exit := any(nil)
	if r.ExitCode != nil {
		exit = int64(*r.ExitCode)
	}
	for i, v := range []any{t.meta.SessionID, Service(t.meta), t.meta.BootID, t.meta.Command, string(args), t.meta.Cwd,
		t.meta.ProjectRoot, int64(t.meta.PID), t.meta.Version, t.meta.StartedAt, r.EndedAt, r.Status, exit, r.Signal,
		strconv.FormatBool(r.Interrupted), t.report.Events, calls.Made, calls.Recorded, calls.Sampled, calls.Dropped,
		t.report.Evicted, crashes} {
		col := i + callHost + 1
		switch v := v.(type) {
		case string:
			t.text(col, v)
		case int64:
			if v != 0 || !sessionColumns[col].Optional || sessionColumns[col].Name == "exit_code" {
				t.w.Int(col, v)
			}
		}
	}
	return t.w.EndRow()
}

// Service is what the session's program is called among others: the setting, else the program's name.
func Service(m store.Meta) string {
	if m.Service != "" {
		return valid(m.Service)
	}
	return valid(filepath.Base(m.Command))
}

// Day is when the session began, in UTC, as its tables' folders are called.
func Day(m store.Meta) string { return time.Unix(0, m.StartedAt).UTC().Format(time.DateOnly) }

// Name is what the session is called among those of all machines: its id and a number that tells it from others that
// have the same.
func Name(m store.Meta) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s\x00%d", m.SessionID, m.Host, m.BootID, m.StartedAt))
	id := strings.Map(func(r rune) rune { // a file from elsewhere may say anything
		if r < utf8.RuneSelf && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || strings.ContainsRune("0123456789-_.", r)) {
			return r
		}
		return '_'
	}, m.SessionID)
	return strings.TrimLeft(id[:min(len(id), 200)], ".") + "." + hex.EncodeToString(sum[:4])
}
