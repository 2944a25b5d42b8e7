package capture

import (
	"strings"

	"golang.org/x/arch/x86/x86asm"

	"github.com/strobe-debug/strobe/internal/symbol"
)

// LLVM gives functions that only their own module calls a convention in which the address of a result in memory, which
// comes in rdi, does not go back in rax. It is kept from the entry then.

// fillsFirst follows the code as it is written and reports whether it stores to where the entry's rdi points, or hands
// that address on as the first argument: as a function does that was given a place for its result.
func fillsFirst(code []byte) bool {
	p := newPrologue()
	want := from(source{kind: srcGPR, reg: rdi}, 8)
	for len(code) > 0 {
		in, err := decode(code)
		if err != nil || in.Len <= 0 {
			return false
		}
		code = code[in.Len:]
		switch {
		case in.Op == x86asm.CALL:
			if p.gpr[rdi].b == want.b {
				return true
			}
			for _, r := range []uint8{rax, rcx, rdx, rsi, rdi, r8, r9, r10, r11} {
				p.gpr[r] = content{call: true}
			}
			continue
		case in.Op == x86asm.JMP:
			if rel, ok := in.Args[0].(x86asm.Rel); (!ok || int64(rel) >= int64(len(code)) || rel < -maxCode) &&
				p.gpr[rdi].b == want.b {
				return true
			}
			continue
		case in.Op == x86asm.RET, isJcc(in.Op):
			continue
		}
		if to, ok := in.Args[0].(x86asm.Mem); ok && strings.HasPrefix(in.Op.String(), "MOV") {
			if c := p.reg(to.Base); c != nil && c.b == want.b {
				return true
			}
		}
		if !p.step(&in) {
			p.clobber(&in)
		}
	}
	return false
}

// keptPlace is a result in memory whose address is kept from the entry, where the code looks like it.
func keptPlace(sig *symbol.Signature, code []byte) resultHome {
	if lostResult(sig.Clone) || paramIn(sig, code, rdi) || !fillsFirst(code) {
		return noResult
	}
	return resultHome{memory: true, saved: true}
}
