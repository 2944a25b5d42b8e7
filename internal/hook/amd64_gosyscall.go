package hook

import "errors"

// GoSyscall is where a function of Go's makes the system calls of its program: its code up to the instruction only
// moves the arguments to where the kernel wants them, and the call's number is in RAX before.
type GoSyscall struct {
	Displaced int // bytes of its first instructions, which the patch lies over
	Behind    int // where it goes on behind the call
}

// maxGoSyscall bounds the bytes before the call.
const maxGoSyscall = 40

// errNoGoSyscall says that a function does more than it should.
var errNoGoSyscall = errors.New("its code is not the one that is known")

// AnalyzeGoSyscall looks at such a function's code.
func AnalyzeGoSyscall(code []byte) (g GoSyscall, err error) {
	for o := 0; o+2 <= len(code) && o < maxGoSyscall; {
		if code[o] == 0x0f && code[o+1] == 0x05 {
			if g.Displaced < jumpLen || o < g.Displaced {
				return g, errNoGoSyscall
			}
			g.Behind = o + 2
			return g, nil
		}
		in, err := Decode(code[o:])
		if err != nil {
			return g, err
		}
		toRAX := in.ModRM&7 == 0 && in.Rex&1 == 0
		if in.Enc != EncLegacy || in.Map != 0 || in.Op != 0x89 || in.mod() != 3 || toRAX { // mov reg,reg
			return g, errNoGoSyscall
		}
		o += in.Len
		if g.Displaced < jumpLen {
			g.Displaced = o
		}
	}
	return g, errNoGoSyscall
}

// MaxGoSyscallStub is a length that WriteGoSyscall never exceeds for so many numbers.
func MaxGoSyscallStub(numbers int) int { return 2*maxGoSyscall + goCallBytes + 32 + 11*numbers }

// WriteGoSyscall writes the stub of one for address at: calls of the numbers in nrs are made here, and the agent is
// called behind them, with the number in RCX, which the kernel has overwritten. All others go back at once.
//
//	cmp eax,NR; je L     for each
//	the displaced instructions; jmp back
//	L: mov r12d,eax; all up to the call; mov ecx,r12d; the agent, as in WriteGoStub; jmp behind the call
func WriteGoSyscall(buf []byte, at Addr, s GoSpec, g GoSyscall, nrs []uint32) (Stub, error) {
	e := &emitter{buf: buf, at: at}
	stub := Stub{Entry: at}
	var records []int
	for _, nr := range nrs {
		e.bytes(0x3D, byte(nr), byte(nr>>8), 0, 0) // cmp eax,nr
		e.bytes(0x0F, 0x84)                        // je
		records = append(records, e.later())
	}
	stub.Relocated = e.pc()
	for o := 0; o < g.Displaced; {
		in, err := Decode(s.Code[o:])
		if err != nil {
			return Stub{}, err
		}
		stub.Map = append(stub.Map, Pair{s.Addr + Addr(o), e.pc()})
		e.bytes(s.Code[o : o+in.Len]...)
		o += in.Len
	}
	stub.Map = append(stub.Map, Pair{s.Addr + Addr(g.Displaced), e.pc()})
	e.bytes(0xE9)
	e.rel32(s.Addr+Addr(g.Displaced), 0)
	for _, pos := range records {
		e.patch(pos, e.pc())
	}
	e.bytes(0x41, 0x89, 0xC4) // mov r12d,eax
	e.bytes(s.Code[:g.Behind]...)
	stub.Map = append(stub.Map, Pair{s.Addr + Addr(g.Behind), e.pc()})
	e.bytes(0x44, 0x89, 0xE1) // mov ecx,r12d
	e.goCall(s.ID, 0, s.Enter, s.Losses)
	e.bytes(0xE9)
	e.rel32(s.Addr+Addr(g.Behind), 0)
	if e.err != nil {
		return Stub{}, e.err
	}
	stub.Len = e.n
	return stub, nil
}
