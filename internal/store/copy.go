package store

import (
	"context"
	"errors"
	"fmt"
)

// Copy writes what is committed into a session file at path, which must not exist: one file without a log, as it was at
// one moment, whoever writes meanwhile. The copy of a session that still runs reads as one that was cut off there.
func (s *Store) Copy(ctx context.Context, path string) error {
	db, err := openSQL(s.path, map[string]string{"mode": "ro"}, "busy_timeout(2000)")
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "VACUUM INTO ?", path)
	if err = errors.Join(err, db.Close()); err != nil {
		return fmt.Errorf("copy session: %w", writeFault(path, err))
	}
	return nil
}
