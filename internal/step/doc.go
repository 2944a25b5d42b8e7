// Package step owns the decisions of stepping by statement: given where a thread stands now and where its step began,
// it says whether the step is done. It also sorts machine instructions by what a stepper has to do about them.
//
// It stands beside the data path: collector/native asks it whenever a stepping thread has run an instruction that leads
// out of its line. It is pure: addresses, line rows and inlined calls in, decisions out.
//
// Invariants: the rules are those of gdb's step and next, as far as a person can tell them apart, but that code
// without a source position is passed.
package step
