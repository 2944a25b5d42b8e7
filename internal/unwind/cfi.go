package unwind

import (
	"errors"
	"fmt"

	"github.com/strobe-debug/strobe/internal/symbol"
)

// The DWARF numbers of registers that the ABI gives a meaning.
const (
	regRBX  = 3
	regRBP  = 6
	regRSP  = 7
	regR12  = 12
	regR15  = 15
	regRIP  = 16
	numRegs = 17
)

type ruleKind uint8

const (
	ruleUnset     ruleKind = iota // nothing is said: kept where the ABI says so
	ruleUndefined                 // lost; of the return address: there is no caller
	ruleSame
	ruleOffset    // saved at CFA + n
	ruleValOffset // is CFA + n
	ruleRegister  // is in register n
	ruleExpr      // saved at what expr gives
	ruleValExpr   // is what expr gives
)

type rule struct {
	kind ruleKind
	n    int64
	expr []byte
}

// row is how to find the caller's registers at one address.
type row struct {
	cfaReg  int // -1: cfaExpr
	cfaOff  int64
	cfaExpr []byte
	rules   [numRegs]rule
	ra      int // the register whose rule is the return address's
	signal  bool
}

// Bounds on one unwind program; real ones have a few hundred steps, and nest two states.
const (
	maxSteps  = 1 << 16
	maxStates = 64
)

var errProgram = errors.New("the unwind program is damaged")

// execute runs the unwind program up to a link-time address.
func execute(e *symbol.FrameEntry, pc uint64) (row, error) {
	v := cfaMachine{e: e, pc: uint64(e.Lo), target: pc}
	v.row.cfaReg, v.row.ra, v.row.signal = -1, int(min(e.RAReg, numRegs)), e.Signal
	if v.row.ra >= numRegs {
		return row{}, fmt.Errorf("%w: the return address is in register %d", errProgram, e.RAReg)
	}
	if err := v.run(e.Initial); err != nil {
		return row{}, err
	}
	v.initial, v.done, v.pc = v.row, false, uint64(e.Lo)
	if err := v.run(e.Code); err != nil {
		return row{}, err
	}
	if v.row.cfaReg < 0 && v.row.cfaExpr == nil {
		return row{}, fmt.Errorf("%w: it defines no CFA", errProgram)
	}
	return v.row, nil
}

type cfaMachine struct {
	e            *symbol.FrameEntry
	pc, target   uint64
	row, initial row
	states       []row
	done         bool
}

func (v *cfaMachine) run(code []byte) error {
	c := cursor{b: code}
	for n := 0; !c.done() && !v.done; n++ {
		op := c.u8()
		low := uint64(op & 0x3f)
		ok := n < maxSteps
		switch op >> 6 {
		case 1:
			v.advance(low)
		case 2:
			v.set(low, rule{kind: ruleOffset, n: int64(c.uleb()) * v.e.DataAlign})
		case 3:
			v.restore(low)
		default:
			ok = ok && v.extended(op, &c)
		}
		if !ok || c.bad {
			return errProgram
		}
	}
	return nil
}

func (v *cfaMachine) advance(delta uint64) {
	next := v.pc + delta*v.e.CodeAlign
	if next > v.target || next < v.pc {
		v.done = true
		return
	}
	v.pc = next
}

// set gives a register a rule; those that we do not follow (vector registers) are left out.
func (v *cfaMachine) set(reg uint64, r rule) {
	if reg < numRegs {
		v.row.rules[reg] = r
	}
}

func (v *cfaMachine) restore(reg uint64) {
	if reg < numRegs {
		v.row.rules[reg] = v.initial.rules[reg]
	}
}

func (v *cfaMachine) cfa(reg uint64, off int64) {
	v.row.cfaReg, v.row.cfaOff, v.row.cfaExpr = int(min(reg, numRegs)), off, nil
}

