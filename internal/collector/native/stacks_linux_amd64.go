package native

import "slices"

// stacks is what is known of a thread's small stacks that lie close together, as those of coroutines on the heap do.
// By their addresses alone they are one stack, on which a call at a higher address tells that those below were left.
// When such a call returns all the same it was not left, but on another stack: from then on the two are told apart.
type stacks struct {
	edges   []uint64 // sorted: stack pointers of the outermost calls of such stacks
	skipped []skipped
}

// skipped is a call that was closed because one at a higher address came.
type skipped struct {
	sp   uint64
	hook uint32
	edge uint64 // of the outermost one that was closed with it
}

// Bounds of what is known.
const (
	maxSkipped = 1024    // newest skipped calls: of an exception none ever returns
	maxEdges   = 4096    // as maxLanes
	leastStack = 4 << 10 // nearer than this, two stack pointers are of one stack: one that is copied away and back
)

// between reports whether the end of a stack lies between two stack pointers.
func (s *stacks) between(a, b uint64) bool {
	if len(s.edges) == 0 {
		return false
	}
	i, _ := slices.BinarySearch(s.edges, min(a, b))
	return i < len(s.edges) && s.edges[i] < max(a, b)
}

// outermost is the index of the outermost call below a stack pointer, where there is one.
func (l *lane) outermost(sp uint64) int {
	n := len(l.frames) - 1
	for n > 0 && l.frames[n-1].sp < sp {
		n--
	}
	return n
}

// begins reports that a call is the outermost on a stack above that of a lane's calls from first on: it is of the
// function that these begin with, as coroutines have one that all begin with, and farther from it than one that is
// called again would be. Where a thread has not shown yet that it has such stacks, nothing may be above.
func (ls *lanes) begins(l *lane, first int, sp uint64, hook uint32) bool {
	f := &l.frames[first]
	return f.hook == hook && f.sp+leastStack <= sp && (first == 0 || len(ls.parts.edges) > 0) && !ls.one && !ls.lost
}

// noteSkipped remembers the calls of a lane from first on, which a record at sp is about to close.
func (ls *lanes) noteSkipped(l *lane, sp uint64, first int) {
	edge := l.frames[first].sp
	if ls.one || ls.lost || edge+leastStack > sp {
		return
	}
	s := &ls.parts
	for _, f := range l.frames[first:] {
		s.skipped = append(s.skipped, skipped{f.sp, f.hook, edge})
	}
	if len(s.skipped) > 2*maxSkipped {
		s.skipped = slices.Delete(s.skipped, 0, len(s.skipped)-maxSkipped)
	}
}

// learn hears of an exit without a call: where the call was closed before, it stood on a stack of its own.
func (s *stacks) learn(sp uint64, hook uint32, lost bool) {
	if lost {
		s.skipped = s.skipped[:0] // the records between may have been those of another call
		return
	}
	for i := len(s.skipped) - 1; i >= 0; i-- {
		c := s.skipped[i]
		if c.sp != sp || c.hook != hook {
			continue
		}
		s.skipped = slices.Delete(s.skipped, i, i+1)
		s.part(c.edge)
		return
	}
}

// part notes the stack pointer of the outermost call of a stack.
func (s *stacks) part(edge uint64) {
	at, known := slices.BinarySearch(s.edges, edge)
	if known || len(s.edges) == maxEdges || at < len(s.edges) && s.edges[at]-edge < leastStack ||
		at > 0 && edge-s.edges[at-1] < leastStack {
		return
	}
	s.edges = slices.Insert(s.edges, at, edge)
}
