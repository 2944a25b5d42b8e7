package capture

import (
	"strings"

	"golang.org/x/arch/x86/x86asm"

	"github.com/strobe-debug/strobe/internal/symbol"
)

// gcc does not say in DWARF whether a small class is trivial to copy, that is whether it is returned in
// registers or through a hidden pointer. The code says: such a function returns the pointer that
// it got in rdi, and no parameter is in rdi.

// hiddenChoice decides for a class of at most 16 bytes; sysv is where it is when it is trivial.
func hiddenChoice(sysv resultHome, sig *symbol.Signature, code []byte) resultHome {
	if paramIn(sig, code, rdi) {
		return sysv
	}
	yes, no := returnsFirst(code)
	switch {
	case yes && !no:
		return resultHome{memory: true}
	}
	return sysv // it was not found to be non-trivial, and the code does not contradict
}

// paramIn reports whether a parameter is known to be in a general register at the entry.
func paramIn(sig *symbol.Signature, code []byte, reg uint8) bool {
	return paramAt(sig, code, srcGPR, reg)
}

// paramAt does so for a register of either kind.
func paramAt(sig *symbol.Signature, code []byte, kind srcKind, reg uint8) bool {
	entry, pro := entryFrame(sig), readPrologue(code)
	body := pro.frame(sig.FrameBase)
	for i := range sig.Params {
		size := sizeOf(sig.Params[i].Type)
		if size <= 0 {
			continue
		}
		h := locateParam(&sig.Params[i], sig, entry, body, pro, nowhere, code)
		for _, p := range h.places {
			if !h.missing && p.kind == kind && p.reg == reg {
				return true
			}
		}
	}
	return false
}

// returnsFirst follows the code as it is written and reports whether there are returns with the entry's rdi in
// rax, and returns with something that certainly is not.
func returnsFirst(code []byte) (yes, no bool) {
	p := newPrologue()
	var saved *[16]content // before the epilogue
	leave := func() {
		if saved == nil {
			c := p.gpr
			saved = &c
		}
	}
	want := from(source{kind: srcGPR, reg: rdi}, 8)
	var before, in x86asm.Inst
	for len(code) > 0 {
		if len(code) >= 4 && code[0] == 0xf3 && code[1] == 0x0f && code[2] == 0x1e {
			code = code[4:]
			continue
		}
		var err error
		before = in
		if in, err = decode(code); err != nil || in.Len <= 0 {
			return true, true
		}
		code = code[in.Len:]
		switch {
		case in.Op == x86asm.RET:
			switch c := p.gpr[rax]; {
			case c.b == want.b:
				yes = true
			case c.call:
				return true, true
			default:
				no = true
			}
			if saved != nil {
				p.gpr, saved = *saved, nil
			}
		case in.Op == x86asm.CALL:
			for _, r := range []uint8{rax, rcx, rdx, rsi, rdi, r8, r9, r10, r11} {
				p.gpr[r] = content{call: true}
			}
		case in.Op == x86asm.POP, in.Op == x86asm.LEAVE:
			leave()
			p.clobber(&in)
		case in.Op == x86asm.ADD && in.Args[0] == x86asm.RSP:
			leave()
		case in.Op == x86asm.JMP:
			if rel, ok := in.Args[0].(x86asm.Rel); ok && int64(rel) < int64(len(code)) && rel >= -maxCode ||
				byTable(&before, &in) {
				continue
			}
			return true, true // a tail call: what it returns is not seen
		case isJcc(in.Op):
		default:
			if !p.step(&in) {
				p.clobber(&in)
			}
		}
	}
	return yes, no
}

// byTable reports a jump by a table of the function's own, as of a switch: its address is read at an index, or added
// up.
func byTable(before, jump *x86asm.Inst) bool {
	switch to := jump.Args[0].(type) {
	case x86asm.Mem:
		return to.Index != 0 && to.Scale == 8
	case x86asm.Reg:
		if before.Args[0] != to {
			return false
		}
		m, isMem := before.Args[1].(x86asm.Mem)
		return before.Op == x86asm.ADD || before.Op == x86asm.MOV && isMem && m.Index != 0 && m.Scale == 8
	}
	return false
}

// declaredParams counts the parameters that a mangled name speaks of.
func declaredParams(sig *symbol.Signature) int {
	n := 0
	for i := range sig.Params {
		if !sig.Params[i].Artificial && sig.Params[i].Name != "this" {
			n++
		}
	}
	return n
}

// namedParams counts the parameters in a demangled name with parameters; -1 when it has none.
func namedParams(full string) int {
	full = strings.TrimSuffix(strings.TrimSuffix(full, " const"), " &")
	if !strings.HasSuffix(full, ")") {
		return -1
	}
	depth, commas, end := 0, 0, len(full)-1
	for i := end; i >= 0; i-- {
		switch full[i] {
		case ')', '>', ']', '}':
			if full[i] == '>' && i > 0 && (full[i-1] == '-' || strings.HasSuffix(full[:i], "operator")) {
				return -1
			}
			depth++
		case '<', '[', '{':
			depth--
		case ',':
			if depth == 1 {
				commas++
			}
		case '(':
			if depth--; depth == 0 {
				in := strings.TrimSpace(full[i+1 : end])
				switch {
				case in == "" || in == "void" || in == "...":
					return 0
				case strings.HasSuffix(in, "..."):
					return commas
				}
				return commas + 1
			}
		}
	}
	return -1
}
