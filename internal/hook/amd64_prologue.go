package hook

// stackTracker follows the stack pointer through a prologue, to see whether the function touches
// its own return address. It stops where the depth is no longer known.
type stackTracker struct {
	lost    bool
	depth   int32 // bytes between the stack pointer and the return address
	framed  bool  // rbp was set from rsp
	rbpBase int32 // depth at which it was
}

// visit reports whether the instruction touches the return address.
func (s *stackTracker) visit(in *Inst) bool {
	uses := s.touches(in)
	if !s.lost {
		s.step(in)
		uses = uses || s.depth < 0 // popped
		s.lost = s.lost || s.depth < 0 || !in.Flow.FallsThrough()
	}
	return uses
}

func (s *stackTracker) touches(in *Inst) bool {
	base, ok := in.baseReg()
	switch {
	case !ok || in.isNop() || in.Enc == EncEVEX: // EVEX scales its displacement
		return false
	case base == rsp && !s.lost:
		return in.Disp == s.depth && (!in.HasSIB || in.SIB>>3&7 == 4 && in.Rex&2 == 0)
	case base == rbp && s.framed:
		return in.Disp == s.rbpBase
	}
	return false
}

func (s *stackTracker) step(in *Inst) {
	if in.Enc != EncLegacy {
		return
	}
	switch {
	case in.Map == 0 && in.Op >= 0x50 && in.Op <= 0x57, in.is(0x68), in.is(0x6A), in.is(0xFF) && in.reg() == 6,
		in.is(0x9C),
		in.Flow == FlowCall && in.Rel == 0: // call to the next instruction, to learn its address
		s.depth += 8
	case in.Map == 0 && in.Op >= 0x58 && in.Op <= 0x5F, in.is(0x8F), in.is(0x9D):
		s.depth -= 8
		s.lost = s.lost || in.is(0x5C) && in.Rex&1 == 0
		if in.is(0x5D) && in.Rex&1 == 0 {
			s.framed = false
		}
	case in.is(0x81) && in.targets(rsp), in.is(0x83) && in.targets(rsp):
		s.immediate(in)
	case in.is(0x8D) && in.reg() == rsp && in.Rex&4 == 0: // lea rsp,[rsp+n]
		base, ok := in.baseReg()
		s.depth -= in.Disp
		s.lost = !ok || base != rsp || in.SIB>>3&7 != 4
	// mov rbp,rsp
	case in.is(0x89) && in.ModRM == 0xE5 && in.Rex == 0x48, in.is(0x8B) && in.ModRM == 0xEC && in.Rex == 0x48:
		s.framed, s.rbpBase = s.depth > 0, s.depth
	case in.is(0x89) && in.targets(rsp), in.is(0x8B) && in.reg() == rsp && in.Rex&4 == 0, in.is(0x87) && in.targets(rsp),
		in.is(0x29) && in.targets(rsp), in.is(0x2B) && in.reg() == rsp && in.Rex&4 == 0, in.is(0xC8), in.is(0xC9):
		s.lost = true
	}
}

// immediate follows add, sub and cmp with rsp; and loses it.
func (s *stackTracker) immediate(in *Inst) {
	switch in.reg() {
	case 0:
		s.depth -= in.Imm
	case 5:
		s.depth += in.Imm
	case 7: // cmp
	default:
		s.lost = true
	}
}

// targets reports whether the ModRM.rm operand is the register reg.
func (in *Inst) targets(reg byte) bool {
	return in.HasModRM && in.mod() == 3 && in.rm()|in.Rex&1<<3 == reg
}

// tailTracker tells indirect jumps that leave the function from jump tables. It follows straight
// lines of code only.
type tailTracker struct {
	epilogue bool   // this block has taken the frame down
	frame    int32  // n, where the function begins with sub rsp,n
	loaded   uint16 // registers that hold a pointer loaded from [base+disp], without an index
	tested   uint16 // registers compared with zero: no compiler does that to a label
}

func (t *tailTracker) visit(in *Inst) {
	switch {
	case in.Flow == FlowCond:
		t.epilogue = false
		return
	case in.Flow != FlowNone:
		t.epilogue, t.loaded, t.tested = false, 0, 0
		return
	case in.calleeSaved(0x58), in.is(0xC9), in.adjusts(0) && in.Imm == t.frame:
		t.epilogue = true
	case in.calleeSaved(0x50):
		t.epilogue = false
	}
	t.provenance(in)
}

// begin looks at the function's first instruction. A frame of 8 modulo 16 cannot be confused with
// arguments that were pushed for a call, which keep the stack aligned to 16.
func (t *tailTracker) begin(in *Inst) {
	if in.adjusts(5) && in.Imm%16 == 8 {
		t.frame = in.Imm
	}
}

// adjusts reports whether the instruction is op rsp,imm: add for 0, sub for 5.
func (in *Inst) adjusts(op byte) bool {
	return (in.is(0x81) || in.is(0x83)) && in.targets(rsp) && in.reg() == op
}

