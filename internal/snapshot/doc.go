// Package snapshot owns the picture of a process at one moment: what its threads were doing, where, and with which
// values; and, of a process that is about to die, why.
//
// It stands beside the data path: the native collector takes pictures of stopped processes at a fatal signal, and
// package corefile of dead ones. Both give memory, registers, files and mappings; stacks come from package unwind,
// values from package capture. What it makes becomes the payload of crash events and the stacks of thread lists.
//
// Invariants: it does no I/O of its own; memory, registers and files may hold anything; every list and text in a
// picture is bounded, and says what was left out.
package snapshot
