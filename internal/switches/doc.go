// Package switches owns what the kernel says of when threads ran: perf's records of context switches, the intervals
// that they make of each thread (running, runnable, blocked), and the sums of these.
//
// It stands between a collector, which opens the kernel's buffers and gives their bytes (Decode, Timeline), and readers
// of the timeline: a collector makes one event of many intervals (Block), which queries and exports take apart again
// (Reader, Sums). It is pure: bytes and records in, values out, on any system.
//
// Invariants: a thread's intervals follow each other without a gap; what a loss of records hides is an interval of
// state Unknown and never a guess; every record that is read is in exactly one block.
package switches
