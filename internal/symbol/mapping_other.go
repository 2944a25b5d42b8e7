//go:build !unix

package symbol

import (
	"io"
	"os"
)

// mapFile reads the whole file where there is no mmap.
func mapFile(f *os.File, size int64) ([]byte, func(), error) {
	data := make([]byte, size)
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, nil, err
	}
	return data, func() {}, nil
}

// forget does nothing where there is no mmap.
func forget([]byte) {}
