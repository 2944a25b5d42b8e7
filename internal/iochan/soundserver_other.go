//go:build !linux

package iochan

import (
	"context"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/sound/pulse"
)

const sinkIn, sourceIn = "strobe_in", "strobe_mic"

type soundServer struct{ dir string }

func acquireServer(context.Context, Target) (*soundServer, error) {
	return nil, fault.New(fault.Unsupported, "Watch the program on Linux.", "private sound servers are for Linux")
}

func loadInput(context.Context, *pulse.Conn, string) ([]uint32, error) { return nil, nil }

func (*soundServer) socket() string                 { return "" }
func (*soundServer) environment() map[string]string { return nil }
func (*soundServer) release()                       {}
