//go:build !linux && !darwin && !windows

package desktop

import (
	"context"
	"runtime"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/ui"
)

func open(context.Context, Where) (ui.Desktop, error) {
	return nil, fault.New(fault.UINotAvailable, "Run the program on Linux under X11.",
		"user interfaces of %s are not read", runtime.GOOS)
}
