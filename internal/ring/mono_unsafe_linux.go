package ring

import _ "unsafe" // linkname

//go:linkname nanotime runtime.nanotime
func nanotime() int64

// Monotonic reads CLOCK_MONOTONIC in nanoseconds, by the vDSO as programs do: a system call takes long enough that a
// comparison with the counter is off by more than short calls take.
func Monotonic() int64 { return nanotime() }
