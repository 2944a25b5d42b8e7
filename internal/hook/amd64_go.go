package hook

import (
	"bytes"
	"fmt"
)

// GoAnalysis says how a function that Go's compiler made (ABIInternal) is hooked. No frame of ours may stand on a
// goroutine's stack, so the entry and each return have a patch of their own. Offsets count from the function's start.
type GoAnalysis struct {
	Reason  string // why it cannot be hooked; then nothing else is valid
	Checked bool   // it begins with a check of the stack, behind which the entry's window lies
	Entry   GoWindow
	Exits   []GoWindow // in order; none: it is Whole, or never returns
	Whole   bool       // the entry's window is all of the function, but for its one ret
}

// GoWindow is one patched place.
type GoWindow struct {
	Off, Displaced int  // the instructions that run in the stub; of an exit those before the ret, which runs there, too
	Trap           bool // one byte, int3: no jump fits
	Faults         bool // one of them may fault: who catches the fault must take it to the original place
}

// goList is a decoded function.
type goList struct {
	code    []byte
	pad     int // bytes behind it that a patch may use
	offs    []int
	ins     []Inst
	targets map[int]bool
	tables  bool // it jumps by a table
	calls   bool
}

// maxGoCode bounds what is decoded of one function.
const maxGoCode = 1 << 20

// AnalyzeGo looks at the bytes of a function of Go's, with the pad bytes behind it that nothing uses.
func AnalyzeGo(code []byte, pad int) GoAnalysis {
	l, err := decodeGo(code, pad)
	if err != nil {
		return GoAnalysis{Reason: err.Error()}
	}
	start, checked := l.start()
	a := GoAnalysis{Checked: checked}
	switch {
	case start >= len(l.ins):
		return GoAnalysis{Reason: "it has no code behind the check of its stack"}
	case l.targets[l.offs[start]]:
		return GoAnalysis{Reason: "it begins with a loop, whose rounds would look like calls"}
	case !movableGo(&l.ins[start]) && l.ins[start].Flow != FlowRet:
		return GoAnalysis{Reason: "its first instruction cannot run elsewhere"}
	}
	if l.whole(&a, start) {
		return a
	}
	l.entry(&a, start)
	for k := range l.ins {
		if l.ins[k].Flow == FlowRet {
			a.Exits = append(a.Exits, l.exit(&a, k))
		}
	}
	return a
}

func decodeGo(code []byte, pad int) (*goList, error) {
	pad = min(max(pad, 0), len(code))
	l := &goList{code: code[:len(code)-pad], targets: map[int]bool{}}
	for l.pad < pad && code[len(l.code)+l.pad] == 0xcc {
		l.pad++
	}
	if len(l.code) > maxGoCode {
		return nil, fmt.Errorf("it is larger than %d bytes", maxGoCode)
	}
	for o := 0; o < len(l.code); {
		in, err := Decode(l.code[o:])
		if err != nil {
			return nil, fmt.Errorf("its code at +%#x cannot be decoded: %w", o, err)
		}
		l.offs, l.ins = append(l.offs, o), append(l.ins, in)
		if in.RelSize > 0 {
			l.targets[o+in.Len+int(in.Rel)] = true
		}
		l.tables = l.tables || in.Flow == FlowJumpIndirect
		l.calls = l.calls || in.Flow == FlowCall || in.Flow == FlowCallIndirect
		o += in.Len
	}
	l.trim()
	return l, nil
}

// trim takes what lies between two functions off the end, where a table of functions counts it as the first one's.
func (l *goList) trim() {
	n := len(l.ins)
	for n > 1 && l.code[l.offs[n-1]] == 0xcc && !l.targets[l.offs[n-1]] && !l.ins[n-2].Flow.FallsThrough() ||
		n > 1 && l.code[l.offs[n-1]] == 0xcc && l.code[l.offs[n-2]] == 0xcc {
		n--
	}
	if n < len(l.ins) {
		l.pad += len(l.code) - l.offs[n]
		l.code, l.offs, l.ins = l.code[:l.offs[n]], l.offs[:n], l.ins[:n]
	}
}

// How the check of the stack begins: cmp rsp,[r14+16], or cmp r12,[r14+16] where the frame is large.
var goChecks = [][]byte{{0x49, 0x3b, 0x66, 0x10}, {0x4d, 0x3b, 0x66, 0x10}}

