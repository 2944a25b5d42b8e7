package capture

import "golang.org/x/arch/x86/x86asm"

// maxPrologue bounds the instructions read of a function: unoptimised code stores its parameters
// within the first few dozen.
const maxPrologue = 300

// content is what a register holds: per byte the argument register or stack argument that it came
// from, or the address CFA+off.
type content struct {
	b     [16]source
	frame bool
	off   int32
	call  bool // left by a call: nothing is known
}

// from is the first n bytes of s.
func from(s source, n int32) content {
	var c content
	for i := range min(n, 16) {
		c.b[i] = s
		c.b[i].off += i
	}
	return c
}

func frameAddress(off int32) content { return content{frame: true, off: off} }

// low keeps n bytes of c.
func (c content) low(n int32) content {
	for i := max(n, 0); i < 16; i++ {
		c.b[i] = source{}
	}
	if n < 8 {
		c.frame = false
	}
	return c
}

// high is the upper half of c.
func (c content) high() content {
	var out content
	copy(out.b[:8], c.b[8:])
	return out
}

// prologue is what a function's first straight run of instructions does with its arguments.
type prologue struct {
	gpr    [16]content // by DWARF number
	xmm    [16]content
	x87    []content      // what is on the x87 stack, top last
	pages  []*page        // the frame and the argument area, by distance from the CFA
	args   map[int32]bool // eight-byte words of the caller's argument area that are read
	sp     int32          // rsp behind the run, from the CFA
	spOK   bool
	length int // bytes read

	realigned bool // the stack pointer was rounded down
}

// realignedFrame stands for the distance of a realigned stack pointer from the CFA, which is not known: slots in such a
// frame count from here, far from all others.
const realignedFrame = -1 << 24

// page is 64 bytes of stack.
type page struct {
	at      int32
	first   [64]source // what was first stored there; srcNone: something else, or nothing
	now     [64]source // what was stored last
	written uint64     // bit per byte
}

// page returns the page of the byte at CFA+off; without create it may be nil.
func (p *prologue) page(off int32, create bool) *page {
	at := off &^ 63
	for _, g := range p.pages {
		if g.at == at {
			return g
		}
	}
	if !create {
		return nil
	}
	g := &page{at: at}
	p.pages = append(p.pages, g)
	return g
}

// entryRegisters are the registers at a function's first instruction.
var entryRegisters = func() (p prologue) {
	for i := range p.gpr {
		p.gpr[i] = from(source{kind: srcGPR, reg: uint8(i)}, 8)
		p.xmm[i] = from(source{kind: srcXMM, reg: uint8(i)}, 16)
	}
	p.gpr[rsp] = frameAddress(-8)
	p.sp, p.spOK = -8, true
	return p
}()

func newPrologue() *prologue {
	p := new(prologue)
	*p = entryRegisters
	return p
}

// readPrologue follows code from a function's entry to its first branch, call or return.
func readPrologue(code []byte) *prologue {
	p := newPrologue()
	p.follow(code, func(*x86asm.Inst) {})
	if sp := p.gpr[rsp]; sp.frame && !p.realigned {
		p.sp = sp.off
	} else {
		p.spOK = false
	}
	return p
}

// follow runs p over the first straight run of code; behind is called behind each instruction.
func (p *prologue) follow(code []byte, behind func(*x86asm.Inst)) {
	for n := 0; n < maxPrologue && len(code) > 0; n++ {
		if len(code) >= 4 && code[0] == 0xf3 && code[1] == 0x0f && code[2] == 0x1e && code[3] >= 0xfa {
			code, p.length = code[4:], p.length+4
			continue
		}
		in, err := decode(code)
		if err != nil || in.Len <= 0 || !p.step(&in) {
			break
		}
		code, p.length = code[in.Len:], p.length+in.Len
		behind(&in)
	}
}

