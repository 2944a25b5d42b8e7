package capture

import (
	"errors"

	"golang.org/x/arch/x86/x86asm"
)

var errNotVEX = errors.New("no VEX instruction with an older form")

// decode reads one instruction. x86asm does not know AVX: an instruction with a VEX prefix is read as the older one
// of the same opcode, whose first operand is its destination too. Where AVX has an operand more, the older form
// reads its destination instead; a 256-bit register counts as its low half.
func decode(code []byte) (x86asm.Inst, error) {
	in, err := x86asm.Decode(code, 64)
	if len(code) > 0 && (code[0] == 0xc5 || code[0] == 0xc4) {
		return decodeVEX(code)
	}
	return in, err
}

// decodeVEX translates the prefix: Intel SDM volume 2, 2.3.5.
func decodeVEX(code []byte) (x86asm.Inst, error) {
	const maxRest = 12
	var last, rex byte
	prefix, opmap := 0, byte(1)
	switch {
	case len(code) >= 4 && code[0] == 0xc5:
		prefix, last = 2, code[1]
		rex = 0x40 | ^code[1]>>5&4
	case len(code) >= 5 && code[0] == 0xc4:
		prefix, last, opmap = 3, code[2], code[1]&31
		rex = 0x40 | ^code[1]>>5&7 | code[2]>>4&8
	default:
		return x86asm.Inst{}, errNotVEX
	}
	var old []byte
	if p := [4]byte{0, 0x66, 0xf3, 0xf2}[last&3]; p != 0 {
		old = append(old, p)
	}
	old = append(old, rex, 0x0f)
	switch opmap {
	case 1:
		if prefix < len(code) && isMaskOp(code[prefix]) {
			return x86asm.Inst{}, errNotVEX
		}
	case 2:
		old = append(old, 0x38)
	case 3:
		old = append(old, 0x3a)
	default:
		return x86asm.Inst{}, errNotVEX
	}
	grown := len(old) - prefix
	old = append(old, code[prefix:min(len(code), prefix+maxRest)]...)
	in, err := x86asm.Decode(old, 64)
	in.Len -= grown
	if err == nil && last&4 != 0 && in.MemBytes == 16 {
		in.MemBytes = 32
	}
	return in, err
}

// isMaskOp reports an operation on the mask registers of AVX-512: without the prefix its opcode means something else.
func isMaskOp(op byte) bool {
	return op >= 0x41 && op <= 0x4b || op >= 0x90 && op <= 0x93 || op == 0x98 || op == 0x99
}
