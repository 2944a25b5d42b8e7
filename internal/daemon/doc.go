// Package daemon owns the per-user process behind every front end: its home directory, lock, socket,
// log, lifetime and automatic start, and the pipe that `strobe mcp` puts between a client's stdio and it.
//
// It stands beside the data path and wires it: builtin.go is the one file that names both the
// runtimes and the front ends.
//
// Invariants: at most one daemon runs per home, because it holds an flock on daemon.lock for life (the
// kernel gives it up when the holder dies, however it dies). Only the holder touches strobe.sock. Only
// peers of the daemon's own uid are served. A daemon with a client, a running session or a running
// test never ends by idleness.
package daemon
