package tracediff

import (
	"encoding/binary"
	"math/bits"
)

// Hashes have 64 bits: among the million calls of two sides, two that differ are taken for the same once in 10^7
// comparisons. They are the same in every process, so that answers are, too.
const (
	seed  = 0x9e3779b97f4a7c15
	prime = 0xd6e8feb86659fd93
)

// mix adds x to h.
func mix(h, x uint64) uint64 {
	hi, lo := bits.Mul64(h^x^seed, prime)
	return bits.RotateLeft64(h, 23) ^ hi ^ lo
}

// mixText adds text to h.
func mixText(h uint64, s string) uint64 {
	h = mix(h, uint64(len(s)))
	for len(s) >= 8 {
		h = mix(h, binary.LittleEndian.Uint64([]byte(s[:8])))
		s = s[8:]
	}
	var tail uint64
	for i := range len(s) {
		tail = tail<<8 | uint64(s[i])
	}
	return mix(h, tail)
}
