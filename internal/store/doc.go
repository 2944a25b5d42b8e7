// Package store owns the event store: one SQLite file per session, its schema, the one writer,
// and the readers; also strobe.db, the list of sessions. It is the only package with SQL.
//
// It stands at the end of the data path: session puts batches of events, one goroutine per store
// turns them into blocks of column blobs, query reads them through snapshots.
//
// Events get dense sequence numbers from 1 in the order in which they were put; the number is
// the event's ID, its place in time and the cursor of a query. Blocks hold up to 8,192
// consecutive events. The newest events are in an open block in memory, and in rows of table
// tail until the block is sealed. What is not a call is also a row of table outputs, and stays
// when the block that holds its placeholder is dropped: its columns move to a sparse block. What
// went through a stream names it by its row in table streams.
//
// Invariants: what a Snapshot shows is committed; column slices are only appended to, so that a
// reader's view of a prefix needs no lock; a block never changes; the ids of sparse blocks are
// all below those of dense blocks.
//
// Lock order: commitMu (COMMIT and publishing; the start of a snapshot) before namesMu, statsMu,
// queueMu and the cache's mu, which are leaf locks. commitMu is the one lock that is held over SQL, since
// it is what makes the file and the published state one.
package store
