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

// LeftToSoak begins what a test logs that leaves something to make soak; ranlog lists it at the end of CI's log.
const LeftToSoak = "left to make soak: "

// Soak returns how long a soak test takes, and skips the test in usual runs.
func Soak(t testing.TB) time.Duration {
	t.Helper()
	limit, err := time.ParseDuration(os.Getenv("STROBE_SOAK"))
	if err != nil {
		t.Skip(LeftToSoak + "all of it")
	}
	return limit
}

// Soaks reports whether make soak runs a test in its long form; else it logs what the short form leaves out.
func Soaks(t testing.TB, what string) bool {
	t.Helper()
	if os.Getenv("STROBE_SOAK") != "" {
		return true
	}
	t.Log(LeftToSoak + what)
	return false
}

// NeedTime skips a test that runs real programs where only the quick ones are wanted. The fixtures ask it; a test that
// makes its own does.
func NeedTime(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("runs real programs: make test does that")
	}
}

// NeedCommand skips the test where no such program is in PATH.
func NeedCommand(t testing.TB, names ...string) {
	t.Helper()
	NeedTime(t)
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			lack(t, "%s is not installed", name)
		}
	}
}

// NeedPtrace skips the test where a process may not trace its own child.
func NeedPtrace(t testing.TB) {
	t.Helper()
	NeedTime(t)
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
