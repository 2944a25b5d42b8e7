package expr

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/strobe-debug/strobe/internal/ring"
)

var (
	errEnds    = errors.New("the program ends: unreadable")
	errProgram = errors.New("not a program")
)

// emulate runs a program as the agent does, and returns the word that it puts out.
func emulate(ops []ring.Op, env *Env) (uint64, error) {
	var r [walkRegs]uint64
	var out []uint64
	ev := evaluator{env: env}
	for pc, steps := 0, 0; ; steps++ {
		if pc < 0 || pc >= len(ops) || steps > ring.MaxSteps {
			return 0, fmt.Errorf("%w: at %d of %d after %d steps", errProgram, pc, len(ops), steps)
		}
		op := ops[pc]
		pc++
		switch op.Code {
		case ring.OpEnd:
			if len(out) != 1 {
				return 0, fmt.Errorf("%w: %d words", errProgram, len(out))
			}
			return out[0], nil
		case ring.WalkOut:
			out = append(out, r[op.Src])
		case ring.WalkConst:
			r[op.Src] = uint64(op.SrcOff) | uint64(op.Size)<<32
		case ring.WalkLoadMem:
			var b [8]byte
			switch op.Size {
			case 1, 2, 4, 8:
			default:
				return 0, errProgram
			}
			if ev.read(r[op.Slot]+uint64(int64(op.Off)), b[:op.Size], 0) != nil {
				return 0, errEnds
			}
			r[op.Src] = extendWord(binary.LittleEndian.Uint64(b[:]), uint8(op.Size), op.SrcOff == 1)
		case ring.WalkALU, ring.WalkALUImm:
			y := uint64(int64(op.Off))
			if op.Code == ring.WalkALU {
				y = r[op.Dst]
			}
			v, ok := aluOp(op.SrcOff, r[op.Slot], y)
			if !ok {
				return 0, errEnds
			}
			r[op.Src] = v
		case ring.WalkJump:
			pc += int(op.Off)
		case ring.WalkJumpZero:
			if r[op.Src] == 0 {
				pc += int(op.Off)
			}
		case ring.WalkJumpNot:
			if r[op.Src] != 0 {
				pc += int(op.Off)
			}
		case ring.WalkReg, ring.WalkCFA, ring.WalkFS, ring.WalkInfo:
			v, err := fromFrame(op, env)
			if err != nil {
				return 0, err
			}
			r[op.Src] = v
		default:
			return 0, fmt.Errorf("%w: code %d", errProgram, op.Code)
		}
	}
}

func fromFrame(op ring.Op, env *Env) (uint64, error) {
	var v uint64
	ok := true
	switch op.Code {
	case ring.WalkReg:
		v, ok = env.Frame.Reg(int(op.Size))
	case ring.WalkCFA:
		v, ok = env.Frame.CFA()
		v += uint64(int64(op.Off))
	case ring.WalkFS:
		v, ok = env.Frame.FS()
		v += uint64(int64(op.Off))
	default:
		v = uint64(int64([]int{env.ThreadID, env.PID}[op.SrcOff]))
	}
	if !ok {
		return 0, errEnds
	}
	return v, nil
}
