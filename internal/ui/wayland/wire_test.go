package wayland

import (
	"bytes"
	"testing"
)

// FuzzNext: whatever comes, messages are taken off whole or not at all, and their arguments end within them.
func FuzzNext(f *testing.F) {
	f.Add(request(7, 3, 5, "a name", uint32(9)))
	f.Add(append(request(1, 0, object(2), uint32(1), "no"), request(2, 0, "")...))
	f.Add([]byte{1, 0, 0, 0, 0, 0, 7, 0})
	f.Add([]byte{1, 0, 0, 0, 0, 0, 12, 0, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		for left := len(b); ; {
			m, rest, ok, err := next(b)
			if err != nil || !ok {
				if !bytes.Equal(rest, b) {
					t.Fatal("bytes are gone of a message that did not come")
				}
				return
			}
			if len(rest)+headSize > left {
				t.Fatalf("%d bytes left of %d", len(rest), left)
			}
			s, n, a := m.body.string(), m.body.int(), m.body.bytes()
			if taken := len(s) + len(a); taken > left || m.body.bad && len(a) > 0 {
				t.Fatalf("%q, %d and %d bytes of a message of %d", s, n, len(a), left)
			}
			left, b = len(rest), rest
		}
	})
}

// TestRequest: what is written is read the same.
func TestRequest(t *testing.T) {
	b := request(7, 3, -5, "four", "", uint32(1<<31), object(4))
	m, rest, ok, err := next(b)
	if !ok || err != nil || len(rest) != 0 || m.to != 7 || m.op != 3 {
		t.Fatalf("%+v, %d left, %v, %v", m, len(rest), ok, err)
	}
	if a := &m.body; a.int() != -5 || a.string() != "four" || a.string() != "" || a.uint() != 1<<31 || a.uint() != 4 ||
		a.bad || len(a.b) != 0 {
		t.Errorf("left %v, bad %v", m.body.b, m.body.bad)
	}
	if m.body.uint(); !m.body.bad {
		t.Error("reading beyond the end is not told")
	}
	for n := range b {
		if _, _, ok, err := next(b[:n]); ok || err != nil {
			t.Errorf("%d bytes of %d: %v, %v", n, len(b), ok, err)
		}
	}
}
