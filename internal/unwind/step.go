package unwind

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/strobe-debug/strobe/internal/symbol"
)

// step finds the caller of a frame and sets the frame's CFA. end is "" when there is one.
func (u *Unwinder) step(p *phys) (next *phys, end End, reason string) {
	if p.stub {
		if next := u.stubCaller(p); next != nil {
			return next, "", ""
		}
	}
	if u.isSigreturn(p.pc) {
		return u.interrupted(p)
	}
	if p.mod >= 0 {
		if next, end, reason, ok := u.byTables(p); ok {
			return next, end, reason
		}
	}
	return u.guess(p)
}

// stubCaller follows the frame that our stubs make. Nil where it is not there.
func (u *Unwinder) stubCaller(p *phys) *phys {
	rbp, ok := p.regs.Get(regRBP)
	rsp := p.regs.Val[regRSP]
	if !ok || rbp < rsp || rbp-rsp > maxFrame {
		return nil
	}
	return u.byFramePointer(p, rbp, TrustCFI)
}

// byTables unwinds by the tables of the frame's module; not ok when they have nothing, or nothing usable, for it.
func (u *Unwinder) byTables(p *phys) (next *phys, end End, reason string, ok bool) {
	w, err := u.row(p)
	if w == nil || err != nil {
		return nil, "", "", false
	}
	regs := p.regs
	regs.Set(regRIP, p.show) // expressions of .plt entries look at it
	cfa, caller, outermost, err := u.apply(w, &regs, u.mods[p.mod].Bias)
	p.cfa, p.signal = cfa, w.signal
	switch {
	case outermost:
		return nil, EndOutermost, "the thread started here", true
	case err != nil && cfa > p.regs.Val[regRSP]:
		return nil, EndMemory, err.Error(), true
	case err != nil || cfa <= p.regs.Val[regRSP] && !w.signal:
		p.cfa, p.signal = 0, false
		return nil, "", "", false // a frame pointer that is none, after a guess: go on guessing
	case caller.Val[regRIP] == 0:
		if w.signal { // the code that was interrupted had jumped to null
			return u.frame(caller, TrustCFI, true), "", "", true
		}
		return nil, EndOutermost, "the return address is 0", true
	}
	return u.frame(caller, TrustCFI, w.signal), "", "", true
}

// row returns the unwind rule at the frame's address, or nil.
func (u *Unwinder) row(p *phys) (*row, error) {
	pc := p.lookup()
	c := u.rows[pc]
	if c == nil {
		c = &cachedRow{}
		m := &u.mods[p.mod]
		if e, ok := m.Mod.FrameEntry(symbol.Addr(pc - m.Bias)); ok {
			c.ok = true
			c.row, c.err = execute(&e, pc-m.Bias)
		}
		u.rows[pc] = c
	}
	if !c.ok {
		return nil, nil
	}
	return &c.row, c.err
}

// The bytes of rt_sigreturn's caller: mov $15, %rax or %eax; syscall.
var sigreturns = [][]byte{
	{0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05},
	{0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05},
}

func (u *Unwinder) isSigreturn(pc uint64) bool {
	var b [SigreturnBytes]byte
	return pc != 0 && u.mem.read(pc, b[:]) == nil && IsSigreturn(b[:])
}

// SigreturnBytes is as much code as IsSigreturn looks at.
const SigreturnBytes = 9

// IsSigreturn reports code to which handlers of signals return: the word on the stack that leads there is the kernel's,
// with what it interrupted behind it (struct rt_sigframe).
func IsSigreturn(code []byte) bool {
	return bytes.HasPrefix(code, sigreturns[0]) || bytes.HasPrefix(code, sigreturns[1])
}

// contextRegs is where struct ucontext, which the kernel lays on the stack, keeps registers: by
// DWARF number, offsets in words from uc_mcontext.
var contextRegs = [numRegs]int{13, 12, 14, 11, 9, 8, 10, 15, 0, 1, 2, 3, 4, 5, 6, 7, 16}

// interrupted reads the registers that a signal interrupted; the stack pointer is at struct ucontext.
func (u *Unwinder) interrupted(p *phys) (*phys, End, string) {
	const mcontext = 40 // offset in struct ucontext
	var b [numRegs * 8]byte
	p.signal = true
	if err := u.mem.read(p.regs.Val[regRSP]+mcontext, b[:]); err != nil {
		return nil, EndMemory, fmt.Sprintf("the registers at the signal: %v", err)
	}
	var regs Regs
	for i, at := range contextRegs {
		regs.Set(i, binary.LittleEndian.Uint64(b[8*at:]))
	}
	p.cfa = regs.Val[regRSP]
	return u.frame(regs, TrustCFI, true), "", ""
}
