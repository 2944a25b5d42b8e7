package testrun

import "github.com/strobe-debug/strobe/internal/testadapter"

// RerunCommand is how a person runs a test again, as a line of a POSIX shell in the project's root; "" where there is no command.
func RerunCommand(again testadapter.Rerun, root string) string {
	line := shellLine(again.Env, again.Argv)
	if again.Dir != "" && again.Dir != root && line != "" {
		line = "cd " + quote(again.Dir) + " && " + line
	}
	return line
}
