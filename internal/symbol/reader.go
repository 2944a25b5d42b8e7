package symbol

import (
	"bytes"
	"encoding/binary"
)

// reader walks little-endian bytes. Past the end it returns zeros and sets bad; it never panics.
type reader struct {
	b   []byte
	off int
	bad bool
}

func newReader(b []byte, off uint64) reader {
	if off > uint64(len(b)) {
		return reader{b: b, off: len(b), bad: true}
	}
	return reader{b: b, off: int(off)}
}

func (r *reader) left() int { return len(r.b) - r.off }

func (r *reader) fail() { r.off, r.bad = len(r.b), true }

func (r *reader) skip(n uint64) {
	if n > uint64(len(r.b)-r.off) {
		r.fail()
		return
	}
	r.off += int(n)
}

func (r *reader) bytes(n uint64) []byte {
	if n > uint64(len(r.b)-r.off) {
		r.fail()
		return nil
	}
	s := r.b[r.off : r.off+int(n) : r.off+int(n)]
	r.off += int(n)
	return s
}

func (r *reader) u8() uint8 {
	if r.off >= len(r.b) {
		r.fail()
		return 0
	}
	v := r.b[r.off]
	r.off++
	return v
}

func (r *reader) u16() uint16 {
	if len(r.b)-r.off < 2 {
		r.fail()
		return 0
	}
	v := binary.LittleEndian.Uint16(r.b[r.off:])
	r.off += 2
	return v
}

func (r *reader) u24() uint32 {
	if len(r.b)-r.off < 3 {
		r.fail()
		return 0
	}
	v := uint32(r.b[r.off]) | uint32(r.b[r.off+1])<<8 | uint32(r.b[r.off+2])<<16
	r.off += 3
	return v
}

func (r *reader) u32() uint32 {
	if len(r.b)-r.off < 4 {
		r.fail()
		return 0
	}
	v := binary.LittleEndian.Uint32(r.b[r.off:])
	r.off += 4
	return v
}

func (r *reader) u64() uint64 {
	if len(r.b)-r.off < 8 {
		r.fail()
		return 0
	}
	v := binary.LittleEndian.Uint64(r.b[r.off:])
	r.off += 8
	return v
}

// word reads an unsigned integer of size 1, 2, 4 or 8.
func (r *reader) word(size int) uint64 {
	switch size {
	case 1:
		return uint64(r.u8())
	case 2:
		return uint64(r.u16())
	case 4:
		return uint64(r.u32())
	case 8:
		return r.u64()
	}
	r.fail()
	return 0
}

func (r *reader) uleb() uint64 {
	// One-byte values are nearly all of them.
	if r.off < len(r.b) && r.b[r.off] < 0x80 {
		v := r.b[r.off]
		r.off++
		return uint64(v)
	}
	return r.ulebSlow()
}

func (r *reader) ulebSlow() uint64 {
	var v uint64
	for shift := uint(0); ; shift += 7 {
		if r.off >= len(r.b) {
			r.fail()
			return 0
		}
		c := r.b[r.off]
		r.off++
		if shift < 64 {
			v |= uint64(c&0x7f) << shift
		}
		if c < 0x80 {
			return v
		}
	}
}

func (r *reader) sleb() int64 {
	var v int64
	for shift := uint(0); ; {
		if r.off >= len(r.b) {
			r.fail()
			return 0
		}
		c := r.b[r.off]
		r.off++
		if shift < 64 {
			v |= int64(c&0x7f) << shift
		}
		shift += 7
		if c < 0x80 {
			if c&0x40 != 0 && shift < 64 {
				v |= -1 << shift
			}
			return v
		}
	}
}

// cstr returns the bytes up to the next NUL and moves behind it.
func (r *reader) cstr() []byte {
	i := bytes.IndexByte(r.b[r.off:], 0)
	if i < 0 {
		r.fail()
		return nil
	}
	s := r.b[r.off : r.off+i : r.off+i]
	r.off += i + 1
	return s
}

// cstrAt returns the NUL-terminated bytes at off of b, or nil.
func cstrAt(b []byte, off uint64) []byte {
	if off >= uint64(len(b)) {
		return nil
	}
	s := b[off:]
	i := bytes.IndexByte(s, 0)
	if i < 0 {
		return nil
	}
	return s[:i:i]
}
