package hook

// Inst is one decoded x86-64 instruction: its length, where its parts lie, and how control leaves
// it. Offsets count from the instruction's first byte; a size of 0 means that the part is absent.
type Inst struct {
	Len  int
	Flow Flow
	Enc  Encoding
	Map  uint8 // opcode map: 0 one byte, 1 0F, 2 0F38, 3 0F3A; the encoded map number with VEX, EVEX, XOP
	Op   byte  // last opcode byte
	Rex  byte  // the REX prefix, 0 without; with VEX, EVEX and XOP its R, X and B bits
	Pfx  Prefix

	HasModRM bool
	ModRM    byte
	SIB      byte // valid where HasSIB
	HasSIB   bool
	OpOff    int // position of Op
	ModRMOff int // position of ModRM, where HasModRM

	Disp     int32 // displacement of the memory operand, sign extended
	DispOff  int
	DispSize int // 0, 1 or 4
	RIPRel   bool

	Imm     int32 // immediate of up to four bytes, sign extended
	ImmOff  int
	ImmSize int

	Rel     int64 // branch displacement, counted from the instruction's end
	RelOff  int
	RelSize int // 1, 2 or 4
}

// Flow says how control leaves an instruction.
type Flow uint8

// The ways out of an instruction.
const (
	FlowNone         Flow = iota // to the next instruction
	FlowJump                     // jmp rel
	FlowCond                     // jcc rel
	FlowLoop                     // loop, loope, loopne, jrcxz: rel8 only
	FlowCall                     // call rel
	FlowRet                      // ret, far ret, iret
	FlowJumpIndirect             // jmp r/m, far jmp
	FlowCallIndirect             // call r/m, far call
	FlowSyscall                  // syscall, sysenter, int n
	FlowInt3                     // int3, int1
	FlowHalt                     // hlt, ud0, ud1, ud2
	FlowXBegin                   // xbegin rel
)

// FallsThrough reports whether the next instruction in memory may run after this one, directly
// or when a callee returns.
func (f Flow) FallsThrough() bool {
	return f != FlowJump && f != FlowRet && f != FlowJumpIndirect && f != FlowHalt
}

// Encoding is an instruction's encoding scheme.
type Encoding uint8

// The encoding schemes.
const (
	EncLegacy Encoding = iota
	EncVEX
	EncEVEX
	EncXOP
)

// Prefix is a set of legacy prefixes.
type Prefix uint8

// The legacy prefixes. REX is in Inst.Rex.
const (
	PfxOpSize   Prefix = 1 << iota // 66
	PfxAddrSize                    // 67
	PfxRepne                       // F2, bnd
	PfxRep                         // F3
	PfxLock                        // F0
	PfxSegment                     // 26, 2E, 36, 64, 65; 3E but for PfxNotrack
	PfxNotrack                     // 3E, also a segment prefix
)

func (in *Inst) mod() byte { return in.ModRM >> 6 }
func (in *Inst) reg() byte { return in.ModRM >> 3 & 7 }
func (in *Inst) rm() byte  { return in.ModRM & 7 }

// is reports whether the instruction is the legacy one-byte opcode op.
func (in *Inst) is(op byte) bool { return in.Enc == EncLegacy && in.Map == 0 && in.Op == op }

// baseReg returns the number of the memory operand's base register, 0..15; ok is false for
// register operands and operands without a base.
func (in *Inst) baseReg() (reg byte, ok bool) {
	if !in.HasModRM || in.mod() == 3 || in.RIPRel {
		return 0, false
	}
	b := in.rm()
	if in.HasSIB {
		b = in.SIB & 7
		if b == 5 && in.mod() == 0 {
			return 0, false
		}
	}
	return b | in.Rex&1<<3, true
}
