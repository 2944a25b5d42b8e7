// Package record reads function calls out of a store: which there are, where each begins and ends, and with which
// values.
//
// It stands between the store and everything that reads calls: questions, exports, comparisons. Values are rendered
// when they are asked for, by the layout that was stored with the function; nobody above knows how captured bytes or an
// interpreter's values read. The target need not exist any more.
//
// Invariants: layouts are unmarshalled once for each open store; one that does not read is as none. Bytes of a store
// never panic. A cancelled context ends reading within one block. mu of table is a leaf lock.
package record
