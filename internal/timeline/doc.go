// Package timeline shows recorded sessions to people: exporters, for now to Chrome's trace format.
//
// It stands behind the store, at the end of the data path, beside query: it reads everything once
// instead of answering questions. It needs no target and works on any system.
//
// Invariants: an export streams, in memory that does not grow with the session, and is valid JSON also
// when it is cut short by an error on the way (the error is returned, the document closed).
package timeline
