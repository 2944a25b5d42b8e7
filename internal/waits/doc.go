// Package waits owns the question why a thread does not go on: what it waits for, who holds that, and whether
// threads wait for each other in a circle.
//
// It stands beside the data path: collector/native looks at the threads of a live target and asks here what that
// means; the answer goes to clients as it is. It does no I/O of its own: memory and files come through functions.
//
// Invariants: memory of the target may hold anything; every loop is bounded. An owner is named only where the lock
// itself or a guard names it, and otherwise marked as guessed. A circle seen once is a suspicion, since the threads
// were not looked at in one moment: the caller looks a second time, and calls it a deadlock when nothing has moved.
package waits
