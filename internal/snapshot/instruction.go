package snapshot

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/arch/x86/x86asm"
)

// instruction decodes where a thread is; nil where that is no instruction.
func (p *Process) instruction(th *Thread) *x86asm.Inst {
	pc, _ := th.Regs.Get(16)
	if p.Stub != nil {
		if original, in := p.Stub(pc); in && original != 0 {
			pc = original
		}
	}
	var b [15]byte
	for n := len(b); n > 0; n-- {
		if p.Mem.Read(pc, b[:n]) != nil {
			continue
		}
		if in, err := x86asm.Decode(b[:n], 64); err == nil {
			return &in
		}
		return nil
	}
	return nil
}

// generalProtection explains a fault whose address the kernel does not know: one that no program can have, an operand
// that is not aligned as its instruction wants it, or an instruction that is the kernel's.
func (p *Process) generalProtection(in *x86asm.Inst, th *Thread) fault {
	f := fault{class: classWild, words: "an address that no program can have was used: the pointer was overwritten or " +
		"never set", access: accessOf(in, 0, th)}
	if in == nil {
		return f
	}
	if to, ok := p.target(in, th); ok && to >= canonicalTop {
		f.addr, f.has, f.access = to, true, "execute"
		f.words = fmt.Sprintf("call of or jump to address 0x%x, which no program can have: the function pointer was "+
			"overwritten or never set", to)
		if in.Op == x86asm.RET {
			f.words = fmt.Sprintf("return to address 0x%x, which no program can have: the return address on the stack was "+
				"overwritten", to)
		}
		return f
	}
	at := operands(in, th)
	if i := slices.IndexFunc(at, func(a uint64) bool { return a >= canonicalTop }); i >= 0 {
		f.addr, f.has, f.access = at[i], true, accessOf(in, at[i], th)
		f.words = fmt.Sprintf("%s of address 0x%x, which no program can have: the pointer was overwritten or never set",
			f.verb(), f.addr)
		return f
	}
	pc, _ := th.Regs.Get(16)
	name := strings.ToLower(in.Op.String())
	switch {
	case in.Op == x86asm.INT:
		return fault{class: classIllegal, addr: pc, has: true,
			words: fmt.Sprintf("software interrupt (%s) that programs may not raise", strings.ToLower(in.String()))}
	case privileged(in):
		return fault{class: classIllegal, addr: pc, has: true,
			words: fmt.Sprintf("privileged instruction (%s), which only the kernel may run", name)}
	case len(at) == 1 && in.MemBytes >= 16 && at[0]%uint64(in.MemBytes) != 0:
		f.class, f.addr, f.has = classMisaligned, at[0], true
		f.words = fmt.Sprintf("%s of address 0x%x, which is no multiple of %d as %s needs it: the pointer, or the stack at "+
			"a call, is not aligned", f.verb(), at[0], in.MemBytes, name)
	}
	return f
}

// checkNames are what clang checks with -fsanitize-trap, by the number that it puts into the instruction.
var checkNames = [...]string{0: "an addition overflows", 1: "code that cannot be reached was reached",
	2: "control flow integrity", 3: "a division by zero, or whose quotient does not fit",
	5: "a floating-point value does not fit the type that it is converted to", 6: "a function of another type was called",
	7: "an implicit conversion changes the value",
	8: "a builtin function got a value that it must not get", 10: "a value is none of its type's",
	11: "a function that returns a value came to its end without one",
	12: "a multiplication overflows", 13: "a negation overflows",
	16: "a null argument for a parameter that must not be null", 17: "a null result that must not be null",
	18: "an index is out of bounds", 19: "pointer arithmetic overflows",
	20: "a shift is too large, or of a negative value", 21: "a subtraction overflows",
	22: "a null or misaligned pointer was used, or one to too small an object", 23: "a pointer is not aligned as assumed",
	24: "the bound of a variable length array is not positive"}

// failedCheck says which check of the compiler's ends in an instruction, if it is one of clang's.
func failedCheck(in *x86asm.Inst) (string, bool) {
	if in == nil || in.Op != x86asm.UD1 {
		return "", false
	}
	for _, a := range in.Args {
		if m, ok := a.(x86asm.Mem); ok && m.Base == x86asm.EAX && m.Disp >= 0 && m.Disp < int64(len(checkNames)) &&
			checkNames[m.Disp] != "" {
			return ": " + checkNames[m.Disp], true
		}
	}
	return "", true
}

// target returns where a call, a jump or a return leads.
func (p *Process) target(in *x86asm.Inst, th *Thread) (uint64, bool) {
	var from uint64
	switch in.Op {
	case x86asm.RET:
		from, _ = th.Regs.Get(7)
	case x86asm.CALL, x86asm.JMP:
		if r, ok := in.Args[0].(x86asm.Reg); ok {
			return register(r, th)
		}
		at := operands(in, th)
		if _, mem := in.Args[0].(x86asm.Mem); !mem || len(at) == 0 {
			return 0, false
		}
		from = at[0]
	default:
		return 0, false
	}
	var b [8]byte
	if p.Mem.Read(from, b[:]) != nil {
		return 0, false
	}
	return binary.LittleEndian.Uint64(b[:]), true
}

