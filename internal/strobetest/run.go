package strobetest

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Result is what a program left behind.
type Result struct {
	Stdout, Stderr string
	Exit           int // -1 when a signal ended it
}

// Run runs a program in its own folder, with stdin as text, and waits for its end. It fails the
// test when the program does not end within two minutes.
func Run(t testing.TB, stdin, path string, args ...string) Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = filepath.Dir(path)
	cmd.Stdin = strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("run %s: %v", path, err)
	}
	if ctx.Err() != nil {
		t.Fatalf("run %s: not ended after two minutes; stdout %q", path, stdout.String())
	}
	return Result{Stdout: stdout.String(), Stderr: stderr.String(), Exit: cmd.ProcessState.ExitCode()}
}
