package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/strobe-debug/strobe/internal/fault"
)

// Copy writes what is committed into a session file at path, which must not exist: one file without a log, as it was at
// one moment, whoever writes meanwhile. The copy of a session that still runs reads as one that was cut off there.
func (s *Store) Copy(ctx context.Context, path string) error {
	if err := copySession(ctx, s.path, path); err != nil {
		return fmt.Errorf("copy session: %w", writeFault(path, err))
	}
	return nil
}

// copyPragmas: a file of somebody else's is looked at with as little trust as SQLite can have.
var copyPragmas = []string{"busy_timeout(2000)", "trusted_schema(0)", "cell_size_check(1)"}

func copySession(ctx context.Context, from, to string) error {
	return reading(ctx, from, func(c *sql.Conn) error {
		_, err := c.ExecContext(ctx, "VACUUM INTO ?", to)
		return err
	})
}

// reading calls fn with a connection to a file that is only read. On a medium that cannot be written a file with a log
// needs immutable; see open.
func reading(ctx context.Context, path string, fn func(*sql.Conn) error) error {
	var first error
	for _, params := range []map[string]string{{"mode": "ro"}, {"mode": "ro", "immutable": "1"}} {
		db, err := openSQL(path, params, copyPragmas...)
		if err != nil {
			return err
		}
		conn, err := db.Conn(ctx)
		if err == nil {
			err = errors.Join(fn(conn), conn.Close())
		}
		if err = errors.Join(err, db.Close()); !isReadOnly(err) {
			return err
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// Import copies a session file that comes from elsewhere to path, which must not exist or be empty, and checks the copy
// as Check does. From is only read. Error: VALIDATION_ERROR for what is no session, has anything in it that a session
// does not have, or is damaged; UNSUPPORTED for one of a newer schema. After an error nothing is at path.
func Import(ctx context.Context, from, path string) (err error) {
	if info, err := os.Stat(path); err == nil && info.Size() > 0 {
		return fmt.Errorf("import session to %s: %w", path, fs.ErrExist)
	}
	if err := checkSchema(ctx, from); err != nil {
		var told *fault.Error
		if !errors.As(err, &told) {
			err = openFault(from, err)
		}
		return fmt.Errorf("import session: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, RemoveFile(path))
		}
	}()
	if err := copySession(ctx, from, path); isNotOurs(err) {
		return fmt.Errorf("import session: %w", openFault(from, err))
	} else if err != nil {
		return fmt.Errorf("import session: %w", writeFault(path, err))
	}
	problems, err := Check(ctx, path)
	if err != nil {
		return fmt.Errorf("import session: %w", err)
	}
	if n := len(problems); n > 0 {
		return fault.New(fault.ValidationError, "Ask for another copy: strobe export --format session writes one.",
			"%s is damaged: %d problems, the first: %s", from, n, problems[0])
	}
	return nil
}

// checkSchema refuses a file whose tables, views and indexes are not those of a session: a trigger or a view in their
// place would run at our reading.
func checkSchema(ctx context.Context, path string) error {
	var got map[string]string
	var version int
	err := reading(ctx, path, func(conn *sql.Conn) (err error) {
		if version, err = schemaVersion(ctx, conn, path, sessionAppID, len(sessionSchema)); err == nil {
			got, err = schemaOf(ctx, conn)
		}
		return err
	})
	if err != nil {
		return err
	}
	if version == 0 {
		return fault.New(fault.ValidationError, "Give the path of a file that strobe recorded.", "%s has no session in it",
			path)
	}
	want, err := expectedSchema(ctx, version)
	if err != nil {
		return err
	}
	const hint = "Ask for another copy: strobe export --format session writes one."
	for name, stmt := range got {
		if want[name] != stmt {
			return fault.New(fault.ValidationError, hint, "%s has %s, which is not a session's", path, name)
		}
	}
	if len(got) != len(want) {
		return fault.New(fault.ValidationError, hint, "%s has %d of a session's %d tables, views and indexes", path,
			len(got), len(want))
	}
	return nil
}

// expectedSchema is what a session file of that version has.
func expectedSchema(ctx context.Context, version int) (map[string]string, error) {
	db, err := openMemory()
	if err != nil {
		return nil, err
	}
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := execAll(ctx, conn, strings.Join(sessionSchema[:version], ";\n")); err != nil {
		return nil, err
	}
	return schemaOf(ctx, conn)
}

// schemaOf returns the statement that made each object of a database.
func schemaOf(ctx context.Context, c *sql.Conn) (map[string]string, error) {
	all := map[string]string{}
	err := query(ctx, c, "SELECT type || ' ' || name, coalesce(sql,'') FROM sqlite_schema", func(rows *sql.Rows) error {
		var name, stmt string
		err := rows.Scan(&name, &stmt)
		all[name] = stmt
		return err
	})
	return all, err
}

// SetSessionID gives a copy of a session the id that it has here.
func SetSessionID(ctx context.Context, path, id string) error {
	db, err := openSQL(path, map[string]string{"mode": "rw"}, copyPragmas...)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "UPDATE meta SET value=json_set(CAST(value AS TEXT),'$.sessionId',?) WHERE key='session'",
		id)
	if err = errors.Join(err, db.Close()); err != nil {
		return fmt.Errorf("name session %s: %w", id, writeFault(path, err))
	}
	return nil
}
