package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

func TestManyStartersGetOneDaemon(t *testing.T) {
	home := newHome(t)
	const n = 10
	pids := make([]string, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			out, err := self(home, "connect").Output()
			if err != nil {
				t.Errorf("starter %d: %v", i, err)
			}
			pids[i] = string(out)
		})
	}
	wg.Wait()
	for i, pid := range pids {
		if pid == "" || pid != pids[0] {
			t.Errorf("starter %d got daemon %q, the first %q", i, pid, pids[0])
		}
	}
	if got := fmt.Sprint(HolderPID(home)); got != pids[0] {
		t.Errorf("lock file names pid %s, daemon is %s", got, pids[0])
	}
}

func TestFilesAreOurs(t *testing.T) {
	home := newHome(t)
	connectTo(t, home)
	for path, want := range map[string]os.FileMode{
		home: os.ModeDir | 0o700, SocketPath(home): os.ModeSocket | 0o600, LockPath(home): 0o600, LogPath(home): 0o600,
	} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != want {
			t.Errorf("mode of %s = %v, want %v", filepath.Base(path), info.Mode(), want)
		}
	}
}

func TestKilledDaemonIsReplaced(t *testing.T) {
	home := newHome(t)
	connectTo(t, home)
	first := HolderPID(home)
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "end of the daemon", func() bool { return !lockHeld(LockPath(home)) })
	if _, err := os.Stat(SocketPath(home)); err != nil {
		t.Fatalf("a killed daemon should leave its socket: %v", err)
	}
	connectTo(t, home)
	if HolderPID(home) == first {
		t.Error("no new daemon")
	}
}

func TestSigtermEndsCleanly(t *testing.T) {
	home := newHome(t)
	connectTo(t, home)
	ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
	defer cancel()
	was, err := Stop(ctx, home)
	if err != nil || !was {
		t.Fatalf("Stop = %v, %v", was, err)
	}
	if _, err := os.Stat(filepath.Join(home, "closed")); err != nil {
		t.Errorf("sessions were not closed: %v", err)
	}
	if _, err := os.Stat(SocketPath(home)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("socket is left: %v", err)
	}
	if was, err := Stop(ctx, home); was || err != nil {
		t.Errorf("second Stop = %v, %v; want false, nil", was, err)
	}
}

func TestIdleEnd(t *testing.T) {
	t.Setenv(envDebugIdle, "300ms")
	home := newHome(t)
	cs := connectTo(t, home)
	pid := HolderPID(home)
	stays := func(why string) {
		t.Helper()
		until := time.Now().Add(time.Second)
		for time.Now().Before(until) {
			if !lockHeld(LockPath(home)) || HolderPID(home) != pid {
				t.Fatalf("daemon ended although %s", why)
			}
			<-time.After(5 * time.Millisecond)
		}
	}
	stays("a client is connected")
	busy := filepath.Join(home, "busy")
	if err := os.WriteFile(busy, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cs.Close()
	stays("a session runs")
	if err := os.Remove(busy); err != nil {
		t.Fatal(err)
	}
	eventually(t, "idle end", func() bool { return !lockHeld(LockPath(home)) })
}

func TestDeletedSocketComesBack(t *testing.T) {
	t.Setenv(envDebugIdle, "400ms") // the watch looks eight times as often
	home := newHome(t)
	cs := connectTo(t, home)
	if err := os.Remove(SocketPath(home)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "new socket", func() bool { _, err := os.Stat(SocketPath(home)); return err == nil })
	pid := HolderPID(home)
	if text, err := callText(connectTo(t, home), "pid", nil); err != nil || text != fmt.Sprint(pid) {
		t.Errorf("new connection reaches pid %s (%v), want %d", text, err, pid)
	}
	if _, err := callText(cs, "pid", nil); err != nil {
		t.Errorf("old connection: %v", err)
	}
}

func TestHungHolderIsNamed(t *testing.T) {
	defer func(d time.Duration) { startTimeout = d }(startTimeout)
	startTimeout = 300 * time.Millisecond
	home := filepath.Join(t.TempDir(), "h")
	if err := prepareHome(home); err != nil {
		t.Fatal(err)
	}
	lock, err := takeLock(LockPath(home)) // we are the holder that does not listen
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	_, err = Connect(context.Background(), home)
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("(pid %d) is alive but does not answer", os.Getpid())) {
		t.Errorf("Connect = %v, want the holder's pid", err)
	}
}

