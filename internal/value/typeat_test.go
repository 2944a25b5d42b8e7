package value

import "testing"

// An object that was in registers only, and of which no more was recorded, has no address that a program knows.
func TestTypeAt(t *testing.T) {
	for addr, want := range map[uint64]string{0xc000: "<string at 0xc000>", GatherAddr(1): "<string>"} {
		v := TypeAt("string", addr)
		if got := v.Text(); got != want {
			t.Errorf("TypeAt(string, %#x) = %s, want %s", addr, got, want)
		}
	}
}
