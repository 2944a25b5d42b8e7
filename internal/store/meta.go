package store

import (
	"context"
	"errors"
)

var errSoon = errors.New("not in place yet")

// SessionInfo is one session in the list across sessions.
type SessionInfo struct {
	ID          string
	Name        string
	Command     string
	Args        []string
	ProjectRoot string
	Cwd         string
	PID         int
	Runtime     string
	Path        string // the session's database
	StartedAt   int64  // unix nanoseconds
	EndedAt     int64  // unix nanoseconds, 0 while running
	Status      string // running, exited, crashed, stopped, interrupted: the session's word
	ExitCode    *int
	Signal      string
	Retained    bool
	SizeBytes   int64
	EventCount  int64
}

// Index is strobe.db: the list of sessions. Safe for concurrent use, also by several processes.
type Index struct{}

// OpenIndex opens or makes the index at path.
func OpenIndex(path string) (*Index, error) { return nil, errSoon }

// Close closes the index.
func (x *Index) Close() error { return nil }

// Register adds a session; ErrExists (errors.Is) if the id is taken.
func (x *Index) Register(ctx context.Context, s SessionInfo) error { return errSoon }

// Update replaces what is known of session s.ID: how it ended, size, counts, retained.
func (x *Index) Update(ctx context.Context, s SessionInfo) error { return errSoon }

// MarkInterrupted turns every session that still says running, except those in alive, into
// interrupted, and returns them.
func (x *Index) MarkInterrupted(ctx context.Context, alive ...string) ([]SessionInfo, error) {
	return nil, errSoon
}

// List returns the sessions, oldest first; of one project if projectRoot is not empty.
func (x *Index) List(ctx context.Context, projectRoot string) ([]SessionInfo, error) {
	return nil, errSoon
}

// Get returns one session; ok is false if there is none.
func (x *Index) Get(ctx context.Context, id string) (s SessionInfo, ok bool, err error) {
	return s, false, errSoon
}

// Delete forgets a session. It does not remove its file.
func (x *Index) Delete(ctx context.Context, id string) error { return errSoon }
