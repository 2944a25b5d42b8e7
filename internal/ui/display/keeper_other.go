//go:build !linux

package display

import (
	"io"
	"os/exec"
	"runtime"

	"github.com/strobe-debug/strobe/internal/fault"
)

func platformLacks() error {
	return fault.New(fault.UINotAvailable, "Launch with display user, or on Linux.",
		"displays of a session's own are made on Linux only; this is %s", runtime.GOOS)
}

func apart(*exec.Cmd) {}

// RunKeeper is the keeper's life.
func RunKeeper(io.Reader, io.Writer, int, int) error { return platformLacks() }
