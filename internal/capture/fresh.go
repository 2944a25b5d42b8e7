package capture

import "golang.org/x/arch/x86/x86asm"

// Rust's ABI for pairs is not written down, and repr(C) changes it without a sign in DWARF. What is left is the code:
// where a result is known to exist, a register that is written before a return and not read in between holds it, or a
// part of it. That there is a result at all, it does not prove: see usage.

// results says which result registers a function certainly sets, and which it may set.
type results struct {
	sure  [4]bool // resRAX…
	maybe [4]bool // also: a tail call or a call's result
}

const (
	resRAX = iota
	resRDX
	resXMM0
	resXMM1
)

type freshness uint8

const (
	stale   freshness = iota // nothing written since the entry or a branch
	used                     // written, then read; or left by a call
	flagged                  // written by an instruction whose flags may have been what was wanted: a loop's counter
	fresh
)

// maxCode bounds how much of a function is read; what lies behind it counts as "may".
const maxCode = 1 << 16

// readResults reads a function's code from its entry.
func readResults(code []byte) results {
	var out results
	if len(code) > maxCode {
		out.maybe = [4]bool{true, true, true, true}
		code = code[:maxCode]
	}
	var st [4]freshness
	for len(code) > 0 {
		n, ok := stepResults(code, &st, &out)
		if !ok {
			out.maybe = [4]bool{true, true, true, true}
			return out
		}
		code = code[n:]
	}
	return out
}

func stepResults(code []byte, st *[4]freshness, out *results) (int, bool) {
	if len(code) >= 4 && code[0] == 0xf3 && code[1] == 0x0f && code[2] == 0x1e {
		return 4, true
	}
	in, err := decode(code)
	if err != nil || in.Len <= 0 {
		return 0, false
	}
	switch {
	case in.Op == x86asm.RET:
		for i := range st {
			out.sure[i] = out.sure[i] || st[i] >= flagged
			out.maybe[i] = out.maybe[i] || st[i] != stale
		}
		*st = [4]freshness{}
	case in.Op == x86asm.JMP:
		// it may leave the function, and whatever it leads to may return what is there now
		for i := range st {
			out.maybe[i] = true
		}
		*st = [4]freshness{}
	case in.Op == x86asm.CALL, in.Op == x86asm.SYSCALL:
		*st = [4]freshness{used, used, used, used}
	case isJcc(in.Op):
		for i := range st {
			out.maybe[i] = out.maybe[i] || st[i] != stale
		}
		useFlags(st)
	default:
		operands(&in, st)
	}
	return in.Len, true
}

// leftByCalls says which result registers some return, or jump out of the function, may leave as a call left them.
// Jumps forward are followed; one backward adds nothing that is not seen on the way to it.
func leftByCalls(code []byte) (left [4]bool) {
	code = code[:min(len(code), maxCode)]
	var open [4]bool // what a call left, here
	pending := map[int][4]bool{}
	add := func(to *[4]bool) {
		for i := range open {
			to[i] = to[i] || open[i]
		}
	}
	var none usage
	for at := 0; at < len(code); {
		if isEndbr(code[at:]) {
			at += 4
			continue
		}
		in, err := decode(code[at:])
		if err != nil || in.Len <= 0 {
			add(&left)
			return left
		}
		if came, ok := pending[at]; ok {
			for i := range open {
				open[i] = open[i] || came[i]
			}
		}
		vex := code[at] == 0xc4 || code[at] == 0xc5
		at += in.Len
		rel, known := in.Args[0].(x86asm.Rel)
		to := at + int(rel)
		switch {
		case in.Op == x86asm.CALL, in.Op == x86asm.SYSCALL:
			open = [4]bool{true, true, true, true}
		case in.Op == x86asm.RET:
			add(&left)
			open = [4]bool{}
		case in.Op == x86asm.UD2, in.Op == x86asm.HLT:
			open = [4]bool{}
		case in.Op == x86asm.JMP && known && (to < 0 || to >= len(code)):
			left, open = [4]bool{true, true, true, true}, [4]bool{} // a tail call
		case in.Op == x86asm.JMP && !known:
			add(&left)
			open = [4]bool{}
		case in.Op == x86asm.JMP, isJcc(in.Op):
			came := pending[to]
			add(&came)
			pending[to] = came
			if in.Op == x86asm.JMP {
				open = [4]bool{}
			}
		default:
			wanted(&in, vex, &open, &none)
		}
	}
	return left
}

// lastLoads says how many bytes a function loads from memory into rax and xmm0 last, in front of all its returns; 0
// where it does not, or where they differ. Unoptimised code loads what it returns, by its size. latest is the register
// of the latest load, or -1.
func lastLoads(code []byte) (out [4]int, latest int) {
	code = code[:min(len(code), maxCode)]
	var now [4]int
	seen := false
	latest = -1
	for len(code) > 0 {
		if isEndbr(code) {
			code = code[4:]
			continue
		}
		in, err := decode(code)
		if err != nil || in.Len <= 0 {
			return [4]int{}, -1
		}
		code = code[in.Len:]
		switch {
		case in.Op == x86asm.RET:
			for i := range out {
				if seen && out[i] != now[i] {
					now[i] = 0
				}
			}
			out, now, seen = now, [4]int{}, true
		case in.Op == x86asm.JMP, in.Op == x86asm.CALL, in.Op == x86asm.SYSCALL, isJcc(in.Op):
			now = [4]int{}
		default:
			for _, a := range in.Args[1:] { // what is read again is not for the caller alone
				if r, ok := a.(x86asm.Reg); ok && resultIndex(r) >= 0 {
					now[resultIndex(r)] = 0
				}
			}
			r, _ := in.Args[0].(x86asm.Reg)
			i := resultIndex(r)
			if i < 0 {
				continue
			}
			now[i] = 0
			if _, ok := in.Args[1].(x86asm.Mem); ok && isMove(&in) {
				now[i], latest = in.MemBytes, i
			}
		}
	}
	return out, latest
}

