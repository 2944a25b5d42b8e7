package hook

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// Pair says where an instruction of the function went in the stub.
type Pair struct{ Orig, Copy Addr }

// relocator copies displaced instructions to an emitter, so that they do there what they did at
// their own address.
type relocator struct {
	e    *emitter
	code []byte // the function
	a    *Analysis
	out  []Pair
	fix  []fixup

	moved []Pair

	id   uint32
	exit Addr // slot of the agent's exit, called before a displaced ret; 0 for none

	tailID uint32
	tails  []int     // offsets of branches out of the function, before which the agent is called
	taken  []leaving // conditional ones: where they are taken
}

// leaving is a conditional branch whose taken side calls the agent.
type leaving struct {
	pos    int // of the rel32 that leads there
	target Addr
}

// leave writes a branch that leaves the function, and the call of the agent before it.
func (r *relocator) leave(code []byte, in *Inst, at Addr) error {
	next := at + Addr(in.Len)
	switch target := next + Addr(in.Rel); in.Flow {
	case FlowJump:
		r.e.callSlot(r.tailID, r.exit)
		r.e.bytes(0xE9)
		r.e.rel32(r.runsAt(target), 0)
	case FlowCond:
		r.e.bytes(0x0F, 0x80|in.Op&0xF)
		r.taken = append(r.taken, leaving{r.e.later(), target})
	case FlowJumpIndirect:
		r.e.callSlot(r.tailID, r.exit)
		return r.plain(code, in, next)
	default:
		return errImmovable
	}
	return nil
}

// finish writes the taken sides of conditional branches, behind all other code.
func (r *relocator) finish() {
	for _, l := range r.taken {
		r.e.patch(l.pos, r.e.pc())
		r.e.callSlot(r.tailID, r.exit)
		r.e.bytes(0xE9)
		r.e.rel32(r.runsAt(l.target), 0)
	}
}

// fixup is a branch between two displaced instructions.
type fixup struct {
	pos    int // of the rel32
	target Addr
}

// run copies the displaced instructions and, where the last one falls through, a jump back.
func (r *relocator) run() error {
	off, end := r.a.Off, r.a.Off+r.a.Displaced
	falls := true
	for off < end {
		in, err := Decode(r.code[off:])
		if err != nil {
			return fmt.Errorf("decode displaced instruction at +%#x: %w", off, err)
		}
		at := r.a.Addr + Addr(off)
		r.out = append(r.out, Pair{at, r.e.pc()})
		if err := r.inst(r.code[off:off+in.Len], &in, at); err != nil {
			return fmt.Errorf("displace instruction at +%#x: %w", off, err)
		}
		falls = in.Flow.FallsThrough() && in.Flow != FlowCall && in.Flow != FlowCallIndirect
		off += in.Len
	}
	if back := r.a.Addr + Addr(off); falls {
		r.out = append(r.out, Pair{back, r.e.pc()})
		r.e.bytes(0xE9)
		r.e.rel32(r.runsAt(back), 0)
	}
	r.finish()
	for _, f := range r.fix {
		to, ok := r.copyOf(f.target)
		if !ok {
			return fmt.Errorf("branch to %#x: %w", f.target, errNotBoundary)
		}
		r.e.patch(f.pos, to)
	}
	return r.e.err
}

var (
	errNotBoundary = errors.New("it is inside a displaced instruction")
	errImmovable   = errors.New("it cannot run at another address")
)

// copyOf finds where a displaced instruction went. endbr64 stays, and stands for what follows it.
func (r *relocator) copyOf(orig Addr) (Addr, bool) {
	if orig == r.a.Addr && !r.a.Place {
		orig = r.a.Site()
	}
	for _, p := range r.out {
		if p.Orig == orig {
			return p.Copy, true
		}
	}
	return 0, false
}

func (r *relocator) inst(code []byte, in *Inst, at Addr) error {
	if why := immovable(in); why != "" {
		return fmt.Errorf("%s: %w", why, errImmovable)
	}
	if r.exit != 0 && slices.Contains(r.tails, int(at-r.a.Addr)) {
		return r.leave(code, in, at)
	}
	next := at + Addr(in.Len)
	target := next + Addr(in.Rel)
	switch in.Flow {
	case FlowJump:
		r.e.bytes(0xE9)
		r.to(target)
	case FlowCond:
		r.e.bytes(0x0F, 0x80|in.Op&0xF)
		r.to(target)
	case FlowLoop: // has no long form: hop over a jump to the far target
		r.e.bytes(code[:in.RelOff]...)
		r.e.bytes(2, 0xEB, 5, 0xE9)
		r.to(target)
	case FlowXBegin:
		r.e.bytes(code[:in.RelOff]...)
		r.to(target)
	case FlowCall:
		r.e.pushAddr(next)
		r.e.bytes(0xE9)
		r.to(target)
	case FlowCallIndirect:
		r.e.pushAddr(next)
		return r.callIndirect(code, in, next)
	case FlowRet:
		if r.exit != 0 {
			r.e.callSlot(r.id, r.exit)
		}
		return r.plain(code, in, next)
	default:
		return r.plain(code, in, next)
	}
	return nil
}

// to appends the rel32 of a branch. A target among the displaced instructions is their copy, since
// a patch lies over the original; all others are still where they were. So is a place: who comes back to it, arrives
// again.
func (r *relocator) to(target Addr) {
	d := int64(target - r.a.Site())
	inside := target == r.a.Addr || d >= 0 && d < int64(r.a.PatchLen) || r.boundary(d)
	if r.a.Place {
		inside = d > 0 && (d < int64(r.a.PatchLen) || r.boundary(d))
	}
	if inside {
		r.fix = append(r.fix, fixup{r.e.later(), target})
		return
	}
	r.e.rel32(r.runsAt(target), 0)
}

// runsAt is where the instruction at an address runs.
func (r *relocator) runsAt(a Addr) Addr {
	for _, p := range r.moved {
		if p.Orig == a {
			return p.Copy
		}
	}
	return a
}

func (r *relocator) boundary(off int64) bool {
	for _, b := range r.a.bounds[:r.a.nbounds] {
		if int64(b) == off {
			return true
		}
	}
	return false
}

// plain copies an instruction, and moves its RIP-relative operand.
func (r *relocator) plain(code []byte, in *Inst, next Addr) error {
	start := r.e.n
	r.e.bytes(code...)
	if in.RIPRel && r.e.err == nil {
		d := r.e.distance(r.e.pc(), next+Addr(int64(in.Disp)))
		binary.LittleEndian.PutUint32(r.e.buf[start+in.DispOff:], uint32(d))
	}
	return r.e.err
}

// callIndirect writes a call whose return address is already pushed as a jump: ModRM.reg 4 for 2,
// and eight bytes more where the operand lies on the stack.
func (r *relocator) callIndirect(code []byte, in *Inst, next Addr) error {
	jmp := append([]byte(nil), code...)
	jmp[in.ModRMOff] = jmp[in.ModRMOff]&^0x38 | 4<<3
	if base, ok := in.baseReg(); ok && base == rsp {
		sib := jmp[in.ModRMOff+1]
		jmp[in.ModRMOff] = jmp[in.ModRMOff]&0x3F | 0x80
		jmp = binary.LittleEndian.AppendUint32(append(jmp[:in.ModRMOff+1:in.ModRMOff+1], sib), uint32(in.Disp+8))
	}
	return r.plain(jmp, in, next)
}
