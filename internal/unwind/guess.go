package unwind

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/strobe-debug/strobe/internal/symbol"
)

const (
	// maxFrame bounds the size of a frame that is guessed.
	maxFrame = 1 << 20
	// maxScan bounds the words of stack that are looked at for a return address: a frame without
	// rules is hand-written code or a small C library's.
	maxScan = 512
)

// guess finds the caller of code without unwind rules.
func (u *Unwinder) guess(p *phys) (next *phys, end End, reason string) {
	rsp := p.regs.Val[regRSP]
	start, code := u.start(p)
	if p.mod >= 0 && u.isFirst(p) {
		// it is about to return to who made the thread
		if ret, err := u.mem.word(rsp); p.exact && err == nil && u.afterCall(ret) {
			return u.returned(p, rsp, ret, TrustCall), "", ""
		}
		return nil, EndOutermost, "the thread started here"
	}
	// Right after a call nothing is on the stack above the return address: a call of a bad pointer,
	// or a function at its first instruction.
	if p.exact && (p.mod < 0 || !u.isCode(p.pc) || start != 0 && p.show == start) {
		if ret, err := u.mem.word(rsp); err == nil && u.afterCall(ret) {
			return u.returned(p, rsp, ret, TrustCall), "", ""
		}
	}
	rbp, ok := p.regs.Get(regRBP)
	if ok && u.hasFrame(p, start, code) && rbp >= rsp && rbp-rsp < maxFrame {
		if next := u.byFramePointer(p, rbp, TrustFramePointer); next != nil {
			return next, "", ""
		}
	}
	if next := u.scan(p, start); next != nil {
		return next, "", ""
	}
	if _, err := u.mem.word(rsp); err != nil {
		return nil, EndMemory, err.Error()
	}
	if p.mod < 0 {
		return nil, EndLost, fmt.Sprintf("%#x is in no module, and nothing on the stack leads on", p.pc)
	}
	return nil, EndLost, fmt.Sprintf("the code at %#x has no unwind rules, and nothing on the stack leads on", p.pc)
}

// start returns the address of the frame's function, and its first bytes; 0 when nothing says where it starts.
func (u *Unwinder) start(p *phys) (uint64, []byte) {
	if p.mod < 0 {
		return 0, nil
	}
	m := &u.mods[p.mod]
	f, _, ok := m.Mod.Lookup(symbol.Addr(p.lookup() - m.Bias))
	if !ok || f.Fragment {
		return 0, nil
	}
	const prologue = 8
	b, err := m.Mod.BytesAt(f.Low, prologue)
	if err != nil {
		return uint64(f.Low) + m.Bias, nil
	}
	return uint64(f.Low) + m.Bias, b
}

// firsts are the functions without unwind rules that nobody called.
var firsts = map[string]bool{"_start": true, "_start_c": true, "__clone": true, "clone": true, "__clone3": true,
	"clone3": true, "_dlstart": true, "_dlstart_c": true}

func (u *Unwinder) isFirst(p *phys) bool {
	m := &u.mods[p.mod]
	f, _, ok := m.Mod.Lookup(symbol.Addr(p.lookup() - m.Bias))
	return ok && firsts[f.Raw]
}

// hasFrame reports whether the frame pointer may be the frame's: where the function is known, its
// prologue must set it and have run.
func (u *Unwinder) hasFrame(p *phys, start uint64, code []byte) bool {
	if start == 0 || code == nil {
		return true
	}
	skipped := uint64(0)
	if bytes.HasPrefix(code, []byte{0xf3, 0x0f, 0x1e, 0xfa}) { // endbr64
		code, skipped = code[4:], 4
	}
	for _, p2 := range [][]byte{{0x55, 0x48, 0x89, 0xe5}, {0x55, 0x48, 0x8b, 0xec}} { // push rbp; mov rbp, rsp
		if bytes.HasPrefix(code, p2) {
			return p.show >= start+skipped+uint64(len(p2))
		}
	}
	return false
}

// byFramePointer follows one frame pointer. Nil when what is there is not a frame.
func (u *Unwinder) byFramePointer(p *phys, rbp uint64, trust Trust) *phys {
	var b [16]byte
	if u.mem.read(rbp, b[:]) != nil {
		return nil
	}
	saved, ret := binary.LittleEndian.Uint64(b[:]), binary.LittleEndian.Uint64(b[8:])
	if trust != TrustCFI && !u.afterCall(ret) {
		return nil
	}
	next := u.returned(p, rbp+8, ret, trust)
	next.regs.Set(regRBP, saved)
	return next
}

