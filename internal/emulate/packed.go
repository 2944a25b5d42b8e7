package emulate

// packedOp works on whole registers: the destination is the first operand too. wide says that the instruction
// has the prefix that chooses doubles or integers.
type packedOp func(dst, src *xmm, wide bool)

// packed returns the operation of an opcode behind 0x0f, nil where there is none that we know.
func packed(op byte) packedOp {
	switch op {
	case 0x54, 0xdb:
		return bytewise(func(a, b byte) byte { return a & b })
	case 0x55, 0xdf:
		return bytewise(func(a, b byte) byte { return ^a & b })
	case 0x56, 0xeb:
		return bytewise(func(a, b byte) byte { return a | b })
	case 0x57, 0xef:
		return bytewise(func(a, b byte) byte { return a ^ b })
	case 0xda:
		return bytewise(func(a, b byte) byte { return min(a, b) })
	case 0xde:
		return bytewise(func(a, b byte) byte { return max(a, b) })
	case 0xd8:
		return bytewise(func(a, b byte) byte { return a - min(a, b) })
	case 0xe0:
		return bytewise(func(a, b byte) byte { return byte((uint(a) + uint(b) + 1) / 2) })
	case 0x74, 0x75, 0x76:
		return lanes(1<<(op-0x74), func(a, b int64) int64 { return truth(a == b) })
	case 0x64, 0x65, 0x66:
		n := 1 << (op - 0x64)
		return lanes(n, func(a, b int64) int64 {
			return truth(int64(extend(uint64(a), n)) > int64(extend(uint64(b), n)))
		})
	case 0xfc, 0xfd, 0xfe, 0xd4:
		n := 8
		if op >= 0xfc {
			n = 1 << (op - 0xfc)
		}
		return lanes(n, func(a, b int64) int64 { return a + b })
	case 0xf8, 0xf9, 0xfa, 0xfb:
		return lanes(1<<(op-0xf8), func(a, b int64) int64 { return a - b })
	case 0xf4: // pmuludq
		return lanes(8, func(a, b int64) int64 { return int64(uint64(uint32(a)) * uint64(uint32(b))) })
	case 0xd5: // pmullw
		return lanes(2, func(a, b int64) int64 { return a * b })
	case 0xee, 0xea: // pmaxsw, pminsw
		return lanes(2, func(a, b int64) int64 {
			if x, y := int16(a), int16(b); (x > y) == (op == 0xee) {
				return a
			}
			return b
		})
	case 0x60, 0x61, 0x62, 0x6c:
		n := 8
		if op < 0x6c {
			n = 1 << (op - 0x60)
		}
		return func(dst, src *xmm, _ bool) { interleave(dst, src, n, 0) }
	case 0x68, 0x69, 0x6a, 0x6d:
		n := 8
		if op < 0x6d {
			n = 1 << (op - 0x68)
		}
		return func(dst, src *xmm, _ bool) { interleave(dst, src, n, 8) }
	case 0x14, 0x15:
		return func(dst, src *xmm, wide bool) {
			n := 4
			if wide {
				n = 8
			}
			interleave(dst, src, n, int(op&1)*8)
		}
	case 0xf3, 0xd3, 0xf2, 0xd2, 0xf1, 0xd1: // psllq, psrlq and so on, by a register
		return shiftBy(1<<(op&3), op < 0xe0)
	case 0x67: // packuswb
		return packBytes
	}
	return nil
}

func truth(b bool) int64 {
	if b {
		return -1
	}
	return 0
}

func bytewise(f func(a, b byte) byte) packedOp {
	return func(dst, src *xmm, _ bool) {
		for i := range dst {
			dst[i] = f(dst[i], src[i])
		}
	}
}

func lanes(n int, f func(a, b int64) int64) packedOp {
	return func(dst, src *xmm, _ bool) {
		for i := 0; i < 16; i += n {
			setLane(dst, i, n, f(lane(dst, i, n), lane(src, i, n)))
		}
	}
}

// interleave takes lanes of n bytes from both, from one half.
func interleave(dst, src *xmm, n, half int) {
	var out xmm
	for i := 0; i < 8; i += n {
		copy(out[2*i:2*i+n], dst[half+i:])
		copy(out[2*i+n:2*i+2*n], src[half+i:])
	}
	*dst = out
}

func shiftBy(n int, right bool) packedOp {
	return func(dst, src *xmm, _ bool) {
		by := uint64(lane(src, 0, 8))
		for i := 0; i < 16; i += n {
			x := uint64(lane(dst, i, n))
			switch {
			case by >= uint64(8*n):
				x = 0
			case right:
				x >>= by
			default:
				x <<= by
			}
			setLane(dst, i, n, int64(x))
		}
	}
}

func packBytes(dst, src *xmm, _ bool) {
	var out xmm
	for i, v := range []*xmm{dst, src} {
		for k := range 8 {
			out[8*i+k] = byte(min(max(int16(lane(v, 2*k, 2)), 0), 255))
		}
	}
	*dst = out
}
