// Package scenario owns files that say what is done to a program and what it has to do then: their reading, their
// running over a session, and what is told of the first step that fails.
//
// It stands beside query in the data path: it asks a session by debug_query's requests and sends by channels, both
// through a World, and knows neither sessions nor processes. Nothing sleeps: what is waited for wakes the question.
//
// Invariants: a scenario is checked whole before its first step; every step ends, by its own bound or by the run's; a
// verdict is of events that are in the store.
package scenario
