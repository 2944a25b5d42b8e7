package session

import (
	"context"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/fault"
)

// Advise returns patterns that select what failed tests ran, as collector.Adviser does. UNSUPPORTED where no runtime
// knows.
func (m *Manager) Advise(ctx context.Context, programs []string, root string, all []collector.Suspect,
	most int) ([][]string, []string, error) {
	for _, rt := range m.cfg.Runtimes {
		if a, ok := rt.(collector.Adviser); ok {
			return a.Advise(ctx, programs, root, all, most)
		}
	}
	return nil, nil, fault.New(fault.Unsupported, "Run strobe doctor to see what this machine supports.",
		"no runtime of this build reads the symbols of programs")
}
