package goroutine

import "encoding/binary"

// Call is one call on a stack.
type Call struct {
	Entry  uint64  // where the function's code begins, in the process
	Frames []Frame // the function, after those that are inlined there
}

// Code is what an instruction of the process belongs to. False: it is no Go code.
func (p *Program) Code(pc uint64) (Call, bool) {
	r := &reader{p: p, spots: map[uint64]*spot{}}
	return r.call(pc, false)
}

// Calls walks the stack of a thread that stands at an instruction: all calls, those of the runtime too, innermost first, as far as they are
// of Go code. The stack pointer is that before the instruction.
func (p *Program) Calls(pc, sp uint64) []Call {
	r := &reader{p: p, spots: map[uint64]*spot{}}
	var calls []Call
	for returned := false; len(calls) < maxFrames; {
		c, ok := r.call(pc, returned)
		if !ok {
			break
		}
		calls = append(calls, c)
		s := r.spot(pc, returned)
		var b [8]byte
		if s.top || p.mem.Read(sp+s.size, b[:]) != nil {
			break
		}
		pc, sp, returned = binary.LittleEndian.Uint64(b[:]), sp+s.size+8, !s.exact
	}
	return calls
}

func (r *reader) call(pc uint64, returned bool) (Call, bool) {
	f, ok := r.function(pc)
	s := r.spot(pc, returned)
	if !ok || s == nil {
		return Call{}, false
	}
	return Call{r.p.text + uint64(f.entry), s.frames}, true
}

// Shown reports whether a stack shows a function: the program's own, those of libraries, and what programs call of the runtime.
func (f *Frame) Shown() bool { return !f.added && shown(f.Function) }
