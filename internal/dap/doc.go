// Package dap owns the Debug Adapter Protocol: it serves one editor on a pair of streams, and is for it a client of the
// daemon as the commands are, by the same operations. It has no place in the data path, and knows no runtime: what a
// program cannot do is the daemon's error, which the editor shows.
//
// Requests are handled one after the other (Server.handle), those that only look beside each other. What happens in the
// session, whoever caused it, comes from two goroutines of a run: one hears the session's changes (run.follow), one its
// output (run.relay). An event is written within a turn (Server.turn), which a request has until it is answered: so no
// stop overtakes the answer to the step that led to it.
package dap
