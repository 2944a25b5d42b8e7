package native

import "testing"

// A thread that stands behind the first byte of a patch, and only such a one, is in its window.
func TestWindows(t *testing.T) {
	of := func(addr uint64, n int) *site { return &site{addr: addr, patch: make([]byte, n)} }
	ws := windowsOf([]*site{of(0x3000, 5), of(0x1000, 5), of(0x1005, 1), of(0x1006, 2), of(0x2ffb, 5), of(0x8000, 5)})
	for at, want := range map[uint64]uint64{
		0xfff: 0, 0x1000: 0, 0x1001: 0x1000, 0x1004: 0x1000, 0x1005: 0, 0x1006: 0, 0x1007: 0x1006, 0x1008: 0,
		0x2fff: 0x2ffb, 0x3000: 0, 0x3004: 0x3000, 0x3005: 0, 0x8004: 0x8000, 0x8005: 0,
	} {
		got := uint64(0)
		if s := ws.find(at); s != nil {
			got = s.addr
		}
		if got != want {
			t.Errorf("find(%#x) = %#x, want %#x", at, got, want)
		}
	}
	var sizes []int
	for _, span := range ws.spans() {
		sizes = append(sizes, len(span))
	}
	if len(sizes) != 2 || sizes[0] != 5 || sizes[1] != 1 {
		t.Errorf("spans of %v sites, want 5 in pages 1 to 3 and one in page 8: what lies between is not written", sizes)
	}
	if windows(nil).find(1) != nil || windows(nil).spans() != nil {
		t.Error("something is in no window")
	}
}
