package hook

import "fmt"

// Upper bounds in bytes, for MaxStub: what precedes the displaced instructions, and the greatest growth of one
// (call [rsp]: a call, two halves of its return address, and a longer displacement).
const (
	maxFixed  = 128
	maxGrowth = 26
)

// MaxStub returns a length that WriteStub never exceeds for the spec.
func MaxStub(spec Spec) int {
	n := maxFixed + maxDisplacedBytes + maxDisplaced*maxGrowth + jumpLen
	if spec.Kind == CallThrough && spec.StackBytes > 0 && spec.StackBytes <= InlineCopy {
		n += 5 + spec.StackBytes/8*6 + 6
	}
	return n
}

// WriteStub writes a stub that will run at address at into buf, which has at least MaxStub
// bytes. It fails with ErrRange when at is too far from the function or a slot, with ErrShort,
// and for functions that the Kind does not suit.
func WriteStub(buf []byte, at Addr, spec Spec) (Stub, error) {
	a := spec.Analysis
	if a == nil || a.Patch == PatchNone || a.Size > len(spec.Code) || a.Off+a.Displaced > len(spec.Code) {
		return Stub{}, fmt.Errorf("write stub: the function was not analysed as one that can be hooked")
	}
	if a.Place && spec.Kind != Probe && spec.Kind != CopyOnly {
		return Stub{}, fmt.Errorf("write stub for %#x: a place inside a function takes Probe or CopyOnly", a.Site())
	}
	e := &emitter{buf: buf, at: at}
	stub := Stub{Entry: at}
	var err error
	switch spec.Kind {
	case CallThrough:
		err = e.callThrough(&spec, &stub)
	case EnterOnly:
		err = e.enterOnly(&spec, &stub)
	case RetTrap:
		err = e.retTrap(&spec, &stub)
	case TailTrap:
		err = e.tailTrap(&spec, &stub)
	case Probe:
		err = e.probe(&spec, &stub)
	case CopyOnly:
		err = e.copyOnly(&spec, &stub)
	default:
		err = fmt.Errorf("unknown kind %d", spec.Kind)
	}
	if err == nil {
		err = e.err
	}
	if err != nil {
		return Stub{}, fmt.Errorf("write stub for %#x at %#x: %w", a.Addr, at, err)
	}
	stub.Len = e.n
	return stub, nil
}

func (e *emitter) callThrough(spec *Spec, stub *Stub) error {
	a := spec.Analysis
	if spec.StackBytes < 0 || spec.StackBytes > MaxStackBytes {
		return fmt.Errorf("%d bytes of stack arguments", spec.StackBytes)
	}
	if a.RetPop < 0 || a.UsesReturn {
		return ErrNeedsEnterOnly
	}
	var afterRef, loopRef int
	if a.LoopsToEntry {
		afterRef, loopRef = e.loopCheck()
	}
	e.bytes(0x55, 0x48, 0x89, 0xE5) // push rbp; mov rbp,rsp
	e.callSlot(spec.ID, spec.EnterSlot)
	e.bytes(0x0F, 0x85) // jne tail
	tail := e.later()
	e.copyArgs(spec)
	e.bytes(0xE8) // call relocated
	inner := e.later()
	stub.After = e.pc()
	e.callSlot(spec.ID, spec.ExitSlot)
	// The word that led back here lies below the stack now, where whoever comes next may leave it in a gap of a frame: it
	// would look like a frame of ours for as long as that lives, and keep the unwinder's hook.
	e.bytes(0x48, 0xC7, 0x44, 0x24, 0xF0, 0, 0, 0, 0) // mov qword [rsp-16],0
	e.bytes(0xC9)                                     // leave
	if a.RetPop > 0 {
		e.bytes(0xC2, byte(a.RetPop), byte(a.RetPop>>8))
	} else {
		e.bytes(0xC3)
	}
	if a.LoopsToEntry {
		e.patch(afterRef, stub.After)
		e.patch(loopRef, e.pc())
		e.bytes(0x9D, 0x48, 0x8D, 0xA4, 0x24, 0x80, 0, 0, 0, 0xEB, 1) // popfq; lea rsp,[rsp+128]; jmp over leave
	}
	e.patch(tail, e.pc())
	e.bytes(0xC9) // leave
	stub.Relocated = e.pc()
	e.patch(inner, stub.Relocated)
	return e.relocate(spec, stub)
}

// loopCheck begins a stub to which the function itself may branch: where the return address is the
// stub's own, the function is already running, and goes on behind the patch. The check stays clear
// of the red zone, which a loop in a leaf function may be using, and keeps the flags for the loop.
func (e *emitter) loopCheck() (after, loop int) {
	e.bytes(0x48, 0x8D, 0x64, 0x24, 0x80) // lea rsp,[rsp-128]
	e.bytes(0x9C, 0x50, 0x48, 0x8D, 0x05) // pushfq; push rax; lea rax,[rip+after]
	after = e.later()
	e.bytes(0x48, 0x39, 0x84, 0x24, 0x90, 0, 0, 0) // cmp [rsp+128+16],rax
	e.bytes(0x58, 0x0F, 0x84)                      // pop rax; je loop
	loop = e.later()
	e.bytes(0x9D, 0x48, 0x8D, 0xA4, 0x24, 0x80, 0, 0, 0) // popfq; lea rsp,[rsp+128]
	return after, loop
}

