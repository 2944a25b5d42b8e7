package desktop

import (
	"context"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/ui"
)

func open(context.Context, Where) (ui.Desktop, error) {
	return nil, fault.New(fault.UINotAvailable, "Run the program on Linux under X11.",
		"UI Automation and SendInput of Windows are not used yet")
}
