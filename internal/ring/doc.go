// Package ring owns the shared memory between a target's agent and the daemon: the record format,
// one single-producer single-consumer ring per thread, and the clock that its records use.
//
// It stands between the agent (producer, in the target) and collector/native (consumer). The reader
// trusts nothing it finds in the memory: lengths and positions are checked, and bad records are
// reported, not believed.
package ring