// argAlign is the greatest alignment that stack arguments have: that of a 64-byte vector (psABI 3.2.2).
const argAlign = 64

// copyArgs repeats the caller's stack arguments below the stub's frame. They lie at rbp+16 and the stack pointer is
// rbp: the copy begins as far from a boundary of 64 bytes as they do, since the function may rely on it.
func (e *emitter) copyArgs(spec *Spec) {
	n := (spec.StackBytes + 7) &^ 7
	if n == 0 {
		return
	}
	room := (n+16+argAlign-1)&^(argAlign-1) - 16
	if n > InlineCopy {
		e.bytes(0x48, 0x81, 0xEC) // sub rsp,room
		e.u32(uint32(room))
		e.callSlot(uint32(n), spec.CopySlot)
		return
	}
	if pad := room - n; pad > 0 {
		e.bytes(0x48, 0x8D, 0x64, 0x24, byte(-pad)) // lea rsp,[rsp-pad]
	}
	for off := n - 8; off >= 0; off -= 8 {
		if disp := 16 + off; disp < 128 {
			e.bytes(0xFF, 0x75, byte(disp)) // push [rbp+disp]
		} else {
			e.bytes(0xFF, 0xB5)
			e.u32(uint32(disp))
		}
	}
}

func (e *emitter) enterOnly(spec *Spec, stub *Stub) error {
	if a := spec.Analysis; a.LoopsToEntry && a.RedZone {
		return fmt.Errorf("it loops to its entry and uses the red zone, which an enter-only stub would overwrite")
	}
	e.callSlot(spec.ID, spec.EnterSlot)
	stub.Relocated = e.pc()
	return e.relocate(spec, stub)
}

func (e *emitter) retTrap(spec *Spec, stub *Stub) error {
	if spec.Ret < 0 || spec.Ret >= spec.Analysis.Size {
		return fmt.Errorf("no ret at +%#x", spec.Ret)
	}
	code := spec.Code[spec.Ret:spec.Analysis.Size]
	in, err := Decode(code)
	if err != nil || !in.is(0xC3) && !in.is(0xC2) {
		return fmt.Errorf("no ret at +%#x", spec.Ret)
	}
	e.callSlot(spec.ID, spec.ExitSlot)
	stub.Relocated = e.pc()
	stub.Map = []Pair{{spec.Analysis.Addr + Addr(spec.Ret), e.pc()}}
	e.bytes(code[:in.Len]...)
	return nil
}

func (e *emitter) tailTrap(spec *Spec, stub *Stub) error {
	if spec.Ret < 0 || spec.Ret >= spec.Analysis.Size {
		return fmt.Errorf("no branch at +%#x", spec.Ret)
	}
	code := spec.Code[spec.Ret:spec.Analysis.Size]
	in, err := Decode(code)
	if err != nil {
		return fmt.Errorf("decode branch at +%#x: %w", spec.Ret, err)
	}
	at := spec.Analysis.Addr + Addr(spec.Ret)
	r := relocator{e: e, code: spec.Code, a: spec.Analysis, tailID: spec.TailID, exit: spec.ExitSlot}
	stub.Relocated = e.pc()
	stub.Map = []Pair{{at, e.pc()}}
	if err := r.leave(code[:in.Len], &in, at); err != nil {
		return err
	}
	if in.Flow == FlowCond {
		e.bytes(0xE9)
		e.rel32(at+Addr(in.Len), 0)
		r.finish()
	}
	return e.err
}

func (e *emitter) relocate(spec *Spec, stub *Stub) error {
	r := relocator{e: e, code: spec.Code, a: spec.Analysis, moved: spec.Moved}
	if spec.Kind == EnterOnly {
		r.id, r.exit, r.tailID, r.tails = spec.ID, spec.ExitSlot, spec.TailID, spec.Tails
	}
	err := r.run()
	stub.Map = r.out
	return err
}

// JumpPatch returns the five bytes that, at site, jump to target. The error is ErrRange.
func JumpPatch(site, target Addr) ([jumpLen]byte, error) {
	var p [jumpLen]byte
	e := &emitter{buf: p[:], at: site}
	e.bytes(0xE9)
	e.rel32(target, 0)
	return p, e.err
}

// ShortPatch returns the two bytes that, at site, jump to target. The error is ErrRange.
func ShortPatch(site, target Addr) ([shortLen]byte, error) {
	d := int64(target - site - shortLen)
	if int64(int8(d)) != d {
		return [shortLen]byte{}, fmt.Errorf("reach %#x from %#x in two bytes: %w", target, site, ErrRange)
	}
	return [shortLen]byte{0xEB, byte(d)}, nil
}
