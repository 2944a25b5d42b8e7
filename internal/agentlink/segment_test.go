package agentlink

import (
	"encoding/binary"
	"testing"
)

// of makes records of these lengths, behind each other.
func of(lengths ...uint32) []byte {
	var b []byte
	for _, n := range lengths {
		r := make([]byte, n)
		for i := recordHead; i < len(r); i++ {
			r[i] = 'x'
		}
		binary.LittleEndian.PutUint32(r[28:], n)
		b = append(b, r...)
	}
	return b
}

// TestHalfALength keeps out a stream that could be read no further: a length was read while it was written, 0x100 of
// 0x1a8, and what stands within the record was taken for the next one.
func TestHalfALength(t *testing.T) {
	b := of(64, 0x1a8, 40, 48)
	torn := append([]byte(nil), b...)
	torn[64+28] = 0
	for _, c := range []struct {
		name        string
		first, then []byte
		size        int
	}{
		{"all was there", b, b, len(b)},
		{"half a length", torn, b, 64 + 0x1a8},
		{"published in between", of(64), b[:64], 64},
		{"the first record alone, half", torn[64:], b[64:], 0x1a8},
	} {
		marks, whole := lengths(nil, c.first)
		size, _, err := published(c.then, marks)
		if size != c.size || err != nil {
			t.Errorf("%s: %d bytes are published of %d, want %d: %v", c.name, size, whole, c.size, err)
		}
	}
	if marks, _ := lengths(nil, of(64, 64)[:100]); len(marks) != 2 {
		t.Errorf("of a record and a half %d were seen", len(marks))
	}
	bad := of(64)
	bad[28] = 63
	marks, _ := lengths(nil, bad)
	if _, _, err := published(bad, marks); err == nil {
		t.Error("a record of 63 bytes is believed")
	}
}
