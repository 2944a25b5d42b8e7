// Package query owns typed questions over one session's store: the filters, paging, views and
// explanations of debug_query.
//
// It is the reading end of the data path: flush, take a snapshot, resolve names to id sets, scan,
// render at most one page. It needs no target, no binary and no symbols, and works on any system.
//
// Meaning, where the contract leaves room:
//
//   - Lists are in chronological order, so a question without a cursor is answered from the session's
//     start and says how to go on (afterEventId) and how to see the newest (timeFrom "-5s"). The
//     newest-first page of the predecessor made cursors skip what lay between.
//   - returnValue, minDurationNs and maxDurationNs ask about exits. argument asks about enters; together with
//     one of those three, or with eventType function_exit, it asks about the exits of calls that were
//     entered with it.
//   - A result that does not exist or is not known (void, <optimized out>, <unreadable>, a frame left by an
//     exception) matches no condition on returnValue, neither equals nor notEquals nor isNull; the same
//     holds for arguments. Otherwise notEquals would return every call of every void function.
//   - text asks about what is not a call: output, logpoints, crashes and the like.
//   - lastEventId is the cursor: when nothing more matches it is the session's newest event, whatever its kind,
//     so that polling with a filter neither looks at the same events again nor reports the same losses twice.
//   - An event without a thread (output read from a pipe) belongs to the session's first process.
//   - under is what one call caused on its own thread, without its own enter and exit.
//
// Invariants: a page never skips or repeats an event that a cursor passed; totalCount is exact for
// the moment of the snapshot; no lock and no snapshot is held while waiting; a cancelled context ends
// scans within one block. The package has no locks of its own but the leaf mutex of cache.
package query
