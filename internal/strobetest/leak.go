package strobetest

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Eventually waits until done returns true, asking again every few milliseconds, and fails the
// test when it has not within the time given.
func Eventually(t testing.TB, within time.Duration, what string, done func() bool) {
	t.Helper()
	if !poll(within, done) {
		t.Fatalf("%s: not within %v", what, within)
	}
}

// poll asks again after a tenth of the time that it has waited: a question may cost three processes more than what it
// waits for has.
func poll(within time.Duration, done func() bool) bool {
	started := time.Now()
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	for !done() {
		again := time.NewTimer(min(max(time.Since(started)/10, 5*time.Millisecond), 100*time.Millisecond))
		select {
		case <-again.C:
		case <-deadline.C:
			again.Stop()
			return done()
		}
	}
	return true
}

// CheckLeaks fails the test if at its end, after a grace of five seconds, it has left goroutines,
// open files or child processes (zombies too) that were not there at the call. Call it first, so
// that its check runs after every other clean-up. Not for parallel tests.
func CheckLeaks(t testing.TB) {
	t.Helper()
	goroutines, files, children := stacks(), openFiles(), childPIDs()
	t.Cleanup(func() {
		var leaked []string
		ok := poll(5*time.Second, func() bool {
			leaked = nil
			for id, stack := range stacks() {
				if _, there := goroutines[id]; !there && !harmless(stack) {
					leaked = append(leaked, "goroutine "+stack)
				}
			}
			for fd, name := range openFiles() {
				if files[fd] != name {
					leaked = append(leaked, fmt.Sprintf("file %s -> %s", fd, name))
				}
			}
			for pid, name := range childPIDs() {
				if _, there := children[pid]; !there {
					leaked = append(leaked, fmt.Sprintf("process %d (%s)", pid, name))
				}
			}
			return len(leaked) == 0
		})
		if !ok {
			t.Errorf("left behind:\n%s", strings.Join(leaked, "\n"))
		}
	})
}

// harmless stacks belong to the runtime or to net's and os's own lazily started helpers.
func harmless(stack string) bool {
	for _, own := range []string{"testing.", "runtime.goexit0", "os/signal.", "runtime.ensureSigM", "runtime.gc",
		"strobetest.stacks("} {
		if strings.Contains(stack, own) {
			return true
		}
	}
	return false
}

// stacks returns the goroutines by number.
func stacks() map[string]string {
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	found := map[string]string{}
	for _, s := range strings.Split(string(buf), "\n\n") {
		if rest, ok := strings.CutPrefix(s, "goroutine "); ok {
			id, _, _ := strings.Cut(rest, " ")
			found[id] = rest
		}
	}
	return found
}

// openFiles returns what every descriptor points to; nothing where the system has no /proc.
func openFiles() map[string]string {
	found := map[string]string{}
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		name, err := os.Readlink(filepath.Join("/proc/self/fd", e.Name()))
		if err != nil || strings.HasPrefix(name, "anon_inode:[event") || strings.HasSuffix(name, "/fd") {
			continue // gone, the runtime's poller, or the folder that is being read
		}
		found[e.Name()] = name
	}
	return found
}

// childPIDs returns this process's children, zombies included, by their pid.
func childPIDs() map[int]string {
	found := map[int]string{}
	self := strconv.Itoa(os.Getpid())
	entries, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range entries {
		data, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		stat := string(data)
		open, end := strings.IndexByte(stat, '('), strings.LastIndexByte(stat, ')')
		if open < 0 || end < open {
			continue
		}
		fields := strings.Fields(stat[end+1:])
		if len(fields) < 2 || fields[1] != self {
			continue
		}
		if pid, err := strconv.Atoi(strings.TrimSpace(stat[:open])); err == nil {
			found[pid] = stat[open+1:end] + " " + fields[0]
		}
	}
	return found
}

// Home returns a fresh STROBE_HOME with a path short enough for a Unix socket, removed at the end.
func Home(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "strobe-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("remove %s: %v", dir, err)
		}
	})
	return dir
}
