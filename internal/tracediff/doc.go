// Package tracediff compares what two sessions recorded: it aligns their calls by call path and finds the first one
// that differs.
//
// It stands beside query at the reading end of the data path: a snapshot of each store becomes a forest of calls, one
// tree for each thread (read.go); each call has hashes of what it was given, of how it ended, and of all that it caused
// (canon.go), so that what is the same costs nothing more; the children of calls that are each other's counterpart are
// aligned (align.go), and the differences come out in the order of execution (walk.go). Values are rendered again, and
// cut around what differs, for the few calls that an answer shows (show.go).
//
// Meaning:
//
//   - What differs first in time is the cause of what differs later, or nearer to it. A call whose arguments are the
//     same, whose callees all did the same, and that returns something else, is therefore the deepest of those that do.
//   - Values are compared by meaning. An address says nothing by itself, only whether two of the same event are
//     equal; process and thread ids, times within the recording, and temporary names are the same when both sides have
//     one. Everything else is exact.
//   - Threads are compared with their counterpart, by name and order, and those of one role as one where that finds
//     less to differ (pools.go); how they interleave does not matter.
//   - What was not recorded (sampled, dropped, evicted, cut) is counted and told: an answer never says "the same" of
//     it.
//
// Invariants: bytes of a store never panic; memory is linear in the events that are read, at most MaxEvents a side; a
// cancelled context ends reading within one block. No locks and no goroutines.
package tracediff