// frame is what location expressions of the whole function mean by the stack registers.
func (p *prologue) frame(base []byte) frame {
	at := func(c content) sym {
		if !c.frame {
			return sym{}
		}
		return sym{kind: symFrame, off: int64(c.off)}
	}
	fr := frame{stack: at(p.gpr[rsp]), pointer: at(p.gpr[rbp])}
	fr.base = frameBase(base, fr)
	return fr
}

// stored is the home of a value of size bytes whose frame slot is at CFA+slot.
func (p *prologue) stored(slot int64, size uint32) home {
	h := home{missing: true}
	for i := uint32(0); i < min(size, 4096); i++ {
		var s source
		off := int32(slot) + int32(i)
		if g := p.page(off, false); g != nil {
			s = g.first[off&63]
		}
		if s.kind != srcNone {
			h.missing = false
		}
		h.add(place{source: s, size: 1})
	}
	return h
}

// untouched reports that the registers which are said to hold a parameter in the whole function are not written by its
// first instructions. LLVM names such a register too where they load it from the caller's argument area.
func (p *prologue) untouched(h *home) bool {
	for _, pl := range h.places {
		var c *content
		switch pl.kind {
		case srcGPR:
			c = &p.gpr[pl.reg&15]
		case srcXMM:
			c = &p.xmm[pl.reg&15]
		default:
			continue
		}
		if at := pl.source; at.off >= 0 && at.off < 16 && c.b[at.off] != at {
			return false
		}
	}
	return true
}

// step follows one instruction. It returns false where the straight run ends.
func (p *prologue) step(in *x86asm.Inst) bool {
	p.noteArgs(in)
	switch in.Op {
	case x86asm.CALL, x86asm.JMP, x86asm.RET, x86asm.LRET, x86asm.SYSCALL, x86asm.INT, x86asm.UD2, x86asm.HLT,
		x86asm.LEAVE,
		x86asm.LOOP, x86asm.LOOPE, x86asm.LOOPNE, x86asm.IRET, x86asm.ENTER, x86asm.XCHG, x86asm.POP:
		return false
	}
	if isJcc(in.Op) || hasRep(in) {
		return false
	}
	switch in.Op {
	case x86asm.PUSH:
		return p.push(in)
	case x86asm.ADD, x86asm.SUB:
		if r, ok := in.Args[0].(x86asm.Reg); ok && r == x86asm.RSP {
			imm, ok := in.Args[1].(x86asm.Imm)
			if !ok || !p.gpr[rsp].frame {
				return false
			}
			d := int32(imm)
			if in.Op == x86asm.SUB {
				d = -d
			}
			if d > 0 { // the epilogue begins
				return false
			}
			p.gpr[rsp].off += d
			return true
		}
		p.clobber(in)
	case x86asm.AND:
		if r, ok := in.Args[0].(x86asm.Reg); ok {
			if r == x86asm.RSP { // realigned: distances from the CFA are gone
				p.gpr[rsp], p.realigned = frameAddress(realignedFrame), true
				return true
			}
			if imm, ok := in.Args[1].(x86asm.Imm); ok && imm == 1 { // clang's mask of a bool
				if c := p.reg(r); c != nil {
					*c = c.low(1)
				}
				return true
			}
		}
		p.clobber(in)
	case x86asm.SHR:
		p.shift(in)
	case x86asm.FLD, x86asm.FSTP:
		p.x87Move(in)
	case x86asm.TEST, x86asm.CMP, x86asm.NOP, x86asm.UCOMISS, x86asm.UCOMISD, x86asm.COMISS, x86asm.COMISD:
	case x86asm.MUL, x86asm.DIV, x86asm.IDIV, x86asm.CDQ, x86asm.CQO, x86asm.CWD, x86asm.CBW, x86asm.CWDE, x86asm.CDQE,
		x86asm.CPUID, x86asm.RDTSC:
		p.gpr[rax], p.gpr[rdx], p.gpr[rcx], p.gpr[rbx] = content{}, content{}, content{}, content{}
	case x86asm.LEA:
		p.lea(in)
	default:
		if k := moveKind(in.Op); k != notMove {
			p.move(in, k)
		} else {
			p.clobber(in)
		}
	}
	return true
}

