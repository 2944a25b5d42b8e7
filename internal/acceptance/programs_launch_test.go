//go:build linux

package acceptance

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/daemon"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// TestLaunchRefusals gives debug_launch every kind of thing that cannot be launched.
func TestLaunchRefusals(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	dir := t.TempDir()
	serves(t, s, daemon.HolderPID(s.Home))
	pid := daemon.HolderPID(s.Home)
	good, err := os.ReadFile(strobetest.Build(t, "ending", "gcc-O0"))
	if err != nil {
		t.Fatal(err)
	}
	patched := func(at int, b ...byte) string {
		c := append([]byte{}, good...)
		copy(c[at:], b)
		return string(c)
	}
	write(t, dir, "program", string(good), 0o755)
	write(t, dir, "notes.txt", "nothing to run\n", 0o644)
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("loop", filepath.Join(dir, "loop")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, command, code string
		says                []string
	}{
		{"no such file", "./progam", "LAUNCH_FAILED", []string{"does not exist", "program"}},
		{"no such folder", dir + "/none/x", "LAUNCH_FAILED", nil},
		{"not in PATH", "strobe-no-such-command", "LAUNCH_FAILED", []string{"PATH"}},
		{"near name in PATH", "ecoh", "LAUNCH_FAILED", []string{"Did you mean"}},
		{"directory", "./folder", "LAUNCH_FAILED", []string{"directory"}},
		{"fifo", "./fifo", "LAUNCH_FAILED", nil},
		{"symlink loop", "./loop", "LAUNCH_FAILED", nil},
		{"not executable", "./notes.txt", "PERMISSION_DENIED", []string{"chmod +x"}},
		{"not ELF", write(t, dir, "text", "just text\n", 0o755), "LAUNCH_FAILED",
			[]string{"neither an ELF program nor a script"}},
		{"script without shebang", write(t, dir, "bare.sh", "echo hello\n", 0o755), "LAUNCH_FAILED", []string{"/bin/sh"}},
		{"missing interpreter", write(t, dir, "gone.sh", "#!/no/such/interp\n", 0o755), "LAUNCH_FAILED",
			[]string{"/no/such/interp"}},
		{"DOS script", write(t, dir, "dos.sh", "#!/bin/sh\r\necho\r\n", 0o755), "LAUNCH_FAILED", []string{"carriage return"}},
		{"empty shebang", write(t, dir, "none.sh", "#!\n", 0o755), "LAUNCH_FAILED", nil},
		{"empty file", write(t, dir, "empty", "", 0o755), "LAUNCH_FAILED", []string{"empty"}},
		{"32 bit", write(t, dir, "bits32", patched(4, 1), 0o755), "UNSUPPORTED", []string{"32"}},
		{"arm64", write(t, dir, "arm", patched(18, 183, 0), 0o755), "UNSUPPORTED", []string{"arm64"}},
		{"big endian", write(t, dir, "big", patched(5, 2), 0o755), "UNSUPPORTED", nil},
		{"object file", write(t, dir, "object", patched(16, 1, 0), 0o755), "LAUNCH_FAILED", []string{"object file"}},
		{"core dump", write(t, dir, "core", patched(16, 4, 0), 0o755), "LAUNCH_FAILED", []string{"core"}},
		{"Windows program", write(t, dir, "prog.exe", "MZ\x90\x00"+strings.Repeat("\x00", 600), 0o755), "UNSUPPORTED", nil},
		{"magic only", write(t, dir, "magic", "\x7fELF", 0o755), "LAUNCH_FAILED", nil},
		{"header only", write(t, dir, "header", string(good[:64]), 0o755), "LAUNCH_FAILED", nil},
		{"missing loader", write(t, dir, "loader",
			strings.Replace(string(good), "/lib64/ld-linux-x86-64.so.2", "/lib64/ld-none-x86-64.so.2\x00", 1), 0o755),
			"LAUNCH_FAILED", []string{"dynamic loader", "ld-none"}},
		{"NUL in path", "./a\x00b", "VALIDATION_ERROR", []string{"NUL"}},
		{"empty", "", "VALIDATION_ERROR", []string{"command"}},
		{"long path", "./" + strings.Repeat("x", 5000), "LAUNCH_FAILED", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			refused(t, s, "debug_launch", args{"command": c.command, "projectRoot": dir}, c.code, c.says...)
		})
	}
	many := make([]string, 80)
	for i := range many {
		many[i] = strings.Repeat("x", 100<<10)
	}
	for _, c := range []struct {
		name string
		in   args
		code string
		says []string
	}{
		{"relative projectRoot", args{"projectRoot": "src"}, "VALIDATION_ERROR", []string{"projectRoot", "absolute"}},
		{"no such projectRoot", args{"projectRoot": dir + "/foldr"}, "VALIDATION_ERROR", []string{"projectRoot", "folder"}},
		{"projectRoot is a file", args{"projectRoot": dir + "/notes.txt"}, "VALIDATION_ERROR", []string{"not a directory"}},
		{"no such cwd", args{"cwd": "foldr"}, "VALIDATION_ERROR", []string{"cwd", "folder"}},
		{"cwd is a file", args{"cwd": "notes.txt"}, "VALIDATION_ERROR", []string{"not a directory"}},
		{"bad variable", args{"env": args{"A=B": "c"}}, "VALIDATION_ERROR", []string{"env"}},
		{"empty variable", args{"env": args{"": "c"}}, "VALIDATION_ERROR", []string{"env"}},
		{"NUL in args", args{"args": []string{"ok", "a\x00"}}, "VALIDATION_ERROR", []string{"args[1]"}},
		{"no such symbols", args{"symbolsPath": "none"}, "VALIDATION_ERROR", []string{"symbolsPath"}},
		{"long arg", args{"args": []string{strings.Repeat("x", 200<<10)}}, "VALIDATION_ERROR", []string{"args[0]", "131071"}},
		{"long variable", args{"env": args{"A": strings.Repeat("x", 200<<10)}}, "VALIDATION_ERROR", []string{"env.A"}},
		{"too many args", args{"args": many}, "LAUNCH_FAILED", nil},
		{"depth", args{"serializationDepth": 11}, "VALIDATION_ERROR", []string{"11", "10"}},
		{"policy", args{"onFullBuffer": "lose"}, "VALIDATION_ERROR", []string{"drop", "block"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := args{"command": "./program", "projectRoot": dir}
			for k, v := range c.in {
				in[k] = v
			}
			refused(t, s, "debug_launch", in, c.code, c.says...)
		})
	}
	serves(t, s, pid)
	var list struct{ Sessions []args }
	s.Call(t, "debug_session", args{"action": "list"}, &list)
	if len(list.Sessions) != 0 {
		t.Errorf("failed launches left %d sessions: %s", len(list.Sessions), brief(list.Sessions))
	}
	if files, _ := filepath.Glob(filepath.Join(s.Home, "sessions", "*")); len(files) != 0 {
		t.Errorf("failed launches left files: %v", files)
	}
}

