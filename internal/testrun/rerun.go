package testrun

import (
	"maps"
	"slices"

	"github.com/strobe-debug/strobe/internal/testadapter"
)

// rerunEnv is what a request adds to the environment, for the line of a shell. One that has PATH and HOME is the whole
// environment of a shell, in which that line is run.
func rerunEnv(env map[string]string) (list []string) {
	if env["PATH"] != "" && env["HOME"] != "" {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, name+"="+env[name])
	}
	return list
}

// RerunCommand is how a person runs a test again, as a line of a POSIX shell in the project's root; "" where there is
// no command.
func RerunCommand(again testadapter.Rerun, root string) string {
	line := shellLine(again.Env, again.Argv)
	if again.Dir != "" && again.Dir != root && line != "" {
		line = "cd " + quote(again.Dir) + " && " + line
	}
	return line
}
