package store

import (
	"encoding/binary"
	"math/bits"

	"github.com/klauspost/compress/s2"
)

// reader reads varints off a slice. It never panics: what is missing or too large sets bad.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) uvarint() uint64 {
	// The one-byte case is nearly every call.
	if len(r.b) > 0 && r.b[0] < 0x80 {
		v := r.b[0]
		r.b = r.b[1:]
		return uint64(v)
	}
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

// uvarints reads n numbers into dst's room. It takes the length of up to 8 bytes from the
// continuation bits at once: results and times have any length, and a loop with a branch per
// byte is mispredicted at most of them.
func (r *reader) uvarints(dst []uint64, n int) []uint64 {
	dst = grow(dst, n)
	b, i := r.b, 0
	for ; i < n && len(b) >= 8; i++ {
		x := binary.LittleEndian.Uint64(b)
		ends := ^x & 0x8080_8080_8080_8080
		if ends == 0 {
			v, size := binary.Uvarint(b)
			if size <= 0 {
				r.bad = true
				break
			}
			dst[i], b = v, b[size:]
			continue
		}
		b = b[bits.TrailingZeros64(ends)/8+1:]
		x &= (ends ^ (ends - 1)) & 0x7f7f_7f7f_7f7f_7f7f
		x = x&0x007f_007f_007f_007f | x&0x7f00_7f00_7f00_7f00>>1
		x = x&0x0000_3fff_0000_3fff | x&0x3fff_0000_3fff_0000>>2
		dst[i] = x&0x0fff_ffff | x&0x0fff_ffff_0000_0000>>4
	}
	for r.b = b; i < n; i++ {
		dst[i] = r.uvarint()
	}
	return dst
}

// skip steps over n numbers, eight bytes at a time: each number ends with a byte below 0x80.
func (r *reader) skip(n int) {
	b := r.b
	for n > 0 && len(b) >= 8 {
		ends := bits.OnesCount64(^binary.LittleEndian.Uint64(b) & 0x8080_8080_8080_8080)
		if ends >= n { // what follows the last one's end is another's
			break
		}
		n -= ends
		b = b[8:]
	}
	for ; n > 0; b = b[1:] {
		if len(b) == 0 {
			r.bad = true
			break
		}
		n -= bit(b[0] < 0x80)
	}
	r.b = b
}

func (r *reader) varint() int64 { return unzigzag(r.uvarint()) }

// count reads a number that may be at most limit.
func (r *reader) count(limit int) int {
	v := r.uvarint()
	if v > uint64(limit) {
		r.bad = true
		return 0
	}
	return int(v)
}

// bytes reads n bytes.
func (r *reader) bytes(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.bad = true
		return nil
	}
	v := r.b[:n]
	r.b = r.b[n:]
	return v
}

// ascending reads what appendAscending wrote: strictly ascending numbers, at most blockEvents.
func (r *reader) ascending() []uint32 {
	n := r.count(blockEvents)
	v := make([]uint32, 0, min(n, len(r.b)))
	prev := uint64(0)
	for i := range n {
		d := r.uvarint()
		if prev += d; r.bad || prev > noFunc || d > noFunc || i > 0 && d == 0 {
			r.bad = true
			return nil
		}
		v = append(v, uint32(prev))
	}
	return v
}

func zigzag(v int64) uint64   { return uint64(v<<1) ^ uint64(v>>63) }
func unzigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }

// A column on disk is its size in bytes times two, plus one if it is compressed, as a varint; a
// blob is the sizes of all its columns, then their bytes.

// maxColumn bounds a decoded column: a block's payloads are sealed at blockPayload, one call's are
// cut at blockPayload, and a varint has ten bytes.
const maxColumn = 4 * blockPayload

// appendColumns appends a blob of these columns, compressed where it helps if compress is set.
func appendColumns(dst []byte, cols [][]byte, compress bool, s *scratch) []byte {
	s.body = s.body[:0]
	for _, col := range cols {
		if compress && len(col) >= 32 {
			if need := s2.MaxEncodedLen(len(col)); cap(s.comp) < need {
				s.comp = make([]byte, need)
			}
			enc := s2.Encode(s.comp[:cap(s.comp)], col)
			if len(enc) < len(col)-len(col)/32 {
				dst = binary.AppendUvarint(dst, uint64(len(enc))<<1|1)
				s.body = append(s.body, enc...)
				continue
			}
		}
		dst = binary.AppendUvarint(dst, uint64(len(col))<<1)
		s.body = append(s.body, col...)
	}
	return append(dst, s.body...)
}

// columnSet gives the columns of a blob, decompressing each when it is asked for.
type columnSet struct {
	raw    [8][]byte
	packed [8]bool
	buf    [8][]byte // room for decompression, kept between blobs
	n      int
}

// open splits blob into n columns.
func (c *columnSet) open(blob []byte, n int) error {
	r := reader{b: blob}
	var size [8]int
	for i := range n {
		v := r.uvarint()
		if v>>1 > maxColumn {
			return errDamaged
		}
		size[i], c.packed[i] = int(v>>1), v&1 != 0
	}
	for i := range n {
		c.raw[i] = r.bytes(size[i])
	}
	if r.bad || len(r.b) != 0 {
		return errDamaged
	}
	c.n = n
	return nil
}

// column returns column i. It is valid until the next open.
func (c *columnSet) column(i int) ([]byte, error) {
	if !c.packed[i] {
		return c.raw[i], nil
	}
	n, err := s2.DecodedLen(c.raw[i])
	if err != nil || n > maxColumn {
		return nil, errDamaged
	}
	if cap(c.buf[i]) < n {
		c.buf[i] = make([]byte, n)
	}
	out, err := s2.Decode(c.buf[i][:n], c.raw[i])
	if err != nil {
		return nil, errDamaged
	}
	return out, nil
}
