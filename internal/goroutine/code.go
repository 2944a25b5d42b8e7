package goroutine

import (
	"encoding/binary"
	"slices"
)

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

// Calls walks the stack of a thread that stands at an instruction: all calls, those of the runtime too, innermost
// first, as far as they are of Go code. The stack pointer is that before the instruction.
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

// Shown reports whether a stack shows a function: the program's own, those of libraries, and what programs call of the
// runtime.
func (f *Frame) Shown() bool { return !f.added && shown(f.Function) }

// Rest is a goroutine that stands aside by a call of its own, which may be inlined, with what it has when that returns.
// All other registers have no value then.
type Rest struct {
	Goroutine
	Function   string // that it called
	PC, SP, BP uint64
}

// Rests are the goroutines that called one of some functions and have not come back. The program must not run
// meanwhile.
func (p *Program) Rests(functions ...string) ([]Rest, error) {
	d, err := p.Read()
	if err != nil {
		return nil, err
	}
	var rests []Rest
	r := &reader{p: p, spots: map[uint64]*spot{}}
	for _, g := range d.Goroutines {
		if g.System || g.Moved || g.Status != Waiting && g.Status != Runnable {
			continue
		}
		pc, sp := g.pc, g.sp
		for range maxFrames {
			s := r.spot(pc, true)
			if s == nil || s.top || len(s.frames) == 0 {
				break
			}
			var b [16]byte // the caller's frame pointer, and where it goes on
			if s.size < 8 || p.mem.Read(sp+s.size-8, b[:]) != nil {
				break
			}
			inlined, name := s.frames[:len(s.frames)-1], s.frames[len(s.frames)-1].Function
			if slices.ContainsFunc(inlined, func(f Frame) bool { return slices.Contains(functions, f.Function) }) {
				rests = append(rests, Rest{Goroutine: *g, Function: inlined[0].Function, PC: pc, SP: sp, BP: sp + s.size - 8})
				break
			}
			pc, sp = binary.LittleEndian.Uint64(b[8:]), sp+s.size+8
			if slices.Contains(functions, name) {
				rests = append(rests, Rest{Goroutine: *g, Function: name, PC: pc, SP: sp, BP: binary.LittleEndian.Uint64(b[:])})
				break
			}
		}
	}
	return rests, nil
}

// Entries are where functions begin, of those that the program has.
func (p *Program) Entries(functions ...string) map[string]uint64 {
	out := map[string]uint64{}
	for name, f := range p.table.named(functions...) {
		out[name] = p.text + uint64(f.entry)
	}
	return out
}
