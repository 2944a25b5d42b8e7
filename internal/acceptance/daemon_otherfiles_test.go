//go:build linux

package acceptance

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// TestFilesThatAreNone names what is no regular file wherever a call or a project names one: each is answered at once.
// A core that was a named pipe was waited for, as was a project's file.
func TestFilesThatAreNone(t *testing.T) {
	strobetest.NeedPtrace(t)
	t.Parallel()
	s := strobetest.Start(t, nil)
	dir := t.TempDir()
	pipe, socket := filepath.Join(dir, "pipe"), filepath.Join(dir, "socket")
	if err := syscall.Mkfifo(pipe, 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, path := range []string{pipe, socket, dir, "/dev/zero", "/dev/tty", "/proc/self/mem", "/proc/kmsg",
		"/proc/self/maps", filepath.Join(dir, "none")} {
		for field, call := range map[string]args{
			"core": {"command": "true", "core": path}, "command": {"command": path}, "cwd": {"command": "true", "cwd": path},
			"projectRoot": {"command": "true", "projectRoot": path}, "symbolsPath": {"command": "true", "symbolsPath": path},
		} {
			var r strobetest.Launched
			err := s.Try("debug_launch", laid(args{"projectRoot": dir}, call).(args), &r)
			var te *strobetest.ToolError
			if err != nil && (!errors.As(err, &te) || te.Code == "INTERNAL_ERROR") {
				t.Errorf("%s %s: %v", field, path, err)
			}
			if err == nil && (field == "core" || field == "command") {
				t.Errorf("%s %s is taken", field, path)
			}
			if err == nil {
				s.WaitEnd(t, r.SessionID, endLimit)
				s.Stop(t, r.SessionID)
			}
		}
	}
	for _, name := range []string{"package.json", "Cargo.toml", "CMakeLists.txt", "go.mod", "pyproject.toml",
		".strobe/settings.json", "Makefile"} {
		project := t.TempDir()
		path := filepath.Join(project, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), syscall.Mkfifo(path, 0o700)); err != nil {
			t.Fatal(err)
		}
		for tool, call := range map[string]args{"debug_test": {"waitMs": 1000}, "debug_setup_tests": {},
			"debug_launch": {"command": "true"}} {
			var te *strobetest.ToolError
			if err := s.Try(tool, laid(args{"projectRoot": project}, call).(args), nil); err != nil &&
				(!errors.As(err, &te) || te.Code == "INTERNAL_ERROR") {
				t.Errorf("%s with a pipe as %s: %v", tool, name, err)
			}
		}
	}
}

// TestOurFilesAreOurs: nobody else may read what Strobe writes, whatever the umask.
func TestOurFilesAreOurs(t *testing.T) {
	strobetest.NeedPtrace(t)
	t.Parallel()
	s := strobetest.Start(t, nil)
	l := s.Launch(t, "sh", "/", []string{"-c", "echo secret"}, args{"trace": []string{"main"}})
	s.WaitEnd(t, l.SessionID, endLimit)
	out := t.TempDir()
	cmd := exec.Command("sh", "-c", `umask 0; "$0" export "$1" -o "$2/x.json"`, s.Bin, l.SessionID, out)
	cmd.Env = append(os.Environ(), "STROBE_HOME="+s.Home)
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("export: %v: %s", err, b)
	}
	s.Call(t, "debug_test", args{"projectRoot": out, "command": "true", "waitMs": 10000}, nil)
	for _, root := range []string{s.Home, out} {
		err := filepath.Walk(root, func(path string, info os.FileInfo, err error) error {
			if err == nil && path != out && info.Mode().Perm()&0o077 != 0 && info.Mode()&os.ModeSymlink == 0 {
				t.Errorf("%s has mode %v", path, info.Mode())
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestFewFiles: a daemon that may open few files says so, with what helps, and serves on.
func TestFewFiles(t *testing.T) {
	strobetest.NeedPtrace(t)
	t.Parallel()
	home, bin := strobetest.Home(t), strobetest.Binary(t)
	sh := exec.Command("sh", "-c", `ulimit -n 64; "$0" run -- sh -c 'ulimit -n'`, bin)
	sh.Env = append(os.Environ(), "STROBE_HOME="+home)
	if out, err := sh.Output(); err != nil || strings.TrimSpace(string(out)) != "64" {
		t.Fatalf("the program has a limit of %s: %v", out, err)
	}
	s := strobetest.Connect(t, home)
	t.Cleanup(func() { s.StopDaemon(t) })
	limited := 0
	var running []string
	for range 24 { // each has a process of its own, and takes few of the daemon's files
		var l strobetest.Launched
		err := s.Try("debug_launch", args{"command": "sleep", "args": []string{"60"}, "projectRoot": "/"}, &l)
		var te *strobetest.ToolError
		switch {
		case err == nil:
			running = append(running, l.SessionID)
		case errors.As(err, &te) && te.Code == "SESSION_LIMIT" && strings.Contains(te.Hint, "ulimit"):
			limited++
		default:
			t.Errorf("launch: %v", err)
		}
	}
	if limited == 0 || len(running) < 6 {
		t.Errorf("%d run, %d were refused", len(running), limited)
	}
	for _, id := range running {
		s.Stop(t, id)
	}
	s.WaitEnd(t, s.Launch(t, "true", "/", nil, nil).SessionID, endLimit)
}

// TestOverTheSpace: of a session that is deleted for its space, a question says that, at every moment.
func TestOverTheSpace(t *testing.T) {
	strobetest.NeedPtrace(t)
	t.Parallel()
	s := strobetest.Start(t, map[string]any{"storage.maxBytes": 1 << 20})
	l := s.Launch(t, "sh", "/", []string{"-c", "head -c 4000000 /dev/urandom"}, nil)
	strobetest.Eventually(t, endLimit, "the session to be deleted", func() bool {
		err := s.Try("debug_session", args{"action": "status", "sessionId": l.SessionID}, nil)
		if err == nil {
			return false
		}
		var te *strobetest.ToolError
		if !errors.As(err, &te) || te.Code != "SESSION_NOT_FOUND" || strings.Contains(te.Hint, "Did you mean "+l.SessionID) ||
			!strings.Contains(te.Message+te.Hint, "storage.maxBytes") {
			t.Errorf("%v", err)
		}
		return true
	})
	strobetest.Eventually(t, endLimit, "the list to say why", func() bool {
		var list json.RawMessage
		s.Call(t, "debug_session", args{"action": "list"}, &list)
		return strings.Contains(string(list), "storage.maxBytes")
	})
}
