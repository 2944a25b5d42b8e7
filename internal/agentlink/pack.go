package agentlink

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// An agent's files are embedded packed: names and contents, each with its length before it, by gzip.

// maxUnpacked bounds what is read of a packed agent.
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
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
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

var errPacked = errors.New("a packed agent is damaged")

func unpack(packed []byte) (map[string][]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errPacked, err)
	}
	b, err := io.ReadAll(io.LimitReader(z, maxUnpacked))
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
