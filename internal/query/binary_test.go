package query

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"
)

// TestBinaryOutput: the end of what a compressor writes was shown as text, some 500 bytes that say nothing.
func TestBinaryOutput(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	for i := range 20000 {
		_, _ = w.Write([]byte{byte(i * i >> 3), byte(i)})
	}
	_ = w.Close()
	for _, c := range []struct {
		text string
		want bool
	}{
		{packed.String(), true},
		{packed.String()[:100], true},
		{strings.Repeat("\x00", 40), true},
		{"", false},
		{"done\n", false},
		{"a\x00b\x00c\n", false}, // some bytes of one are told as they are
		{"\x1b[1;31merror\x1b[0m: größer als 5 €\r\n", false},
		{strings.Repeat("界", 300), false},
		{strings.Repeat("Caf\xe9 und Tee, wie es fr\xfcher war\n", 9), false}, // Latin-1
	} {
		if got := noText([]byte(c.text)); got != c.want {
			t.Errorf("noText(%q) = %v, want %v", c.text[:min(len(c.text), 60)], got, c.want)
		}
	}
}
