package session

import (
	"context"
	"time"

	"github.com/strobe-debug/strobe/internal/store"
)

// Baselines returns what is remembered of a project's tests, by test.
func (m *Manager) Baselines(ctx context.Context, root, framework string) (map[string]store.Baseline, error) {
	return m.index.Baselines(ctx, root, framework)
}

// AddTestResults remembers how a run's tests ended.
func (m *Manager) AddTestResults(ctx context.Context, root, framework string, at time.Time,
	results []store.TestResult) error {
	return m.index.AddTestResults(ctx, root, framework, at, results)
}
