package strobetest

import (
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var majorVersion = regexp.MustCompile(`^v[0-9]+$`)

var notInNames = regexp.MustCompile(`[^\w.@-]+`)

// GoCommand is a command from the Go module proxy, MODULE@VERSION, built once on each machine.
func GoCommand(t testing.TB, module string, flags ...string) string {
	t.Helper()
	NeedCommand(t, "go")
	name := notInNames.ReplaceAllString(strings.Join(append([]string{"go", module}, flags...), " "), "-")
	dir := cached(t, name, func(dir string) error {
		args := append([]string{"GOFLAGS=", "GOBIN=" + dir, "go", "install"}, flags...)
		return quietly(dir, "env", append(args, module)...)
	})
	command, _, _ := strings.Cut(module, "@")
	if majorVersion.MatchString(path.Base(command)) {
		command = path.Dir(command)
	}
	return filepath.Join(dir, path.Base(command))
}
