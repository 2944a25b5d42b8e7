//go:build !linux || !amd64

package ptrace

import "github.com/strobe-debug/strobe/internal/fault"

// Supported says why this platform has no tracer.
func Supported() error {
	return fault.New(fault.Unsupported, "Use Strobe on Linux x86-64; stored sessions can be queried here.",
		"tracing native programs is not supported on this platform")
}
