package strobetest

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

// promised reports whether CI has promised the tools and rights that tests need: then their
// absence fails a test instead of skipping it.
func promised() bool { return os.Getenv("STROBE_CI") != "" }

func lack(t testing.TB, format string, args ...any) {
	t.Helper()
	if promised() {
		t.Fatalf("CI has promised it, but "+format, args...)
	}
	t.Skipf(format, args...)
}

// Lack skips a test for what this machine does not have, or fails it where CI has promised it.
func Lack(t testing.TB, format string, args ...any) {
	t.Helper()
	lack(t, format, args...)
}

// NeedRoot skips the test where it is not root who runs it.
func NeedRoot(t testing.TB) {
	t.Helper()
	if os.Getuid() != 0 {
		lack(t, "only root can make what this test needs")
	}
}

// Soak returns how long a soak test takes, and skips the test in usual runs.
func Soak(t testing.TB) time.Duration {
	t.Helper()
	limit, err := time.ParseDuration(os.Getenv("STROBE_SOAK"))
	if err != nil {
		t.Skip("a long test: make soak runs it")
	}
	return limit
}

// Soaks reports whether make soak runs, for tests that do more then.
func Soaks() bool { return os.Getenv("STROBE_SOAK") != "" }

// NeedCommand skips the test where no such program is in PATH.
func NeedCommand(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			lack(t, "%s is not installed", name)
		}
	}
}

// NeedPtrace skips the test where a process may not trace its own child.
func NeedPtrace(t testing.TB) {
	t.Helper()
	if err := mayTrace(); err != nil {
		lack(t, "this process may not use ptrace: %v", err)
	}
}

// NeedNetwork skips the test where STROBE_OFFLINE says that registries cannot be reached.
func NeedNetwork(t testing.TB) {
	t.Helper()
	if os.Getenv("STROBE_OFFLINE") != "" {
		lack(t, "STROBE_OFFLINE is set and the sources are not in the cache")
	}
}
