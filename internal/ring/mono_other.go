//go:build !linux

package ring

import "time"

var began = time.Now()

// Monotonic counts nanoseconds from when the process began: there is no agent here whose clock it could be.
func Monotonic() int64 { return int64(time.Since(began)) }
