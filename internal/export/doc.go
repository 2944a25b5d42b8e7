// Package export writes a recorded session whole, in the forms that other programs open: one file for each form, and
// the list of them in format.go.
//
// It stands behind the store, at the end of the data path, beside query: it reads everything once instead of answering
// questions. It needs no target and works on any system.
//
// Invariants: an export streams, in memory that does not grow with the session but with its threads, its functions and
// the calls that are open at one time. Every event of the session is written, or counted in the Report with why the
// form cannot carry it. What is UTF-8 in a form is UTF-8 whatever the target wrote.
package export
