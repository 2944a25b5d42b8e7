//go:build unix

package session

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/fault"
)

// The test binary is also the daemon that dies and its keeper.
func TestMain(m *testing.M) {
	switch os.Getenv("SESSION_TEST_ROLE") {
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

// dyingDaemon launches a program that writes for ever and dies without a word once 1,000 calls
// and a line are in its store.
func dyingDaemon() {
	home := os.Getenv("SESSION_TEST_HOME")
	exe, err := os.Executable()
	check(err)
	rt := &plainRuntime{}
	m, err := NewManager(Config{
		Home: home, Runtimes: []collector.Runtime{rt}, Keeper: []string{"/usr/bin/env", "SESSION_TEST_ROLE=keeper", exe},
	})
	check(err)
	s, err := m.Launch(context.Background(), LaunchRequest{
		Command: "sh", ProjectRoot: home,
		Args: []string{"-c", fmt.Sprintf(
			`echo first; while kill -0 %[1]d 2>/dev/null && ! grep -q '^State:.Z' /proc/%[1]d/status; do :; done; head -c 3000000 /dev/zero; echo $? > %[2]s/done`, os.Getpid(), home)},
	})
	check(err)
	check(os.WriteFile(filepath.Join(home, "pid"), []byte(fmt.Sprint(s.PID())), 0o600))
	rt.last().calls("f", 1000)
	for {
		check(s.Flush(context.Background()))
		if st := s.st.Stats(); st.Events[event.Stdout] > 0 && st.Events[event.FunctionExit] == 1000 {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func TestDaemonKilled(t *testing.T) {
	f := newFixture(t)
	if err := f.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	daemon := exec.Command(exe)
	daemon.Env = append(os.Environ(), "SESSION_TEST_ROLE=daemon", "SESSION_TEST_HOME="+f.home)
	daemon.Stderr = os.Stderr
	if err := daemon.Run(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("daemon: %v", err)
	}
	t.Cleanup(func() {
		var pid int
		data, _ := os.ReadFile(filepath.Join(f.home, "pid"))
		if fmt.Sscan(string(data), &pid); pid > 1 {
			syscall.Kill(-pid, syscall.SIGKILL) // its session is its own
		}
	})
	f.reopen()
	list, err := f.List(context.Background())
	if err != nil || len(list) != 1 || list[0].Status != string(Interrupted) {
		t.Fatalf("list = %+v, %v", list, err)
	}
	s, err := f.Get(context.Background(), list[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	st := state(t, s)
	if st.Status != Interrupted || st.Events["function_exit"] != 1000 || text(t, s, event.Stdout) != "first\n" ||
		st.Exit != nil {
		t.Errorf("recovered state = %+v", st)
	}
	eventually(t, "the program to run on", func() bool {
		data, _ := os.ReadFile(filepath.Join(f.home, "done"))
		return string(data) == "0\n"
	})
	eventually(t, "counts in the list", func() bool {
		list, err := f.List(context.Background())
		return err == nil && list[0].EventCount >= 2001 && list[0].EndedAt > list[0].StartedAt
	})
	if f.Busy() {
		t.Error("an interrupted session keeps the daemon busy")
	}
	if err := f.Delete(context.Background(), s.ID); err != nil {
		t.Error(err)
	}
}

// A store that takes nothing more (a full disk) is no reason for the program or the daemon to suffer.
func TestStoreFails(t *testing.T) {
	f := newFixture(t)
	s := f.request(LaunchRequest{Command: "cat", KeepStdin: true})
	c := f.rt.last()
	c.calls("f", 10)
	if err := s.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := s.st.Close(); err != nil {
		t.Fatal(err)
	}
	c.calls("f", 10)
	if _, err := s.Input(context.Background(), strings.Repeat("x", 3<<20), true); err != nil {
		t.Error(err)
	}
	st := ended(t, s)
	if st.StoreError == nil || st.Dropped < 20 || st.ExitCode == nil || *st.ExitCode != 0 {
		t.Errorf("state = %+v", st)
	}
	if _, err := f.Stop(context.Background(), s.ID, StopOptions{Kill: true}); err != nil {
		t.Error(err)
	}
}

func TestUnusableHome(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := NewManager(Config{Home: filepath.Join(file, "home")})
	if fault.CodeOf(err) != fault.PermissionDenied || fault.From(err).Hint == "" {
		t.Errorf("NewManager = %v", err)
	}
}
