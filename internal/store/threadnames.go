package store

import (
	"context"
	"database/sql"
	"maps"

	"github.com/strobe-debug/strobe/internal/event"
)

// ThreadName is a name that a thread had from a moment on.
type ThreadName struct {
	FromTS int64 // nanoseconds since the session's start; 0: from its beginning
	Name   string
}

// maxThreadNames bounds the names that are kept of one thread: some programs show progress in theirs.
// Of more, the newest takes the place of the last.
const maxThreadNames = 256

// SetThreadName renames a thread: its events from fromTS on have the new name, earlier ones keep theirs. With fromTS 0
// it is its name from the beginning. fromTS must not lie before that of the name before.
func (s *Store) SetThreadName(id event.ThreadID, name string, fromTS int64) {
	s.namesMu.Lock()
	if int(id) >= len(s.threads) || s.threads[id].Name == name {
		s.namesMu.Unlock()
		return
	}
	old := s.threads[id]
	had := s.formerNames[id]
	if had == nil {
		had = []ThreadName{{Name: old.Name}}
	}
	next := make([]ThreadName, len(had), len(had)+1) // snapshots keep the old slice and map
	copy(next, had)
	switch last := len(next) - 1; {
	case fromTS <= next[last].FromTS, len(next) >= maxThreadNames:
		next[last].Name = name
	default:
		next = append(next, ThreadName{FromTS: fromTS, Name: name})
	}
	names := maps.Clone(s.formerNames)
	if names == nil {
		names = map[event.ThreadID][]ThreadName{}
	}
	names[id] = next
	if len(next) == 1 {
		delete(names, id)
	}
	s.formerNames = names
	if s.threadOf[old] == id {
		delete(s.threadOf, old)
	}
	s.threads[id].Name = name
	s.threadOf[s.threads[id]] = id
	s.renamed[id] = struct{}{}
	s.namesMu.Unlock()
	if s.w != nil {
		s.w.touch()
	}
}

// ThreadNames returns the names of the threads that had more than one, oldest first. Read only.
func (sn *Snapshot) ThreadNames() map[event.ThreadID][]ThreadName { return sn.threadNames }

func (s *Store) loadThreadNames(ctx context.Context, c *sql.Conn) error {
	names := map[event.ThreadID][]ThreadName{}
	err := query(ctx, c, "SELECT thread_id, from_ns, name FROM thread_names ORDER BY thread_id, from_ns",
		func(rows *sql.Rows) error {
			var id int64
			var n ThreadName
			if err := rows.Scan(&id, &n.FromTS, &n.Name); err != nil {
				return err
			}
			if id < 0 || id > idLimit || n.FromTS < 0 {
				return errDamaged
			}
			names[event.ThreadID(id)] = append(names[event.ThreadID(id)], n)
			return nil
		})
	if err == nil && len(names) > 0 {
		s.formerNames = names
	}
	return err
}