// A program without debug information runs, and tracing it says what is missing.
func TestNoDebugInfo(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	dir := t.TempDir()
	stripped := strobetest.BuildSource(t, "c", "gcc-O0", "bare",
		"#include <stdio.h>\nint f(int x){return x+1;}\nint main(){printf(\"%d\\n\", f(2));getchar();return 0;}\n", "-s",
		"-g0")
	for _, pattern := range []string{"f", "@usercode", "@file:bare.c"} {
		var launched struct {
			SessionID    string
			Capabilities struct{ Limitations []string }
		}
		s.Call(t, "debug_launch", args{"command": stripped, "projectRoot": dir, "trace": []string{pattern}, "stdin": "pipe"},
			&launched)
		if said := strings.Join(launched.Capabilities.Limitations, "\n"); !strings.Contains(said, "-g") {
			t.Errorf("pattern %s: limitations %q do not say to build with -g", pattern, said)
		}
		var state struct{ Warnings []string }
		strobetest.Eventually(t, endLimit, "a warning about "+pattern, func() bool {
			s.Call(t, "debug_trace", args{"sessionId": launched.SessionID}, &state)
			return strings.Contains(strings.Join(state.Warnings, "\n"), "matches nothing")
		})
		s.Call(t, "debug_session", args{"action": "input", "sessionId": launched.SessionID, "eof": true}, nil)
		if st := s.WaitEnd(t, launched.SessionID, endLimit); st.ExitCode == nil || *st.ExitCode != 0 {
			t.Errorf("pattern %s: ended as %+v", pattern, st)
		}
		if out := s.Output(t, launched.SessionID, "stdout"); out != "3\n" {
			t.Errorf("pattern %s: wrote %q", pattern, out)
		}
		s.Stop(t, launched.SessionID)
	}
}

