//go:build !unix

package symbol

import (
	"io"
	"math"
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

// room is not known where there is no statfs: writing says it.
func room(string) uint64 { return math.MaxUint64 }
