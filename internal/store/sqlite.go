package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"modernc.org/sqlite"

	"github.com/strobe-debug/strobe/internal/fault"
)

// This file is all that knows the driver.

// SQLite result codes that we tell apart; extended codes have them in the low byte.
const (
	codeBusy     = 5
	codeReadOnly = 8
	codeIOErr    = 10
	codeCorrupt  = 11
	codeFull     = 13
	codeCantOpen = 14
	codeNotADB   = 26
)

// ioErrWrites are the extended codes of SQLITE_IOERR that a full disk gives as well: WRITE,
// FSYNC, TRUNCATE, SHMOPEN, SHMSIZE, SHMMAP.
var ioErrWrites = map[int]bool{
	codeIOErr | 3<<8: true, codeIOErr | 4<<8: true, codeIOErr | 6<<8: true,
	codeIOErr | 18<<8: true, codeIOErr | 19<<8: true, codeIOErr | 21<<8: true,
}

// openSQL opens a database file with these URI parameters and pragmas. Every connection of the
// result applies the pragmas.
func openSQL(path string, params map[string]string, pragmas ...string) (*sql.DB, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("resolve %s: %w", path, err)
	}
	q := url.Values{}
	for k, v := range params {
		q.Set(k, v)
	}
	for _, p := range pragmas {
		q.Add("_pragma", p)
	}
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(abs), RawQuery: q.Encode()}
	// NewConnector is the documented way without the blank import's registration.
	c, err := sqlite.NewConnector(u.String())
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return sql.OpenDB(c), nil
}

// openMemory opens a database of its own that is in no file. It has one connection.
func openMemory() (*sql.DB, error) {
	c, err := sqlite.NewConnector(":memory:")
	if err != nil {
		return nil, fmt.Errorf("open a database in memory: %w", err)
	}
	db := sql.OpenDB(c)
	db.SetMaxOpenConns(1)
	return db, nil
}

// sqlCode returns SQLite's extended result code in err, or 0.
func sqlCode(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code()
	}
	return 0
}

// isFull reports whether err says that the disk, or a quota, is full.
func isFull(err error) bool {
	c := sqlCode(err)
	return c&0xff == codeFull || ioErrWrites[c] || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// isReadOnly reports whether err says that the file or its folder cannot be written.
func isReadOnly(err error) bool {
	c := sqlCode(err) & 0xff
	return c == codeReadOnly || c == codeCantOpen || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}

// isNotOurs reports whether err says that the file is no intact SQLite database.
func isNotOurs(err error) bool {
	c := sqlCode(err) & 0xff
	return c == codeNotADB || c == codeCorrupt
}

// writeFault gives a failed write its code.
func writeFault(path string, err error) error {
	switch {
	case err == nil:
		return nil
	case isFull(err):
		return fault.New(fault.StorageFull, "Free disk space, or delete old sessions with debug_session action delete.",
			"write %s: no space left: %w", path, err)
	case isReadOnly(err):
		return fault.New(fault.PermissionDenied, "Set STROBE_HOME to a folder that you can write.", "write %s: %w", path, err)
	}
	return fmt.Errorf("write %s: %w", path, err)
}

// execAll runs statements on one connection.
func execAll(ctx context.Context, c *sql.Conn, stmts ...string) error {
	for _, s := range stmts {
		if _, err := c.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("run %.40q: %w", s, err)
		}
	}
	return nil
}

// migrate brings the schema to the end of list, each step in a transaction, those of a new file in one, and refuses a
// file that is not ours or newer.
func migrate(ctx context.Context, c *sql.Conn, path string, appID int32, list []string) error {
	version, err := schemaVersion(ctx, c, path, appID, len(list))
	if err != nil {
		return err
	}
	for v := version; v < len(list); {
		steps := list[v : v+1]
		if version == 0 {
			steps = list
		}
		v += len(steps)
		err := execAll(ctx, c, "BEGIN IMMEDIATE", strings.Join(steps, ";\n"),
			"PRAGMA user_version="+strconv.Itoa(v), "PRAGMA application_id="+strconv.Itoa(int(appID)), "COMMIT")
		if err != nil {
			_, _ = c.ExecContext(ctx, "ROLLBACK") // the first error is the one that counts
			return fmt.Errorf("migrate to schema %d: %w", v, writeFault(path, err))
		}
	}
	return nil
}

// schemaVersion returns the file's schema version, 0 for an empty file.
func schemaVersion(ctx context.Context, c *sql.Conn, path string, appID int32, newest int) (int, error) {
	var version, id, tables int
	err := c.QueryRowContext(ctx, "SELECT (SELECT user_version FROM pragma_user_version), "+
		"(SELECT application_id FROM pragma_application_id), (SELECT count(*) FROM sqlite_schema)").Scan(&version, &id,
		&tables)
	switch {
	case err != nil && isNotOurs(err):
		return 0, fault.New(fault.ValidationError, "Give the path of a file that strobe recorded.",
			"%s is not an intact strobe database: %w", path, err)
	case err != nil:
		return 0, fmt.Errorf("read schema of %s: %w", path, err)
	case version == 0 && tables == 0:
		return 0, nil
	case int32(id) != appID:
		return 0, fault.New(fault.ValidationError, "Give the path of a file that strobe recorded.",
			"%s is a SQLite database, but not of the kind expected", path)
	case version > newest:
		return 0, fault.New(fault.Unsupported, "Install the strobe that wrote it, or a newer one.",
			"%s has schema %d, this strobe knows up to %d", path, version, newest)
	}
	return version, nil
}

// preparer prepares statements on one connection and closes them with it: database/sql leaves
// statements of a sql.Conn open, and SQLite then keeps the connection and its files.
type preparer struct {
	conn *sql.Conn
	all  []*sql.Stmt
}

func (p *preparer) prepare(ctx context.Context, stmt string) (*sql.Stmt, error) {
	s, err := p.conn.PrepareContext(ctx, stmt)
	if err != nil {
		return nil, fmt.Errorf("prepare %.30q: %w", stmt, err)
	}
	p.all = append(p.all, s)
	return s, nil
}

func (p *preparer) closeStmts() {
	for _, s := range p.all {
		_ = s.Close() // what was committed is committed; nothing else can be lost
	}
}

// close closes the statements and the connection.
func (p *preparer) close() {
	p.closeStmts()
	_ = p.conn.Close()
}
