package parquet

import (
	"encoding/binary"
	"math/bits"
)

// appendBits appends the low width bits of each value, lowest first. What is over in the last byte is zero.
func appendBits(dst []byte, v []uint64, width int) []byte {
	var acc uint64
	n := 0 // bits in acc
	for _, x := range v {
		acc |= x << n
		if n += width; n >= 64 {
			dst = binary.LittleEndian.AppendUint64(dst, acc)
			n -= 64
			acc = x >> (width - n) // a shift by 64 gives 0
		}
	}
	for ; n > 0; n -= 8 {
		dst, acc = append(dst, byte(acc)), acc>>8
	}
	return dst
}

// appendHybrid appends values as runs of equal ones, and between them groups of eight packed ones, as levels and
// indexes of dictionaries are written.
func appendHybrid(dst []byte, v []uint32, width int) []byte {
	start := 0 // of what is to be packed
	for i := 0; i < len(v); {
		n := 1
		for i+n < len(v) && v[i+n] == v[i] {
			n++
		}
		fill := (8 - (i-start)%8) % 8 // of the run, for whole groups before it
		if n-fill >= 8 {
			i, n = i+fill, n-fill
			dst = appendGroups(dst, v[start:i], width)
			dst = binary.AppendUvarint(dst, uint64(n)<<1)
			for k := 0; k < width; k += 8 {
				dst = append(dst, byte(v[i]>>k))
			}
			start = i + n
		}
		i += n
	}
	return appendGroups(dst, v[start:], width)
}

// appendGroups packs values in groups of eight; the last one is filled with zeros.
func appendGroups(dst []byte, v []uint32, width int) []byte {
	if len(v) == 0 {
		return dst
	}
	dst = binary.AppendUvarint(dst, uint64((len(v)+7)/8)<<1|1)
	var group [8]uint64
	for ; len(v) > 0; v = v[min(8, len(v)):] {
		clear(group[:])
		for i, x := range v[:min(8, len(v))] {
			group[i] = uint64(x)
		}
		dst = appendBits(dst, group[:], width)
	}
	return dst
}

// Blocks of DELTA_BINARY_PACKED.
const (
	deltaBlock = 128
	deltaMini  = 32 // values in each of a block's parts, which have a width of their own
)

// appendDelta appends integers as their differences, each part of a block with as many bits as its largest needs.
func appendDelta(dst []byte, v []int64) []byte {
	dst = binary.AppendUvarint(dst, deltaBlock)
	dst = binary.AppendUvarint(dst, deltaBlock/deltaMini)
	dst = binary.AppendUvarint(dst, uint64(len(v)))
	if len(v) == 0 {
		return binary.AppendVarint(dst, 0)
	}
	dst = binary.AppendVarint(dst, v[0])
	var deltas [deltaBlock]uint64
	last := v[0]
	for v = v[1:]; len(v) > 0; v = v[min(deltaBlock, len(v)):] {
		n := min(deltaBlock, len(v))
		least := v[0] - last // differences wrap, as readers' sums do
		for i, x := range v[:n] {
			d := x - last
			last, deltas[i] = x, uint64(d)
			least = min(least, d)
		}
		dst = binary.AppendVarint(dst, least)
		widths := len(dst)
		dst = append(dst, make([]byte, deltaBlock/deltaMini)...)
		for i := range n {
			deltas[i] -= uint64(least)
		}
		clear(deltas[n:])
		for m := 0; m < n; m += deltaMini {
			var all uint64
			for _, d := range deltas[m : m+deltaMini] {
				all |= d
			}
			width := bits.Len64(all)
			dst[widths+m/deltaMini] = byte(width)
			dst = appendBits(dst, deltas[m:m+deltaMini], width)
		}
	}
	return dst
}
