//go:build linux

package acceptance

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// nobody is a second user.
const nobody = 65534

// TestOtherUsersHome: where somebody else made $STROBE_HOME first, or got a socket into it, clients send nothing there
// and say what to do. Before, strobe run told whoever listened its whole environment and believed the answers.
func TestOtherUsersHome(t *testing.T) {
	strobetest.NeedRoot(t)
	bin := strobetest.Binary(t)
	base, err := os.MkdirTemp("", "s") // sockets' paths are short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	if err := os.Chmod(base, 0o777); err != nil {
		t.Fatal(err)
	}
	// as runs strobe as a user and returns what it said.
	as := func(uid uint32, home string, arg ...string) (string, int) {
		t.Helper()
		cmd := exec.Command(bin, arg...)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + base, "STROBE_HOME=" + home, "SECRET=4711"}
		cmd.Dir = "/"
		cmd.Stdin = strings.NewReader(
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}` + "\n")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		cmd.Run() //nolint:errcheck // the code says it
		return out.String(), cmd.ProcessState.ExitCode()
	}
	// trap is a socket of root's that keeps what it is sent.
	trap := func(path string) func() string {
		t.Helper()
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, 0o777); err != nil {
			t.Fatal(err)
		}
		got := make(chan string, 100)
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					close(got)
					return
				}
				buf := make([]byte, 1<<16)
				n, _ := c.Read(buf)
				c.Close()
				if n > 0 {
					got <- string(buf[:n])
				}
			}
		}()
		return func() string {
			l.Close()
			all := ""
			for s := range got {
				all += s
			}
			return all
		}
	}
	mkdir := func(name string, uid int, mode os.FileMode) string {
		t.Helper()
		path := filepath.Join(base, name)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(path, uid, uid); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	theirs := mkdir("a", 0, 0o777)      // made by somebody else, open to all
	shut := mkdir("b", 0, 0o700)        // and shut
	shared := mkdir("c", nobody, 0o777) // ours, and others may write there
	link := filepath.Join(base, "d")
	if err := os.Symlink(theirs, link); err != nil {
		t.Fatal(err)
	}
	for _, home := range []string{theirs, shared, shut, link} {
		said := func() string { return "" }
		if home != link {
			said = trap(filepath.Join(home, "strobe.sock"))
		}
		for _, arg := range [][]string{{"run", "--", "true"}, {"mcp"}, {"sessions"}, {"daemon", "stop"}} {
			out, code := as(nobody, home, arg...)
			if home == shared && arg[0] == "daemon" {
				continue // there is none of ours, and nothing is sent
			}
			if !strings.Contains(out, "PERMISSION_DENIED") || !strings.Contains(out, "STROBE_HOME") || arg[0] == "run" &&
				code != 2 {
				t.Errorf("strobe %v in %s: %d, %s", arg, home, code, out)
			}
		}
		if sent := said(); sent != "" {
			t.Errorf("in %s somebody else was told %.300q", home, sent)
		}
	}
	// A link in the place of our log is not written through.
	own, victim := mkdir("e", nobody, 0o700), filepath.Join(base, "victim")
	if err := os.WriteFile(victim, []byte("keep"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, filepath.Join(own, "daemon.log")); err != nil {
		t.Fatal(err)
	}
	if out, code := as(nobody, own, "run", "--", "true"); code == 0 {
		t.Errorf("with a log that is a link: %s", out)
	}
	if b, _ := os.ReadFile(victim); string(b) != "keep" {
		t.Errorf("written through a link: %q", b)
	}
}
