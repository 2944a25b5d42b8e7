package spool

import (
	"os"

	"golang.org/x/sys/unix"
)

// newFile makes a file of memory. A disk's would be written behind us at the disk's pace, and who then waits for it is
// the program.
func newFile() (*os.File, error) {
	fd, err := unix.MemfdCreate("strobe-spool", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "strobe-spool"), nil
}

// allocate has a part of the file be there.
func allocate(f *os.File, at, bytes int64) {
	unix.Fallocate(int(f.Fd()), 0, at, bytes) //nolint:errcheck // else they are when they are written
}
