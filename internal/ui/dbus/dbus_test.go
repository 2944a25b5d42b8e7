package dbus

import (
	"encoding/binary"
	"testing"
)

// TestCallsRead: a call that was written is read as it is.
func TestCallsRead(t *testing.T) {
	w := &Builder{}
	w.String("one")
	w.Int32(-7)
	w.Bool(true)
	w.Uint64(1 << 40)
	b := call(9, ":1.5", "/a/b", "x.Y", "Do", "sibt", w.Body(), false)
	if n, err := sizeOf(b[:16]); err != nil || n != len(b) {
		t.Fatalf("size %d of %d: %v", n, len(b), err)
	}
	m, err := parse(b)
	if err != nil {
		t.Fatal(err)
	}
	r := &m.Body
	if m.Path != "/a/b" || m.Interface != "x.Y" || m.Member != "Do" || m.Signature != "sibt" || r.String() != "one" ||
		r.Int32() != -7 || !r.Bool() || r.Uint64() != 1<<40 || r.Err() != nil || r.More() {
		t.Errorf("%+v, %v", m, r.Err())
	}
	if r.Uint32(); r.Err() == nil {
		t.Error("a value behind the end was read")
	}
}

// FuzzParse: whatever bytes come, nothing panics and nothing goes on for ever.
func FuzzParse(f *testing.F) {
	f.Add(call(1, ":1.0", "/", "i.I", "M", "a(so)", Strings("x", "/y"), false), "a(so)")
	f.Add([]byte("l\x01\x00\x01\xff\xff\xff\xff\x01\x00\x00\x00\xff\xff\xff\x00"), "v")
	f.Fuzz(func(t *testing.T, b []byte, sig string) {
		if len(b) < 16 {
			return
		}
		if _, err := sizeOf(b[:16]); err != nil {
			return
		}
		m, err := parse(b)
		if err != nil {
			return
		}
		r := m.Body
		_, _ = m.Err(), r.Scalar()
		r = m.Body
		r.Skip(sig)
		r = Reader{b: b, order: binary.LittleEndian}
		r.Array(8, func() { r.Struct(); _, _ = r.String(), r.String() })
		if r.at > len(b) {
			t.Errorf("read to %d of %d", r.at, len(b))
		}
	})
}
