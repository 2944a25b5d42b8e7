// Package unwind owns stacks: from the registers and memory of a thread that stands still, or of a
// core file, it finds the frames, their functions and lines with inlined calls, and the places of
// their parameters and variables.
//
// It stands beside the data path: crash capture, core files, deadlock reports and breakpoints ask
// it. It does no I/O of its own: memory comes through an interface, unwind tables and debug
// information through package symbol.
//
// Invariants: memory and tables may hold anything; every loop is bounded, every frame is above the
// one that it called, and what was not said by unwind tables is marked as such. An Unwinder is for
// one goroutine and one moment: it remembers the memory that it read.
package unwind
