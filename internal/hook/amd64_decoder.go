package hook

import (
	"encoding/binary"
	"errors"
)

// Why Decode refused its bytes.
var (
	ErrTruncated = errors.New("instruction runs past the end of the code")
	ErrInvalid   = errors.New("not an x86-64 instruction")
)

const maxInstLen = 15 // the processor faults on longer ones

// decoder walks the bytes of one instruction.
type decoder struct {
	code []byte
	n    int
	in   Inst
}

// Decode decodes the instruction at the start of code. It knows the legacy, 0F38, 0F3A, 3DNow,
// VEX, EVEX, XOP and x87 encodings, but not APX. The error is ErrTruncated or ErrInvalid.
func Decode(code []byte) (Inst, error) {
	d := decoder{code: code}
	if len(code) > maxInstLen {
		d.code = code[:maxInstLen]
	}
	if err := d.decode(); err != nil {
		if err == ErrTruncated && len(d.code) == maxInstLen {
			err = ErrInvalid
		}
		return Inst{}, err
	}
	d.in.Len = d.n
	return d.in, nil
}

func (d *decoder) decode() error {
	for d.prefix() {
	}
	op, ok := d.next()
	if !ok {
		return ErrTruncated
	}
	d.in.Op, d.in.OpOff = op, d.n-1
	switch {
	case op == 0x0F:
		return d.twoByte()
	case op == 0xC4 || op == 0xC5:
		return d.vex()
	case op == 0x62:
		return d.evex()
	case op == 0x8F && d.n < len(d.code) && d.code[d.n]&0x1F >= 8:
		return d.xop()
	}
	return d.oneByte()
}

// prefix consumes one legacy or REX prefix. A REX prefix counts only right before the opcode.
func (d *decoder) prefix() bool {
	if d.n >= len(d.code) {
		return false
	}
	b := d.code[d.n]
	if oneByteMap[b] != 'p' {
		return false
	}
	d.n++
	if b&0xF0 == 0x40 {
		d.in.Rex = b
		return true
	}
	d.in.Rex = 0
	switch b {
	case 0x66:
		d.in.Pfx |= PfxOpSize
	case 0x67:
		d.in.Pfx |= PfxAddrSize
	case 0xF0:
		d.in.Pfx |= PfxLock
	case 0xF2:
		d.in.Pfx |= PfxRepne
	case 0xF3:
		d.in.Pfx |= PfxRep
	case 0x3E:
		d.in.Pfx |= PfxNotrack
	default:
		d.in.Pfx |= PfxSegment
	}
	return true
}

func (d *decoder) next() (byte, bool) {
	if d.n >= len(d.code) {
		return 0, false
	}
	d.n++
	return d.code[d.n-1], true
}

// immZ is the size of an immediate that follows the operand size up to four bytes.
func (d *decoder) immZ() int {
	if d.in.Pfx&PfxOpSize != 0 && d.in.Rex&8 == 0 {
		return 2
	}
	return 4
}

func (d *decoder) oneByte() error {
	op := d.in.Op
	class := oneByteMap[op]
	if class == 's' {
		if err := d.modRM(); err != nil {
			return err
		}
		return d.oneByteGroup()
	}
	if err := d.operands(class); err != nil {
		return err
	}
	reg := d.in.reg()
	switch {
	case op >= 0x70 && op <= 0x7F:
		d.in.Flow = FlowCond
	case op >= 0xE0 && op <= 0xE3:
		d.in.Flow = FlowLoop
	case op == 0xE8:
		d.in.Flow = FlowCall
	case op == 0xE9 || op == 0xEB:
		d.in.Flow = FlowJump
	case op == 0xC2 || op == 0xC3 || op == 0xCA || op == 0xCB || op == 0xCF:
		d.in.Flow = FlowRet
	case op == 0xCC || op == 0xF1:
		d.in.Flow = FlowInt3
	case op == 0xCD:
		d.in.Flow = FlowSyscall
	case op == 0xF4:
		d.in.Flow = FlowHalt
	case op == 0x8D && d.in.mod() == 3, op == 0xFE && reg > 1, op == 0x8C && reg > 5:
		return ErrInvalid
	case op == 0xFF:
		return d.groupFF(reg)
	}
	return nil
}

func (d *decoder) groupFF(reg byte) error {
	switch reg {
	case 2, 3:
		d.in.Flow = FlowCallIndirect
	case 4, 5:
		d.in.Flow = FlowJumpIndirect
	case 7:
		return ErrInvalid
	}
	if (reg == 3 || reg == 5) && d.in.mod() == 3 {
		return ErrInvalid
	}
	return nil
}