// extended executes the instructions that have a byte of their own; false when there is none like it.
func (v *cfaMachine) extended(op byte, c *cursor) bool {
	align := v.e.DataAlign
	switch op {
	case 0x00, 0x2d: // nop, GNU_window_save
	case 0x01: // set_loc
		if at := c.fixed(8); at > v.target {
			v.done = true
		} else {
			v.pc = at
		}
	case 0x02:
		v.advance(c.fixed(1))
	case 0x03:
		v.advance(c.fixed(2))
	case 0x04:
		v.advance(c.fixed(4))
	case 0x05: // offset_extended
		reg := c.uleb()
		v.set(reg, rule{kind: ruleOffset, n: int64(c.uleb()) * align})
	case 0x06: // restore_extended
		v.restore(c.uleb())
	case 0x07:
		v.set(c.uleb(), rule{kind: ruleUndefined})
	case 0x08:
		v.set(c.uleb(), rule{kind: ruleSame})
	case 0x09: // register
		reg := c.uleb()
		v.set(reg, rule{kind: ruleRegister, n: int64(min(c.uleb(), numRegs))})
	case 0x0a: // remember_state
		if len(v.states) >= maxStates {
			return false
		}
		v.states = append(v.states, v.row)
	case 0x0b: // restore_state
		n := len(v.states)
		if n == 0 {
			return false
		}
		v.row, v.states = v.states[n-1], v.states[:n-1]
	case 0x0c: // def_cfa
		reg := c.uleb()
		v.cfa(reg, int64(c.uleb()))
	case 0x0d: // def_cfa_register
		v.cfa(c.uleb(), v.row.cfaOff)
	case 0x0e: // def_cfa_offset
		v.row.cfaOff = int64(c.uleb())
	case 0x0f: // def_cfa_expression
		v.row.cfaReg, v.row.cfaExpr = -1, c.take(c.uleb())
	case 0x10, 0x16: // expression, val_expression
		reg, kind := c.uleb(), ruleExpr
		if op == 0x16 {
			kind = ruleValExpr
		}
		v.set(reg, rule{kind: kind, expr: c.take(c.uleb())})
	case 0x11: // offset_extended_sf
		reg := c.uleb()
		v.set(reg, rule{kind: ruleOffset, n: c.sleb() * align})
	case 0x12: // def_cfa_sf
		reg := c.uleb()
		v.cfa(reg, c.sleb()*align)
	case 0x13: // def_cfa_offset_sf
		v.row.cfaOff = c.sleb() * align
	case 0x14: // val_offset
		reg := c.uleb()
		v.set(reg, rule{kind: ruleValOffset, n: int64(c.uleb()) * align})
	case 0x15: // val_offset_sf
		reg := c.uleb()
		v.set(reg, rule{kind: ruleValOffset, n: c.sleb() * align})
	case 0x2e: // GNU_args_size: for landing pads only
		c.uleb()
	case 0x2f: // GNU_negative_offset_extended
		reg := c.uleb()
		v.set(reg, rule{kind: ruleOffset, n: -int64(c.uleb()) * align})
	default:
		return false
	}
	return true
}

// preserved reports whether the ABI makes functions keep a register.
func preserved(reg int) bool {
	return reg == regRBX || reg == regRBP || reg >= regR12 && reg <= regR15
}

// apply finds the CFA and the caller's registers. outermost is set when the tables say that there is no caller.
func (u *Unwinder) apply(w *row, regs *Regs, bias uint64) (cfa uint64, caller Regs, outermost bool, err error) {
	if w.cfaReg >= 0 {
		v, ok := regs.Get(w.cfaReg)
		if !ok {
			return 0, caller, false, fmt.Errorf("the frame is based on register %d, which is not known", w.cfaReg)
		}
		cfa = v + uint64(w.cfaOff)
	} else {
		e := evaluator{mem: &u.mem, regs: regs, bias: bias}
		if cfa, err = e.number(w.cfaExpr); err != nil {
			return 0, caller, false, fmt.Errorf("compute the CFA: %w", err)
		}
	}
	for i := range w.rules {
		v, ok, err := u.recover(i, &w.rules[i], regs, cfa, bias)
		if err != nil && i == w.ra {
			return cfa, caller, false, fmt.Errorf("read the return address: %w", err)
		}
		switch {
		case ok:
			caller.Set(i, v)
		case w.rules[i].kind == ruleUnset && (regs.Known|regs.carried)&(1<<i) != 0:
			caller.Val[i] = regs.Val[i]
			caller.carried |= 1 << i
		}
	}
	if w.rules[w.ra].kind == ruleUndefined {
		return cfa, caller, true, nil
	}
	ra, ok := caller.Get(w.ra)
	if !ok {
		return cfa, caller, false, errors.New("the unwind tables do not say where the return address is")
	}
	caller.Set(regRIP, ra)
	if w.rules[regRSP].kind == ruleUnset {
		caller.Set(regRSP, cfa)
	}
	return cfa, caller, false, nil
}

// recover finds one register of the caller.
func (u *Unwinder) recover(i int, r *rule, regs *Regs, cfa, bias uint64) (v uint64, ok bool, err error) {
	switch r.kind {
	case ruleUnset:
		if preserved(i) {
			v, ok = regs.Get(i)
		}
		return v, ok, nil
	case ruleSame:
		v, ok = regs.Get(i)
		return v, ok, nil
	case ruleOffset:
		v, err = u.mem.word(cfa + uint64(r.n))
	case ruleValOffset:
		v = cfa + uint64(r.n)
	case ruleRegister:
		v, ok = regs.Get(int(r.n))
		return v, ok, nil
	case ruleExpr, ruleValExpr:
		e := evaluator{mem: &u.mem, regs: regs, bias: bias, cfa: cfa, hasCFA: true}
		v, err = e.number(r.expr, cfa)
		if err == nil && r.kind == ruleExpr {
			v, err = u.mem.word(v)
		}
	default:
		return 0, false, nil
	}
	return v, err == nil, err
}
