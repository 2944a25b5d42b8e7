package capture

import "golang.org/x/arch/x86/x86asm"

// What a register holds at a return proves nothing: it may be left over from the body of a function whose result LLVM took away. A
// write to it does that reaches a return and that nothing reads on any way: compilers leave no dead writes. Loads are no proof, as
// programs may load what is volatile or atomic for the load's own sake.

// regSet is a set of result registers, and the flags.
type regSet uint8

const (
	setRAX   regSet = 1 << resRAX
	setRDX   regSet = 1 << resRDX
	setXMM0  regSet = 1 << resXMM0
	setXMM1  regSet = 1 << resXMM1
	setFlags regSet = 1 << 4
	setAll          = setRAX | setRDX | setXMM0 | setXMM1 | setFlags
)

// proofs says which result registers a function certainly fills in for its callers.
type proofs struct {
	sure [4]bool
	wide bool // rax by an instruction that only values of eight bytes need
}

// flowStep is what one instruction does with the result registers.
type flowStep struct {
	reads, writes regSet
	strong        regSet // writes that are of no use but for what is written
	flags         bool   // the flags may be what was wanted
	wide          bool
	next          bool  // the following instruction may be next
	jump          int32 // index of another that may be, or -1
	leaves        bool  // a jump to somewhere else: all registers may be wanted there
	returns       bool
}

// provenResults are the registers that the code or the callers of a function prove to be results.
func provenResults(code []byte, use *usage) proofs {
	p := proveResults(code, use.external)
	for i, read := range use.read {
		p.sure[i] = p.sure[i] || read
	}
	p.wide = p.wide || use.wide
	return p
}

// proveResults reads all of a function's code. Loads count as proof when lax.
func proveResults(code []byte, lax bool) proofs {
	if len(code) > maxCode {
		return proofs{}
	}
	steps := flowSteps(code, lax)
	live := liveRegisters(steps)
	// what reaches each instruction: proof in the low four bits, a wide one of rax in the fifth
	reach := make([]uint8, len(steps)+1)
	var out proofs
	for changed := true; changed; {
		changed = false
		for i := range steps {
			s := &steps[i]
			st := reach[i] &^ uint8(s.writes&^setFlags)
			if s.writes&setRAX != 0 {
				st &^= 16
			}
			if good := s.strong &^ live[i]; good != 0 && (!s.flags || live[i]&setFlags == 0) {
				st |= uint8(good)
				if s.wide && good&setRAX != 0 {
					st |= 16
				}
			}
			pass := func(to int) {
				if old := reach[to]; old|st != old {
					reach[to] = old | st
					changed = changed || to <= i
				}
			}
			if s.next {
				pass(i + 1)
			}
			if s.jump >= 0 {
				pass(int(s.jump))
			}
		}
	}
	for i := range steps {
		if !steps[i].returns {
			continue
		}
		for r := range out.sure {
			out.sure[r] = out.sure[r] || reach[i]>>r&1 != 0
		}
		out.wide = out.wide || reach[i]&16 != 0
	}
	return out
}

// liveRegisters returns what may be read behind each instruction before it is written, results by callers aside.
func liveRegisters(steps []flowStep) []regSet {
	behind := make([]regSet, len(steps))
	at := func(i int) regSet { // before instruction i
		if i >= len(steps) {
			return setAll
		}
		return behind[i]&^steps[i].writes | steps[i].reads
	}
	for changed := true; changed; {
		changed = false
		for i := len(steps) - 1; i >= 0; i-- {
			s := &steps[i]
			var live regSet
			if s.next {
				live |= at(i + 1)
			}
			if s.jump >= 0 {
				live |= at(int(s.jump))
			}
			if s.leaves {
				live = setAll
			}
			if live != behind[i] {
				behind[i], changed = live, true
			}
		}
	}
	return behind
}