// A program that changes its user runs, and the answer says what may be different.
func TestSetuidProgram(t *testing.T) {
	strobetest.NeedPtrace(t)
	strobetest.NeedRoot(t)
	s := strobetest.Start(t, nil)
	dir := t.TempDir()
	data, err := os.ReadFile(strobetest.Build(t, "ending", "gcc-O0"))
	if err != nil {
		t.Fatal(err)
	}
	path := write(t, dir, "suid", string(data), 0o755)
	if err := os.Chown(path, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o755|os.ModeSetuid|os.ModeSetgid); err != nil {
		t.Fatal(err)
	}
	l := s.Launch(t, path, dir, []string{"exit", "5"}, args{"trace": []string{"end"}})
	if st := s.WaitEnd(t, l.SessionID, endLimit); st.ExitCode == nil || *st.ExitCode != 5 {
		t.Errorf("ended as %+v", st)
	}
	if said := strings.Join(l.Warnings, "\n"); !strings.Contains(said, "set-user-ID") {
		t.Errorf("warnings %q do not say that the program is set-user-ID", said)
	}
	serves(t, s, daemon.HolderPID(s.Home))
}

// TestLaunchOfASlowLoader: a launch that did not wait until the libraries were loaded said nothing of its patterns.
// Here the dynamic linker waits for somebody to write into a pipe that is to be preloaded.
func TestLaunchOfASlowLoader(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	pipe := filepath.Join(t.TempDir(), "preload.so")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	s := strobetest.Start(t, nil)
	path := strobetest.BuildSource(t, "c", "gcc-O0", "slowloader",
		"int work(int n) { return n + 1; }\nint main() { return work(2); }\n")
	var l struct {
		SessionID string
		Warnings  []string
	}
	s.Call(t, "debug_launch", args{"command": path, "env": args{"LD_PRELOAD": pipe}, "trace": []string{"work"},
		"projectRoot": strobetest.Root(t)}, &l)
	t.Cleanup(func() { s.Stop(t, l.SessionID) })
	if said := strings.Join(l.Warnings, "\n"); !strings.Contains(said, "still loading its libraries") ||
		strings.Contains(said, "matches nothing") {
		t.Errorf("the launch says %q", said)
	}
	f, err := os.OpenFile(pipe, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	s.WaitEnd(t, l.SessionID, 30*time.Second)
	if n := s.Query(t, l.SessionID, args{"function": "work"}).TotalCount; n != 2 {
		t.Errorf("%d events of work, want 2", n)
	}
	var now struct {
		Hooked   int `json:"hookedFunctions"`
		Warnings []string
	}
	s.Call(t, "debug_trace", args{"sessionId": l.SessionID}, &now)
	if now.Hooked != 1 || len(now.Warnings) > 0 {
		t.Errorf("once it is loaded debug_trace says %+v", now)
	}
}
