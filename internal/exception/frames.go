package exception

import (
	"encoding/binary"
	"strings"

	"github.com/strobe-debug/strobe/internal/unwind"
)

// role is what a function does to exceptions.
type role uint8

const (
	roleNone        role = iota
	roleThrow            // starts to unwind: its caller is where the exception comes from
	roleUnwind           // goes on unwinding
	rolePersonality      // asks a function's tables; gcc's calls std::terminate itself, by functions without symbols
	roleTerminate        // std::terminate and what calls it for a noexcept function
	roleNoexcept         // of those, which says that the exception met a function that may not throw
)

var roles = map[string]role{
	"__cxa_throw":               roleThrow,
	"__cxa_rethrow":             roleThrow,
	"std::rethrow_exception":    roleThrow,
	"_Unwind_RaiseException":    roleUnwind,
	"_Unwind_Resume":            roleUnwind,
	"_Unwind_Resume_or_Rethrow": roleUnwind,
	"__gxx_personality_v0":      rolePersonality,
	"std::terminate":            roleTerminate,
	"std::__terminate":          roleTerminate,
	"__cxxabiv1::__terminate":   roleTerminate,
	"__cxa_call_terminate":      roleNoexcept,
	"__clang_call_terminate":    roleNoexcept,
	"__cxa_call_unexpected":     roleNoexcept,
}

func roleOf(f *unwind.Frame) role {
	name, _, _ := strings.Cut(f.Function, "(")
	return roles[name]
}

// InFlight is the function InFlight, of this reader.
func (r *Reader) InFlight(stack *unwind.Stack, fsBase uint64) (*Exception, bool) {
	r.machine(fsBase)
	marks := landmarks(stack)
	if marks.end >= 0 && (marks.noexcept || marks.thrower >= 0) { // else the program called std::terminate
		if e, ok := r.terminated(stack, fsBase, marks); ok {
			return e, true
		}
		if marks.thrower >= 0 && !marks.silent {
			return nil, false // throw; with nothing to throw again
		}
	}
	if marks.end < 0 && marks.thrower > 0 && !r.flying(fsBase) { // the functions between have no symbols
		marks.end, marks.silent = max(marks.thrower-1, 0), true
		if e, ok := r.terminated(stack, fsBase, marks); ok {
			return e, true
		}
	}
	if e, ok := r.unwinding(stack, fsBase, marks.thrower); ok {
		return e, true
	}
	return r.panicking(stack)
}

// Ending returns the index of the innermost frame of a stack that is std::terminate, or of what calls its handler; -1
// if there is none.
func Ending(stack *unwind.Stack) int {
	end := landmarks(stack).end
	for i := 1; i <= end; i++ {
		if roleOf(&stack.Frames[i]) >= rolePersonality {
			return i
		}
	}
	return end
}

// marks are the frames of a stack that matter, -1 where there is none.
type marks struct {
	end      int // the outermost of those that end the program
	thrower  int // the innermost that throws; where end is, only if it led there
	noexcept bool
	silent   bool // that the program was ended is said by nothing else
}

func landmarks(stack *unwind.Stack) marks {
	m := marks{end: -1, thrower: -1}
	between := 0
	for i := range stack.Frames {
		switch k := roleOf(&stack.Frames[i]); {
		case k == rolePersonality && i > 0:
			m.end, between = i, 0
			m.noexcept, m.silent = true, !m.noexcept
		case k >= roleTerminate:
			m.end, between = i, 0
			m.noexcept = m.noexcept || k == roleNoexcept
		case k == roleThrow:
			m.thrower = i
			return m
		case k == roleNone && m.end >= 0:
			if between++; between > maxBetween {
				return m
			}
		}
	}
	return m
}

// maxBetween is how many functions without a name there may be between std::terminate and who threw: inner parts of the
// C++ runtime and the unwinder, which have no symbols.
const maxBetween = 4

// terminated is the exception that std::terminate was called for: the runtime takes that for a handler, and counts it
// as caught.
func (r *Reader) terminated(stack *unwind.Stack, fsBase uint64, m marks) (*Exception, bool) {
	for _, g := range r.globals(fsBase) {
		h, ok := r.newest(g.caught)
		if !ok || h.handlers == 0 {
			continue
		}
		if m.silent { // it is the one that the unwinder works on
			if w, ok := r.search(stack, m.end, m.end+maxBetween, true); !ok || w.unwind != h.unwind {
				continue
			}
		}
		e := r.describe(h, fsBase)
		if e.State = Uncaught; m.noexcept {
			e.State = Terminate
		}
		if m.thrower >= 0 {
			e.ThrowPoint = r.caller(stack, m.thrower)
		}
		return e, true
	}
	return nil, false
}

// flying reports whether an exception is in flight in the thread, as its runtimes count.
func (r *Reader) flying(fsBase uint64) bool {
	for _, g := range r.globals(fsBase) {
		if g.uncaught > 0 && g.uncaught < maxReferences {
			return true
		}
	}
	return false
}