// oneByteGroup finishes the opcodes whose operands depend on ModRM.reg; ModRM is read already.
func (d *decoder) oneByteGroup() error {
	op, reg := d.in.Op, d.in.reg()
	switch op {
	case 0x8F: // pop r/m; the rest is XOP
		if reg != 0 {
			return ErrInvalid
		}
		return nil
	case 0xC6, 0xC7:
		switch {
		case reg == 0 && op == 0xC6:
			return d.imm(1)
		case reg == 0:
			return d.imm(d.immZ())
		case d.in.ModRM == 0xF8 && op == 0xC6: // xabort
			return d.imm(1)
		case d.in.ModRM == 0xF8:
			d.in.Flow = FlowXBegin
			return d.rel(d.immZ())
		}
		return ErrInvalid
	case 0xF6:
		if reg <= 1 {
			return d.imm(1)
		}
	case 0xF7:
		if reg <= 1 {
			return d.imm(d.immZ())
		}
	}
	return nil
}

func (d *decoder) twoByte() error {
	op, ok := d.next()
	if !ok {
		return ErrTruncated
	}
	d.in.Map, d.in.Op, d.in.OpOff = 1, op, d.n-1
	switch op {
	case 0x38, 0x3A:
		return d.threeByte(op)
	case 0x78: // vmread; extrq and insertq take two immediates
		if err := d.modRM(); err != nil {
			return err
		}
		if d.in.Pfx&(PfxOpSize|PfxRepne) != 0 {
			return d.imm(2)
		}
		return nil
	case 0x20, 0x21, 0x22, 0x23: // control and debug registers: mod is ignored, there is no memory form
		b, ok := d.next()
		if !ok {
			return ErrTruncated
		}
		d.in.HasModRM, d.in.ModRM, d.in.ModRMOff = true, b|0xC0, d.n-1
		return nil
	}
	if err := d.operands(twoByteMap[op]); err != nil {
		return err
	}
	switch {
	case op >= 0x80 && op <= 0x8F:
		d.in.Flow = FlowCond
	case op == 0x05 || op == 0x34:
		d.in.Flow = FlowSyscall
	case op == 0x07 || op == 0x35:
		d.in.Flow = FlowRet
	case op == 0x0B || op == 0xB9 || op == 0xFF:
		d.in.Flow = FlowHalt
	}
	return nil
}

func (d *decoder) threeByte(escape byte) error {
	op, ok := d.next()
	if !ok {
		return ErrTruncated
	}
	d.in.Op, d.in.OpOff = op, d.n-1
	if escape == 0x3A {
		d.in.Map = 3
		return d.operands('M')
	}
	d.in.Map = 2
	return d.operands('m')
}

// vex decodes C5 (two bytes) and C4 (three bytes). Legacy prefixes that would change the
// operand size fault before them. REX does too, but objdump reads on, and it costs no safety.
func (d *decoder) vex() error {
	if d.in.Pfx&(PfxOpSize|PfxRep|PfxRepne|PfxLock) != 0 {
		return ErrInvalid
	}
	d.in.Enc, d.in.Map, d.in.Rex = EncVEX, 1, 0
	b, ok := d.next()
	if !ok {
		return ErrTruncated
	}
	if d.in.Op == 0xC4 {
		d.in.Map, d.in.Rex = b&0x1F, ^b>>5&7
		if _, ok = d.next(); !ok {
			return ErrTruncated
		}
	}
	op, ok := d.next()
	if !ok {
		return ErrTruncated
	}
	d.in.Op, d.in.OpOff = op, d.n-1
	switch {
	case d.in.Map == 1 && op == 0x77: // vzeroupper, vzeroall
		return nil
	case d.in.Map == 1 && vexHasImm8(op), d.in.Map == 3:
		return d.operands('M')
	case d.in.Map == 1, d.in.Map == 2:
		return d.operands('m')
	case d.in.Map == 7: // urdmsr, uwrmsr
		if err := d.modRM(); err != nil {
			return err
		}
		return d.imm(4)
	}
	return ErrInvalid
}

