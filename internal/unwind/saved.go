package unwind

// Saved says where frame f's value of a general register, which it has, is kept now: in the register itself, or in
// memory, where a callee saved it. It is not ok where the way there is not by unwind tables alone.
func (u *Unwinder) Saved(s *Stack, f *Frame, reg int) (addr uint64, inRegister, ok bool) {
	if f.at == nil || len(s.Frames) == 0 || reg < 0 || reg >= numRegs {
		return 0, false, false
	}
	inRegister = true
	for p := s.Frames[0].at; p != f.at; p = p.next {
		if p == nil || p.next == nil || p.stub || p.signal || p.mod < 0 || p.next.trust != TrustCFI {
			return 0, false, false
		}
		w, err := u.row(p)
		if w == nil || err != nil {
			return 0, false, false
		}
		switch r := &w.rules[reg]; {
		case r.kind == ruleOffset:
			addr, inRegister = p.cfa+uint64(r.n), false
		case r.kind == ruleSame, r.kind == ruleUnset:
		default:
			return 0, false, false
		}
	}
	return addr, inRegister, true
}
