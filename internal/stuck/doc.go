// Package stuck decides whether processes will ever go on: by their CPU time, what their threads wait for, circles of
// locks, proofs that a loop never ends (package spin), and the goroutines of Go programs.
//
// A process is stuck when it can be shown that nothing will ever wake it: a circle of locks, or threads all of which
// wait for each other, for children that do, or for a sleep that outlasts the run. That is looked for as soon as all
// stand still: no CPU taken, nothing written, no test begun or ended. Whoever waits for the outside world, or for a
// while, is slow and not stuck.
//
// It stands beside the data path: testrun says which processes there are (Tree) and takes the verdicts (Subject); what
// threads do comes from a session's collector (Looker, Spinner). It ends nothing and writes to nothing: it reads /proc
// and memory.
//
// Invariants: what cannot be found out may wake a process; a proof is made twice before it is told; a look takes
// lookMax at most. It has no goroutines of its own but Layouts', which begin where its owner waits.
package stuck
