package strobetest

import (
	"fmt"
	"os/exec"
	"time"
)

// fetches is how often a registry is asked that does not answer.
const fetches = 4

// Fetch runs a command that gets something from a registry, and again where a connection broke. It returns what the
// command wrote to its standard output. make makes the command anew each time.
func Fetch(make func() *exec.Cmd) ([]byte, error) {
	for n := 1; ; n++ {
		cmd := make()
		out, err := cmd.Output()
		if err == nil {
			return out, nil
		}
		var said []byte
		if exit, ok := err.(*exec.ExitError); ok {
			said = exit.Stderr
		}
		if n == fetches {
			return nil, fmt.Errorf("%q: %w: %s %s", cmd.Args, err, out, said)
		}
		<-time.After(time.Duration(n*n) * time.Second)
	}
}