func TestUnusableHome(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, home string
		want       string
	}{
		{"too long", filepath.Join(dir, strings.Repeat("x", 110)), "the socket path"},
		{"a file", file, "not a directory"},
		{"below a file", filepath.Join(file, "x"), "not a directory"},
		{"no such place", "/proc/strobe", "cannot"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Connect(context.Background(), c.home)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Connect = %v, want %q", err, c.want)
			}
			if f := fault.From(err); f.Code == fault.InternalError || f.Hint == "" {
				t.Errorf("code %s, hint %q", f.Code, f.Hint)
			}
		})
	}
}

// Root may read everything, so the process that is refused runs as somebody else.
func TestReadOnlyHome(t *testing.T) {
	strobetest.NeedRoot(t) // to become another user
	dir := shared(t)
	cmd := self(filepath.Join(dir, "h"), "connect")
	cmd.Path = copySelf(t, dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	var out strings.Builder
	cmd.Stderr = &out
	if err := cmd.Run(); err == nil || !strings.Contains(out.String(), "PERMISSION_DENIED") {
		t.Errorf("connect = %v, %s", err, out.String())
	}
}

func TestOtherUsersAreRefused(t *testing.T) {
	strobetest.NeedRoot(t) // to become another user
	dir := shared(t)
	home := filepath.Join(dir, "h")
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
		defer cancel()
		_, _ = Stop(ctx, home) // reported by the daemon's own tests
	})
	connectTo(t, home)
	// Open all doors but the one that this test is about.
	if err := errors.Join(os.Chmod(home, 0o755), os.Chmod(SocketPath(home), 0o666)); err != nil {
		t.Fatal(err)
	}
	exe := copySelf(t, dir)
	for _, uid := range []uint32{0, 65534} {
		cmd := self(home, "dial", home)
		cmd.Path = exe
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		if err := cmd.Run(); (err == nil) != (uid == 0) {
			t.Errorf("dial as uid %d: %v", uid, err)
		}
	}
}

// shared returns a directory that other users can enter.
func shared(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "strobe")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func copySelf(t *testing.T, dir string) string {
	t.Helper()
	b, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "self")
	if err := os.WriteFile(path, b, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// A daemon must not keep the files of whoever started it: the reader of such a pipe would hang.
func TestInheritedFilesAreNotKept(t *testing.T) {
	home := newHome(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := self(home, "connect")
	cmd.ExtraFiles = []*os.File{w}
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if err := r.SetReadDeadline(time.Now().Add(waitLimit)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("read = %v, want EOF: the daemon holds the pipe", err)
	}
}

func TestLogRotates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	l, err := openLog(path, 100, false)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 30 {
		if _, err := fmt.Fprintf(l, "line %02d\n", i); err != nil {
			t.Fatal(err)
		}
	}
	now, err1 := os.ReadFile(path)
	before, err2 := os.ReadFile(path + ".1")
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(string(now), "line 29\n") || len(now) > 100 || len(before) > 100 {
		t.Errorf("log has %d bytes, the old one %d: %q", len(now), len(before), now)
	}
	if both := string(before) + string(now); !strings.HasPrefix(string(now), strings.TrimPrefix(both, string(before))) ||
		strings.Count(both, "\n") < 12 {
		t.Errorf("lines are missing between %q and %q", before, now)
	}
}

func TestHomeFromEnvironment(t *testing.T) {
	t.Setenv(envHome, "/x/../y")
	if got, err := Home(); got != "/y" || err != nil {
		t.Errorf("Home() = %q, %v", got, err)
	}
	t.Setenv(envHome, "")
	t.Setenv("HOME", "/home/u")
	if got, err := Home(); got != "/home/u/.strobe" || err != nil {
		t.Errorf("Home() = %q, %v", got, err)
	}
}

// A client that connects and says nothing, or half a message, harms nobody.
func TestSilentClients(t *testing.T) {
	home := newHome(t)
	cs := connectTo(t, home)
	for range 20 {
		c, err := net.Dial("unix", SocketPath(home))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(c, `{"jsonrpc":"2.0","id":1,"met`); err != nil {
			t.Fatal(err)
		}
		c.Close()
	}
	if _, err := callText(cs, "pid", nil); err != nil {
		t.Error(err)
	}
}
