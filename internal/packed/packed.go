// Package packed owns the form in which files that are part of the program are embedded: names and contents, each with
// its length before it, by zstd, which the program has for other reasons and which takes a fifth less than gzip.
//
// It stands beside the data path. Pack is for tests, which make the packed files anew with -update; Unpack is what the
// program calls, at the first use.
package packed

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// maxUnpacked bounds what is read of packed files.
const maxUnpacked = 16 << 20

// Pack packs the files below a folder of which wanted is true, by their names relative to it.
func Pack(dir string, wanted func(name string) bool) ([]byte, error) {
	contents := map[string][]byte{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !wanted(name) {
			return err
		}
		contents[name], err = os.ReadFile(filepath.Join(dir, name))
		return err
	})
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	z, err := zstd.NewWriter(&out, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(contents)) {
		for _, part := range [][]byte{[]byte(name), contents[name]} {
			if _, err := z.Write(binary.AppendUvarint(nil, uint64(len(part)))); err != nil {
				return nil, err
			}
			if _, err := z.Write(part); err != nil {
				return nil, err
			}
		}
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

var errPacked = errors.New("packed files are damaged")

// Unpack returns the contents by name. What is damaged is an error.
func Unpack(packed []byte) (map[string][]byte, error) {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxUnpacked))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errPacked, err)
	}
	defer z.Close()
	b, err := z.DecodeAll(packed, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errPacked, err)
	}
	part := func() (p []byte) {
		n, k := binary.Uvarint(b)
		if k <= 0 || n > uint64(len(b)-k) {
			err = errPacked
			return nil
		}
		p, b = b[k:k+int(n)], b[k+int(n):]
		return p
	}
	contents := map[string][]byte{}
	for len(b) > 0 && err == nil {
		name := string(part())
		contents[name] = part()
	}
	return contents, err
}

// File returns one of packed files that are embedded: a name that is not there is a typing error, which every test
// meets.
func File(files func() map[string][]byte, name string) []byte {
	b, ok := files()[name]
	if !ok {
		panic("no embedded file " + name)
	}
	return b
}

// Embedded unpacks files that are part of the program, at the first call.
func Embedded(packed []byte) func() map[string][]byte {
	return sync.OnceValue(func() map[string][]byte {
		files, err := Unpack(packed)
		if err != nil {
			panic(err) // embedded
		}
		return files
	})
}
