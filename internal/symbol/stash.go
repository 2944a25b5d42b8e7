package symbol

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"path/filepath"

	"github.com/strobe-debug/strobe/internal/plainfile"
)

// Separate debug files of distributions are compressed. To unpack those of a C library takes longer than all else from
// its crash to the answer, in every session again: so what is unpacked is kept beside the indexes, one file a section,
// and mapped.
//
// The file: bytes of the section, then their crc32c (4) and length (8), little-endian.
const (
	stashFolder   = "unpacked"
	stashTail     = 12
	minStash      = 128 << 10 // unpacked within a millisecond
	maxStash      = 128 << 20 // one section
	maxStashBytes = 512 << 20 // all of them
)

// stashPath returns where section i is kept unpacked, "" if it is not to be.
func (im *image) stashPath(i int) string {
	id := im.buildID()
	if im.stash == "" || id == "" {
		return ""
	}
	s := &im.sects[i]
	h := fnv.New64a() // the build-id is the program's: its debug file may have been made again
	fmt.Fprintf(h, "%s,%d,%d,%d,%d", s.name, s.off, s.size, len(im.data), im.modTime)
	return filepath.Join(im.stash, fmt.Sprintf("%s%s-%016x", id, s.name, h.Sum64()))
}

// unpack returns a compressed section's bytes, from the stash where they are there.
func (im *image) unpack(i int, gnu bool) ([]byte, error) {
	path := im.stashPath(i)
	if path != "" {
		if data, release := openStash(path); release != nil {
			im.held.also = append(im.held.also, release)
			noteUse(path)
			return data, nil
		}
	}
	data, err := unpackSection(im.raw(&im.sects[i]), gnu)
	if err == nil && path != "" && len(data) >= minStash && len(data) <= maxStash {
		tail := binary.LittleEndian.AppendUint32(nil, crc32.Checksum(data, castagnoli))
		tail = binary.LittleEndian.AppendUint64(tail, uint64(len(data)))
		if putFile(path, data, tail) == nil { // else it is unpacked again the next time
			pruneCache(im.stash, maxStashBytes)
		}
	}
	return data, err
}

// openStash maps what is kept; release is nil if it is not there or damaged.
func openStash(path string) (data []byte, release func()) {
	f, err := plainfile.Open(path)
	if err != nil {
		return nil, nil
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || st.Size() < stashTail {
		return nil, nil
	}
	all, unmap, err := mapFile(f, st.Size())
	if err != nil {
		return nil, nil
	}
	n := len(all) - stashTail
	ok := false
	err = protect(func() error {
		ok = binary.LittleEndian.Uint64(all[n+4:]) == uint64(n) &&
			binary.LittleEndian.Uint32(all[n:]) == crc32.Checksum(all[:n], castagnoli)
		return nil
	})
	if err != nil || !ok {
		unmap()
		return nil, nil
	}
	return all[:n:n], unmap
}
