package collector

import "context"

// Suspect is what a test that failed says of the code that it ran.
type Suspect struct {
	Places []Place  // of the failure and of its stack, innermost first
	Names  []string // of functions: those of the stack, and those that the failed expression calls; qualified or not
	Before []string // of functions that the source text calls above the failure, the nearest first
}

// Place is a line of source text.
type Place struct {
	File string // absolute, or relative to the project's root
	Line int
}

// Adviser is a Runtime that knows which functions of programs patterns select. Safe for concurrent use.
type Adviser interface {
	// Advise returns patterns for each suspect: each selects functions of the user's own, below root, that can be
	// hooked, in one of these program files, and not many; the nearest to the failure first, at most most. A file that
	// cannot be read is passed over; files without debug information have no advice, and are returned.
	Advise(ctx context.Context, programs []string, root string, all []Suspect, most int) (patterns [][]string,
		bare []string, err error)
}
