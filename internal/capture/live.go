package capture

import "golang.org/x/arch/x86/x86asm"

// readsRegister reports whether the first instruction, in the order of the code, that speaks of a general
// register reads it: only then was its value at the entry wanted. LLVM keeps the location of a parameter
// that is passed by pointer where nothing reads it, and its callers then pass anything.
func readsRegister(code []byte, reg uint8) bool {
	for len(code) > 0 {
		in, err := x86asm.Decode(code, 64)
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

// usesObject reports whether a function reads every byte of the object of size bytes that a general register points
// to at the entry, or hands the pointer on. Compilers leave out the stores to parts of a parameter that
// they know are never read, so a part that is not read may not be there.
func usesObject(code []byte, reg uint8, size int64) bool {
	if size > 64 {
		return readsRegister(code, reg)
	}
	left := uint64(1)<<(uint(size)&63) - 1
	if size == 64 {
		left = ^uint64(0)
	}
	for len(code) > 0 {
		in, err := x86asm.Decode(code, 64)
		if err != nil || in.Len <= 0 {
			return false
		}
		code = code[in.Len:]
		if in.Op == x86asm.CALL {
			return true // as an argument, if it is still there
		}
		for i, a := range in.Args {
			switch a := a.(type) {
			case x86asm.Reg:
				if n, size, ok := regNumber(a); ok && size < 16 && n == reg {
					return i > 0 || !writesFirst(&in)
				}
			case x86asm.Mem:
				n, _, ok := regNumber(a.Base)
				if !ok || n != reg || a.Index != 0 {
					continue
				}
				for b := a.Disp; b < a.Disp+int64(in.MemBytes); b++ {
					if b >= 0 && b < 64 {
						left &^= 1 << uint(b)
					}
				}
				if left == 0 {
					return true
				}
			}
		}
	}
	return false
}
