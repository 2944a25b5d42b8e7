package strobetest

import (
	"os"
	"os/exec"
	"testing"
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
