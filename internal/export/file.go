package export

import "context"

// file is the session's own file, as one that can be given away: `strobe import` takes it in, and every command that
// takes a FILE.db reads it.
var file = &Format{Name: "session", Extension: ".db", file: writeSession,
	About: "the session's own file, for `strobe import` on another machine"}

func writeSession(ctx context.Context, s *session, path string) error {
	if err := s.st.Copy(ctx, path); err != nil {
		return err
	}
	s.report.Written = s.report.Events
	return nil
}