// shift follows a right shift by whole bytes, which takes a later member out of a register.
func (p *prologue) shift(in *x86asm.Inst) {
	r, ok := in.Args[0].(x86asm.Reg)
	imm, isImm := in.Args[1].(x86asm.Imm)
	c := p.reg(r)
	_, size, _ := regNumber(r)
	if !ok || !isImm || c == nil || c.frame || imm%8 != 0 || imm < 0 || imm >= 64 || size < 4 {
		p.clobber(in)
		return
	}
	old := c.low(int32(size))
	*c = content{}
	copy(c.b[:8], old.b[imm/8:8])
}

// x87Move follows a long double from the argument area into the frame. x86asm has no size for it.
func (p *prologue) x87Move(in *x86asm.Inst) {
	m, isMem := in.Args[0].(x86asm.Mem)
	off, ok := p.address(m)
	if in.Op == x86asm.FLD {
		var c content
		if isMem && ok && (in.MemBytes == 10 || in.MemBytes == 0) {
			c = p.load(off, 10)
		}
		p.x87 = append(p.x87, c)
		return
	}
	var c content
	if n := len(p.x87); n > 0 {
		c, p.x87 = p.x87[n-1], p.x87[:n-1]
	}
	if isMem && ok && (in.MemBytes == 10 || in.MemBytes == 0) {
		p.store(off, 10, c)
	}
}

func isJcc(op x86asm.Op) bool {
	switch op {
	case x86asm.JA, x86asm.JAE, x86asm.JB, x86asm.JBE, x86asm.JCXZ, x86asm.JE, x86asm.JECXZ, x86asm.JG, x86asm.JGE,
		x86asm.JL,
		x86asm.JLE, x86asm.JNE, x86asm.JNO, x86asm.JNP, x86asm.JNS, x86asm.JO, x86asm.JP, x86asm.JRCXZ, x86asm.JS:
		return true
	}
	return false
}

// hasRep reports a repeated string operation, whose writes have no known length.
func hasRep(in *x86asm.Inst) bool {
	switch in.Op {
	case x86asm.MOVSB, x86asm.MOVSW, x86asm.MOVSD, x86asm.MOVSQ, x86asm.STOSB, x86asm.STOSW, x86asm.STOSD, x86asm.STOSQ:
		return true
	}
	return false
}

type move uint8

const (
	notMove    move = iota
	moveBytes       // as many bytes as the operand
	moveExtend      // the source's bytes, extended
	moveHigh        // the upper half of a vector register
)

func moveKind(op x86asm.Op) move {
	switch op {
	case x86asm.MOV, x86asm.MOVSS, x86asm.MOVSD_XMM, x86asm.MOVAPS, x86asm.MOVAPD, x86asm.MOVUPS, x86asm.MOVUPD,
		x86asm.MOVDQA,
		x86asm.MOVDQU, x86asm.MOVLPS, x86asm.MOVLPD, x86asm.MOVQ, x86asm.MOVD:
		return moveBytes
	case x86asm.MOVZX, x86asm.MOVSX, x86asm.MOVSXD:
		return moveExtend
	case x86asm.MOVHPS, x86asm.MOVHPD:
		return moveHigh
	}
	return notMove
}

func (p *prologue) push(in *x86asm.Inst) bool {
	if !p.gpr[rsp].frame {
		return false
	}
	p.gpr[rsp].off -= 8
	var c content
	r, isReg := in.Args[0].(x86asm.Reg)
	if isReg && r == x86asm.RAX { // only makes room
		return true
	}
	if k := p.reg(r); isReg && k != nil {
		c = *k
	}
	p.store(p.gpr[rsp].off, 8, c)
	return true
}

// reg returns the content of the register that r is a part of, nil when it is none of ours or
// the part does not begin at bit 0.
func (p *prologue) reg(r x86asm.Reg) *content {
	n, _, ok := regNumber(r)
	switch {
	case !ok:
		return nil
	case r >= x86asm.X0 && r <= x86asm.X15:
		return &p.xmm[n]
	}
	return &p.gpr[n]
}