// start is the number of the instruction behind the check of the stack: the function's first where it has none.
func (l *goList) start() (k int, checked bool) {
	for k := 0; k+1 < len(l.ins) && k < 8; k++ {
		at := l.code[l.offs[k]:]
		if bytes.HasPrefix(at, goChecks[0]) || bytes.HasPrefix(at, goChecks[1]) {
			if l.ins[k+1].Flow == FlowCond {
				return k + 2, true
			}
			return 0, false
		}
		if l.ins[k].Flow != FlowNone && l.ins[k].Flow != FlowCond {
			break
		}
	}
	return 0, false
}

// movableGo reports whether an instruction does the same at another place, with what it refers to by its own written
// anew (moveGo).
func movableGo(in *Inst) bool { return in.Flow == FlowNone && immovable(in) == "" }

// mayFault reports a memory operand that is not on the stack: a nil pointer, which Go makes a panic of.
func mayFault(in *Inst) bool {
	if in.Enc == EncLegacy && in.Map == 0 && (in.Op == 0xf7 || in.Op == 0xf6) && in.reg() >= 6 {
		return true // a division
	}
	if !in.HasModRM || in.mod() == 3 || in.is(0x8d) || in.isNop() || in.RIPRel {
		return false
	}
	base, ok := in.baseReg()
	return !ok || base != rsp
}

// whole makes a small function without calls, loops and other returns run in the stub with all of it.
func (l *goList) whole(a *GoAnalysis, start int) bool {
	last := len(l.ins) - 1
	if l.calls || l.ins[last].Flow != FlowRet || l.code[l.offs[last]] != 0xc3 || last-start > maxDisplaced*2 {
		return false
	}
	w := GoWindow{Off: l.offs[start], Displaced: l.offs[last] - l.offs[start]}
	for k := start; k < last; k++ {
		if !movableGo(&l.ins[k]) || l.targets[l.offs[k]] {
			return false
		}
		w.Faults = w.Faults || mayFault(&l.ins[k])
	}
	if l.targets[l.offs[last]] {
		return false
	}
	w.Trap = w.Displaced+1+l.pad < jumpLen
	a.Entry, a.Whole = w, true
	return true
}

// entry finds the window behind the check of the stack.
func (l *goList) entry(a *GoAnalysis, start int) {
	w := GoWindow{Off: l.offs[start]}
	k := start
	for ; k < len(l.ins) && w.Displaced < jumpLen && movableGo(&l.ins[k]) && (k == start || !l.targets[l.offs[k]]); k++ {
		w.Displaced += l.ins[k].Len
		w.Faults = w.Faults || mayFault(&l.ins[k])
	}
	if w.Displaced < jumpLen {
		first := &l.ins[start]
		w.Trap, w.Faults, w.Displaced = true, mayFault(first), first.Len
		if first.Flow == FlowRet {
			w.Displaced = 0
		}
	}
	a.Entry = w
}

// exit finds the window of one ret: what comes before it and nothing leads into, but to its first byte.
func (l *goList) exit(a *GoAnalysis, k int) GoWindow {
	trap := GoWindow{Off: l.offs[k], Trap: true}
	if l.code[l.offs[k]] != 0xc3 {
		return trap
	}
	room := 1
	if k == len(l.ins)-1 {
		room += l.pad
	}
	w := GoWindow{Off: l.offs[k]}
	for s := k; l.offs[k]-l.offs[s]+room < jumpLen; {
		// a switch may lead to any instruction, but not between the frame's end and its ret
		if l.targets[l.offs[s]] || s == 0 || !movableGo(&l.ins[s-1]) ||
			l.tables && s != k && !popsFrame(&l.ins[s]) {
			return trap
		}
		s--
		w.Off, w.Displaced = l.offs[s], l.offs[k]-l.offs[s]
		w.Faults = w.Faults || mayFault(&l.ins[s])
	}
	if w.Off < a.Entry.Off+a.Entry.Displaced {
		return trap
	}
	return w
}

// popsFrame reports pop rbp.
func popsFrame(in *Inst) bool { return in.is(0x5d) && in.Rex&1 == 0 }

// GoSpec says what stub to write for a window of a function of Go's.
type GoSpec struct {
	ID     uint32
	Code   []byte // the function's bytes, unpatched
	Addr   Addr   // where it runs
	Window GoWindow
	Exit   bool
	Whole  bool // an entry that runs on to the function's ret
	// Cells within reach that hold the agent's entry points, and the address of its counters of what was dropped.
	Enter, Leave, Losses Addr
}

