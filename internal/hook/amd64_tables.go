package hook

// The opcode maps, one character per opcode, sixteen to a row. A character says what follows the
// opcode byte:
//
//	.  nothing              m  ModRM                 x  undefined in 64-bit mode
//	b  imm8                 M  ModRM, imm8           p  legacy or REX prefix
//	w  imm16                Z  ModRM, immZ           s  decided in code
//	z  immZ (2 or 4 bytes)  o  moffs (4 or 8 bytes)  v  imm of operand size, up to 8
//	j  rel8                 J  rel32 (rel16 with 66) e  imm16, imm8
const (
	oneByteMap = "" +
		"mmmmbzxxmmmmbzxs" + // 00
		"mmmmbzxxmmmmbzxx" + // 10
		"mmmmbzpxmmmmbzpx" + // 20
		"mmmmbzpxmmmmbzpx" + // 30
		"pppppppppppppppp" + // 40
		"................" + // 50
		"xxsmppppzZbM...." + // 60
		"jjjjjjjjjjjjjjjj" + // 70
		"MZxMmmmmmmmmmmms" + // 80
		"..........x....." + // 90
		"oooo....bz......" + // A0
		"bbbbbbbbvvvvvvvv" + // B0
		"MMw.ssss" + "e.w..bx." + // C0
		"mmmmxxx.mmmmmmmm" + // D0
		"jjjjbbbbJJxj...." + // E0
		"p.pp..ss......mm" // F0

	twoByteMap = "" +
		"mmmmx.....x.xm.M" + // 00
		"mmmmmmmmmmmmmmmm" + // 10
		"mmmmxxxxmmmmmmmm" + // 20
		"......x.sxsxxxxx" + // 30
		"mmmmmmmmmmmmmmmm" + // 40
		"mmmmmmmmmmmmmmmm" + // 50
		"mmmmmmmmmmmmmmmm" + // 60
		"MMMMmmm.smxxmmmm" + // 70
		"JJJJJJJJJJJJJJJJ" + // 80
		"mmmmmmmmmmmmmmmm" + // 90
		"...mMmmm...mMmmm" + // A0
		"mmmmmmmmmmMmmmmm" + // B0
		"mmMmMMMm........" + // C0
		"mmmmmmmmmmmmmmmm" + // D0
		"mmmmmmmmmmmmmmmm" + // E0
		"mmmmmmmmmmmmmmmm" // F0
)

// The maps have an entry for each of the 256 opcodes, or this does not compile.
var (
	_ [256]byte = [len(oneByteMap)]byte{}
	_ [256]byte = [len(twoByteMap)]byte{}
)

// vexHasImm8 reports whether an opcode of map 1 takes an imm8 in its VEX or EVEX form:
// the shift groups, cmpps, pinsrw, pextrw and shufps.
func vexHasImm8(op byte) bool {
	switch op {
	case 0x70, 0x71, 0x72, 0x73, 0xC2, 0xC4, 0xC5, 0xC6:
		return true
	}
	return false
}
