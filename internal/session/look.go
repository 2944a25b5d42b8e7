package session

import (
	"context"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/fault"
)

// Glance tells what the threads of processes do that are in no session, without stopping them. root is the folder of the user's code.
func (m *Manager) Glance(ctx context.Context, pids []int, root string) (*collector.ThreadReport, error) {
	for _, rt := range m.cfg.Runtimes {
		if g, ok := rt.(collector.Glancer); ok {
			return g.Glance(ctx, pids, root)
		}
	}
	return nil, fault.New(fault.Unsupported, "Run strobe doctor to see what this machine supports.", "no runtime of this build can look at other processes")
}

// Spin tells of the threads of processes that are in no session, and that run, whether they will ever leave their loops. It stops them for
// some tens of milliseconds. Nil: nothing here can tell, or there are too many.
func (m *Manager) Spin(ctx context.Context, pids []int, root string) ([]collector.Loop, error) {
	for _, rt := range m.cfg.Runtimes {
		if s, ok := rt.(collector.Spinner); ok {
			return s.Spin(ctx, pids, root)
		}
	}
	return nil, nil
}
