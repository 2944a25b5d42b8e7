package capture

import "golang.org/x/arch/x86/x86asm"

// wholeFrame follows the code behind the prologue. known reports that the stack pointer moves in the
// prologue only, so that a distance from it is a distance from the CFA in the whole function.
// p.args then has every word of the argument area that is read anywhere.
func (p *prologue) wholeFrame(code []byte) (known bool) {
	if !p.spOK || p.length > len(code) {
		return false
	}
	for code = code[p.length:]; len(code) > 0; {
		in, err := decode(code)
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
		case x86asm.POP:
			if in.Args[0] == x86asm.RBP {
				p.gpr[rbp] = content{}
			}
		}
		p.noteArgs(&in)
		code = code[in.Len:]
	}
	return true
}

// reads reports whether the function reads any of size bytes at CFA+off.
func (p *prologue) reads(off int64, size uint32) bool {
	for i := off &^ 7; i < off+int64(min(size, maxStack)); i += 8 {
		if p.args[int32(i)] {
			return true
		}
	}
	return false
}