func (d *decoder) evex() error {
	if d.in.Rex != 0 || d.in.Pfx&(PfxOpSize|PfxRep|PfxRepne|PfxLock) != 0 {
		return ErrInvalid
	}
	if d.n+4 > len(d.code) {
		return ErrTruncated
	}
	p0, p1, op := d.code[d.n], d.code[d.n+1], d.code[d.n+3]
	d.n += 4
	d.in.Enc, d.in.Map, d.in.Op, d.in.OpOff = EncEVEX, p0&7, op, d.n-1
	d.in.Rex = ^p0 >> 5 & 7
	if p0&8 != 0 || p1&4 == 0 { // APX, or not EVEX
		return ErrInvalid
	}
	switch d.in.Map {
	case 1:
		if vexHasImm8(op) {
			return d.operands('M')
		}
		return d.operands('m')
	case 2, 5, 6:
		return d.operands('m')
	case 3:
		return d.operands('M')
	}
	return ErrInvalid
}

func (d *decoder) xop() error {
	if d.in.Rex != 0 || d.in.Pfx&(PfxOpSize|PfxRep|PfxRepne|PfxLock) != 0 {
		return ErrInvalid
	}
	if d.n+3 > len(d.code) {
		return ErrTruncated
	}
	d.in.Enc, d.in.Map, d.in.Op = EncXOP, d.code[d.n]&0x1F, d.code[d.n+2]
	d.in.Rex = ^d.code[d.n] >> 5 & 7
	d.n += 3
	d.in.OpOff = d.n - 1
	switch d.in.Map {
	case 8:
		return d.operands('M')
	case 9:
		return d.operands('m')
	case 10:
		if err := d.modRM(); err != nil {
			return err
		}
		return d.imm(4)
	}
	return ErrInvalid
}

// operands consumes what a map character says.
func (d *decoder) operands(class byte) error {
	switch class {
	case '.':
		return nil
	case 'm':
		return d.modRM()
	case 'M', 'Z':
		if err := d.modRM(); err != nil {
			return err
		}
		if class == 'M' {
			return d.imm(1)
		}
		return d.imm(d.immZ())
	case 'b':
		return d.imm(1)
	case 'w':
		return d.imm(2)
	case 'e':
		return d.imm(3)
	case 'z':
		return d.imm(d.immZ())
	case 'v':
		if d.in.Rex&8 != 0 {
			return d.imm(8)
		}
		return d.imm(d.immZ())
	case 'o':
		if d.in.Pfx&PfxAddrSize != 0 {
			return d.imm(4)
		}
		return d.imm(8)
	case 'j':
		return d.rel(1)
	case 'J':
		return d.rel(d.immZ())
	}
	return ErrInvalid
}

func (d *decoder) modRM() error {
	b, ok := d.next()
	if !ok {
		return ErrTruncated
	}
	d.in.HasModRM, d.in.ModRM, d.in.ModRMOff = true, b, d.n-1
	mod, rm := b>>6, b&7
	if mod == 3 {
		return nil
	}
	size := [3]int{0, 1, 4}[mod]
	if rm == 4 {
		if d.in.SIB, ok = d.next(); !ok {
			return ErrTruncated
		}
		d.in.HasSIB = true
		if mod == 0 && d.in.SIB&7 == 5 {
			size = 4
		}
	} else if mod == 0 && rm == 5 {
		size, d.in.RIPRel = 4, true
	}
	if size == 0 {
		return nil
	}
	v, err := d.number(size)
	d.in.Disp, d.in.DispOff, d.in.DispSize = int32(v), d.n-size, size
	return err
}

func (d *decoder) imm(size int) error {
	if d.n+size > len(d.code) {
		return ErrTruncated
	}
	d.in.ImmOff, d.in.ImmSize = d.n, size
	if size == 1 || size == 2 || size == 4 {
		v, err := d.number(size)
		d.in.Imm = int32(v)
		return err
	}
	d.n += size
	return nil
}

func (d *decoder) rel(size int) error {
	v, err := d.number(size)
	d.in.Rel, d.in.RelOff, d.in.RelSize = v, d.n-size, size
	return err
}

// number reads a signed little-endian number of 1, 2 or 4 bytes.
func (d *decoder) number(size int) (int64, error) {
	if d.n+size > len(d.code) {
		return 0, ErrTruncated
	}
	b := d.code[d.n:]
	d.n += size
	switch size {
	case 1:
		return int64(int8(b[0])), nil
	case 2:
		return int64(int16(binary.LittleEndian.Uint16(b))), nil
	}
	return int64(int32(binary.LittleEndian.Uint32(b))), nil
}
