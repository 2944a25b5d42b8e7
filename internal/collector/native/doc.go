// Package native is the runtime for C, C++ and Rust programs: it launches them, puts hooks into their functions while
// they run, and turns the records of the agent into events.
//
// A session has one target; a target has one tracer thread (ptrace), one drain goroutine, and one process value
// per traced process. The data path: a hooked function's stub calls the agent (agent/agent.c), which writes a
// record into the thread's ring; mover.go moves what is in the rings to the spool; drain.go reads that in order of
// time; lanes.go pairs enters with exits by stack pointer; the sink stores.
//
// Lock order: target.probeMu, then the tracer's thread (Do), then mover.mu, then target.mu. The tracer thread
// never takes probeMu.
package native
