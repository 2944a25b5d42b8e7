package record

import "github.com/strobe-debug/strobe/internal/event"

// Stack holds the calls of one thread that are open, outermost first, and what a reader keeps of each. It is where
// exits meet their enters.
type Stack[T any] struct {
	enters []event.ID
	kept   []T // may be longer: room for calls to come
}

// Begin puts a call that begins on top.
func (s *Stack[T]) Begin(enter event.ID, keep T) { *s.slot(enter) = keep }

// slot is Begin with what is there from an earlier call.
func (s *Stack[T]) slot(enter event.ID) *T {
	s.enters = append(s.enters, enter)
	if n := len(s.enters); n > len(s.kept) {
		s.kept = append(s.kept, *new(T))
	}
	return &s.kept[len(s.enters)-1]
}

// End takes off the call that began with enter and returns what is kept of it, until the next Begin; nil where its
// begin was not seen. Calls in it that are still open have lost their end: they are taken off before, innermost first,
// each given to left.
func (s *Stack[T]) End(enter event.ID, left func(T)) *T {
	n := len(s.enters)
	for n > 0 && s.enters[n-1] != enter {
		n--
	}
	if n == 0 {
		return nil
	}
	for len(s.enters) > n {
		left(*s.Pop())
	}
	return s.Pop()
}

// Pop takes off the innermost call, as End does; nil: there is none.
func (s *Stack[T]) Pop() *T {
	n := len(s.enters)
	if n == 0 {
		return nil
	}
	s.enters = s.enters[:n-1]
	return &s.kept[n-1]
}

// Top is what is kept of the innermost call, nil: there is none.
func (s *Stack[T]) Top() *T {
	if n := len(s.enters); n > 0 {
		return &s.kept[n-1]
	}
	return nil
}

// Open is what is kept of all, outermost first.
func (s *Stack[T]) Open() []T { return s.kept[:len(s.enters)] }
