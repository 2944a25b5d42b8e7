package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Flat writes an SQLite file for people and their tools: one table with everything about each event in its row. It is
// no session file: nothing reads it back. Not safe for concurrent use.
type Flat struct {
	path   string
	db     *sql.DB
	p      preparer
	insert *sql.Stmt
}

// FlatRow is one event of a Flat. "" and the zero numbers of what an event does not have are NULL; Duration and Depth
// of a call always count.
type FlatRow struct {
	ID, TS                      int64 // nanoseconds since the session's start
	Kind                        string
	Call, Exit                  bool
	PID, TID                    int32
	Thread                      string
	Function, Raw, Module, File string
	Line                        int
	Parent, Enter               int64
	Depth                       int32
	Duration                    int64
	Arguments, Result           string // JSON, as the next two
	Out, Watches                string
	Outcome, Thrown, Flags      string
	Stream, Text                string
	Data                        []byte // instead of Text, where it is not UTF-8
}

const flatSchema = `
CREATE TABLE session(key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE events(id INTEGER PRIMARY KEY, timestamp_ns INTEGER NOT NULL, event_type TEXT NOT NULL, pid INTEGER,
	thread_id INTEGER, thread_name TEXT, function TEXT, function_raw TEXT, module TEXT, source_file TEXT,
	line_number INTEGER, parent_event_id INTEGER, enter_event_id INTEGER, depth INTEGER, duration_ns INTEGER,
	arguments TEXT, return_value TEXT, out_values TEXT, watch_values TEXT, outcome TEXT, thrown TEXT, flags TEXT,
	stream TEXT, text TEXT, data BLOB);
CREATE VIEW calls AS SELECT e.id, e.timestamp_ns, x.duration_ns, e.pid, e.thread_id, e.thread_name, e.function,
	e.source_file, e.line_number, e.parent_event_id, e.depth, e.arguments, x.return_value, x.outcome, x.thrown,
	x.id AS exit_event_id
	FROM events e LEFT JOIN events x ON x.enter_event_id = e.id WHERE e.event_type = 'function_enter';
`

// flatIndexes are made behind the rows: that is several times as fast.
var flatIndexes = []string{
	"CREATE INDEX events_by_function ON events(function, event_type)",
	"CREATE INDEX events_by_type ON events(event_type, timestamp_ns)",
	"CREATE INDEX events_by_thread ON events(thread_id, timestamp_ns)",
	"CREATE INDEX events_by_parent ON events(parent_event_id) WHERE parent_event_id IS NOT NULL",
	"CREATE INDEX events_by_enter ON events(enter_event_id) WHERE enter_event_id IS NOT NULL",
	"CREATE INDEX events_by_duration ON events(duration_ns) WHERE duration_ns IS NOT NULL",
}

// CreateFlat makes the file, which must not exist, with what about says of its session. Call Finish or Abandon.
func CreateFlat(ctx context.Context, path string, about [][2]string) (*Flat, error) {
	db, err := openSQL(path, nil, "journal_mode(OFF)", "synchronous(OFF)", "locking_mode(EXCLUSIVE)", "cache_size(-16000)")
	if err != nil {
		return nil, err
	}
	f := &Flat{path: path, db: db}
	if f.p.conn, err = db.Conn(ctx); err != nil {
		return nil, errors.Join(writeFault(path, err), db.Close())
	}
	if err := f.begin(ctx, about); err != nil {
		f.Abandon()
		return nil, writeFault(path, err)
	}
	return f, nil
}

func (f *Flat) begin(ctx context.Context, about [][2]string) (err error) {
	if err = execAll(ctx, f.p.conn, flatSchema, "BEGIN"); err != nil {
		return err
	}
	for _, kv := range about {
		if _, err = f.p.conn.ExecContext(ctx, "INSERT INTO session VALUES(?,?)", kv[0], kv[1]); err != nil {
			return err
		}
	}
	f.insert, err = f.p.prepare(ctx, "INSERT INTO events VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)")
	return err
}

// Add adds a row.
func (f *Flat) Add(r *FlatRow) error {
	var depth, duration, data any
	if r.Call {
		depth = r.Depth
	}
	if r.Exit {
		duration = r.Duration
	}
	if r.Data != nil {
		data = r.Data
	}
	_, err := f.insert.Exec(r.ID, r.TS, r.Kind, number(int64(r.PID)), number(int64(r.TID)), nullable(r.Thread),
		nullable(r.Function), nullable(r.Raw), nullable(r.Module), nullable(r.File), number(int64(r.Line)),
		number(r.Parent), number(r.Enter), depth, duration, nullable(r.Arguments), nullable(r.Result),
		nullable(r.Out), nullable(r.Watches), nullable(r.Outcome), nullable(r.Thrown), nullable(r.Flags),
		nullable(r.Stream), nullable(r.Text), data)
	return writeFault(f.path, err)
}

// number is n, or NULL for 0.
func number(n int64) any {
	if n == 0 {
		return nil
	}
	return n
}

// Finish makes the indexes and closes the file.
func (f *Flat) Finish(ctx context.Context) error {
	err := execAll(ctx, f.p.conn, "COMMIT")
	if err == nil {
		err = execAll(ctx, f.p.conn, flatIndexes...)
	}
	f.p.close()
	if err = errors.Join(err, f.db.Close()); err != nil {
		return fmt.Errorf("finish %s: %w", f.path, writeFault(f.path, err))
	}
	return nil
}

// Abandon closes a file that will not be complete.
func (f *Flat) Abandon() {
	f.p.close()
	_ = f.db.Close() // nobody wants it
}