// MaxGoStub is a length that WriteGoStub never exceeds.
const MaxGoStub = 2*goCallBytes + (maxDisplaced*2+1)*maxInstLen + jumpLen

// goStackBytes is how much of a goroutine's stack the agent's way in uses, and more: GO_SAVED in agent/go.S.
const goStackBytes = 160

const goCallBytes = 64

// WriteGoStub writes the stub of one window for address at. R12 and R13 are free at both ends of a function:
//
//	lea r12,[rsp-160]; cmp r12,[r14]; jb skip     the goroutine's stack ends there
//	mov r12d,ID; lea r13,[resume]; jmp [cell]     the agent keeps all other registers, and jumps to r13
//	skip: mov r12,[losses]; lock inc [r12+…]      told as dropped
//	resume:
//
// At an entry the displaced instructions follow, and the jump back; at an exit they come first, and the ret follows.
func WriteGoStub(buf []byte, at Addr, s GoSpec) (Stub, error) {
	e := &emitter{buf: buf, at: at}
	stub := Stub{Entry: at}
	w := &s.Window
	site := s.Addr + Addr(w.Off)
	displaced := func() error {
		if len(stub.Map) == 0 {
			stub.Relocated = e.pc()
		}
		for o := w.Off; o < w.Off+w.Displaced; {
			in, err := Decode(s.Code[o:])
			if err != nil {
				return fmt.Errorf("decode +%#x: %w", o, err)
			}
			stub.Map = append(stub.Map, Pair{s.Addr + Addr(o), e.pc()})
			e.moveGo(s.Code[o:o+in.Len], &in, s.Addr+Addr(o))
			o += in.Len
		}
		return nil
	}
	ret := func() {
		stub.Map = append(stub.Map, Pair{site + Addr(w.Displaced), e.pc()})
		e.bytes(0xC3)
	}
	if !s.Exit {
		e.goCall(s.ID, 0, s.Enter, s.Losses)
	}
	if err := displaced(); err != nil {
		return Stub{}, fmt.Errorf("write stub for %#x: %w", site, err)
	}
	switch {
	case s.Exit, s.Whole:
		e.goCall(s.ID, 8, s.Leave, s.Losses)
		ret()
	default:
		stub.Map = append(stub.Map, Pair{site + Addr(w.Displaced), e.pc()})
		e.bytes(0xE9)
		e.rel32(site+Addr(w.Displaced), 0)
	}
	if stub.Relocated == 0 {
		stub.Relocated = e.pc()
	}
	if e.err != nil {
		return Stub{}, fmt.Errorf("write stub for %#x at %#x: %w", site, at, e.err)
	}
	stub.Len = e.n
	return stub, nil
}

// moveGo writes an instruction that stands at from.
func (e *emitter) moveGo(code []byte, in *Inst, from Addr) {
	if !in.RIPRel {
		e.bytes(code...)
		return
	}
	to := from + Addr(in.Len) + Addr(int64(in.Disp))
	e.bytes(code[:in.DispOff]...)
	e.rel32(to, in.Len-in.DispOff-4)
	e.bytes(code[in.DispOff+4:]...)
}

// goCall calls the agent. count is where in a hook's counters of dropped records the one of this end lies.
func (e *emitter) goCall(id uint32, count int32, cell, losses Addr) {
	e.bytes(0x4C, 0x8D, 0xA4, 0x24) // lea r12,[rsp-160]
	room := -int32(goStackBytes)
	e.u32(uint32(room))
	e.bytes(0x4D, 0x3B, 0x26) // cmp r12,[r14]
	e.bytes(0x0F, 0x82)       // jb skip
	skip := e.later()
	e.bytes(0x41, 0xBC) // mov r12d,ID
	e.u32(id)
	e.bytes(0x4C, 0x8D, 0x2D) // lea r13,[resume]
	resume := e.later()
	e.bytes(0xFF, 0x25) // jmp [cell]
	e.rel32(cell, 0)
	e.patch(skip, e.pc())
	e.bytes(0x4C, 0x8B, 0x25) // mov r12,[losses]
	e.rel32(losses, 0)
	e.bytes(0xF0, 0x49, 0xFF, 0x84, 0x24) // lock inc qword [r12+ID*16+count]
	e.u32(id*16 + uint32(count))
	e.patch(resume, e.pc())
}
