package store

import "math/bits"

// Bits is a set of small integers: function or thread ids. The zero value is empty. Not safe
// for concurrent changes.
type Bits struct {
	words []uint64
	n     int
}

// Set adds i.
func (b *Bits) Set(i uint32) {
	w := int(i >> 6)
	if w >= len(b.words) {
		b.words = append(b.words, make([]uint64, w+1-len(b.words))...)
	}
	if m := uint64(1) << (i & 63); b.words[w]&m == 0 {
		b.words[w] |= m
		b.n++
	}
}

// Has reports whether i is in the set.
func (b *Bits) Has(i uint32) bool {
	w := int(i >> 6)
	return w < len(b.words) && b.words[w]&(1<<(i&63)) != 0
}

// Len returns the number of members.
func (b *Bits) Len() int { return b.n }

// each calls fn for every member in ascending order until it returns false.
func (b *Bits) each(fn func(uint32) bool) {
	for w, m := range b.words {
		for m != 0 {
			if !fn(uint32(w<<6 + bits.TrailingZeros64(m))) {
				return
			}
			m &= m - 1
		}
	}
}
