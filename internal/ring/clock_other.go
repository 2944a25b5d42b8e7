//go:build !amd64

package ring

// Ticks has no counter to read here; the agent uses CLOCK_MONOTONIC.
func Ticks() uint64 { return 0 }

// InvariantTicks is false where the agent has no counter.
func InvariantTicks() bool { return false }
