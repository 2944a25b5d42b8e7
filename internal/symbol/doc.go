// Package symbol owns what a program's files say about its code: modules, functions, lines and
// types from ELF and DWARF 2 to 5, the entry rules of the unwind tables, and the name patterns
// that select functions.
//
// It stands beside the data path: capture and collector/native ask it where functions are, what
// their parameters look like and how they are named; nothing at query time needs it. It reads
// files only, never a process.
//
// Invariants: a Module is immutable after Open and safe for concurrent use. What a damaged file
// costs is listed in Module.Problems; it never costs a panic, a hang, or the ELF symbols. All
// addresses are link-time addresses; add the load bias to get an address in a process.
//
// Locks: Module.mu (read-held while mapped bytes are touched) comes before dwarfData.mu, which is a leaf.
package symbol

// Addr is an address in a module as linked, or in a process where a name or comment says so.
type Addr uint64
