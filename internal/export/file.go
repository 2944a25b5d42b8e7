package export

import (
	"context"
	"errors"
	"fmt"

	"github.com/strobe-debug/strobe/internal/store"
)

// file is the session's own file, as one that can be given away: `strobe import` takes it in, and every command that
// takes a FILE.db reads it.
var file = &Format{Name: "session", Extension: ".db", file: writeSession,
	About: "the session's own file, for `strobe import` on another machine"}

// writeSession copies the file. It may have grown since it was opened: what is counted is the copy.
func writeSession(ctx context.Context, s *session, path string) error {
	if err := s.st.Copy(ctx, path); err != nil {
		return err
	}
	st, err := store.Open(path)
	if err != nil {
		return err
	}
	err = s.recount(ctx, st)
	return errors.Join(err, st.Close())
}

func (s *session) recount(ctx context.Context, st *store.Store) error {
	sn, err := st.Snapshot(ctx)
	if err != nil {
		return err
	}
	defer sn.Close()
	n, err := sn.Count(ctx, store.Filter{})
	if err != nil {
		return fmt.Errorf("count events: %w", err)
	}
	s.report.Events, s.report.Written = n, n
	s.report.Evicted, s.report.Calls = st.Stats().Evicted, st.Calls()
	return nil
}
