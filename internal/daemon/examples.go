//go:build strobe_examples

package daemon

import (
	"log/slog"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/testdata/runtimes/tally"
)

// examples are the runtimes of testdata/runtimes: docs/extending.md shows by them how one is added, and tests run a
// binary that has them. The one that ships has none.
func examples(log *slog.Logger) []collector.Joiner {
	return []collector.Joiner{
		// one line for each folder
		tally.New(log),
	}
}
