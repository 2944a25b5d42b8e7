package capture

import "golang.org/x/arch/x86/x86asm"

// wholeFrameKnown reports that the stack pointer moves in the prologue only, so that a distance from it
// behind the prologue is a distance from the CFA in the whole function.
func wholeFrameKnown(p *prologue, code []byte) bool {
	if !p.spOK || p.length > len(code) {
		return false
	}
	for code = code[p.length:]; len(code) > 0; {
		in, err := x86asm.Decode(code, 64)
		if err != nil || in.Len <= 0 {
			return false
		}
		switch in.Op {
		case x86asm.PUSH, x86asm.ENTER:
			return false
		case x86asm.SUB, x86asm.AND, x86asm.LEA, x86asm.MOV, x86asm.XCHG:
			if in.Args[0] == x86asm.RSP {
				return false
			}
		}
		code = code[in.Len:]
	}
	return true
}