func useFlags(st *[4]freshness) {
	for i := range st {
		if st[i] == flagged {
			st[i] = used
		}
	}
}

// operands notes the reads, then the writes, of one instruction.
func operands(in *x86asm.Inst, st *[4]freshness) {
	dst, writesOnly := in.Args[0], writesFirst(in)
	for i, a := range in.Args {
		if a == nil {
			break
		}
		if i == 0 && writesOnly {
			if m, ok := a.(x86asm.Mem); ok {
				readMem(m, st)
			}
			continue
		}
		switch a := a.(type) {
		case x86asm.Reg:
			readReg(a, st)
		case x86asm.Mem:
			readMem(a, st)
		}
	}
	switch in.Op {
	case x86asm.CMP, x86asm.TEST, x86asm.PUSH, x86asm.NOP, x86asm.UCOMISS, x86asm.UCOMISD, x86asm.COMISS, x86asm.COMISD,
		x86asm.BT:
		return
	case x86asm.MUL, x86asm.DIV, x86asm.IDIV:
		st[resRAX], st[resRDX] = used, used // either half may be what was wanted
		return
	case x86asm.CDQ, x86asm.CQO, x86asm.CWD:
		readReg(x86asm.RAX, st)
		st[resRDX] = fresh
		return
	case x86asm.CDQE, x86asm.CWDE, x86asm.CBW:
		st[resRAX] = fresh
		return
	case x86asm.CPUID, x86asm.RDTSC, x86asm.CMPXCHG, x86asm.LODSB, x86asm.LODSD, x86asm.LODSQ, x86asm.XCHG, x86asm.XADD:
		st[resRAX], st[resRDX] = used, used
		return
	case x86asm.IMUL:
		if in.Args[1] == nil {
			st[resRAX], st[resRDX] = used, used
			return
		}
	}
	if readsFlags(in.Op) {
		useFlags(st)
	}
	if r, ok := dst.(x86asm.Reg); ok {
		if i := resultIndex(r); i >= 0 {
			st[i] = fresh
			switch {
			case in.Op == x86asm.POP: // "pop rax" only moves the stack pointer in functions without a result
				st[i] = used
			case !writesOnly && i <= resRDX:
				st[i] = flagged
			}
		}
	}
}

func readsFlags(op x86asm.Op) bool {
	switch op {
	case x86asm.ADC, x86asm.SBB, x86asm.RCL, x86asm.RCR,
		x86asm.CMOVA, x86asm.CMOVAE, x86asm.CMOVB, x86asm.CMOVBE, x86asm.CMOVE, x86asm.CMOVG, x86asm.CMOVGE, x86asm.CMOVL,
		x86asm.CMOVLE, x86asm.CMOVNE, x86asm.CMOVNO, x86asm.CMOVNP, x86asm.CMOVNS, x86asm.CMOVO, x86asm.CMOVP, x86asm.CMOVS,
		x86asm.SETA, x86asm.SETAE, x86asm.SETB, x86asm.SETBE, x86asm.SETE, x86asm.SETG, x86asm.SETGE, x86asm.SETL,
		x86asm.SETLE,
		x86asm.SETNE, x86asm.SETNO, x86asm.SETNP, x86asm.SETNS, x86asm.SETO, x86asm.SETP, x86asm.SETS:
		return true
	}
	return false
}

// writesFirst reports that the first operand's old contents do not matter.
func writesFirst(in *x86asm.Inst) bool {
	switch in.Op {
	case x86asm.MOV, x86asm.MOVZX, x86asm.MOVSX, x86asm.MOVSXD, x86asm.LEA, x86asm.POP, x86asm.MOVAPS, x86asm.MOVAPD,
		x86asm.MOVUPS,
		x86asm.MOVUPD, x86asm.MOVDQA, x86asm.MOVDQU, x86asm.MOVD, x86asm.MOVQ, x86asm.MOVSS, x86asm.MOVSD_XMM,
		x86asm.CVTSI2SS, x86asm.CVTSI2SD, x86asm.SQRTSS, x86asm.SQRTSD, x86asm.CVTTSS2SI, x86asm.CVTTSD2SI:
		return true
	case x86asm.XOR, x86asm.SUB, x86asm.PXOR, x86asm.XORPS, x86asm.XORPD:
		return in.Args[0] == in.Args[1]
	}
	switch in.Op {
	case x86asm.SETA, x86asm.SETAE, x86asm.SETB, x86asm.SETBE, x86asm.SETE, x86asm.SETG, x86asm.SETGE, x86asm.SETL,
		x86asm.SETLE,
		x86asm.SETNE, x86asm.SETNO, x86asm.SETNP, x86asm.SETNS, x86asm.SETO, x86asm.SETP, x86asm.SETS:
		return true
	}
	return false
}

func readReg(r x86asm.Reg, st *[4]freshness) {
	if i := resultIndex(r); i >= 0 && st[i] >= flagged {
		st[i] = used
	}
}

func readMem(m x86asm.Mem, st *[4]freshness) {
	readReg(m.Base, st)
	readReg(m.Index, st)
}

func resultIndex(r x86asm.Reg) int {
	switch r {
	case x86asm.AL, x86asm.AX, x86asm.EAX, x86asm.RAX, x86asm.AH:
		return resRAX
	case x86asm.DL, x86asm.DX, x86asm.EDX, x86asm.RDX, x86asm.DH:
		return resRDX
	case x86asm.X0:
		return resXMM0
	case x86asm.X1:
		return resXMM1
	}
	return -1
}
