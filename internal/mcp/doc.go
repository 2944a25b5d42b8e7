// Package mcp shows the operations as MCP tools: schemas, argument checking, results, errors, progress.
//
// It is the outermost layer of the daemon, above service and at no place of the data path. It has no
// logic of its own: what a tool does is decided in service, and this package only turns Go types into
// schemas and answers into text. What the daemon has a worker answer goes there and back undecoded (Relay, Answer).
//
// Invariants: arguments are checked whole before an operation sees them, and what is wrong is named; an
// operation's error is a tool error with a code and a hint, a malformed message is a JSON-RPC error;
// notifications are never answered; a panic in one operation ends that call only.
package mcp
