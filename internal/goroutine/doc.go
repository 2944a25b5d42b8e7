// Package goroutine owns what can be known of a running Go program's goroutines from outside: their states, what they
// wait for, their stacks, and the timers that may wake them. The program is neither stopped nor attached to, and needs
// no symbols or debug information: test programs have none.
//
// It stands beside the data path: testrun asks it whether tests can go on. It is pure but for OfProcess, which opens a
// process's files: the program's file and memory are handed in.
//
// Function names, lines, frame sizes and inlined calls are in the program's own line table (pclntab), which the runtime
// needs itself. Where the runtime's variables are is read off the code of named runtime functions, and holds only if
// what is found there is consistent. What its structures look like is in a table per version of Go, or in the program's
// debug information, or in that of a program that the same toolchain builds. Without that, nothing is guessed:
// fault.Unsupported.
//
// Invariants: a Program is immutable and safe for concurrent use. What is read while the target runs may be torn: a
// goroutine that changed meanwhile says so (Goroutine.Moved) and has no stack. Damaged files and memory cost errors,
// never a panic.
package goroutine
