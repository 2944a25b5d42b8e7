// Package hook reads a function's machine code and writes the code that traces it: the length
// decoder, the analysis of the bytes that a patch would overwrite, the relocator for the displaced
// instructions, the stubs, and the unwind entry that covers them.
//
// It is pure: bytes and addresses in, bytes and addresses out, for any architecture on any host.
// It stands at the head of the data path, between symbol (which says where functions are) and
// collector/native (which puts the bytes into the target and owns the memory they go to).
//
// Invariants:
//   - A stub preserves every register; CallThrough and LoopsToEntry checks may change arithmetic
//     flags at a function's entry and exit, where no calling convention keeps them.
//   - What cannot be proved safe to overwrite with five bytes becomes PatchTrap (one byte), and
//     what cannot be displaced at all becomes PatchNone. Both carry a reason for the user.
//   - Bytes that are not instructions never panic; they are an error or a reason.
package hook
