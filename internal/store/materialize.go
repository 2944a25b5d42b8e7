package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/strobe-debug/strobe/internal/event"
)

const (
	// maxMaterialized events become rows, 60 bytes each: a full session of the default limit, one
	// block over it, and its output.
	maxMaterialized = 250_000
	// materializeRows rows go into one transaction, so that a writer beside it waits 10 ms.
	materializeRows = 2000
)

// Render turns captured bytes into JSON for view events: arguments of an enter, the result of
// an exit; "" is NULL. f is nil for an event that is not a call.
type Render func(r *Row, f *event.Function) (arguments, returnValue string)

// Materialize fills view events with one row per event, for people with sqlite3. The session
// calls it once, when the target has ended and before Close. It returns how many rows there are, 0 if
// the session has more than 250,000 events: then a query or an export has to do.
func (s *Store) Materialize(ctx context.Context, render Render) (int64, error) {
	if s.w == nil {
		return 0, ErrReadOnly
	}
	n, err := s.materialize(ctx, render)
	if err != nil {
		return 0, fmt.Errorf("fill view events: %w", writeFault(s.path, err))
	}
	return n, nil
}

func (s *Store) materialize(ctx context.Context, render Render) (n int64, err error) {
	if err := s.Flush(ctx); err != nil {
		return 0, err
	}
	sn, err := s.Snapshot(ctx)
	if err != nil {
		return 0, err
	}
	defer sn.Close()
	if total, err := sn.Count(ctx, Filter{}); err != nil || total > maxMaterialized {
		return 0, err
	}
	db, err := openSQL(s.path, nil, "busy_timeout(5000)", "synchronous(NORMAL)", "wal_autocheckpoint(0)")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	conn, err := db.Conn(ctx)
	if err != nil {
		return 0, err
	}
	p := preparer{conn: conn}
	defer p.close()
	insert, err := p.prepare(ctx, "INSERT OR REPLACE INTO event_rows VALUES(?,?,?,?,?,?,?,?,?)")
	if err != nil {
		return 0, err
	}
	m := materializer{sn: sn, p: &p, insert: insert, render: render}
	err = sn.Scan(ctx, Filter{}, ScanOptions{Cold: true}, m.row)
	return m.n, errors.Join(err, m.err, m.end())
}

type materializer struct {
	sn     *Snapshot
	p      *preparer
	insert *sql.Stmt
	render Render
	n      int64
	open   bool
	err    error
}

// row inserts one row; it begins and ends transactions.
func (m *materializer) row(r *Row) bool {
	if !m.open {
		if m.err = execAll(context.Background(), m.p.conn, "BEGIN IMMEDIATE"); m.err != nil {
			return false
		}
		m.open = true
	}
	var fn, args, ret, dur any
	if r.Kind.IsCall() && int(r.Func) < len(m.sn.functions) {
		fn = int64(r.Func)
		a, v := m.render(r, &m.sn.functions[r.Func])
		args, ret = nullable(a), nullable(v)
		if r.Kind == event.FunctionExit {
			dur = r.Duration
		}
	}
	var parent any
	if r.Parent != 0 {
		parent = r.Parent
	}
	if _, m.err = m.insert.Exec(r.ID, r.TS, int64(r.Thread), parent, int64(r.Kind), fn, args, ret, dur); m.err != nil {
		return false
	}
	if m.n++; m.n%materializeRows == 0 {
		m.err = m.end()
	}
	return m.err == nil
}

// end commits the transaction that is open, or takes it back after an error.
func (m *materializer) end() error {
	if !m.open {
		return nil
	}
	m.open = false
	if m.err != nil {
		return execAll(context.Background(), m.p.conn, "ROLLBACK")
	}
	return execAll(context.Background(), m.p.conn, "COMMIT")
}

func nullable(s string) any {
	if s == "" {
		return nil
	}
	return s
}
