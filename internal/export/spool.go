package export

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/strobe-debug/strobe/internal/event"
)

const (
	// spoolMemory is shared by the buffers of all threads; what is more goes to a file.
	spoolMemory = 8 << 20
	// spoolLeast and spoolMost bound one thread's buffer.
	spoolLeast = 1 << 10
	spoolMost  = 64 << 10
)

// spool takes what is written for many threads in turn and gives it back thread by thread. Not safe for concurrent use.
// Close removes its file.
type spool struct {
	dir   string // of the file; "": the system's for such files
	room  int    // of a thread's buffer
	file  *os.File
	size  int64
	lanes map[event.ThreadID]*spoolLane
}

// spoolLane is what one thread has: pieces of the file, and behind them the buffer.
type spoolLane struct {
	pieces []piece
	buf    []byte
}

type piece struct {
	at int64
	n  int
}

func newSpool(dir string, threads int) *spool {
	return &spool{dir: dir, room: min(max(spoolMemory/max(threads, 1), spoolLeast), spoolMost),
		lanes: map[event.ThreadID]*spoolLane{}}
}

// write appends b to what a thread has.
func (s *spool) write(id event.ThreadID, b []byte) error {
	l := s.lanes[id]
	if l == nil {
		l = &spoolLane{}
		s.lanes[id] = l
	}
	if len(l.buf)+len(b) > s.room && len(l.buf) > 0 {
		if err := s.flush(l); err != nil {
			return err
		}
	}
	l.buf = append(l.buf, b...)
	return nil
}

func (s *spool) flush(l *spoolLane) (err error) {
	if s.file == nil {
		if s.file, err = os.CreateTemp(s.dir, "strobe-spool-"); err != nil {
			return fmt.Errorf("make file for threads' events: %w", err)
		}
	}
	if _, err := s.file.WriteAt(l.buf, s.size); err != nil {
		return fmt.Errorf("write threads' events: %w", err)
	}
	l.pieces = append(l.pieces, piece{s.size, len(l.buf)})
	s.size += int64(len(l.buf))
	l.buf = l.buf[:0]
	return nil
}

// copyTo writes all that a thread has, in the order in which it came.
func (s *spool) copyTo(w io.Writer, id event.ThreadID) error {
	l := s.lanes[id]
	if l == nil {
		return nil
	}
	for _, p := range l.pieces {
		if _, err := io.Copy(w, io.NewSectionReader(s.file, p.at, int64(p.n))); err != nil {
			return fmt.Errorf("read threads' events: %w", err)
		}
	}
	_, err := w.Write(l.buf)
	return err
}

func (s *spool) close() error {
	if s.file == nil {
		return nil
	}
	return errors.Join(s.file.Close(), os.Remove(s.file.Name()))
}
