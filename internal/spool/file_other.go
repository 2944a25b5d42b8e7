//go:build unix && !linux

package spool

import "os"

// newFile makes a file without a name among the temporary ones.
func newFile() (*os.File, error) {
	f, err := os.CreateTemp("", "strobe-spool-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// allocate does nothing: a disk's bytes need no pages of their own.
func allocate(_ *os.File, _, _ int64) {}