// fromHardware maps the encoding's order of registers to DWARF's.
var fromHardware = [16]uint8{rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, 8, 9, 10, 11, 12, 13, 14, 15}

// regNumber returns a register's DWARF number (vector registers: their own) and its bytes.
func regNumber(r x86asm.Reg) (n, size uint8, ok bool) {
	switch {
	case r >= x86asm.RAX && r <= x86asm.R15:
		return fromHardware[r-x86asm.RAX], 8, true
	case r >= x86asm.EAX && r <= x86asm.R15L:
		return fromHardware[r-x86asm.EAX], 4, true
	case r >= x86asm.AX && r <= x86asm.R15W:
		return fromHardware[r-x86asm.AX], 2, true
	case r >= x86asm.AL && r <= x86asm.BL:
		return fromHardware[r-x86asm.AL], 1, true
	case r >= x86asm.SPB && r <= x86asm.R15B:
		return fromHardware[r-x86asm.SPB+4], 1, true
	case r >= x86asm.X0 && r <= x86asm.X15:
		return uint8(r - x86asm.X0), 16, true
	}
	return 0, 0, false
}

// address resolves a memory operand to a distance from the CFA.
func (p *prologue) address(m x86asm.Mem) (int32, bool) {
	if m.Segment != 0 && m.Segment != x86asm.SS && m.Segment != x86asm.DS || m.Index != 0 || m.Base < x86asm.RAX ||
		m.Base > x86asm.R15 {
		return 0, false
	}
	c := p.reg(m.Base)
	if c == nil || !c.frame {
		return 0, false
	}
	return c.off + int32(m.Disp), true
}

// store notes what the frame bytes at CFA+off hold. The first store counts: it is the one that makes
// the parameter; later ones are the program's own assignments.
func (p *prologue) store(off, size int32, c content) {
	for i := range min(size, 64) {
		s := source{}
		if i < 16 && !c.frame {
			s = c.b[i]
		}
		g, k := p.page(off+i, true), (off+i)&63
		g.now[k] = s
		if g.written&(1<<k) == 0 {
			g.first[k] = s
			g.written |= 1 << k
		}
	}
}

// load is what size bytes at CFA+off hold.
func (p *prologue) load(off, size int32) content {
	var c content
	for i := range min(size, 16) {
		g, k := p.page(off+i, false), (off+i)&63
		switch {
		case g != nil && g.written&(1<<k) != 0:
			c.b[i] = g.now[k]
		case off+i >= 0:
			c.b[i] = source{kind: srcStack, off: off + i}
		}
	}
	return c
}

// noteArgs notes the words of the caller's argument area that an instruction speaks of.
func (p *prologue) noteArgs(in *x86asm.Inst) {
	for _, a := range in.Args {
		if m, ok := a.(x86asm.Mem); ok {
			if off, ok := p.address(m); ok && off >= 0 {
				for i := int32(0); i < int32(max(in.MemBytes, 1)); i += 8 {
					if p.args == nil {
						p.args = map[int32]bool{}
					}
					p.args[(off+i)&^7] = true
				}
			}
		}
	}
}

// clobber forgets what an instruction that is not understood writes.
func (p *prologue) clobber(in *x86asm.Inst) {
	switch a := in.Args[0].(type) {
	case x86asm.Reg:
		if n, size, ok := regNumber(a); ok {
			if size == 16 {
				p.xmm[n] = content{}
			} else {
				p.gpr[n] = content{}
			}
		} else if a >= x86asm.AH && a <= x86asm.BH {
			p.gpr[fromHardware[a-x86asm.AH]] = p.gpr[fromHardware[a-x86asm.AH]].low(1)
		}
	case x86asm.Mem:
		if off, ok := p.address(a); ok {
			p.store(off, int32(max(in.MemBytes, 1)), content{})
		}
	}
}
