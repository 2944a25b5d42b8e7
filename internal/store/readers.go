package store

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
)

const (
	// maxSnapshots bounds the snapshots open at once, and so the connections.
	maxSnapshots = 32
	// idleReaders connections are kept for the next snapshot.
	idleReaders = 4
)

// dbReader is one read connection with its statements. Used by one snapshot at a time, under its
// mutex.
type dbReader struct {
	preparer
	hot, cold, out *sql.Stmt
}

// readerPool keeps idle connections. Safe for concurrent use.
type readerPool struct {
	slots chan struct{}

	mu     sync.Mutex // leaf
	idle   []*dbReader
	closed bool
}

func (p *readerPool) init() { p.slots = make(chan struct{}, maxSnapshots) }

func openReaders(path string, params map[string]string) (*sql.DB, error) {
	db, err := openSQL(path, params, "busy_timeout(2000)", "query_only(1)", "cache_size(-1000)", "wal_autocheckpoint(0)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(maxSnapshots + 1)
	db.SetMaxIdleConns(0) // the pool is ours: a connection keeps its statements
	return db, nil
}

// get returns a connection; it waits while maxSnapshots are open.
func (p *readerPool) get(ctx context.Context, db *sql.DB) (*dbReader, error) {
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for a reader: %w", ctx.Err())
	}
	p.mu.Lock()
	closed := p.closed
	var r *dbReader
	if n := len(p.idle); n > 0 {
		r, p.idle = p.idle[n-1], p.idle[:n-1]
	}
	p.mu.Unlock()
	var err error
	switch {
	case closed:
		err = ErrClosed
	case r == nil:
		r, err = newReader(ctx, db)
	}
	if err != nil {
		<-p.slots
		return nil, err
	}
	return r, nil
}

const (
	hotSQL  = "SELECT data FROM chunk_hot WHERE id=?"
	coldSQL = "SELECT data FROM chunk_cold WHERE id=?"
)

func newReader(ctx context.Context, db *sql.DB) (*dbReader, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("open reader: %w", err)
	}
	r := &dbReader{preparer: preparer{conn: conn}}
	for _, p := range []struct {
		to  **sql.Stmt
		sql string
	}{
		{&r.hot, hotSQL},
		{&r.cold, coldSQL},
		{&r.out, "SELECT data, ret FROM outputs WHERE seq=?"},
	} {
		if *p.to, err = r.prepare(ctx, p.sql); err != nil {
			r.close()
			return nil, err
		}
	}
	return r, nil
}

// begin starts the read transaction.
func (r *dbReader) begin(ctx context.Context) error {
	if _, err := r.conn.ExecContext(ctx, "BEGIN"); err != nil {
		return fmt.Errorf("begin reading: %w", err)
	}
	// A transaction sees the file as of its first read, not of its BEGIN.
	var n int
	if err := r.conn.QueryRowContext(ctx, "SELECT count(*) FROM (SELECT 1 FROM kinds LIMIT 1)").Scan(&n); err != nil {
		return fmt.Errorf("begin reading: %w", err)
	}
	return nil
}

// put ends the transaction and takes the connection back.
func (p *readerPool) put(r *dbReader) {
	_, err := r.conn.ExecContext(context.Background(), "ROLLBACK")
	p.mu.Lock()
	keep := err == nil && !p.closed && len(p.idle) < idleReaders
	if keep {
		p.idle = append(p.idle, r)
	}
	p.mu.Unlock()
	if !keep {
		r.close()
	}
	<-p.slots
}

// close closes the idle connections; those in use close when they come back.
func (p *readerPool) close() {
	p.mu.Lock()
	idle := p.idle
	p.idle, p.closed = nil, true
	p.mu.Unlock()
	for _, r := range idle {
		r.close()
	}
}

// blob reads one value by id.
func blob(st *sql.Stmt, id int64) ([]byte, error) {
	var data []byte
	err := st.QueryRow(id).Scan(&data)
	return data, err
}