// flowSteps decodes code. It is empty where some instruction is not known.
func flowSteps(code []byte, lax bool) []flowStep {
	var steps []flowStep
	index := make([]int32, len(code)+1) // of the instruction that starts there, plus one
	targets := map[int]int{}            // of jumps, by step
	given := givenSlots(code)
	zeroed := false
	for at := 0; at < len(code); {
		index[at] = int32(len(steps)) + 1
		if isEndbr(code[at:]) {
			steps = append(steps, flowStep{next: true, jump: -1})
			at += 4
			continue
		}
		in, err := decode(code[at:])
		if err != nil || in.Len <= 0 || at+in.Len > len(code) {
			return nil
		}
		vex := code[at] == 0xc4 || code[at] == 0xc5
		s := flowStep{next: true, jump: -1}
		behind := at + in.Len
		switch {
		case in.Op == x86asm.RET:
			if zeroed { // the option that clears registers at returns: its writes mean nothing
				return nil
			}
			s.next, s.returns = false, true
		case in.Op == x86asm.JMP, isJcc(in.Op):
			s.next = in.Op != x86asm.JMP
			if s.next {
				s.reads = setFlags
			}
			rel, ok := in.Args[0].(x86asm.Rel)
			if to := int64(behind) + int64(rel); ok && to >= 0 && to < int64(len(code)) {
				targets[len(steps)] = int(to)
			} else {
				s.leaves = true
			}
		case in.Op == x86asm.UD2, in.Op == x86asm.HLT:
			s.next = false
		case in.Op == x86asm.CALL, in.Op == x86asm.SYSCALL:
			s.reads, s.writes = setAll&^setFlags, setAll
		default:
			s.effects(&in, code[at:behind], vex, lax, given)
		}
		zeroed = clearsScratch(&in)
		steps = append(steps, s)
		at = behind
	}
	for i, to := range targets {
		if k := index[to]; k > 0 {
			steps[i].jump = k - 1
		} else {
			steps[i].leaves = true // into an instruction
		}
	}
	if n := len(steps); n > 0 && steps[n-1].next {
		steps[n-1].leaves = true // behind the end
		steps[n-1].next = false
	}
	return steps
}

// clearsScratch reports an instruction that zeroes a register that neither calls keep nor results use.
func clearsScratch(in *x86asm.Inst) bool {
	if in.Op != x86asm.XOR || in.Args[0] != in.Args[1] {
		return false
	}
	r, ok := in.Args[0].(x86asm.Reg)
	n, _, known := regNumber(r)
	return ok && known && n != rax && n != rdx && calleeSaved>>n&1 == 0
}

// effects fills in what an instruction that goes on to the next does.
func (s *flowStep) effects(in *x86asm.Inst, raw []byte, vex, lax bool, given []slot) {
	writesOnly := writesFirst(in) || in.Op == x86asm.IMUL && in.Args[2] != nil
	if in.Op != x86asm.NOP {
		for i, a := range in.Args {
			switch a := a.(type) {
			case x86asm.Reg:
				if i > 0 && !(writesOnly && a == in.Args[0] && sameIsConstant(in)) || i == 0 && !writesOnly {
					s.reads |= resultSet(a)
				}
			case x86asm.Mem:
				s.reads |= resultSet(a.Base) | resultSet(a.Index)
			}
		}
	}
	if vex { // its second source, which the older form does not have
		b := raw[1]
		if raw[0] == 0xc4 {
			b = raw[2]
		}
		switch ^b >> 3 & 15 {
		case 0:
			s.reads |= setRAX | setXMM0
		case 1:
			s.reads |= setXMM1
		case 2:
			s.reads |= setRDX
		}
	}
	if readsFlags(in.Op) {
		s.reads |= setFlags
	}
	switch in.Op {
	case x86asm.CMP, x86asm.TEST, x86asm.UCOMISS, x86asm.UCOMISD, x86asm.COMISS, x86asm.COMISD, x86asm.BT:
		s.writes |= setFlags
		return
	case x86asm.PUSH, x86asm.NOP:
		return
	case x86asm.MUL, x86asm.DIV, x86asm.IDIV, x86asm.CMPXCHG, x86asm.XCHG, x86asm.XADD:
		s.reads |= setRAX | setRDX
		s.writes |= setRAX | setRDX // either may be what was wanted
		return
	case x86asm.CPUID, x86asm.RDTSC, x86asm.RDTSCP, x86asm.LODSB, x86asm.LODSW, x86asm.LODSD, x86asm.LODSQ:
		s.reads |= setRAX
		s.writes |= setRAX | setRDX
		return
	case x86asm.CDQ, x86asm.CQO, x86asm.CWD:
		s.reads |= setRAX
		s.writes |= setRDX
		s.strong |= setRDX
		return
	case x86asm.CDQE, x86asm.CWDE, x86asm.CBW:
		s.reads |= setRAX
		s.writes |= setRAX
		s.strong |= setRAX
		return
	case x86asm.IMUL:
		if in.Args[1] == nil {
			s.reads |= setRAX
			s.writes |= setRAX | setRDX
			return
		}
	}
	s.target(in, writesOnly, vex, lax, given)
}

