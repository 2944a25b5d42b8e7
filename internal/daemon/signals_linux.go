package daemon

import (
	"os"
	"syscall"
)

// Signals of terminals and jobs, which other systems do not have.
var (
	WindowChanged  os.Signal = syscall.SIGWINCH
	TerminalStop   os.Signal = syscall.SIGTSTP
	BackgroundRead os.Signal = syscall.SIGTTIN
)

// PassedSignals are those that go on to a program that is run in the foreground, as if it stood in our place.
func PassedSignals() []os.Signal {
	return []os.Signal{
		syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2,
		TerminalStop, syscall.SIGCONT, WindowChanged,
	}
}

// StopSelf stops this process until somebody sends SIGCONT.
func StopSelf() { syscall.Kill(os.Getpid(), syscall.SIGSTOP) }
