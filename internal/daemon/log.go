package daemon

import (
	"fmt"
	"os"
	"sync"
)

// maxLogBytes bounds daemon.log; one older file of the same size is kept beside it.
const maxLogBytes = 10 << 20

// rotatingLog is a file that moves itself aside when it is full. Safe for concurrent use.
type rotatingLog struct {
	path string
	max  int64
	// capture also takes this process's stdout and stderr, so that a crash report lands here.
	capture bool

	mu   sync.Mutex // leaf
	f    *os.File
	size int64
}

func openLog(path string, max int64, capture bool) (*rotatingLog, error) {
	l := &rotatingLog{path: path, max: max, capture: capture}
	if err := l.openLocked(); err != nil {
		return nil, err
	}
	return l, nil
}

func (l *rotatingLog) openLocked() error {
	f, err := os.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND|noFollow, 0o600)
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return fmt.Errorf("open log: %w", err)
	}
	if l.capture {
		if err := redirectOutput(f); err != nil {
			f.Close()
			return err
		}
	}
	if l.f != nil {
		l.f.Close()
	}
	l.f, l.size = f, info.Size()
	return nil
}

func (l *rotatingLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.size > 0 && l.size+int64(len(p)) > l.max {
		// A log that cannot be moved aside goes on in the old file: worse than rotated, better than lost.
		if os.Rename(l.path, l.path+".1") == nil {
			if err := l.openLocked(); err != nil {
				l.size = 0 // do not try again for every line
			}
		}
	}
	n, err := l.f.Write(p)
	l.size += int64(n)
	return n, err
}
