package strobetest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// nobody is whom sway runs as where the tests run as root, which it refuses.
const nobody = 65534

// Compositor starts a Wayland compositor without a screen, which ends with the test, and returns its socket. It writes
// that into the folder XDG_RUNTIME_DIR; config is a file's content, whose name stands last.
func Compositor(t testing.TB, config string, command ...string) string {
	t.Helper()
	NeedCommand(t, command[0])
	dir, err := os.MkdirTemp("", "wl-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	file := filepath.Join(dir, "config")
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	said, err := os.Create(filepath.Join(dir, "said"))
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	cmd := exec.Command(command[0], append(command[1:len(command):len(command)], file)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "XDG_RUNTIME_DIR=" + dir, "WLR_BACKENDS=headless",
		"WLR_LIBINPUT_NO_DEVICES=1", "WLR_RENDERER=pixman"}
	cmd.Stderr = said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if os.Getuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
		if err := os.Chown(dir, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) //nolint:errcheck // it has ended
		cmd.Wait()                                      //nolint:errcheck // it was killed
	})
	var found []string
	defer func() {
		if b, err := os.ReadFile(said.Name()); found == nil && err == nil {
			t.Logf("%s says:\n%s", command[0], b)
		}
	}()
	Eventually(t, time.Minute, fmt.Sprintf("%v makes a socket", command), func() bool {
		found, _ = filepath.Glob(filepath.Join(dir, "wayland-[0-9]"))
		return len(found) > 0
	})
	return found[0]
}

// Sway is the compositor sway, with one output of 1600 by 1000 points.
func Sway(t testing.TB) string {
	t.Helper()
	return Compositor(t, "output HEADLESS-1 resolution 1600x1000 position 0 0\n", "sway", "--unsupported-gpu", "-c")
}
