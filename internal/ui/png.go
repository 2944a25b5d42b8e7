package ui

import (
	"encoding/binary"
	"hash/adler32"
	"hash/crc32"
	"image"
	"math/bits"
)

// EncodePNG writes a picture of an interface. Most of its points are as those to their left or above: each row is the
// difference to the one above, and what repeats is written as a run, by codes that are fixed. That is five to ten times
// as fast as a coder that looks for anything that repeats, and takes twice the bytes.
func EncodePNG(m *image.RGBA) []byte {
	w, h := m.Bounds().Dx(), m.Bounds().Dy()
	head := binary.BigEndian.AppendUint32(nil, uint32(w))
	head = binary.BigEndian.AppendUint32(head, uint32(h))
	head = append(head, 8, 2, 0, 0, 0) // eight bits, red green blue
	out := append([]byte{}, "\x89PNG\r\n\x1a\n"...)
	out = chunk(out, "IHDR", head)
	out = chunk(out, "IDAT", deflate(rows(m, w, h)))
	return chunk(out, "IEND", nil)
}

func chunk(out []byte, kind string, data []byte) []byte {
	out = binary.BigEndian.AppendUint32(out, uint32(len(data)))
	from := len(out)
	out = append(append(out, kind...), data...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[from:]))
}

// rows are a picture's bytes as PNG filters them: each row less the one above.
func rows(m *image.RGBA, w, h int) []byte {
	const up = 2
	b := make([]byte, 0, h*(3*w+1))
	for y := range h {
		b = append(b, up)
		row := m.Pix[y*m.Stride:]
		if y == 0 {
			for x := range w {
				b = append(b, row[4*x], row[4*x+1], row[4*x+2])
			}
			continue
		}
		above := m.Pix[(y-1)*m.Stride:]
		for x := range w {
			b = append(b, row[4*x]-above[4*x], row[4*x+1]-above[4*x+1], row[4*x+2]-above[4*x+2])
		}
	}
	return b
}

// bitWriter writes bits from the lowest on, as deflate wants them.
type bitWriter struct {
	b []byte
	v uint64
	n uint
}

func (w *bitWriter) bits(v uint32, n uint) {
	w.v |= uint64(v) << w.n
	for w.n += n; w.n >= 8; w.n -= 8 {
		w.b = append(w.b, byte(w.v))
		w.v >>= 8
	}
}

// code writes a Huffman code, whose highest bit comes first.
func (w *bitWriter) code(v uint32, n uint) { w.bits(bits.Reverse32(v)>>(32-n), n) }

// symbol writes a letter or a length in deflate's fixed codes (RFC 1951, 3.2.6).
func (w *bitWriter) symbol(s uint32) {
	switch {
	case s < 144:
		w.code(0x30+s, 8)
	case s < 256:
		w.code(0x190+s-144, 9)
	case s < 280:
		w.code(s-256, 7)
	default:
		w.code(0xc0+s-280, 8)
	}
}

// lengthBases are the lengths at which deflate's codes of lengths begin, from 257 on.
var lengthBases = [...]int{3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115,
	131, 163, 195, 227, 258}

// run writes that n bytes, 3 to 258, are as those three before them.
func (w *bitWriter) run(n int) {
	i := len(lengthBases) - 1
	for lengthBases[i] > n {
		i--
	}
	w.symbol(uint32(257 + i))
	if i >= 8 && i < len(lengthBases)-1 {
		w.bits(uint32(n-lengthBases[i]), uint(i-4)/4)
	}
	w.code(2, 5) // distance 3
}

// deflate writes bytes as one block of fixed codes in a zlib stream.
func deflate(b []byte) []byte {
	w := &bitWriter{b: []byte{0x78, 0x01}}
	w.bits(1, 1) // the last block
	w.bits(1, 2) // of fixed codes
	for i := 0; i < len(b); {
		n := 0
		if i >= 3 {
			for n < 258 && i+n < len(b) && b[i+n] == b[i+n-3] {
				n++
			}
		}
		if n >= 3 {
			w.run(n)
			i += n
			continue
		}
		w.symbol(uint32(b[i]))
		i++
	}
	w.symbol(256) // the end
	w.bits(0, 7)  // to a whole byte
	return binary.BigEndian.AppendUint32(w.b, adler32.Checksum(b))
}
