package emulate

import "math/bits"

// flags are the arithmetic flags and the direction flag.
type flags struct {
	cf, zf, sf, of, pf, df bool

	wrote, partly bool // by this instruction; partly: some flags stay as they were
}

// touch notes that some flags were written.
func (f *flags) touch() { f.wrote, f.partly = true, true }

func (f *flags) result(v uint64, n int) {
	f.wrote = true
	v &= mask(n)
	f.zf, f.sf, f.pf = v == 0, v&signBit(n) != 0, bits.OnesCount8(uint8(v))%2 == 0
}

func (f *flags) logic(v uint64, n int) {
	f.cf, f.of = false, false
	f.result(v, n)
}

func carry(c bool) uint64 {
	if c {
		return 1
	}
	return 0
}

// add is a + b + c.
func (f *flags) add(a, b, c uint64, n int) uint64 {
	a, b = a&mask(n), b&mask(n)
	sum, over := bits.Add64(a, b, c)
	if n < 8 {
		over = sum >> (8 * n) & 1
	}
	sum &= mask(n)
	f.cf, f.of = over != 0, (a^sum)&(b^sum)&signBit(n) != 0
	f.result(sum, n)
	return sum
}

// sub is a - b - c.
func (f *flags) sub(a, b, c uint64, n int) uint64 {
	a, b = a&mask(n), b&mask(n)
	d, borrow := bits.Sub64(a, b, c)
	d &= mask(n)
	f.cf, f.of = borrow != 0, (a^b)&(a^d)&signBit(n) != 0
	f.result(d, n)
	return d
}

// arith is one of the eight basic operations: add, or, adc, sbb, and, sub, xor, cmp. False: nothing is to be written.
func (f *flags) arith(op int, a, b uint64, n int) (uint64, bool) {
	var v uint64
	switch op & 7 {
	case 0:
		return f.add(a, b, 0, n), true
	case 1:
		v = a | b
	case 2:
		return f.add(a, b, carry(f.cf), n), true
	case 3:
		return f.sub(a, b, carry(f.cf), n), true
	case 4:
		v = a & b
	case 5:
		return f.sub(a, b, 0, n), true
	case 6:
		v = a ^ b
	default:
		return f.sub(a, b, 0, n), false
	}
	v &= mask(n)
	f.logic(v, n)
	return v, true
}

// cond is the condition of jcc, setcc and cmovcc.
func (f *flags) cond(c byte) bool {
	var v bool
	switch c >> 1 & 7 {
	case 0:
		v = f.of
	case 1:
		v = f.cf
	case 2:
		v = f.zf
	case 3:
		v = f.cf || f.zf
	case 4:
		v = f.sf
	case 5:
		v = f.pf
	case 6:
		v = f.sf != f.of
	default:
		v = f.zf || f.sf != f.of
	}
	return v != (c&1 != 0)
}

// shift is one of rol, ror, rcl, rcr, shl, shr, sal, sar.
func (f *flags) shift(op int, a, by uint64, n int) uint64 {
	width := uint64(8 * n)
	if by &= 0x1f | width&0x40>>1; by == 0 {
		f.touch() // how far it shifts may depend on what changes
		return a
	}
	a &= mask(n)
	var v uint64
	switch op & 7 {
	case 0, 1:
		k := by % width
		if op&7 == 1 {
			k = (width - k) % width
		}
		v = (a<<k | a>>(width-k)) & mask(n)
		top := v&signBit(n) != 0
		if op&7 == 0 {
			f.cf = v&1 != 0
			f.of = top != f.cf
		} else {
			f.cf = top
			f.of = top != (v&(signBit(n)>>1) != 0)
		}
		f.touch()
		return v
	case 2, 3:
		v = a
		for range by {
			v = f.rotateCarry(op&7 == 2, v, n)
		}
		f.touch()
		return v
	case 4, 6:
		v = a << by & mask(n)
		f.cf = by <= width && a>>(width-by)&1 != 0
		f.of = (v&signBit(n) != 0) != f.cf
	case 5:
		v = a >> by
		f.cf, f.of = a>>(by-1)&1 != 0, a&signBit(n) != 0
	default:
		s := int64(extend(a, n))
		v = uint64(s>>by) & mask(n)
		f.cf, f.of = s>>(by-1)&1 != 0, false
	}
	f.result(v, n)
	return v
}

func (f *flags) rotateCarry(left bool, v uint64, n int) uint64 {
	c := carry(f.cf)
	if left {
		f.cf = v&signBit(n) != 0
		v = (v<<1 | c) & mask(n)
		f.of = (v&signBit(n) != 0) != f.cf
		return v
	}
	f.of = (v&signBit(n) != 0) != f.cf
	f.cf = v&1 != 0
	return v>>1 | c<<(8*n-1)
}

// word packs the flags as pushfq stores them.
func (f *flags) word() uint64 {
	return 0x202 | carry(f.cf) | carry(f.pf)<<2 | carry(f.zf)<<6 | carry(f.sf)<<7 | carry(f.df)<<10 | carry(f.of)<<11
}

func (f *flags) setWord(v uint64) {
	f.cf, f.pf, f.zf, f.sf, f.df, f.of = v&1 != 0, v>>2&1 != 0, v>>6&1 != 0, v>>7&1 != 0, v>>10&1 != 0, v>>11&1 != 0
}
