package step

import "github.com/strobe-debug/strobe/internal/hook"

// Class is what a stepper has to do about an instruction.
type Class int

// The classes.
const (
	Plain Class = iota
	Call        // puts a return address on the stack
	Return
	Repeats // runs many times, with a stop for each when single-stepped
	Pushes  // saves the flags, with the trap flag set when single-stepped
)

// Classify sorts the instruction at the start of code, and returns its length. Bytes that are none are Plain, of length
// 0.
func Classify(code []byte) (Class, int) {
	in, err := hook.Decode(code)
	if err != nil {
		return Plain, 0
	}
	switch in.Flow {
	case hook.FlowCall, hook.FlowCallIndirect:
		return Call, in.Len
	case hook.FlowRet:
		return Return, in.Len
	case hook.FlowNone:
	default:
		return Plain, in.Len
	}
	if in.Enc != hook.EncLegacy || in.Map != 0 {
		return Plain, in.Len
	}
	switch in.Op {
	case 0x9c:
		return Pushes, in.Len
	case 0xa4, 0xa5, 0xa6, 0xa7, 0xaa, 0xab, 0xac, 0xad, 0xae, 0xaf: // movs, cmps, stos, lods, scas
		if in.Pfx&(hook.PfxRep|hook.PfxRepne) != 0 {
			return Repeats, in.Len
		}
	}
	return Plain, in.Len
}
