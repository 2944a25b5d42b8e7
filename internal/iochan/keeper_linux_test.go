package iochan

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The test binary is also the keeper and the daemon that dies.
func TestMain(m *testing.M) {
	switch os.Getenv("IOCHAN_TEST_ROLE") {
	case "keeper":
		if err := RunKeeper(); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	case "daemon":
		dyingDaemon()
	}
	os.Exit(m.Run())
}

func testKeeper(t *testing.T) *Keeper {
	t.Helper()
	k := NewKeeper([]string{"/usr/bin/env", "IOCHAN_TEST_ROLE=keeper", "/proc/self/exe"})
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	k.command[2] = exe
	t.Cleanup(func() {
		k.Close()
		k.reaped.Wait() // the process ends with us and with what it held
	})
	return k
}

// dyingDaemon starts a program that writes far more than a pipe holds, and dies without a word.
func dyingDaemon() {
	exe, _ := os.Executable()
	k := NewKeeper([]string{"/usr/bin/env", "IOCHAN_TEST_ROLE=keeper", exe})
	ch := Pipes
	if os.Getenv("IOCHAN_TEST_CHANNEL") == "terminal" {
		ch = Terminal
	}
	c, err := ch.Open(Options{KeepInput: true, Clock: Monotonic}, func(Stream, int64, []byte) {})
	if err != nil {
		panic(err)
	}
	if err := k.Add(c); err != nil {
		panic(err)
	}
	done := os.Getenv("IOCHAN_TEST_DONE")
	cmd := exec.Command("/bin/sh", "-c", fmt.Sprintf(
		`echo $$ > %[1]s.pid; trap 'echo hup > %[1]s.hup' HUP; kill -KILL %[2]d; while kill -0 %[2]d 2>/dev/null && ! grep -q '^State:.Z' /proc/%[2]d/status; do :; done
		head -c 3000000 /dev/zero && echo written && echo yes > %[1]s; cat > /dev/null; echo eof > %[1]s.eof`, done, os.Getpid()))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Stdin, c.Stdout, c.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: ch == Terminal}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	c.Started()
	select {}
}

// kill -9 of the daemon leaves its targets running, also those that write, on a pipe and on a terminal.
func TestProgramOutlivesDaemon(t *testing.T) {
	for _, channel := range []string{"pipes", "terminal"} {
		t.Run(channel, func(t *testing.T) {
			done := filepath.Join(t.TempDir(), "done")
			exe, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			daemon := exec.Command(exe)
			daemon.Env = append(os.Environ(), "IOCHAN_TEST_ROLE=daemon", "IOCHAN_TEST_DONE="+done, "IOCHAN_TEST_CHANNEL="+
				channel)
			daemon.Stderr = os.Stderr
			err = daemon.Run()
			if err == nil || !strings.Contains(err.Error(), "killed") {
				t.Fatalf("daemon: %v", err)
			}
			t.Cleanup(func() {
				var pid int
				data, _ := os.ReadFile(done + ".pid")
				if fmt.Sscan(string(data), &pid); pid > 1 {
					syscall.Kill(-pid, syscall.SIGKILL) // its session is its own
				}
			})
			eventually(t, "the program to write it all", func() bool { _, err := os.Stat(done); return err == nil })
			for _, bad := range []string{".hup", ".eof"} {
				if _, err := os.Stat(done + bad); err == nil {
					t.Errorf("the program saw %s", bad)
				}
			}
		})
	}
}

func TestKeeperReleaseAndDrop(t *testing.T) {
	k := testKeeper(t)
	r := &recorder{}
	c, cmd := run(t, Pipes, Options{KeepInput: true}, r, `read x; head -c 3000000 /dev/zero && echo done`)
	if err := k.Add(c); err != nil {
		t.Fatal(err)
	}
	if _, err := c.input.WriteString("go\n"); err != nil {
		t.Fatal(err)
	}
	k.Release(c)
	c.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("a released program ended with %v", err)
	}
	c, cmd = run(t, Pipes, Options{}, r, `exec yes`)
	if err := k.Add(c); err != nil {
		t.Fatal(err)
	}
	k.Drop(c)
	c.Close()
	if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "broken pipe") {
		t.Errorf("a dropped program ended with %v", err)
	}
}

func TestKeeperStartsAgain(t *testing.T) {
	k := testKeeper(t)
	k.command[2] = "/bin/true" // a keeper that dies at once
	r := &recorder{}
	c, _ := run(t, Pipes, Options{}, r, `sleep 100`)
	if err := k.Add(c); err == nil {
		eventually(t, "the death to show", func() bool { return k.Add(c) != nil })
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	k.command[2] = exe
	if err := k.Add(c); err != nil {
		t.Errorf("Add after the keeper died: %v", err)
	}
	k.Drop(c)
}

// A keeper that held stdin open would keep a program from ever reading its end.
func TestKeptInputEnds(t *testing.T) {
	k := testKeeper(t)
	for name, opt := range map[string]Options{"text": {Input: "line\n"}, "long text": {Input: strings.Repeat("x", 3<<20)},
		"closed later": {KeepInput: true}} {
		t.Run(name, func(t *testing.T) {
			r := &recorder{}
			opt.Clock = Monotonic
			c, err := Pipes.Open(opt, r.sink)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Close() })
			if err := k.Add(c); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("/bin/sh", "-c", `cat > /dev/null; echo ended`)
			cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Stdin, c.Stdout, c.Stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			c.Started()
			if opt.KeepInput {
				if err := c.CloseInput(); err != nil {
					t.Fatal(err)
				}
			}
			eventually(t, "the program to see the end", func() bool { return r.text(Stdout) == "ended\n" })
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
			k.Drop(c)
		})
	}
}