// privileged reports instructions that only the kernel may run, or that need rights on ports.
func privileged(in *x86asm.Inst) bool {
	switch in.Op {
	case x86asm.HLT, x86asm.CLI, x86asm.STI, x86asm.IN, x86asm.OUT, x86asm.INSB, x86asm.INSD, x86asm.INSW, x86asm.OUTSB,
		x86asm.OUTSD, x86asm.OUTSW,
		x86asm.LGDT, x86asm.LIDT, x86asm.LLDT, x86asm.LTR, x86asm.LMSW, x86asm.INVD, x86asm.WBINVD, x86asm.INVLPG,
		x86asm.RDMSR, x86asm.WRMSR,
		x86asm.RDPMC, x86asm.RDTSC, x86asm.RDTSCP, x86asm.XSETBV, x86asm.SWAPGS, x86asm.CLTS, x86asm.SYSRET, x86asm.SYSEXIT:
		return true
	case x86asm.MOV:
		for _, a := range in.Args[:2] {
			if r, ok := a.(x86asm.Reg); ok && r >= x86asm.CR0 && r <= x86asm.DR15 {
				return true
			}
		}
	}
	return false
}

// divisor returns what an integer division divides by, sign-extended.
func (p *Process) divisor(in *x86asm.Inst, th *Thread) (int64, bool) {
	if in == nil || in.Op != x86asm.IDIV && in.Op != x86asm.DIV {
		return 0, false
	}
	var v uint64
	size := 8
	switch a := in.Args[0].(type) {
	case x86asm.Mem:
		size = in.MemBytes
		var b [8]byte
		at := operands(in, th)
		if len(at) == 0 || size < 1 || size > 8 || a.Base == x86asm.RIP || p.Mem.Read(at[0], b[:size]) != nil {
			return 0, false
		}
		v = binary.LittleEndian.Uint64(b[:])
	case x86asm.Reg:
		var ok bool
		switch {
		case a >= x86asm.EAX && a <= x86asm.R15L:
			size, a = 4, a-x86asm.EAX+x86asm.RAX
		case a >= x86asm.AX && a <= x86asm.R15W:
			size, a = 2, a-x86asm.AX+x86asm.RAX
		case a < x86asm.RAX || a > x86asm.R15:
			return 0, false
		}
		if v, ok = register(a, th); !ok {
			return 0, false
		}
	}
	shift := uint(64 - 8*size)
	return int64(v<<shift) >> shift, true
}

// accessOf says what an instruction does to its memory operand; of those that it has two of, to the one that addr is
// at.
func accessOf(in *x86asm.Inst, addr uint64, th *Thread) string {
	if in == nil {
		return ""
	}
	switch in.Op {
	case x86asm.CMP, x86asm.TEST, x86asm.BT, x86asm.DIV, x86asm.IDIV, x86asm.MUL, x86asm.IMUL, x86asm.JMP, x86asm.RET,
		x86asm.LDMXCSR,
		x86asm.CMPSB, x86asm.CMPSD, x86asm.CMPSQ, x86asm.CMPSW, x86asm.FXRSTOR, x86asm.FXRSTOR64, x86asm.XRSTOR,
		x86asm.XRSTOR64,
		x86asm.FLD, x86asm.FILD, x86asm.FBLD, x86asm.FLDCW, x86asm.FLDENV, x86asm.FRSTOR, x86asm.FADD, x86asm.FIADD,
		x86asm.FSUB, x86asm.FISUB,
		x86asm.FSUBR, x86asm.FISUBR, x86asm.FMUL, x86asm.FIMUL, x86asm.FDIV, x86asm.FIDIV, x86asm.FDIVR, x86asm.FIDIVR,
		x86asm.FCOM, x86asm.FICOM,
		x86asm.FCOMP, x86asm.FICOMP:
		return "read"
	case x86asm.PUSH, x86asm.CALL: // they read their operand and write below the stack pointer
		sp, _ := th.Regs.Get(7)
		if _, mem := in.Args[0].(x86asm.Mem); mem && addr-(sp-8) >= 8 {
			return "read"
		}
		return "write"
	case x86asm.MOVSB, x86asm.MOVSD, x86asm.MOVSQ, x86asm.MOVSW: // from rsi to rdi, which are where it has come to
		from, _ := register(x86asm.RSI, th)
		to, _ := register(x86asm.RDI, th)
		if distance(addr, to) < distance(addr, from) {
			return "write"
		}
		return "read"
	}
	for i, a := range in.Args {
		if _, mem := a.(x86asm.Mem); mem {
			if i == 0 {
				return "write"
			}
			return "read"
		}
	}
	return ""
}

func distance(a, b uint64) uint64 { return min(a-b, b-a) }

// operands are the addresses that an instruction uses.
func operands(in *x86asm.Inst, th *Thread) (out []uint64) {
	if in == nil {
		return nil
	}
	for _, a := range in.Args {
		m, ok := a.(x86asm.Mem)
		if !ok || m.Segment == x86asm.FS || m.Segment == x86asm.GS {
			continue
		}
		addr := uint64(m.Disp)
		if v, ok := register(m.Base, th); ok {
			addr += v
		} else if pc, ok := th.Regs.Get(16); ok && m.Base == x86asm.RIP {
			addr += pc + uint64(in.Len)
		}
		if v, ok := register(m.Index, th); ok {
			addr += v * uint64(m.Scale)
		}
		out = append(out, addr)
	}
	if sp, ok := th.Regs.Get(7); ok && (in.Op == x86asm.PUSH || in.Op == x86asm.CALL || in.Op == x86asm.RET ||
		in.Op == x86asm.POP) {
		out = append(out, sp)
	}
	return out
}

// register returns a 64-bit register by the decoder's name.
func register(r x86asm.Reg, th *Thread) (uint64, bool) {
	order := [...]int{0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15} // the encoding's to DWARF's
	if r < x86asm.RAX || r > x86asm.R15 {
		return 0, false
	}
	return th.Regs.Get(order[r-x86asm.RAX])
}
