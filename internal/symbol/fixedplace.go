package symbol

import (
	"bytes"
	"encoding/binary"
)

// placeKind says where a variable is.
type placeKind uint8

const (
	placeNone  placeKind = iota
	placeAddr            // val is a link-time address
	placeTLS             // val is an offset in the module's TLS segment
	placeConst           // no address: the value is b, or val where b is nil
)

// fixedPlace is a place that does not depend on registers.
type fixedPlace struct {
	kind placeKind
	val  uint64
	b    []byte
}

func (p fixedPlace) equal(q fixedPlace) bool {
	return p.kind == q.kind && p.val == q.val && bytes.Equal(p.b, q.b)
}

// maxConst bounds a constant's bytes; larger ones are not kept.
const maxConst = 1 << 16

// bytes returns a constant as size bytes; size < 0 is not known.
func (p fixedPlace) bytes(size int64) []byte {
	if p.b != nil {
		return bytes.Clone(p.b)
	}
	b := binary.LittleEndian.AppendUint64(nil, p.val)
	if size > 0 && size < 8 {
		return b[:size]
	}
	for fill := byte(int64(p.val) >> 63); size > int64(len(b)) && size <= 16; {
		b = append(b, fill)
	}
	return b
}

// constPlace turns DW_AT_const_value to a place.
func constPlace(u *unit, v value) fixedPlace {
	switch v.class {
	case clsConst, clsFlag:
		return fixedPlace{kind: placeConst, val: v.u}
	case clsBlock:
		if len(v.b) > 0 && len(v.b) <= maxConst {
			return fixedPlace{kind: placeConst, b: bytes.Clone(v.b)}
		}
	case clsString:
		if s := u.text(strRef(v.u)); len(s) > 0 && len(s) < maxConst {
			return fixedPlace{kind: placeConst, b: append(bytes.Clone(s), 0)}
		}
	}
	return fixedPlace{}
}

// The operations of DWARF expressions that describe fixed places.
const (
	opAddrFixed      = 0x03
	opConst1u        = 0x08
	opConst8s        = 0x0f
	opConstu         = 0x10
	opConsts         = 0x11
	opPlus           = 0x22
	opPlusConst      = 0x23
	opLit0           = 0x30
	opLit31          = 0x4f
	opNop            = 0x96
	opTLSAddress     = 0x9b
	opImplicitValue  = 0x9e
	opStackValue     = 0x9f
	opAddrxFixed     = 0xa1
	opConstx         = 0xa2
	opGNUTLSAddress  = 0xe0
	opGNUAddrIndex   = 0xfb
	opGNUConstIndex  = 0xfc
	maxFixedPlaceOps = 16
)

// fixedPlace evaluates a location whose result is the same at all times; anything else, and a
// variable in pieces, is placeNone.
func (u *unit) fixedPlace(b []byte) fixedPlace {
	none := fixedPlace{}
	var stack []fixedPlace // kind placeNone is a number
	push := func(k placeKind, v uint64) { stack = append(stack, fixedPlace{kind: k, val: v}) }
	r := newReader(b, 0)
	for n := 0; r.left() > 0; n++ {
		if r.bad || n >= maxFixedPlaceOps {
			return none
		}
		op := r.u8()
		top := len(stack) - 1
		switch {
		case op == opAddrFixed:
			push(placeAddr, r.word(int(u.addrSize)))
		case op == opAddrxFixed || op == opGNUAddrIndex:
			push(placeAddr, u.addrAt(r.uleb()))
		case op == opConstx || op == opGNUConstIndex:
			push(placeNone, u.addrAt(r.uleb()))
		case op >= opConst1u && op <= opConst8s:
			push(placeNone, fixedConst(&r, op))
		case op == opConstu:
			push(placeNone, r.uleb())
		case op == opConsts:
			push(placeNone, uint64(r.sleb()))
		case op >= opLit0 && op <= opLit31:
			push(placeNone, uint64(op-opLit0))
		case op == opNop:
		case op == opPlusConst && top >= 0:
			stack[top].val += r.uleb()
		case op == opPlus && top >= 1 && (stack[top].kind == placeNone || stack[top-1].kind == placeNone):
			stack[top-1].kind = max(stack[top-1].kind, stack[top].kind)
			stack[top-1].val += stack[top].val
			stack = stack[:top]
		case (op == opTLSAddress || op == opGNUTLSAddress) && top >= 0 && stack[top].kind != placeTLS:
			stack[top].kind = placeTLS // before DWARF 3 the offset was written as an address
		case op == opStackValue && top == 0 && stack[0].kind == placeNone && r.left() == 0:
			stack[0].kind = placeConst
		case op == opImplicitValue && top < 0:
			v := r.bytes(r.uleb())
			if r.bad || r.left() > 0 || len(v) == 0 || len(v) > maxConst {
				return none
			}
			return fixedPlace{kind: placeConst, b: bytes.Clone(v)}
		default:
			return none
		}
	}
	if r.bad || len(stack) != 1 {
		return none
	}
	return stack[0]
}

// fixedConst reads the operand of DW_OP_const1u to DW_OP_const8s.
func fixedConst(r *reader, op uint8) uint64 {
	size := 1 << ((op - opConst1u) / 2)
	v := r.word(size)
	if (op-opConst1u)%2 == 1 {
		shift := 64 - 8*uint(size)
		return uint64(int64(v<<shift) >> shift)
	}
	return v
}
