// Package testrun owns the running of test suites: which framework a project uses, its commands one after the other,
// and what became of each test.
//
// It stands beside the data path: service asks for runs and shows them; what commands mean and what they wrote is known
// to testadapter; a run that is traced is a session for each command that runs tests, and its events go the way of all
// others.
//
// Invariants: a command that is not traced is a plain child process of the daemon, which nothing slows down; a project
// has one run at a time; a run outlives the client that began it, and ends with its whole process tree; what tests
// wrote is kept as a file, whole; every test is counted once.
//
// Locks: Manager.mu, then Run.mu; both are leaves otherwise. An adapter's Execution is used by its run's goroutines
// under Run.mu, and by nobody else.
package testrun