// unwinding is the exception on its way to a handler.
func (r *Reader) unwinding(stack *unwind.Stack, fsBase uint64, thrower int) (*Exception, bool) {
	if !r.flying(fsBase) {
		return nil, false
	}
	if thrower >= 0 { // the unwinder has not reached the first clean-up yet, or another exception is thrown in one
		if h, ok := r.search(stack, 0, thrower, false); ok {
			e := r.describe(h, fsBase)
			e.State, e.ThrowPoint = Unwinding, r.caller(stack, thrower)
			return e, true
		}
	}
	if h, ok := r.search(stack, 0, len(stack.Frames)-1, false); ok {
		e := r.describe(h, fsBase)
		e.State = Unwinding
		e.Note = "the frame that threw is gone: a destructor or clean-up runs"
		return e, true
	}
	return &Exception{State: Unwinding, Note: "nothing in the stack refers to the exception any more: its type is " +
		"not known"}, true
}

// Bounds of the search for an exception's header.
const (
	maxFrameWords = 8 << 10
	maxWords      = 128 << 10
)

// search looks for the header of an exception in registers and stack words of frames, the innermost first: one in
// flight, or one that is counted as caught.
func (r *Reader) search(stack *unwind.Stack, from, to int, caught bool) (header, bool) {
	left := maxWords
	flying := func(w uint64) (header, bool) {
		h, ok := r.near(w)
		return h, ok && h.handlers > 0 == caught
	}
	var cfa uint64
	for i := from; i <= to && i < len(stack.Frames); i++ {
		f := &stack.Frames[i]
		if f.CFA != 0 && f.CFA == cfa {
			continue // inlined: the same frame again
		}
		for n := range 16 {
			if w, ok := f.Regs.Get(n); ok && n != 7 {
				if h, ok := flying(w); ok {
					return h, true
				}
			}
		}
		sp, _ := f.Regs.Get(7)
		if cfa = f.CFA; cfa <= sp {
			continue
		}
		words := min(int((cfa-sp)/8), maxFrameWords, left)
		left -= words
		b := make([]byte, 8*words)
		if r.machine(r.fsBase).Read(sp&^7, b) != nil {
			continue
		}
		for k := range words {
			if h, ok := flying(binary.LittleEndian.Uint64(b[8*k:])); ok {
				return h, true
			}
		}
	}
	return header{}, false
}

// BeingHandled is the newest exception whose handler runs in a thread: it is in flight no more.
func (r *Reader) BeingHandled(fsBase uint64) (*Exception, bool) {
	for _, g := range r.globals(fsBase) {
		if h, ok := r.newest(g.caught); ok && h.handlers > 0 {
			e := r.describe(h, fsBase)
			e.State = Handled
			return e, true
		}
	}
	return nil, false
}

// caller is where the function of frame i was called. Where that has no source, such as the library's own functions
// that throw, it is the next one that has, and Via names who threw.
func (r *Reader) caller(stack *unwind.Stack, i int) *Place {
	return PlaceOf(stack.Frames[min(i+1, len(stack.Frames)):])
}

// maxVia bounds how far out a place with source is looked for.
const maxVia = 16

// PlaceOf is the place of the first of these frames. Where that has no source, or is part of the C++ library, it is the
// next one that is not. Nil: there are no frames.
func PlaceOf(frames []unwind.Frame) *Place {
	if len(frames) == 0 {
		return nil
	}
	best := -1
	for i := range frames[:min(len(frames), maxVia)] {
		if f := &frames[i]; f.File != "" && !ofSystem(f.File) {
			best = i
			break
		} else if f.File != "" && best < 0 {
			best = i
		}
	}
	if best < 0 {
		return &Place{Function: frames[0].Function, Module: frames[0].Module}
	}
	p := &Place{Function: frames[best].Function, File: frames[best].File, Line: frames[best].Line}
	for i := range best { // the outermost that has a name says most: std::vector<int>::at
		if frames[i].Function != "" {
			p.Via = frames[i].Function
		}
	}
	return p
}

// ofSystem reports whether a source file belongs to the compiler, the C++ library or Rust's.
func ofSystem(file string) bool {
	return strings.HasPrefix(file, "/usr/include/") || strings.HasPrefix(file, "/usr/lib/") ||
		strings.HasPrefix(file, "/rustc/") || strings.HasPrefix(file, "./csu/") ||
		strings.Contains(file, "/lib/rustlib/src/") || strings.Contains(file, "/libstdc++-v3/") ||
		strings.Contains(file, "/libcxx") || strings.Contains(file, "/nptl/") || strings.Contains(file, "/csu/")
}

// HasPlace reports whether one of the frames has source of the program's own.
func HasPlace(frames []unwind.Frame) bool {
	for i := range frames {
		if frames[i].File != "" && !ofSystem(frames[i].File) {
			return true
		}
	}
	return false
}

// Ends reports whether the caller of __cxa_begin_catch, the first of these frames, is no handler of the program's but
// the runtime on its way to std::terminate.
func Ends(frames []unwind.Frame) bool {
	for i := range frames[:min(len(frames), maxBetween)] {
		switch k := roleOf(&frames[i]); {
		case k == roleUnwind:
			return false
		case k != roleNone:
			return true
		case frames[i].Function != "":
			return false
		}
	}
	return false
}
