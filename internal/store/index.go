package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// indexAppID marks strobe.db: "STRI".
const indexAppID = 0x53545249

// indexSchema is append only.
var indexSchema = []string{`
CREATE TABLE sessions(id TEXT PRIMARY KEY, project_root TEXT NOT NULL, started_at_ns INTEGER NOT NULL,
	status TEXT NOT NULL,
	retained INTEGER NOT NULL, doc TEXT NOT NULL);
CREATE INDEX sessions_by_start ON sessions(started_at_ns);
`, `
CREATE TABLE purges(id TEXT PRIMARY KEY, at_ns INTEGER NOT NULL, reason TEXT NOT NULL,
	size_bytes INTEGER NOT NULL) WITHOUT ROWID;
`, `
CREATE TABLE test_results(project TEXT NOT NULL, framework TEXT NOT NULL, test TEXT NOT NULL,
	at_ns INTEGER NOT NULL, duration_ns INTEGER NOT NULL, status TEXT NOT NULL,
	PRIMARY KEY(project, framework, test, at_ns)) WITHOUT ROWID;
`}

// maxPurges is how many deletions by age or space are remembered.
const maxPurges = 200

// Purge is a session that was deleted because of its age or of the space it took.
type Purge struct {
	ID        string
	At        int64  // unix nanoseconds
	Reason    string // for a reader
	SizeBytes int64
}

// StatusRunning is the status of a session whose daemon is expected to be alive; MarkInterrupted
// turns it into StatusInterrupted.
const (
	StatusRunning     = "running"
	StatusInterrupted = "interrupted"
)

// ErrExists is what Register returns for an id that is taken.
var ErrExists = errors.New("session exists")

// ErrNotFound is what Update returns for a session that is not in the index.
var ErrNotFound = errors.New("session not found")

// SessionInfo is one session in the list across sessions.
type SessionInfo struct {
	ID          string   `json:"id"`
	Name        string   `json:"name,omitempty"`
	Command     string   `json:"command"`
	Args        []string `json:"args,omitempty"`
	ProjectRoot string   `json:"projectRoot,omitempty"`
	Cwd         string   `json:"cwd,omitempty"`
	PID         int      `json:"pid,omitempty"`
	Runtime     string   `json:"runtime,omitempty"`
	Path        string   `json:"path"`                 // the session's database
	Core        *Core    `json:"core,omitempty"`       // of a session of a core file; Command is the program
	StartedAt   int64    `json:"startedAt"`            // unix nanoseconds
	EndedAt     int64    `json:"endedAt,omitempty"`    // unix nanoseconds, 0 while running
	ImportedAt  int64    `json:"importedAt,omitempty"` // unix nanoseconds: it was recorded elsewhere and taken in then
	Status      string   `json:"status"`               // StatusRunning, StatusInterrupted, or the session's word
	ExitCode    *int     `json:"exitCode,omitempty"`
	Signal      string   `json:"signal,omitempty"`
	Retained    bool     `json:"retained,omitempty"`
	Released    bool     `json:"released,omitempty"` // EndedAt is when the program was let go, not its end
	SizeBytes   int64    `json:"sizeBytes,omitempty"`
	EventCount  int64    `json:"eventCount,omitempty"`
}

// Index is strobe.db: the list of sessions. Safe for concurrent use, also by several processes.
type Index struct {
	path string
	db   *sql.DB
}

// OpenIndex opens or makes the index at path, mode 0600. It waits up to 5 s for another
// process. Errors: STORAGE_FULL, PERMISSION_DENIED, VALIDATION_ERROR for a file that is not an index, UNSUPPORTED
// for one of a newer strobe.
func OpenIndex(path string) (*Index, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("open session index: %w", writeFault(path, err))
	}
	// What it holds is a few rows per session: the safest settings cost nothing.
	db, err := openSQL(path, nil, "busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)")
	if err != nil {
		return nil, fmt.Errorf("open session index: %w", err)
	}
	db.SetMaxOpenConns(2)
	x := &Index{path: path, db: db}
	if err := x.migrate(); err != nil {
		return nil, fmt.Errorf("open session index: %w", errors.Join(err, db.Close()))
	}
	return x, nil
}

func (x *Index) migrate() error {
	ctx := context.Background()
	c, err := x.db.Conn(ctx)
	if err != nil {
		return openFault(x.path, writeFault(x.path, err))
	}
	return errors.Join(migrate(ctx, c, x.path, indexAppID, indexSchema), c.Close())
}

// Close closes the index.
func (x *Index) Close() error { return x.db.Close() }

// Register adds a session; an error that is ErrExists if the id is taken.
func (x *Index) Register(ctx context.Context, s SessionInfo) error {
	n, err := x.write(ctx, "INSERT OR IGNORE INTO sessions(project_root, started_at_ns, status, retained, doc, id) "+
		"VALUES(?,?,?,?,?,?)", s)
	if err == nil && n == 0 {
		err = ErrExists
	}
	if err != nil {
		return fmt.Errorf("register session %s: %w", s.ID, err)
	}
	return nil
}

// Update replaces what is known of session s.ID: how it ended, size, counts, whether it is
// retained. An error that is ErrNotFound if it is not registered.
func (x *Index) Update(ctx context.Context, s SessionInfo) error {
	n, err := x.write(ctx, "UPDATE sessions SET project_root=?, started_at_ns=?, status=?, retained=?, doc=? WHERE id=?",
		s)
	if err == nil && n == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("update session %s: %w", s.ID, err)
	}
	return nil
}

