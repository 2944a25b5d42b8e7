package query

import "testing"

// TestBitsOfNew: what is new says much where nothing was for long, and nothing where all is.
func TestBitsOfNew(t *testing.T) {
	for _, c := range []struct {
		what        string
		at          func(row int) int
		least, most float64
	}{
		{"always the same", func(int) int { return 7 }, 7, 8},
		{"each once", func(row int) int { return row }, 0, 0.1},
		{"half of them once", func(row int) int { return max(row-50, 0) }, 0.9, 1.1},
	} {
		seen, bits := bitsOfNew(100, c.at)
		if bits < c.least || bits > c.most || seen[c.at(0)] == 0 {
			t.Errorf("%s: bitsOfNew = %.2f, want %.1f to %.1f", c.what, bits, c.least, c.most)
		}
	}
}
