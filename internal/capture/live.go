package capture

import "golang.org/x/arch/x86/x86asm"

// readsRegister reports whether the first instruction, in the order of the code, that speaks of a general
// register reads it: only then was its value at the entry wanted. LLVM keeps the location of a parameter
// that is passed by pointer where nothing reads it, and its callers then pass anything.
func readsRegister(code []byte, reg uint8) bool {
	for len(code) > 0 {
		in, err := decode(code)
		if err != nil || in.Len <= 0 {
			return false
		}
		code = code[in.Len:]
		if in.Op == x86asm.CALL || in.Op == x86asm.SYSCALL {
			return false // gone, or passed on unread
		}
		speaks, reads := false, false
		for i, a := range in.Args {
			switch a := a.(type) {
			case x86asm.Reg:
				if n, size, ok := regNumber(a); ok && size < 16 && n == reg {
					speaks = true
					reads = reads || i > 0 || !writesFirst(&in)
				}
			case x86asm.Mem:
				for _, r := range []x86asm.Reg{a.Base, a.Index} {
					if n, size, ok := regNumber(r); ok && size == 8 && n == reg {
						speaks, reads = true, true
					}
				}
			}
		}
		if speaks {
			return reads
		}
	}
	return false
}

// maxRead bounds the objects whose bytes are followed one by one; larger ones are copied by loops and calls.
const maxRead = 64

// usesObject reports whether a function reads every byte of the object of size bytes that a general register points
// to at the entry. Compilers that see both sides leave out the stores to parts of a parameter that are
// never read, so a part that is not read may not be there.
func usesObject(code []byte, reg uint8, size int64) bool {
	if size > maxRead {
		return readsRegister(code, reg)
	}
	left := uint64(1)<<(uint(size)&63) - 1
	if size == maxRead {
		left = ^uint64(0)
	}
	same := uint16(1) << reg // the registers that hold the pointer
	for len(code) > 0 && same != 0 {
		in, err := decode(code)
		if err != nil || in.Len <= 0 {
			return false
		}
		code = code[in.Len:]
		switch {
		case in.Op == x86asm.CALL || in.Op == x86asm.SYSCALL:
			same &= calleeSaved // what is passed on may be read in part as well
			continue
		case hasRep(&in) && same&(1<<rsi) != 0:
			return true // copied
		}
		left &^= readFrom(&in, same)
		if left == 0 {
			return true
		}
		same = copies(&in, same)
	}
	return false
}

// calleeSaved are the general registers that calls keep, as bits.
const calleeSaved uint16 = 1<<rbx | 1<<rbp | 1<<12 | 1<<13 | 1<<14 | 1<<15

// readFrom returns which of the first 64 bytes behind the pointer in a register of base the instruction reads.
func readFrom(in *x86asm.Inst, base uint16) (bytes uint64) {
	for i, a := range in.Args {
		m, ok := a.(x86asm.Mem)
		if !ok || in.Op == x86asm.LEA || i == 0 && writesFirst(in) {
			continue
		}
		n, size, ok := regNumber(m.Base)
		if !ok || size != 8 || base>>n&1 == 0 || m.Index != 0 {
			continue
		}
		for b := max(m.Disp, 0); b < min(m.Disp+int64(in.MemBytes), maxRead); b++ {
			bytes |= 1 << uint(b)
		}
	}
	return bytes
}

// copies follows a pointer that the registers of same hold through one instruction.
func copies(in *x86asm.Inst, same uint16) uint16 {
	dst, ok := in.Args[0].(x86asm.Reg)
	n, size, isReg := regNumber(dst)
	if !ok || !isReg || size == 16 {
		return same
	}
	switch in.Op {
	case x86asm.CMP, x86asm.TEST, x86asm.PUSH:
		return same
	case x86asm.MOV:
		if src, ok := in.Args[1].(x86asm.Reg); ok {
			if k, w, ok := regNumber(src); ok && w == 8 && same>>k&1 != 0 {
				return same | 1<<n
			}
		}
	}
	return same &^ (1 << n)
}
