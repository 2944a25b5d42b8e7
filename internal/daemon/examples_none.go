//go:build !strobe_examples

package daemon

import (
	"log/slog"

	"github.com/strobe-debug/strobe/internal/collector"
)

// examples are none in the binary that ships.
func examples(*slog.Logger) []collector.Joiner { return nil }