// provenance follows where the registers' values came from, and forgets rather too much.
func (t *tailTracker) provenance(in *Inst) {
	if in.isNop() {
		return
	}
	reg, rm := in.reg()|in.Rex&4<<1, in.rm()|in.Rex&1<<3
	switch {
	case in.is(0x8B) && in.mod() != 3: // mov r,[m]
		t.loaded &^= 1 << reg
		t.tested &^= 1 << reg
		_, based := in.baseReg()
		indexed := in.HasSIB && (in.SIB>>3&7 != 4 || in.Rex&2 != 0)
		if in.Rex&8 != 0 && (in.RIPRel || based && !indexed) {
			t.loaded |= 1 << reg
		}
	case in.is(0x85) && in.ModRM>>6 == 3 && reg == rm && in.Rex&8 != 0: // test r,r
		t.tested |= 1 << reg
	case in.is(0x89) && in.mod() != 3, in.is(0x85), in.is(0x39), in.is(0x3B): // stores and compares
	default:
		lost := uint16(1<<0 | 1<<1 | 1<<2) // implicit operands
		if in.HasModRM {
			lost |= 1<<reg | 1<<rm
		} else {
			lost |= 1 << (in.Op&7 | in.Rex&1<<3)
		}
		t.loaded &^= lost
		t.tested &^= lost
	}
}

// tailJump reports whether an indirect jump leaves the function: through a pointer at a
// fixed address, behind an epilogue, through a pointer that was compared with zero, or (where the
// function is compiled for indirect branch tracking) without notrack, because then its targets
// begin with endbr64.
func (t *tailTracker) tailJump(in *Inst, tracked bool) bool {
	if in.mod() == 3 && t.tested&(1<<(in.rm()|in.Rex&1<<3)) != 0 {
		return true
	}
	return in.RIPRel || t.epilogue || tracked && in.Pfx&PfxNotrack == 0
}

// pointerJump reports whether an indirect jump goes through a pointer at [base+disp]. That is
// a tail call through a table of functions, or threaded code, which has many of them.
func (t *tailTracker) pointerJump(in *Inst) bool {
	if in.mod() == 3 {
		return t.loaded&(1<<(in.rm()|in.Rex&1<<3)) != 0
	}
	_, ok := in.baseReg()
	return ok && (!in.HasSIB || in.SIB>>3&7 == 4 && in.Rex&2 == 0)
}

// tablesMiss reports whether no jump table can lead into the window: every instruction but its
// first is one that compilers put only where a function is entered, or one that needs the flags
// of the instruction before it.
func (z *analyzer) tablesMiss() bool {
	for i := 1; i < int(z.a.nbounds); i++ {
		off := z.a.Off + int(z.a.bounds[i])
		prev, err := Decode(z.code[z.a.Off+int(z.a.bounds[i-1]):])
		if err != nil || !prev.Flow.FallsThrough() {
			return false
		}
		in, err := Decode(z.code[off:])
		if err != nil || !(z.framing(&in) || in.Flow == FlowCond || z.savesFollow(off) || z.onlyLeadsToJump(off)) {
			return false
		}
	}
	return true
}

// framing reports whether an instruction sets up a frame: push of a callee-saved register, sub and
// and with rsp, mov rbp,rsp, and a store of an argument to the stack.
func (z *analyzer) framing(in *Inst) bool {
	switch {
	case in.calleeSaved(0x50):
		return true
	case in.is(0x81) || in.is(0x83):
		return in.targets(rsp) && (in.reg() == 5 || in.reg() == 4)
	case in.is(0x89) && in.mod() == 3:
		return in.ModRM == 0xE5 && in.Rex == 0x48
	case in.is(0x89) || in.is(0x88):
		base, ok := in.baseReg()
		return ok && (base == rsp || base == rbp)
	}
	return false
}

// savesFollow reports whether a callee-saved register is saved for the first time on the straight
// way from off: a loop cannot run through that.
func (z *analyzer) savesFollow(off int) bool {
	saved := z.savedBefore(off)
	for range 12 {
		in, err := Decode(z.code[min(off, len(z.code)):])
		if err != nil || in.Flow != FlowNone {
			return false
		}
		if in.calleeSaved(0x50) && saved&(1<<(in.Op&7|in.Rex&1<<3)) == 0 {
			return true
		}
		off += in.Len
	}
	return false
}

// savedBefore returns the set of callee-saved registers that were pushed before off.
func (z *analyzer) savedBefore(off int) (saved uint16) {
	for at := z.a.Off; at < off; {
		in, err := Decode(z.code[at:])
		if err != nil {
			return 0xFFFF
		}
		if in.calleeSaved(0x50) {
			saved |= 1 << (in.Op&7 | in.Rex&1<<3)
		}
		at += in.Len
	}
	return saved
}

// onlyLeadsToJump reports whether the function has one indirect jump and no other branch, so that
// a way from it back to off could never end.
func (z *analyzer) onlyLeadsToJump(off int) bool {
	if z.a.IndirectJumps != 1 {
		return false
	}
	if z.jumps == 0 && len(z.a.Rets) == 0 {
		return true
	}
	in, err := Decode(z.code[off:])
	return err == nil && in.Flow == FlowJumpIndirect
}

// calleeSaved reports whether the instruction is push (op 0x50) or pop (0x58) of a register that
// callees must preserve.
func (in *Inst) calleeSaved(op byte) bool {
	if in.Enc != EncLegacy || in.Map != 0 || in.Op&^7 != op {
		return false
	}
	reg := in.Op&7 | in.Rex&1<<3
	return reg == 3 || reg == rbp || reg >= 12
}