func (x *Index) write(ctx context.Context, stmt string, s SessionInfo) (int64, error) {
	s.ProjectRoot = strings.TrimRight(s.ProjectRoot, "/")
	doc, err := json.Marshal(s)
	if err != nil {
		return 0, err
	}
	res, err := x.db.ExecContext(ctx, stmt, s.ProjectRoot, s.StartedAt, s.Status, s.Retained, string(doc), s.ID)
	if err != nil {
		return 0, writeFault(x.path, err)
	}
	return res.RowsAffected()
}

// MarkInterrupted turns every session that still says StatusRunning, except those in alive, into
// StatusInterrupted and retained (its data is all there is to learn from), and returns them. The next daemon calls
// it at its start.
func (x *Index) MarkInterrupted(ctx context.Context, alive ...string) ([]SessionInfo, error) {
	all, err := x.list(ctx, "WHERE status=?", StatusRunning)
	if err != nil {
		return nil, err
	}
	var marked []SessionInfo
	for _, s := range all {
		if slices.Contains(alive, s.ID) {
			continue
		}
		s.Status, s.Retained = StatusInterrupted, true
		if s.SizeBytes = FileSize(s.Path); s.EndedAt == 0 {
			s.EndedAt = lastWritten(s.Path)
		}
		if err := x.Update(ctx, s); err != nil {
			return marked, err
		}
		marked = append(marked, s)
	}
	return marked, nil
}

// lastWritten returns when the session file was last written, in unix nanoseconds.
func lastWritten(path string) int64 {
	var t int64
	for _, suffix := range []string{"", "-wal"} {
		if fi, err := os.Stat(path + suffix); err == nil {
			t = max(t, fi.ModTime().UnixNano())
		}
	}
	return t
}

// List returns the sessions, oldest first; those of one project if projectRoot is not empty.
func (x *Index) List(ctx context.Context, projectRoot string) ([]SessionInfo, error) {
	if projectRoot == "" {
		return x.list(ctx, "")
	}
	return x.list(ctx, "WHERE project_root=?", strings.TrimRight(projectRoot, "/"))
}

// Get returns one session; ok is false if there is none.
func (x *Index) Get(ctx context.Context, id string) (s SessionInfo, ok bool, err error) {
	all, err := x.list(ctx, "WHERE id=?", id)
	if err != nil || len(all) == 0 {
		return SessionInfo{}, false, err
	}
	return all[0], true, nil
}

func (x *Index) list(ctx context.Context, where string, args ...any) ([]SessionInfo, error) {
	rows, err := x.db.QueryContext(ctx, "SELECT doc FROM sessions "+where+" ORDER BY started_at_ns, id", args...)
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	defer rows.Close()
	var out []SessionInfo
	for rows.Next() {
		var doc string
		var s SessionInfo
		if err := rows.Scan(&doc); err != nil {
			return nil, fmt.Errorf("list sessions: %w", err)
		}
		if err := json.Unmarshal([]byte(doc), &s); err != nil {
			return nil, fmt.Errorf("decode session: %w", err)
		}
		out = append(out, s)
	}
	return out, rows.Err()
}

// Delete forgets a session. It does not remove its file: see RemoveFile.
func (x *Index) Delete(ctx context.Context, id string) error {
	if _, err := x.db.ExecContext(ctx, "DELETE FROM sessions WHERE id=?", id); err != nil {
		return fmt.Errorf("delete session %s: %w", id, writeFault(x.path, err))
	}
	return nil
}

// AddPurge remembers a deletion; the oldest beyond 200 are forgotten.
func (x *Index) AddPurge(ctx context.Context, p Purge) error {
	_, err := x.db.ExecContext(ctx, "INSERT OR REPLACE INTO purges VALUES(?,?,?,?)", p.ID, p.At, p.Reason, p.SizeBytes)
	if err == nil {
		_, err = x.db.ExecContext(ctx, "DELETE FROM purges WHERE id NOT IN (SELECT id FROM purges ORDER BY at_ns DESC "+
			"LIMIT ?)", maxPurges)
	}
	if err != nil {
		return fmt.Errorf("remember that session %s was deleted: %w", p.ID, writeFault(x.path, err))
	}
	return nil
}

// Purges returns the deletions that are remembered, newest first.
func (x *Index) Purges(ctx context.Context) ([]Purge, error) {
	rows, err := x.db.QueryContext(ctx, "SELECT id, at_ns, reason, size_bytes FROM purges ORDER BY at_ns DESC, id")
	if err != nil {
		return nil, fmt.Errorf("list deleted sessions: %w", err)
	}
	defer rows.Close()
	var out []Purge
	for rows.Next() {
		var p Purge
		if err := rows.Scan(&p.ID, &p.At, &p.Reason, &p.SizeBytes); err != nil {
			return nil, fmt.Errorf("list deleted sessions: %w", err)
		}
		out = append(out, p)
	}
	return out, rows.Err()
}

// RemoveFile removes a session's file and what SQLite keeps beside it. A missing file is no
// error.
func RemoveFile(path string) error {
	var errs []error
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, fmt.Errorf("remove session file: %w", err))
		}
	}
	if err := os.RemoveAll(ReadsDir(path)); err != nil {
		errs = append(errs, fmt.Errorf("remove session file: %w", err))
	}
	return errors.Join(errs...)
}

// ReadsDir is the directory of what a session's user had read into files. It goes with the session's file, which is
// path.
func ReadsDir(path string) string { return strings.TrimSuffix(path, ".db") + ".reads" }
