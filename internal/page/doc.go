// Package page serves the timeline to a browser: files that are embedded, and answers of the daemon, of which it is a
// client like any other.
//
// It stands at the data path's end, beside the command line and the editors' adapter, and changes nothing: what a
// browser can ask for only looks. Anybody on the machine can reach a port, and any page in a browser can send requests
// there: guard.go says who is answered.
package page
