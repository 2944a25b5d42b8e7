//go:build unix

package symbol

import (
	"math"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// mapFile maps a file read-only. The returned function releases it.
func mapFile(f *os.File, size int64) ([]byte, func(), error) {
	data, err := syscall.Mmap(int(f.Fd()), 0, int(size), syscall.PROT_READ, syscall.MAP_PRIVATE)
	if err != nil {
		return nil, nil, err
	}
	return data, func() { _ = syscall.Munmap(data) }, nil
}

// forget gives the pages of a mapping back; they are read again from the file when they are looked at.
func forget(data []byte) { _ = unix.Madvise(data, unix.MADV_DONTNEED) }

// room returns how many bytes a user can still write in a folder.
func room(dir string) uint64 {
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) != nil {
		return math.MaxUint64 // writing says it
	}
	return uint64(s.Bavail) * uint64(s.Bsize)
}
