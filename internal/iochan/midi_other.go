//go:build !linux

package iochan

import "github.com/strobe-debug/strobe/internal/fault"

func openPipes(*midiIO) (midiWay, error) {
	return nil, fault.New(fault.Unsupported, "Watch the program on Linux.", "MIDI by named pipes is for Linux")
}
