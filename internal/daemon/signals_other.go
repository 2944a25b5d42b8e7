//go:build !linux

package daemon

import "os"

// noSignal is one that never comes here.
type noSignal string

func (noSignal) Signal()          {}
func (s noSignal) String() string { return string(s) }

// Signals of terminals and jobs: there are no targets here.
var (
	WindowChanged  os.Signal = noSignal("SIGWINCH")
	TerminalStop   os.Signal = noSignal("SIGTSTP")
	BackgroundRead os.Signal = noSignal("SIGTTIN")
)

// PassedSignals are those that go on to a program that is run in the foreground.
func PassedSignals() []os.Signal { return []os.Signal{os.Interrupt} }

// StopSelf does nothing.
func StopSelf() {}
