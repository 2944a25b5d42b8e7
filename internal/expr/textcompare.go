package expr

import (
	"bytes"
	"fmt"
)

// textCmp compares two texts, as far as they are alike: what lies behind the first difference need not be there.
// Programs do the same in the same order.
func (v *evaluator) textCmp(n *node) (uint64, error) {
	x, y, limit := n.sides()
	size, err := v.word(x.count)
	if err != nil {
		return 0, err
	}
	if y.count != nil {
		if other, err := v.word(y.count); err != nil || other != size {
			return 0, err
		}
	} else if y.max >= 0 && size > uint64(y.max) {
		return 0, nil
	}
	p, err := v.word(x.ptr)
	if err != nil {
		return 0, err
	}
	q, err := v.word(y.ptr)
	if err != nil || q == 0 && y.count == nil {
		return 0, err
	}
	same, err := v.sameBytes(p, q, min(size, limit), y.count == nil, n.pos)
	switch {
	case err != nil || !same:
		return 0, err
	case size > limit:
		return 0, &EvalError{Reason: TooLong, Pos: n.pos,
			Msg: fmt.Sprintf("the texts are alike for %d bytes, and longer", limit)}
	case y.count != nil || y.max >= 0 && size == uint64(y.max):
		return 1, nil
	}
	if err := v.read(q+size, v.buf[:1], n.pos); err != nil {
		return 0, err
	}
	return word(v.buf[0] == 0), nil
}

// sameBytes compares n bytes at p and q; with nul, q's end at one.
func (v *evaluator) sameBytes(p, q, n uint64, nul bool, pos int) (bool, error) {
	both := make([]byte, 2*n)
	a, b := both[:n], both[n:]
	if v.env.Memory != nil && p+n >= p && q+n >= q && v.env.Memory.Read(p, a) == nil && v.env.Memory.Read(q, b) == nil {
		return bytes.Equal(a, b) && !(nul && bytes.IndexByte(b, 0) >= 0), nil
	}
	for i := uint64(0); i < n; { // some of it is not there: does it matter?
		k := uint64(1)
		if !nul && n-i >= 8 {
			k = 8
		}
		if err := v.read(q+i, b[i:i+k], pos); err != nil {
			return false, err
		}
		if nul && b[i] == 0 {
			return false, nil
		}
		if err := v.read(p+i, a[i:i+k], pos); err != nil {
			return false, err
		}
		if !bytes.Equal(a[i:i+k], b[i:i+k]) {
			return false, nil
		}
		i += k
	}
	return true, nil
}
