//go:build !linux

package iochan

import "github.com/strobe-debug/strobe/internal/fault"

// setLimit sets a limit of another process, which Linux alone can.
func setLimit(int, string, uint64, *uint64) (limited, error) {
	return limited{}, fault.New(fault.Unsupported, "Set it in the shell that launches the program (ulimit).",
		"this system sets no limits of other processes")
}
