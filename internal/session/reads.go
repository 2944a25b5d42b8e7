package session

import (
	"fmt"
	"os"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/store"
)

// KeepBytes writes memory that was read into a file of the session's, which goes when the session is deleted, and
// returns its path.
func (s *Session) KeepBytes(addr string, b []byte) (string, error) {
	if err := s.m.room(); err != nil {
		return "", err
	}
	dir := store.ReadsDir(s.m.path(s.ID))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("keep what was read: %w", err)
	}
	f, err := os.CreateTemp(dir, fmt.Sprintf("%s-%d-*.bin", addr, len(b))) // mode 0600
	if err != nil {
		return "", fmt.Errorf("keep what was read: %w", err)
	}
	_, err = f.Write(b)
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		os.Remove(f.Name()) //nolint:errcheck // it is what fills the disk
		return "", fault.New(fault.StorageFull, "Free some space, or read less.", "write %d bytes to %s: %w", len(b),
			f.Name(), err)
	}
	return f.Name(), nil
}
