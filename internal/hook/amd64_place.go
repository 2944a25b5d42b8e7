package hook

import "fmt"

// AnalyzeAt says how to patch the place at addr+off, which is where an instruction of the function begins: any, not
// only its first. The arguments are those of Analyze; targets must hold what the function's other parts (foo.cold) jump
// to. A PatchJump displaces whole instructions, and nothing is known to lead into the middle of them: no branch, no
// return of a call, no jump table, no exception. Else it is a PatchTrap, with one instruction displaced and the Reason.
//
// Only Probe and CopyOnly stubs can be written for such an Analysis. A branch to the place itself, also one among the
// displaced instructions, comes by the patch every time. An endbr64 at the place is left alone, and the patch is behind
// it.
//
// Analysis.Window is what the caller compares with other patches: two that overlap cannot both stand.
func AnalyzeAt(code []byte, addr Addr, off, pad int, opt Options) Analysis {
	pad = min(max(pad, 0), len(code))
	z := analyzer{all: code, code: code[:len(code)-pad], need: jumpLen, interior: -1, loopFrom: -1}
	z.a.Addr, z.a.Size, z.a.Place = addr, len(z.code), true
	if off < 0 || off >= len(z.code) {
		z.a.Reason = fmt.Sprintf("there is no code of the function at +%#x", off)
		return z.a
	}
	z.a.Off = off
	a := z.analyze(opt)
	if a.Patch != PatchNone && z.astride {
		a.Patch, a.PatchLen = PatchNone, 0
		a.Reason = fmt.Sprintf("no instruction begins at +%#x", off)
	}
	return a
}

// Window returns the bytes that the patch overwrites, [lo, hi).
func (a *Analysis) Window() (lo, hi Addr) { return a.Site(), a.Site() + Addr(a.PatchLen) }

// OneByte is the analysis with a PatchTrap instead of its jump, for why: another patch is in the way.
func (a *Analysis) OneByte(code []byte, why string) (Analysis, error) {
	b := *a
	if a.Patch != PatchJump && a.Patch != PatchShort {
		return b, nil
	}
	first, err := Decode(code[min(a.Off, len(code)):])
	if err != nil {
		return b, fmt.Errorf("decode the instruction at +%#x: %w", a.Off, err)
	}
	b.Patch, b.PatchLen, b.Padded, b.Reason = PatchTrap, 1, false, why
	b.Displaced, b.nbounds = first.Len, 1
	b.EndsInCall = first.Flow == FlowCall || first.Flow == FlowCallIndirect
	return b, nil
}

// inside returns how far the place is from the function's first instruction (endbr64 not counted).
func (z *analyzer) inside() int {
	if z.tracked() && z.a.Off >= 4 {
		return z.a.Off - 4
	}
	return z.a.Off
}

// needsFlags reports whether every instruction of the window but its first needs the flags of the one before it: no
// jump table leads to such a one.
func (z *analyzer) needsFlags() bool {
	for i := 1; i < int(z.a.nbounds); i++ {
		in, err := Decode(z.code[z.a.Off+int(z.a.bounds[i]):])
		if err != nil || in.Flow != FlowCond {
			return false
		}
	}
	return true
}

// probe calls the agent below the red zone, which the code around the place may be using.
func (e *emitter) probe(spec *Spec, stub *Stub) error {
	e.bytes(0x48, 0x8D, 0x64, 0x24, 0x80) // lea rsp,[rsp-128]
	e.callSlot(spec.ID, spec.EnterSlot)
	e.bytes(0x48, 0x8D, 0xA4, 0x24, 0x80, 0, 0, 0) // lea rsp,[rsp+128]
	return e.copyOnly(spec, stub)
}

func (e *emitter) copyOnly(spec *Spec, stub *Stub) error {
	stub.Relocated = e.pc()
	return e.relocate(spec, stub)
}
