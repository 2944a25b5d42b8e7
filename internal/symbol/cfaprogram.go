package symbol

// The x86-64 DWARF register numbers of the stack pointer and the return address.
const (
	regRSP = 7
	regRA  = 16
)

// raRule is how the return address is found.
type raRule uint8

const (
	raUnset raRule = iota
	raUndefined
	raOffset // at CFA + off
	raOther
)

type cfaRow struct {
	reg   int
	off   int64
	ra    raRule
	raOff int64
}

type cfaMachine struct {
	c       *cie
	pc      uint64 // of the row
	target  uint64
	row     cfaRow
	initial cfaRow
	stack   []cfaRow
	done    bool
}

// run executes CIE and FDE up to pc.
func (f *fde) run(pc uint64) EntryRule {
	v := &cfaMachine{c: f.cie, pc: f.lo, target: pc, row: cfaRow{reg: -1}}
	v.exec(f.cie.code)
	v.initial = v.row
	v.done = false
	v.exec(f.code)
	out := EntryRule{Known: true, Start: Addr(f.lo), End: Addr(f.hi), CFARegister: v.row.reg, CFAOffset: v.row.off,
		RAUndefined: v.row.ra == raUndefined, Signal: f.cie.signal, Personality: f.cie.personality, Source: f.cie.source}
	out.CallFrame = v.row.reg == regRSP && v.row.off == 8 && v.row.ra == raOffset && v.row.raOff == -8 && !f.cie.signal
	return out
}

// maxCFASteps bounds one unwind program.
const maxCFASteps = 1 << 16

func (v *cfaMachine) exec(code []byte) {
	r := newReader(code, 0)
	for n := 0; r.left() > 0 && !r.bad && !v.done && n < maxCFASteps; n++ {
		op := r.u8()
		low := uint64(op & 0x3f)
		switch op >> 6 {
		case 1:
			v.advance(low)
		case 2:
			v.offset(low, int64(r.uleb())*v.c.dataAlign)
		case 3:
			v.restore(low)
		default:
			v.extended(op, &r)
		}
	}
}

func (v *cfaMachine) advance(delta uint64) {
	next := v.pc + delta*v.c.codeAlign
	if next > v.target || next < v.pc {
		v.done = true
		return
	}
	v.pc = next
}

func (v *cfaMachine) offset(reg uint64, off int64) {
	if reg == v.c.raReg {
		v.row.ra, v.row.raOff = raOffset, off
	}
}

func (v *cfaMachine) restore(reg uint64) {
	if reg == v.c.raReg {
		v.row.ra, v.row.raOff = v.initial.ra, v.initial.raOff
	}
}

func (v *cfaMachine) setRA(reg uint64, to raRule) {
	if reg == v.c.raReg {
		v.row.ra = to
	}
}

func (v *cfaMachine) extended(op uint8, r *reader) {
	switch op {
	case 0x00, 0x2d: // nop, GNU_window_save
	case 0x01: // set_loc
		if at := r.u64(); at > v.target {
			v.done = true
		} else {
			v.pc = at
		}
	case 0x02:
		v.advance(uint64(r.u8()))
	case 0x03:
		v.advance(uint64(r.u16()))
	case 0x04:
		v.advance(uint64(r.u32()))
	case 0x05: // offset_extended
		v.offset(r.uleb(), int64(r.uleb())*v.c.dataAlign)
	case 0x06: // restore_extended
		v.restore(r.uleb())
	case 0x07: // undefined
		v.setRA(r.uleb(), raUndefined)
	case 0x08: // same_value
		v.setRA(r.uleb(), raOther)
	case 0x09: // register
		v.setRA(r.uleb(), raOther)
		r.uleb()
	case 0x0a: // remember_state
		if len(v.stack) < 64 {
			v.stack = append(v.stack, v.row)
		}
	case 0x0b: // restore_state
		if n := len(v.stack); n > 0 {
			v.row, v.stack = v.stack[n-1], v.stack[:n-1]
		}
	case 0x0c: // def_cfa
		v.row.reg, v.row.off = int(min(r.uleb(), 1<<16)), int64(r.uleb())
	case 0x0d: // def_cfa_register
		v.row.reg = int(min(r.uleb(), 1<<16))
	case 0x0e: // def_cfa_offset
		v.row.off = int64(r.uleb())
	case 0x0f: // def_cfa_expression
		r.skip(r.uleb())
		v.row.reg = -1
	case 0x10, 0x16: // expression, val_expression
		v.setRA(r.uleb(), raOther)
		r.skip(r.uleb())
	case 0x11: // offset_extended_sf
		v.offset(r.uleb(), r.sleb()*v.c.dataAlign)
	case 0x12: // def_cfa_sf
		v.row.reg, v.row.off = int(min(r.uleb(), 1<<16)), r.sleb()*v.c.dataAlign
	case 0x13: // def_cfa_offset_sf
		v.row.off = r.sleb() * v.c.dataAlign
	case 0x14, 0x15: // val_offset, val_offset_sf
		v.setRA(r.uleb(), raOther)
		r.uleb()
	case 0x2e: // GNU_args_size
		r.uleb()
	case 0x2f: // GNU_negative_offset_extended
		v.offset(r.uleb(), -int64(r.uleb())*v.c.dataAlign)
	default:
		r.fail()
	}
}
