// Package columns owns calls as a table: a row for each call, a column for each path into its arguments, its result and
// what is known of it at its end.
//
// It stands behind query, which reads calls out of a store and puts their values in: Table takes them (table.go),
// Rules finds what holds in all of them but a few (rules.go and the files of its kinds). Values come out again only as
// what columns need for comparing them; who shows a call reads it from the store.
//
// Invariants: memory is bounded by MaxBytes, and a table that is full says so; the order of rows is the order in which
// calls began. Not safe for concurrent use. No goroutines.
package columns
