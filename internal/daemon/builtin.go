package daemon

import (
	"context"
	"errors"
	"log/slog"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/mcp"
	"github.com/strobe-debug/strobe/internal/service"
)

// runtimes names every language runtime, in the order in which they are asked whether a program is theirs.
func runtimes(home string, log *slog.Logger) []collector.Runtime {
	return []collector.Runtime{}
}

// builtin is the one place that names every runtime and hands the operations to the front ends.
func builtin(home string, log *slog.Logger) (*Backend, error) {
	svc, err := service.New(service.Config{
		Home: home, Logger: log, Runtimes: runtimes(home, log), Version: Version(),
	})
	if err != nil {
		return nil, err
	}
	tools, err := mcp.Tools(svc)
	if err != nil {
		return nil, errors.Join(err, svc.Close(context.Background()))
	}
	return &Backend{Tools: tools, Busy: svc.Busy, Close: svc.Close}, nil
}
