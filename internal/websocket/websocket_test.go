package websocket

import (
	"bytes"
	"testing"
)

// FuzzFrame: no bytes of a server make a WebSocket frame that is larger than they are.
func FuzzFrame(f *testing.F) {
	f.Add([]byte{0x81, 5, 'h', 'e', 'l', 'l', 'o'})
	f.Add([]byte{0x82, 127, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{0x81, 126, 0, 3, 1, 2, 3})
	f.Fuzz(func(t *testing.T, in []byte) {
		r := bytes.NewReader(in)
		for {
			_, _, data, err := readFrame(r)
			if len(data) > len(in) {
				t.Fatalf("%d bytes became %d", len(in), len(data))
			}
			if err != nil {
				return
			}
		}
	})
}
