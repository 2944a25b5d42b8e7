//go:build !(linux && amd64)

package iochan

import (
	"context"

	"github.com/strobe-debug/strobe/internal/fault"
)

func openJack(context.Context, *midiIO) (midiWay, error) {
	return nil, fault.New(fault.Unsupported, "Use midi:pipes, or Linux on x86-64.", "MIDI by JACK is for Linux on x86-64")
}
