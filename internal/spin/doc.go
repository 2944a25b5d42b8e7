// Package spin owns the proof that a thread that runs never leaves its loop.
//
// It stands beside the data path: a test run asks for it (through the native runtime) when a test uses the CPU and says
// nothing. It runs a copy of the thread on in an interpreter (package emulate), over memory that nobody changes
// meanwhile. When the copy comes back to a state that it was in before, it will go round for ever, and so will the
// thread. Values that change from one round to the next, such as a counter, are left out of the comparison only if it
// is shown that they decide nothing: no jump, no address, no division, no system call's number. A program that gets
// anywhere has such a value that does decide something, and is never called endless.
//
// Invariants: every proof ends, by limits of instructions and memory; what the interpreter does not know, what comes
// from outside (the clock, memory shared with other processes, a system call) and decides something, leaves the thread
// unproven; nothing is guessed.
package spin
