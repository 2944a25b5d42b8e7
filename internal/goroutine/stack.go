package goroutine

import (
	"encoding/binary"
	"strings"
)

// spot is what the line table says of a program counter.
type spot struct {
	frames []Frame
	size   uint64 // of the frame, from the stack pointer to the return address
	top    bool   // no caller above
	exact  bool   // its caller stands at an instruction that did not return yet: a signal called
}

// spot looks a program counter up. A return address is behind its call, which counts for lines.
func (r *reader) spot(pc uint64, returned bool) *spot {
	key := pc << 1
	if returned {
		key |= 1
	}
	if s, ok := r.spots[key]; ok {
		return s
	}
	var s *spot
	if f, ok := r.function(pc); ok {
		at := uint32(pc - r.p.text)
		if size, ok := r.p.table.value(f, f.field(4), at); ok && size >= 0 {
			line := at
			if returned && at > f.entry {
				line--
			}
			name := r.p.table.name(f.field(1))
			s = &spot{frames: r.p.table.frames(f, line), size: uint64(size), top: f.top(), exact: name == "runtime.sigpanic" ||
				name == "runtime.asyncPreempt"}
		}
	}
	r.spots[key] = s
	return s
}

const (
	// maxFrames bounds a stack that is shown: enough for what tests call, not for endless recursion.
	maxFrames = 100
	// maxStackBytes bounds how much of a stack is read.
	maxStackBytes = 256 << 10
)

// stack walks the stack of a goroutine that does not run.
func (r *reader) stack(g *Goroutine, addr uint64) {
	switch g.Status {
	case Running, Other:
		g.Lack = "it runs"
		return
	}
	l := &r.p.layout
	hi, err := r.word(addr + uint64(l.GStackHi))
	lo, err2 := r.word(addr + uint64(l.GStackLo))
	if err != nil || err2 != nil || g.sp < lo || g.sp >= hi {
		g.Lack = "its stack is not known"
		return
	}
	b := make([]byte, min(hi-g.sp, maxStackBytes))
	if r.p.mem.Read(g.sp, b) != nil {
		g.Lack = "its stack cannot be read"
		return
	}
	pc, sp, returned := g.pc, g.sp, true
	callee := ""
	for {
		s := r.spot(pc, returned)
		if s == nil {
			g.Lack = "the caller is no Go code"
			return
		}
		for _, f := range s.frames {
			hidden := f.added && callee != "runtime.gopanic" && callee != "runtime.sigpanic" && callee != "runtime.panicwrap"
			callee = f.Function
			if f.Function == "runtime.gopanic" && len(g.Stack) > 0 { // what is above runs for a panic
				f.Function = "panic"
			} else if hidden || !shown(f.Function) {
				continue
			}
			if len(g.Stack) == maxFrames {
				g.Lack = "it is deeper"
				return
			}
			g.Stack = append(g.Stack, f)
		}
		if s.top {
			return
		}
		at := sp + s.size
		if at < sp || at-g.sp+8 > uint64(len(b)) {
			if at+8 <= hi && at >= sp {
				g.Lack = "it is deeper"
			} else {
				g.Lack = "its stack is damaged"
			}
			return
		}
		pc = binary.LittleEndian.Uint64(b[at-g.sp:])
		sp, returned = at+8, !s.exact
	}
}

// shown reports whether a frame is the program's or a function of the runtime that programs call. The runtime itself
// hides the rest.
func shown(name string) bool {
	rest, ok := strings.CutPrefix(name, "runtime.")
	if !ok {
		return strings.Contains(name, ".")
	}
	if name == "runtime.runFinalizers" || name == "runtime.runfinq" || name == "runtime.runCleanups" {
		return true
	}
	if strings.HasPrefix(rest, "(*") { // a method: of an exported type
		recv, method, ok := strings.Cut(rest[2:], ").")
		return ok && exported(recv) && exported(method)
	}
	if recv, method, ok := strings.Cut(rest, "."); ok && !strings.HasPrefix(method, "func") {
		return exported(recv) && exported(method)
	}
	return exported(rest)
}

func exported(s string) bool { return s != "" && s[0] >= 'A' && s[0] <= 'Z' }