// target notes the write of the first operand.
func (s *flowStep) target(in *x86asm.Inst, writesOnly, vex, lax bool, given []slot) {
	if setsFlags(in.Op) {
		s.writes |= setFlags
		s.flags = !writesOnly
	}
	r, ok := in.Args[0].(x86asm.Reg)
	if !ok {
		return
	}
	set := resultSet(r)
	s.writes |= set
	if in.Op == x86asm.POP { // "pop rax" only moves the stack pointer in functions without a result
		return
	}
	m, load := in.Args[1].(x86asm.Mem)
	load = load && (isMove(in) || vex)
	if load && !lax && !isGiven(m, given) {
		return
	}
	s.strong |= set
	_, isImm := in.Args[1].(x86asm.Imm)
	switch {
	case r != x86asm.RAX:
	case load && in.MemBytes == 8, in.Op == x86asm.OR, in.Op == x86asm.MOV && isImm && in.Len == 10:
		s.wide = true
	}
}

// sameIsConstant reports an operation that does not depend on its operand when both are the same.
func sameIsConstant(in *x86asm.Inst) bool {
	switch in.Op {
	case x86asm.XOR, x86asm.SUB, x86asm.PXOR, x86asm.XORPS, x86asm.XORPD:
		return true
	}
	return false
}

func setsFlags(op x86asm.Op) bool {
	switch op {
	case x86asm.ADD, x86asm.SUB, x86asm.AND, x86asm.OR, x86asm.XOR, x86asm.NEG, x86asm.INC, x86asm.DEC, x86asm.IMUL, x86asm.ADC, x86asm.SBB,
		x86asm.SHL, x86asm.SHR, x86asm.SAR, x86asm.ROL, x86asm.ROR, x86asm.RCL, x86asm.RCR, x86asm.SHLD, x86asm.SHRD,
		x86asm.BSF, x86asm.BSR, x86asm.BTS, x86asm.BTR, x86asm.BTC, x86asm.POPCNT, x86asm.LZCNT, x86asm.TZCNT, x86asm.PTEST:
		return true
	}
	return false
}

func resultSet(r x86asm.Reg) regSet {
	if i := resultIndex(r); i >= 0 {
		return 1 << i
	}
	return 0
}

// slot is a place in the frame, from a register.
type slot struct {
	base x86asm.Reg
	disp int64
}

// givenSlots returns the frame slots whose address a function hands out. Others may load them from there again only for the value;
// slots whose address it keeps are loaded back at once when they are volatile.
func givenSlots(code []byte) []slot {
	var out []slot
	for len(code) > 0 && len(out) < 64 {
		if isEndbr(code) {
			code = code[4:]
			continue
		}
		in, err := decode(code)
		if err != nil || in.Len <= 0 {
			break
		}
		code = code[in.Len:]
		switch {
		case in.Op == x86asm.LEA:
			if m, ok := in.Args[1].(x86asm.Mem); ok && (m.Base == x86asm.RSP || m.Base == x86asm.RBP) && m.Index == 0 {
				out = append(out, slot{m.Base, m.Disp})
			}
		case in.Op == x86asm.MOV && in.Args[1] == x86asm.RSP && in.Args[0] != x86asm.RBP:
			out = append(out, slot{x86asm.RSP, 0})
		}
	}
	return out
}

func isGiven(m x86asm.Mem, given []slot) bool {
	for _, s := range given {
		if m.Index == 0 && m.Segment == 0 && m.Base == s.base && m.Disp >= s.disp && m.Disp < s.disp+16 {
			return true
		}
	}
	return false
}
