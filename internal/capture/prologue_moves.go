package capture

import "golang.org/x/arch/x86/x86asm"

func (p *prologue) lea(in *x86asm.Inst) {
	dst, _ := in.Args[0].(x86asm.Reg)
	m, _ := in.Args[1].(x86asm.Mem)
	off, ok := p.address(m)
	p.clobber(in)
	if c := p.reg(dst); c != nil && ok && dst >= x86asm.RAX && dst <= x86asm.R15 {
		*c = frameAddress(off)
	}
}

// move follows a copy between registers and memory.
func (p *prologue) move(in *x86asm.Inst, kind move) {
	size := int32(in.MemBytes)
	var val content
	switch src := in.Args[1].(type) {
	case x86asm.Reg:
		c := p.reg(src)
		if c == nil {
			break
		}
		_, n, _ := regNumber(src)
		val = c.low(int32(n))
		if kind == moveHigh {
			val = c.high()
		}
		size = p.copied(in, n)
	case x86asm.Mem:
		if off, ok := p.address(src); ok && kind != moveHigh {
			val = p.load(off, size)
		}
	}
	switch dst := in.Args[0].(type) {
	case x86asm.Mem:
		if off, ok := p.address(dst); ok {
			p.store(off, max(size, 1), val)
		}
	case x86asm.Reg:
		c := p.reg(dst)
		if c == nil || kind == moveHigh {
			p.clobber(in)
			return
		}
		val = val.low(max(size, 1))
		if val.frame && (dst < x86asm.RAX || dst > x86asm.R15) {
			val = content{}
		}
		*c = val
	}
}

// copied returns how many bytes a move from a register of n bytes transfers.
func (p *prologue) copied(in *x86asm.Inst, n uint8) int32 {
	if in.MemBytes > 0 {
		return int32(in.MemBytes)
	}
	size := int32(n)
	switch in.Op {
	case x86asm.MOVSS, x86asm.MOVD:
		size = 4
	case x86asm.MOVSD_XMM, x86asm.MOVQ, x86asm.MOVLPS, x86asm.MOVLPD:
		size = 8
	}
	if dst, ok := in.Args[0].(x86asm.Reg); ok {
		if _, d, ok := regNumber(dst); ok && int32(d) < size {
			size = int32(d)
		}
	}
	return size
}