// returned makes the caller that the return address in slot leads to.
func (u *Unwinder) returned(p *phys, slot, ret uint64, trust Trust) *phys {
	var regs Regs
	for i := range numRegs {
		if v, ok := p.regs.Get(i); ok && preserved(i) {
			regs.Set(i, v) // as far as anybody can tell
		}
	}
	p.cfa = slot + 8
	regs.Set(regRSP, p.cfa)
	regs.Set(regRIP, ret)
	return u.frame(regs, trust, false)
}

// scan looks up the stack for a return address. The nearest one that a direct call of this very
// function left is taken before those of calls that may go anywhere, and these before those of calls that go elsewhere.
func (u *Unwinder) scan(p *phys, start uint64) *phys {
	const kinds = 3
	var found [kinds]struct{ ret, slot uint64 }
	for i := range uint64(maxScan) {
		slot := p.regs.Val[regRSP] + 8*i
		ret, err := u.mem.word(slot)
		if err != nil {
			break
		}
		if !u.afterCall(ret) {
			continue
		}
		kind := 1
		if target, direct := u.callTarget(ret); direct && start != 0 {
			switch {
			case target == start || u.jumps(target, start):
				kind = 0
			case u.isFunction(target):
				kind = 2
			}
		}
		if found[kind].slot == 0 {
			found[kind].ret, found[kind].slot = ret, slot
		}
		if kind == 0 {
			break
		}
	}
	for _, f := range found {
		if f.slot != 0 {
			return u.returned(p, f.slot, f.ret, TrustScan)
		}
	}
	return nil
}

// isFunction reports whether a known function starts at addr.
func (u *Unwinder) isFunction(addr uint64) bool {
	i := u.module(addr)
	return i >= 0 && u.mods[i].Mod.FunctionAt(symbol.Addr(addr-u.mods[i].Bias)) != nil
}

// jumps reports whether the short function at from ends in a jump to start: qsort is qsort_r with one argument more.
func (u *Unwinder) jumps(from, start uint64) bool {
	var b [48]byte
	if u.mem.read(from, b[:]) != nil {
		return false
	}
	for i := 0; i+5 <= len(b); i++ {
		next := from + uint64(i)
		switch b[i] {
		case 0xe9:
			if next+5+uint64(int64(int32(binary.LittleEndian.Uint32(b[i+1:])))) == start {
				return true
			}
		case 0xeb:
			if next+2+uint64(int64(int8(b[i+1]))) == start {
				return true
			}
		}
	}
	return false
}

// callTarget returns where the direct call before a return address goes.
func (u *Unwinder) callTarget(ret uint64) (uint64, bool) {
	var b [5]byte
	if ret < 5 || u.mem.read(ret-5, b[:]) != nil || b[0] != 0xe8 {
		return 0, false
	}
	return ret + uint64(int64(int32(binary.LittleEndian.Uint32(b[1:])))), true
}

// afterCall reports whether ret is in code and behind a call instruction.
func (u *Unwinder) afterCall(ret uint64) bool {
	if ret < 16 || !u.isCode(ret) && !u.isCode(ret-1) {
		return false
	}
	if u.o.Stub != nil {
		if _, in := u.o.Stub(ret); in {
			return true
		}
	}
	var b [8]byte
	if u.mem.read(ret-8, b[:]) != nil {
		return false
	}
	if u.isSigreturn(ret) { // the kernel made it the handler's return address
		return true
	}
	if b[3] == 0xe8 { // call rel32
		return true
	}
	for n := 2; n <= 7; n++ { // call through a register or memory: ff /2
		at := b[8-n:]
		if at[0] == 0xff && at[1]>>3&7 == 2 && modrmLen(at[1:]) == n-1 {
			return true
		}
	}
	return false
}

// modrmLen returns the length of a ModRM byte with what belongs to it, without immediates.
func modrmLen(b []byte) int {
	mod, rm := b[0]>>6, b[0]&7
	n := 1
	if mod == 3 {
		return n
	}
	if rm == 4 {
		n++ // SIB
		if len(b) > 1 && mod == 0 && b[1]&7 == 5 {
			n += 4
		}
	}
	switch {
	case mod == 1:
		n++
	case mod == 2, mod == 0 && rm == 5:
		n += 4
	}
	return n
}
