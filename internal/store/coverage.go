package store

import (
	"context"
	"database/sql"
	"slices"

	"github.com/strobe-debug/strobe/internal/event"
)

// Covered is a function that was watched for whether it runs at all.
type Covered struct {
	Name, File, Module string
	Line               int
	Ran                bool
	FirstTS            int64          // of Ran: when it first did, nanoseconds since the session's start
	Thread             event.ThreadID // of Ran
	State              string         // why it was not watched to the end; "": it was
}

// coverage are the functions that are watched for whether they run. Guarded by Store.namesMu.
type coverage struct {
	all   []Covered
	fresh map[int]struct{} // not yet written
}

// maxCovered bounds the functions of one session that are watched.
const maxCovered = 1 << 20

// Cover adds functions that are watched from now on and returns the number of the first, below 0 where they are too
// many; those of the others follow.
func (s *Store) Cover(all []Covered) (first int) {
	if s.w == nil {
		return -1
	}
	s.namesMu.Lock()
	defer s.w.touch()
	defer s.namesMu.Unlock()
	if first = len(s.coverage.all); first+len(all) > maxCovered {
		return -1
	}
	s.coverage.all = append(s.coverage.all, all...)
	for i := range all {
		s.freshCoverLocked(first + i)
	}
	return first
}

// Covered tells that a function of that number ran for the first time, or with state why it is not watched any more.
func (s *Store) Covered(id int, ran bool, ts int64, thread event.ThreadID, state string) {
	if s.w == nil {
		return
	}
	s.namesMu.Lock()
	defer s.w.touch()
	defer s.namesMu.Unlock()
	if id < 0 || id >= len(s.coverage.all) {
		return
	}
	c := &s.coverage.all[id]
	if ran && (!c.Ran || ts < c.FirstTS) {
		c.Ran, c.FirstTS, c.Thread = true, ts, thread
	}
	c.State = state
	s.freshCoverLocked(id)
}

func (s *Store) freshCoverLocked(id int) {
	if s.coverage.fresh == nil {
		s.coverage.fresh = map[int]struct{}{}
	}
	s.coverage.fresh[id] = struct{}{}
}

func (s *Store) takeCoveredLocked() map[int]Covered {
	if len(s.coverage.fresh) == 0 {
		return nil
	}
	out := make(map[int]Covered, len(s.coverage.fresh))
	for id := range s.coverage.fresh {
		out[id] = s.coverage.all[id]
	}
	clear(s.coverage.fresh)
	return out
}

// Coverage returns the functions that were watched for whether they run, in the order in which they were found.
func (s *Store) Coverage() []Covered {
	s.namesMu.RLock()
	defer s.namesMu.RUnlock()
	return slices.Clone(s.coverage.all)
}

func (s *Store) loadCoverage(ctx context.Context, c *sql.Conn) error {
	return query(ctx, c, "SELECT name, file, line, module, first_ns, thread_id, state FROM coverage ORDER BY id",
		func(rows *sql.Rows) error {
			var f Covered
			var first, thread sql.NullInt64
			if err := rows.Scan(&f.Name, &f.File, &f.Line, &f.Module, &first, &thread, &f.State); err != nil {
				return err
			}
			f.Ran, f.FirstTS, f.Thread = first.Valid, first.Int64, event.ThreadID(thread.Int64)
			if len(s.coverage.all) < maxCovered {
				s.coverage.all = append(s.coverage.all, f)
			}
			return nil
		})
}
