//go:build linux

package acceptance

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/strobe-debug/strobe/internal/daemon"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// mounted returns a home on a file system of its own with that many bytes, gone at the test's end.
func mounted(t *testing.T, size string) string {
	t.Helper()
	strobetest.NeedRoot(t)
	home := strobetest.Home(t)
	if err := syscall.Mount("strobe-test", home, "tmpfs", 0, "mode=0700,size="+size); err != nil {
		strobetest.Lack(t, "this machine lets nobody mount: %v", err)
	}
	t.Cleanup(func() {
		defer syscall.Unmount(home, syscall.MNT_DETACH) // where the test has failed
		// the daemon gives its lock up a moment before it ends
		strobetest.Eventually(t, endLimit, "everybody to leave "+home, func() bool {
			return syscall.Unmount(home, 0) == nil
		})
	})
	return home
}

// strobe runs the command line in home and returns its exit code and what it wrote.
func strobe(t *testing.T, home, stdin string, arg ...string) (int, string) {
	t.Helper()
	cmd := exec.Command(strobetest.Binary(t), arg...)
	cmd.Env = append(os.Environ(), "STROBE_HOME="+home)
	cmd.Stdin = strings.NewReader(stdin)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("strobe %v: %v", arg, err)
	}
	return cmd.ProcessState.ExitCode(), out.String()
}

// A full disk costs the recording, not the program and not the daemon; with space, the next session records.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	home := mounted(t, "6m")
	s := strobetest.Connect(t, home)
	t.Cleanup(func() { s.StopDaemon(t) })
	dir, pid := t.TempDir(), daemon.HolderPID(home)
	serves(t, s, pid)
	big := s.Launch(t, "sh", dir, []string{"-c",
		"head -c 100000 /dev/urandom; " + // what comes at once waits for room, what comes later is dropped
			"read go; head -c 12000000 /dev/urandom; sleep 2; head -c 12000000 /dev/urandom; echo to the end >&2; exit 3"},
		args{"stdin": "pipe"})
	strobetest.Eventually(t, endLimit, "its first output",
		func() bool { return s.Query(t, big.SessionID, args{"limit": 1}).TotalCount > 0 })
	s.Call(t, "debug_session", args{"action": "input", "sessionId": big.SessionID, "text": "go\n"}, &struct{}{})
	st := s.WaitEnd(t, big.SessionID, endLimit)
	if st.ExitCode == nil || *st.ExitCode != 3 {
		t.Errorf("a program on a full disk ended as %+v", st)
	}
	var full struct{ StoreError string }
	s.Call(t, "debug_session", args{"action": "status", "sessionId": big.SessionID}, &full)
	if !strings.HasPrefix(full.StoreError, "STORAGE_FULL: ") || st.DroppedEvents == 0 {
		t.Errorf("storeError = %q with %d events dropped", full.StoreError, st.DroppedEvents)
	}
	if p := s.Query(t, big.SessionID, args{"limit": 1}); p.TotalCount == 0 {
		t.Error("nothing of what was stored before can be read")
	}
	fill(t, home)
	refused(t, s, "debug_launch", args{"command": "echo", "projectRoot": dir}, "STORAGE_FULL")
	if err := os.Remove(filepath.Join(home, "filler")); err != nil {
		t.Fatal(err)
	}
	s.Stop(t, big.SessionID)
	serves(t, s, pid)
}

// fill leaves no byte on home's disk.
func fill(t *testing.T, home string) {
	t.Helper()
	f, err := os.Create(filepath.Join(home, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size := 1 << 20; size > 0; {
		if _, err := f.Write(make([]byte, size)); err != nil {
			size /= 2
		}
	}
}

// A disk that is full before there is a daemon.
func TestFullDiskAtStart(t *testing.T) {
	home := mounted(t, "4m")
	fill(t, home)
	code, out := strobe(t, home, "", "sessions")
	if code != 2 || !strings.Contains(out, "STORAGE_FULL") {
		t.Errorf("strobe sessions = %d, %s", code, out)
	}
	_,
		out = strobe(t, home,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}`+"\n", "mcp")
	if !strings.Contains(out, `"id":1`) || !strings.Contains(out, "STORAGE_FULL") {
		t.Errorf("strobe mcp = %s", out)
	}
	if err := os.Remove(filepath.Join(home, "filler")); err != nil {
		t.Fatal(err)
	}
	s := strobetest.Connect(t, home)
	t.Cleanup(func() { s.StopDaemon(t) })
	serves(t, s, daemon.HolderPID(home))
}

func TestReadOnlyHome(t *testing.T) {
	strobetest.NeedPtrace(t)
	home := mounted(t, "16m")
	s := strobetest.Connect(t, home)
	t.Cleanup(func() { s.StopDaemon(t) })
	pid := daemon.HolderPID(home)
	serves(t, s, pid)
	l := s.Launch(t, "echo", t.TempDir(), []string{"before"}, nil)
	s.WaitEnd(t, l.SessionID, endLimit)
	remount := func(flags uintptr) {
		t.Helper()
		strobetest.Eventually(t, endLimit, "remount of "+home, func() bool { // busy until the daemon has gone
			return syscall.Mount("", home, "", syscall.MS_REMOUNT|flags, "") == nil
		})
	}
	s.StopDaemon(t)
	remount(syscall.MS_RDONLY)
	code, out := strobe(t, home, "", "sessions")
	if code != 2 || !strings.Contains(out, "PERMISSION_DENIED") || !strings.Contains(out, "STROBE_HOME") {
		t.Errorf("strobe sessions = %d, %s", code, out)
	}
	_,
		out = strobe(t, home,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}`+"\n", "mcp")
	if !strings.Contains(out, `"id":1`) || !strings.Contains(out, "PERMISSION_DENIED") {
		t.Errorf("strobe mcp = %s", out)
	}
	remount(0)
	if p := s.Query(t, l.SessionID, args{"eventType": "stdout"}); p.TotalCount != 1 {
		t.Errorf("after all, %d lines of output are there, want 1", p.TotalCount)
	}
	serves(t, s, daemon.HolderPID(home))
}
