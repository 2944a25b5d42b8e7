// Package pager owns the size of answers: it cuts a JSON object to a number of bytes and keeps what was cut, so that
// pages go on until everything was shown exactly once.
//
// It stands at the end of the data path, between an operation's answer and its client, and knows nothing of either: an
// answer is bytes. What an operation can leave out better by itself (a tree folds, a table ranks) it has left out
// before; this is what holds for all of them, so that no answer is over its budget.
//
// Invariants: a page is never longer than its limit; the elements, members and pieces of text of all pages together are
// those of the answer, each once; the counts of a page are exact. The package has no locks but the leaf mutex of Shelf.
package pager
