package stuck

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// TestOutside: whatever somebody else has an end of, may end a wait; what only our own processes have, does not.
func TestOutside(t *testing.T) {
	strobetest.NeedPtrace(t) // as does a copy of another's descriptor
	if path := os.Getenv("STROBE_TEST_MAPS"); path != "" {
		mapShared(t, path) // the neighbour
		fmt.Println("ready")
		io.Copy(io.Discard, os.Stdin) //nolint:errcheck // until it is over
		return
	}
	path := filepath.Join(t.TempDir(), "shared")
	if err := os.WriteFile(path, make([]byte, 4096), 0o600); err != nil {
		t.Fatal(err)
	}
	mapShared(t, path)
	var at uint64
	eachMapping(os.Getpid(), func(lo, _ uint64, shared bool, _, file string) {
		if shared && file == path {
			at = lo
		}
	})
	var pipe, pair [2]int
	event, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil || unix.Pipe2(pipe[:], unix.O_CLOEXEC) != nil {
		t.Fatal(err)
	}
	if pair, err = unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
		t.Fatal(err)
	}
	for _, fd := range []int{event, pipe[0], pipe[1], pair[0], pair[1]} {
		defer unix.Close(fd) //nolint:errcheck // nothing was written
	}
	on := func(kind string, fd int) *collector.ThreadWait { return &collector.ThreadWait{Kind: kind, FD: &fd} }
	waits := map[string]*collector.ThreadWait{
		"memory": {Kind: "mutex", Object: fmt.Sprintf("%#x", at)}, "pipe": on("pipe", pipe[0]),
		"full pipe": on("pipe", pipe[1]), "socket": on("socket", pair[0]), "eventfd": on("eventfd", event),
	}
	check := func(when string, want bool, pids ...int) {
		t.Helper()
		may := outside()
		for name, w := range waits {
			if got := may(&collector.ThreadRow{PID: os.Getpid()}, w, pids); got != want {
				t.Errorf("%s: the wait for %s may end: %v", when, name, got)
			}
		}
	}
	me := os.Getpid()
	check("nobody else has them", false, me)
	if may := outside(); !may(&collector.ThreadRow{PID: me}, on("pipe", int(os.Stdin.Fd())), []int{me}) {
		t.Error("of a file that is no pipe nothing is known")
	}

	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^TestOutside$")
	cmd.Env = append(os.Environ(), "STROBE_TEST_MAPS="+path)
	for _, fd := range []int{pipe[1], pair[1], event} {
		copied, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		f := os.NewFile(uintptr(copied), "")
		defer f.Close()
		cmd.ExtraFiles = append(cmd.ExtraFiles, f)
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var ready string
	if _, err := fmt.Fscan(stdout, &ready); err != nil || ready != "ready" {
		t.Fatalf("%q, %v", ready, err)
	}
	check("another process has them", true, me)
	check("that one is looked at as well", false, me, cmd.Process.Pid)
	stdin.Close()
	io.Copy(io.Discard, stdout) //nolint:errcheck // its last words
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}

	if err := unix.SetsockoptTimeval(pair[0], unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 9}); err != nil {
		t.Fatal(err)
	}
	if may := outside(); !may(&collector.ThreadRow{PID: me}, waits["socket"], []int{me}) {
		t.Error("a socket with a time limit")
	}
}

func mapShared(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(b) }) //nolint:errcheck // the test is over
}
