package session

import (
	"context"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/fault"
)

// Glance tells what the threads of processes do that are in no session, without stopping them. root is the folder of
// the user's code.
func (m *Manager) Glance(ctx context.Context, pids []int, root string) (*collector.ThreadReport, error) {
	for _, rt := range m.cfg.Runtimes {
		if g, ok := rt.(collector.Glancer); ok {
			return g.Glance(ctx, pids, root)
		}
	}
	return nil, fault.New(fault.Unsupported, "Run strobe doctor to see what this machine supports.",
		"no runtime of this build can look at other processes")
}

// Spin is collector.Spinner's, for processes that are in no session. The threads are stopped for some tens of
// milliseconds.
func (m *Manager) Spin(ctx context.Context, pids []int, root string, before any) (loops []collector.Loop, after any,
	err error) {
	for _, rt := range m.cfg.Runtimes {
		if s, ok := rt.(collector.Spinner); ok {
			return s.Spin(ctx, pids, root, before)
		}
	}
	return nil, nil, nil
}
