// Package agentlink owns what strobe and an agent in an interpreter say to each other: a folder with a socket for
// control, and files of events that the agent appends to (docs/agentlink.md).
//
// It stands between the agents (producers of records) and a runtime's member of a session, to whose sink it passes what
// they recorded as events. Nothing here trusts a byte that an agent wrote.
package agentlink
