//go:build !linux || !amd64

package native

import (
	"context"
	"log/slog"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/natvis"
	"github.com/strobe-debug/strobe/internal/ptrace"
)

// Config is what a Runtime needs.
type Config struct {
	Logger    *slog.Logger
	CacheDir  string
	Natvis    *natvis.Library
	RingBytes int
}

// Runtime says that this platform cannot trace native programs.
type Runtime struct{}

// New makes the runtime.
func New(Config) *Runtime { return &Runtime{} }

// Name is native.
func (*Runtime) Name() string { return "native" }

// Detect claims every command, so that Launch can say why it does not work.
func (*Runtime) Detect(*collector.Command) (bool, error) { return true, nil }

// Launch returns UNSUPPORTED.
func (*Runtime) Launch(context.Context, *collector.Command, collector.Sink) (collector.Collector, error) {
	return nil, ptrace.Supported()
}
