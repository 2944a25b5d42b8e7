//go:build unix

package symbol

import (
	"os"
	"syscall"
)

// mapFile maps a file read-only. The returned function releases it.
func mapFile(f *os.File, size int64) ([]byte, func(), error) {
	data, err := syscall.Mmap(int(f.Fd()), 0, int(size), syscall.PROT_READ, syscall.MAP_PRIVATE)
	if err != nil {
		return nil, nil, err
	}
	return data, func() { _ = syscall.Munmap(data) }, nil
}
