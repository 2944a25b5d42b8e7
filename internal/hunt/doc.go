// Package hunt makes a rare failure of a program with threads frequent, and says why: it runs the program again and
// again, and in each run holds one thread for some milliseconds at one instruction, where the others run on. A race
// whose window is one instruction wide is so some milliseconds wide.
//
// It stands beside the data path: it records nothing, and traces its own runs by itself (run_linux_amd64.go), without
// a daemon. What it found is a Plan, by which the same can be done again.
//
//	candidates.go   the instructions at which a thread may be held, those near shared data first
//	sweep.go        which are tried in which order
//	tell.go         what is made of a failure
//	run_*.go        one run, with its holds
//	plan.go         what can be kept
//	races.go        or what two threads use at once, whether it fails or not
//	sampler_*.go    one run of that: who comes to the memory before which a thread is held
//
// A hold is what the kernel might do as well: a thread that gets no CPU for a while. A program that is right does not
// fail by it, unless it has time limits of its own that are shorter.
package hunt
