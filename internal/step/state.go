package step

import "slices"

// Kind is what a step does about calls.
type Kind int

// The kinds of step.
const (
	Over Kind = iota // calls are run through
	Into             // calls of functions with source end the step
	Out              // until the frame has returned
)

// Frame is one function's activation, inlined calls included.
type Frame struct {
	CFA   uint64   // the stack pointer before the call
	Chain []uint64 // which functions: the one that has the code first, then each that is inlined into the one before
}

// Equal reports whether two are the same activation.
func (f Frame) Equal(g Frame) bool { return f.Same(g) && slices.Equal(f.Chain, g.Chain) }

// Same reports whether two are the same activation, not regarding inlined calls.
func (f Frame) Same(g Frame) bool {
	return f.CFA == g.CFA && len(f.Chain) > 0 && len(g.Chain) > 0 && f.Chain[0] == g.Chain[0]
}

// Within reports whether f is g or inlined into it.
func (f Frame) Within(g Frame) bool {
	return f.Same(g) && len(f.Chain) >= len(g.Chain) && slices.Equal(f.Chain[:len(g.Chain)], g.Chain)
}

// Line is a source line.
type Line struct {
	File string
	Line int
}

// Place is where a thread stands.
type Place struct {
	PC    uint64
	Frame Frame  // the innermost
	Calls []Line // for each function of the chain but the innermost, where it calls the next
	// how many of the innermost inlined calls begin at PC: a person sees the call, and steps into each by itself
	Starts int
	Line   Line   // of the row of the line table that covers PC; Line 0: none
	Lo, Hi uint64 // that row
	Stmt   bool   // and begins a statement
}

// level returns how many inlined calls that begin at the place are not entered by a step into the outermost of them
// that it may enter; false: none of them.
func (s *State) level(p *Place) (skip int, ok bool) {
	for skip = p.Starts - 1; skip >= 0; skip-- {
		if _, line := p.Shown(skip); s.Enters(line.File) {
			return skip, true
		}
	}
	return 0, false
}

// Shown returns the frame and line that a person sees, with the innermost skip functions not yet entered.
func (p *Place) Shown(skip int) (Frame, Line) {
	n := len(p.Frame.Chain) - skip
	if skip <= 0 || n < 1 || n-1 >= len(p.Calls) {
		return p.Frame, p.Line
	}
	return Frame{p.Frame.CFA, p.Frame.Chain[:n]}, p.Calls[n-1]
}

// State is one step on its way.
type State struct {
	Kind   Kind
	Frame  Frame // where it goes on from: calls that this one makes are run through or into
	Line   Line
	Own    func(file string) bool // step-into enters functions of these files only; nil: of all
	lo, hi uint64                 // code that belongs to the line
}

// Enters reports whether a step into functions enters those of a source file.
func (s *State) Enters(file string) bool { return s.Kind == Into && (s.Own == nil || s.Own(file)) }

// Begin starts a step at a place where skip inlined calls are not yet entered.
func Begin(k Kind, at *Place, skip int) *State {
	s := &State{Kind: k, lo: at.Lo, hi: at.Hi}
	s.Frame, s.Line = at.Shown(skip)
	return s
}

// BeginOut starts a step that ends when the inlined call at a place has been left. skip as with Begin.
func BeginOut(at *Place, skip int) *State {
	s := &State{Kind: Out, lo: at.PC, hi: at.PC}
	s.Frame, _ = at.Shown(skip + 1)
	return s
}

// Range is the code in which the step goes on without a decision, but for calls and returns.
func (s *State) Range() (lo, hi uint64) { return s.lo, s.hi }

// Verdict is what is to be done at a place.
type Verdict int

// The verdicts.
const (
	Go   Verdict = iota // run the next instruction
	Stop                // the step is done
)

// At decides at a place that is not a function just called. With Stop, skip is how many inlined calls are not yet
// entered.
func (s *State) At(p *Place) (v Verdict, skip int) {
	cur, call := p.Shown(p.Starts)
	if p.PC >= s.lo && p.PC < s.hi && cur.Equal(s.Frame) {
		return Go, 0
	}
	if p.Line.Line == 0 {
		return Go, 0
	}
	// inlined, and not to be stepped through
	if s.Own != nil && (len(cur.Chain) > 1 || cur.Equal(s.Frame)) && !s.Own(call.File) {
		if into, ok := s.level(p); ok {
			return Stop, into
		}
		return Go, 0
	}
	if p.Starts > 0 && cur.Equal(s.Frame) { // at an inlined call that the frame makes
		same := call == s.Line
		into, enters := s.level(p)
		switch {
		case enters && same:
			return Stop, into
		case !same && call.Line > 0:
			return Stop, p.Starts
		}
		return Go, 0
	}
	if cur.Within(s.Frame) && !cur.Equal(s.Frame) { // in the middle of a call inlined into the frame
		if s.Enters(call.File) {
			return Stop, p.Starts
		}
		return Go, 0
	}
	line := p.Line
	switch same := cur.Equal(s.Frame); {
	case p.Line == s.Line:
	case p.PC == p.Lo && p.Stmt:
		return Stop, p.Starts
	case !p.Stmt && same && p.PC == p.Lo:
		s.lo, s.hi = p.Lo, p.Hi // no place to stop: it is passed whole, and the line is still the one that the step began in
		return Go, 0
	case !p.Stmt && p.PC == p.Lo:
		line = Line{}
	}
	s.Frame, s.Line, s.lo, s.hi = cur, line, p.Lo, p.Hi
	return Go, 0
}
